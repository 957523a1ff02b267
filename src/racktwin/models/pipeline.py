"""Pipeline stages: which layers each holds."""

from __future__ import annotations

from collections.abc import Sequence

from racktwin.finding import BadInput, Finding

Split = Sequence[int] | None


def stages(layers: int, pipeline: int, split: Split = None) -> tuple[range, ...]:
    """Layer indices of every stage. split: layers of each stage, when they are given.

    Otherwise as even as can be, the odd layers to the stages before the last, which holds the
    output head too (vLLM, distributed/utils.py).
    """
    counts = tuple(split) if split is not None else _even(layers, pipeline)
    if len(counts) != pipeline or sum(counts) != layers or min(counts, default=0) < 1:
        raise BadInput([_fault(layers, pipeline, counts)])
    starts = [sum(counts[:index]) for index in range(pipeline)]
    return tuple(range(start, start + count) for start, count in zip(starts, counts, strict=True))


def _even(layers: int, pipeline: int) -> tuple[int, ...]:
    counts = [layers // pipeline] * pipeline
    for odd in range(layers % pipeline):
        counts[-2 - odd] += 1
    return tuple(counts)


def _fault(layers: int, pipeline: int, counts: tuple[int, ...]) -> Finding:
    if pipeline > layers:
        message = f"{pipeline} stages cannot share {layers} layers; use at most {layers}"
    else:
        shown = ", ".join(map(str, counts[:12]))
        message = f"the split {shown} must be {pipeline} counts >= 1 that sum to {layers} layers"
    return Finding("pipeline", message)
