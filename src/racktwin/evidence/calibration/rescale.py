"""Step tables under other constants, without pricing the operators again.

Every constant of an epoch multiplies one line of the breakdown of a step, or adds to its host time.
"""

from __future__ import annotations

import copy

import msgspec
import numpy as np

from racktwin.engine.epoch import Epoch
from racktwin.engine.table import Grid, Part, StepTable
from racktwin.estimate import Evidence
from racktwin.evidence.loop.answer import Loop, answer
from racktwin.evidence.measurement import Measurement
from racktwin.serving.steady import Curve, Served
from racktwin.serving.traffic import Traffic

LINES = {"experts": "experts", "attention": "attention"}
UNTOUCHED = ("elementwise", "host", "transfer")
HOST = ("gap", "piecewise", "recurrent", "per_sequence", "step_overhead")
OVER = ("gemm", "experts", "attention", "communication", "hopper", "mxfp4")
PRICED = (*HOST, *OVER, "split_graphs")


class Rescaled(Served):
    """`served`, priced under `neutral(epoch)`, under `epoch`; remembers its curves, and its loops
    under any constants of the same step times.

    What its states consist of and rest on is left out, which takes half the time.
    """

    def __init__(self, served: Served, epoch: Epoch) -> None:
        self.__dict__.update(served.__dict__)
        self.deployment = msgspec.structs.replace(served.deployment, engine=epoch)
        self.tables = {role: _table(table, epoch) for role, table in served.tables.items()}
        self.curves: dict[Traffic, Curve] = {}
        priced = (getattr(epoch, name) for name in PRICED)
        self.loops = served.__dict__.setdefault("known", {}).setdefault(tuple(priced), {})

    def curve(self, traffic: Traffic) -> Curve:
        """The deployment over growing load, worked out once per traffic."""
        if traffic not in self.curves:
            self.curves[traffic] = super().curve(traffic)
        return self.curves[traffic]

    def loop(self, row: Measurement, factor: float) -> Loop | None:
        """The closed loop of the clients of `row`, followed once.

        factor: time of prompts over the tables', 1.
        """
        key = row.traffic, row.client, row.concurrency, factor
        if key not in self.loops:
            self.loops[key] = answer(self, row, factor)
        found: Loop | None = self.loops[key]
        return found

    def _parts(self, table: StepTable, batch: float, context: float) -> dict[str, float]:
        return {}

    def _evidence(
        self, table: StepTable, batch: float, context: float
    ) -> dict[str, tuple[Evidence, ...]]:
        return {}


def neutral(epoch: Epoch) -> Epoch:
    """The epoch with every operator as the tables have it and no host time."""
    return msgspec.structs.replace(
        epoch,
        **dict.fromkeys(HOST, 0.0),
        **dict.fromkeys(OVER, 1.0),
    )


def _table(table: StepTable, epoch: Epoch) -> StepTable:
    changed, step = copy.copy(table), table.step
    epoch = epoch.on(step.cluster.chip.family, step.precision.experts)
    changed.tokens = _part(table.tokens, epoch)
    changed.decode = _part(_hosted(table.decode, epoch), epoch)
    changed.prefill = _part(table.prefill, epoch)
    changed.draft = None if table.draft is None else _part(table.draft, epoch)
    changed.host = epoch.host(step.architecture)
    return changed


def _hosted(decode: Part, epoch: Epoch) -> Part:
    """`decode` with the host time of its sequences."""
    axes = decode.seconds.axes
    host = np.broadcast_to(epoch.per_sequence * axes[0][:, None], decode.seconds.values.shape)
    return msgspec.structs.replace(decode, parts={**decode.parts, "host": Grid(axes, host)})


def _part(part: Part, epoch: Epoch) -> Part:
    axes = part.seconds.axes
    lines = {
        name: Grid(axes, grid.values * factor(name, epoch)) for name, grid in part.parts.items()
    }
    total = sum((grid.values for grid in lines.values()), start=0.0 * part.seconds.values)
    return msgspec.structs.replace(part, seconds=Grid(axes, total), parts=lines)


def factor(line: str, epoch: Epoch) -> float:
    """Measured over table time of a line of the breakdown, 1."""
    if line in UNTOUCHED:
        return 1.0
    if line == "communication":
        return epoch.communication * epoch.hopper
    return float(getattr(epoch, LINES.get(line, "gemm")))
