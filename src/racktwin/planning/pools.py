"""The layouts of a question, priced: one `Rank` each, for every role they can take."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from racktwin.engine.memory import MemoryFit, memory
from racktwin.engine.step import Step
from racktwin.engine.table import StepTable
from racktwin.kernels import Kernels
from racktwin.models.layout import Layout
from racktwin.planning.ask import Ask
from racktwin.planning.rank import Rank
from racktwin.planning.space import layouts

SERVE_BUDGETS = np.array([2048.0, 4096.0, 8192.0, 16384.0])
PREFILL_BUDGETS = np.array([8192.0, 16384.0, 32768.0])
LARGEST_BATCH = 2048  # sequences per rank the activations of sampling are sized for


class Priced:
    """Ranks of all layouts that load. `refused`: how far the others are from loading, bytes."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self.kernels = Kernels(ask.cluster.chip, ask.epoch.engine)
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

    def fit(self, layout: Layout, budget: float, batch: int = 256) -> MemoryFit:
        """Memory of a layout at a token budget and a batch limit per rank."""
        ask = self.ask
        return memory(
            ask.model.architecture,
            ask.precision,
            layout,
            visible=ask.cluster.chip.memory_visible,
            convention=ask.epoch,
            max_batch_tokens=int(budget),
            max_batch=batch,
            context=int(ask.traffic.input + ask.traffic.output),
            fraction=ask.fraction,
            mtp=bool(ask.speculation.tokens),
        )

    def ranks(self, budgets: Iterable[float]) -> list[Rank]:
        """All loading layouts with their room at each of `budgets` (tokens per step)."""
        budgets = np.asarray(list(budgets))
        length = self.ask.traffic.input + self.ask.traffic.output
        found = []
        for layout in self.loading:
            fits = tuple(self.fit(layout, budget) for budget in budgets)
            room = np.array([max(0.0, fit.sequences(length)) for fit in fits])
            found.append(Rank(layout, self.tables[layout], budgets, fits, room))
        return found
