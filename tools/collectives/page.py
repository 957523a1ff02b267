"""docs/reference/collectives.md: how far every fit is from its measurements."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from collectives import published
from collectives.records import Record
from racktwin.network.curve import Array

Ranks = dict[str, dict[int, Array]]

HEAD = """# Collectives: forms and errors

Written by `python tools/fit_collectives.py DIR` with the constants in `catalog/fabrics/`. Errors
are |fit / measured - 1|, median / 90th percentile. *Held* predicts each message size without itself
(curves), each rank count from the others (rules), each fifth of the sizes from the rest (exchange).

| what | form |
|---|---|
| NCCL, measured | alpha + size / bandwidth in up to four pieces; beyond them the rule's shape |
| NCCL, rule | alpha + per_rank (ranks - 1) + wire + 2 sqrt(ramp wire) |
| wire | share size / bandwidth: (n-1)/n; all-reduce 2 (n-1)/n in rings, 1 + 1/n in switches |
| engines' all-reduce | up to four pieces, the engine's own switch to NCCL among them |
| dispatch, combine | (alpha^p + work^p)^(1/p) |
| work | tokens (per_token + copies (per_copy + bytes / bandwidth)) |
| several domains | starts add up; then (inside^q + NICs^q)^(1/q), q in `tiers.yaml`; \
all-reduce: the quicker of rings, and of trees between reducing switches over a NIC per channel |

No answer is below the floor: the bytes a link must carry over its line rate (`network.bound`).
A system without a curve takes its sibling's (GB300 and GB200, B300 and B200, H200 and H100), then
the rule of its generation; the evidence of each answer says which. Groups of 17 to 72 ranks, and of
more than one domain, are extrapolated: between 3 and 19 racks nobody has published a measurement.
Not modelled: on Azure's H100 and H200 VMs a small all-reduce takes 1.65 to 1.78 times the tables'.
"""


def render(nccl: Record, held: Record, engine: Record, experts: Record, ranks: Ranks) -> str:
    sections = [
        HEAD,
        _section("NCCL, curves", ("system", "operation", "ranks"), _curves(nccl["curves"])),
        _section("NCCL, rules", ("generation", "operation", "ranks"), _rules(nccl["rules"], held)),
        _section("Engines, all-reduce", ("system", "engine", "ranks"), _curves(engine["curves"])),
        _section(
            "Dispatch and combine", ("library", "system", "phase, payload"), _libraries(experts)
        ),
        _ranks(ranks),
        published.section(),
    ]
    return "\n".join(sections)


def _section(title: str, names: Iterable[str], rows: Iterable[list[str]]) -> str:
    head = [*names, "fit", "held"]
    lines = [f"## {title}\n", _row(head), _row(["---"] * len(head)), *(_row(r) for r in rows)]
    return "\n".join(lines) + "\n"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _curves(curves: Record) -> list[list[str]]:
    """One row per system and operation, its rank counts side by side."""
    rows = []
    for system, kinds in curves.items():
        for kind, by_ranks in kinds.items():
            errors = [curve["error"] for curve in by_ranks.values()]
            fit = ", ".join(_pair(each, "") for each in errors)
            held = ", ".join(_pair(each, "held_") for each in errors)
            rows.append([system, kind, ", ".join(by_ranks), fit, held])
    return rows


def _rules(rules: Record, held: Record) -> list[list[str]]:
    rows = []
    for generation, operations in rules.items():
        for operation, rule in operations.items():
            off = held[generation][operation]
            pairs = [_spread(each) for each in off.values()]
            rows.append(
                [generation, operation, ", ".join(off), _pair(rule["error"], ""), ", ".join(pairs)]
            )
    return rows


def _libraries(experts: Record) -> list[list[str]]:
    return [
        [name, system, f"{phase}, {payload}", _pair(fit["error"], ""), _pair(fit["error"], "held_")]
        for name, library in experts["libraries"].items()
        for system, phases in library["phases"].items()
        for phase, payloads in phases.items()
        for payload, fit in payloads.items()
    ]


def _ranks(found: Ranks) -> str:
    """Each EP size of the exchanges measured at several, predicted from the others."""
    names = sorted({n for off in found.values() for n in off})
    lines = ["## Dispatch, combine: EP held out\n", _row(["exchange", *(f"EP{n}" for n in names)])]
    lines.append(_row(["---"] * (1 + len(names))))
    for name, off in found.items():
        lines.append(_row([name, *(_spread(off.get(n)) for n in names)]))
    return "\n".join(lines) + "\n"


def _spread(off: Array | None) -> str:
    return "" if off is None else f"{np.median(off):.0%} / {np.quantile(off, 0.9):.0%}"


def _pair(error: dict[str, float], kind: str) -> str:
    return f"{error[kind + 'median']:.1%} / {error[kind + 'p90']:.0%}"
