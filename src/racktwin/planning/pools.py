"""The layouts of a question, priced: one `Rank` each, for every role they can take."""

from __future__ import annotations

import numpy as np

from racktwin.engine.cost import Array
from racktwin.engine.memory import MemoryFit, memory
from racktwin.engine.step import Step
from racktwin.engine.table import StepTable
from racktwin.models.layout import Layout
from racktwin.planning.ask import Ask
from racktwin.planning.rank import Rank
from racktwin.planning.search import BATCHES
from racktwin.planning.space import layouts

SERVE_BUDGETS = np.array([2048.0, 4096.0, 8192.0, 16384.0])
PREFILL_BUDGETS = np.array([8192.0, 16384.0, 32768.0])
LEAST_BUDGET = 256  # tokens of a step that only decodes: the smallest a launch file asks for


class Priced:
    """Ranks of all layouts that load. `refused`: how far the others are from loading, bytes."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self.kernels = ask.epoch.kernels(ask.cluster.chip)
        found = layouts(
            ask.model.architecture, ask.precision, ask.cluster, ask.gpus, ask.epoch.engine
        )
        self.layouts = found
        self.refused: dict[Layout, float] = {}
        fits = {layout: self.fit(layout, SERVE_BUDGETS[0]) for layout in found}
        self.loading = [layout for layout in found if fits[layout].loads]
        for layout in found:
            if not fits[layout].loads:
                self.refused[layout] = -fits[layout].kv_room
        drafts = ask.speculation.tokens
        self.tables = {layout: self._table(layout, drafts) for layout in self.loading}

    def _table(self, layout: Layout, drafts: int) -> StepTable:
        ask = self.ask
        step = Step(
            ask.model.architecture, layout, ask.precision, ask.cluster, ask.epoch, self.kernels
        )
        return StepTable(step, drafts)

    def fit(self, layout: Layout, budget: float, batch: float = 1) -> MemoryFit:
        """Memory of a layout at a token budget and a batch limit per rank."""
        ask = self.ask
        return memory(
            ask.model.architecture,
            ask.precision,
            layout,
            visible=ask.cluster.chip.memory_visible,
            convention=ask.epoch,
            max_batch_tokens=int(budget),
            max_batch=int(batch),
            context=int(ask.traffic.input + ask.traffic.output),
            fraction=ask.fraction,
            mtp=bool(ask.speculation.tokens),
        )

    def serving(self) -> list[Rank]:
        """All loading layouts as aggregated replicas, under each budget and batch limit."""
        batches, budgets = (
            each.ravel() for each in np.meshgrid(BATCHES.astype(float), SERVE_BUDGETS)
        )
        return self._ranks(budgets, batches)

    def prefilling(self) -> list[Rank]:
        """All loading layouts as prefill replicas, under each budget."""
        prompts = np.maximum(1.0, PREFILL_BUDGETS // self.ask.traffic.new)
        return self._ranks(PREFILL_BUDGETS, prompts)

    def decoding(self) -> list[Rank]:
        """All loading layouts as decode replicas, under each batch limit."""
        budgets = np.maximum(LEAST_BUDGET, BATCHES * (1 + self.ask.speculation.tokens))
        return self._ranks(budgets.astype(float), BATCHES.astype(float))

    def _ranks(self, budgets: Array, batches: Array) -> list[Rank]:
        length = self.ask.traffic.held(self.ask.epoch.reserved)
        found = []
        for layout in self.loading:
            room = [
                max(0.0, self.fit(layout, *choice).sequences(length))
                for choice in zip(budgets, batches, strict=True)
            ]
            found.append(Rank(layout, self.tables[layout], budgets, batches, np.array(room)))
        return found
