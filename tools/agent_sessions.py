"""The measured agent sessions against a replay of them: prints and writes their page.

`python tools/agent_sessions.py [TRACE]`, TRACE being the request trace of NVIDIA Dynamo.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin.planning.replay import replayed
from racktwin.planning.stream_wish import Wish
from racktwin.serving.traces.agent import Request, measured

ROOT = Path(__file__).parents[1]
TRACE = ROOT.parent / "shared" / "traces" / "dynamo_pi_agent_request_trace.jsonl.gz"
EXAMPLE = ROOT / "examples" / "qwen3-14b-h100.yaml"
PAGE = ROOT / "docs" / "background" / "agent-sessions.md"
COLD = 2  # first requests of the trace: the engine was still compiling
BLOCK = 16  # tokens of a prefix block of the trace
Floats = NDArray[np.float64]


class Compared(msgspec.Struct, frozen=True, eq=False):
    """A figure of all requests, measured and simulated, in its unit."""

    measured: Floats
    simulated: Floats

    @property
    def factor(self) -> float:
        """Measured over simulated: the geometric mean of requests that are not cold (1)."""
        return float(np.exp(np.log(self.measured[COLD:] / self.simulated[COLD:]).mean()))

    @property
    def left(self) -> Floats:
        """Relative errors of those requests once `factor` is taken out (1)."""
        return np.abs(self.factor * self.simulated[COLD:] / self.measured[COLD:] - 1)


def main() -> None:
    """Replay, compare, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trace", nargs="?", type=Path, default=TRACE)
    text = page(parser.parse_args().trace)
    print(text)
    PAGE.write_text(text, encoding="utf-8")


def simulated(trace: Path) -> dict[str, NDArray[Any]]:
    """Columns of the requests of a replay, by their place in the trace."""
    parts: list[dict[str, NDArray[Any]]] = []
    replayed(EXAMPLE, Wish(trace=str(trace)), rows=parts.append)
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.argsort(joined["request"])
    return {name: values[order] for name, values in joined.items()}


def compared(told: list[Request], found: dict[str, NDArray[Any]]) -> dict[str, Compared]:
    """Cached (tokens), prefill and itl (ms)."""
    itl = (found["finish"] - found["first"]) / np.maximum(found["output"] - 1, 1)
    pairs = {
        "cached": ("cached_tokens", found["cached"]),
        "prefill": ("prefill_time_ms", (found["first"] - found["arrival"]) * 1e3),
        "itl": ("avg_itl_ms", itl * 1e3),
    }
    return {
        name: Compared(np.array([getattr(each, key) for each in told]), np.asarray(values, float))
        for name, (key, values) in pairs.items()
    }


def page(trace: Path) -> str:
    """The whole page."""
    told, found = measured(trace), simulated(trace)
    figures = compared(told, found)
    cached, itl, prefill = (figures[name] for name in ("cached", "itl", "prefill"))
    input = np.array([each.input_tokens for each in told])
    waits = np.array([each.prefill_wait_time_ms for each in told])
    pace, start = np.polyfit(input[COLD:], waits[COLD:], 1)
    lines = [
        np.polyfit((input - found)[COLD:] / 1e3, ms[COLD:], 1)
        for found, ms in (
            (cached.measured, prefill.measured),
            (cached.simulated, prefill.simulated),
        )
    ]
    near = np.abs(cached.measured - cached.simulated) <= BLOCK
    head = HEAD.format(
        date=date.today(),
        count=len(told),
        share=cached.measured.sum() / input.sum(),
        simulated_share=cached.simulated.sum() / input.sum(),
        near=int(near.sum()),
        itl=itl.factor,
        itl_left=np.median(itl.left),
        itl_most=itl.left.max(),
        measured_start=lines[0][1],
        measured_pace=lines[0][0],
        simulated_start=lines[1][1],
        simulated_pace=lines[1][0],
        pace_factor=lines[0][0] / lines[1][0],
        pace=pace * 1e3,
        start=start,
        wait_low=waits[COLD:].min(),
        wait_high=waits[COLD:].max(),
    )
    return head + "\n".join(_rows(told, figures)) + "\n"


def _rows(told: list[Request], figures: dict[str, Compared]) -> Iterator[str]:
    for row, each in enumerate(told):
        cells = [f"{each.input_tokens:,.0f}", f"{each.output_tokens:,.0f}"]
        cells += [f"{each.prefill_wait_time_ms:,.0f}"]
        for name, form in (("cached", ",.0f"), ("prefill", ",.0f"), ("itl", ".1f")):
            pair = figures[name]
            cells += [f"{pair.measured[row]:{form}}", f"{pair.simulated[row]:{form}}"]
        yield f"| {' | '.join(cells)} |"


HEAD = """# Agent sessions, measured and simulated

Written by `python tools/agent_sessions.py` on {date}; do not edit.

The one public trace at hand that tells what was measured of each request: {count} requests of a
coding agent and its sub-agents on Qwen3-14B in FP8, two workers behind NVIDIA Dynamo's KV
router (2026-05-19). It is replayed, turns waiting for the answers before them, on
`examples/qwen3-14b-h100.yaml`: the same model, two replicas, vLLM, `kv_aware`. **The trace
names neither GPU nor engine.** What it says of time therefore tests how figures grow with the
request, not how large they are.

| figure | measured | simulated |
|---|---|---|
| share of the input found in a cache | {share:.1%} | {simulated_share:.1%} |
| requests whose cached tokens agree to a block | | {near} of {count} |
| time between tokens | {itl:.2f} x the simulated | 1 |
| left when that factor is taken out | | median {itl_left:.1%}, at most {itl_most:.1%} |
| prefill (TTFT less the wait in front), ms | {measured_start:.0f} + {measured_pace:.0f} per 1,000 \
tokens to compute | {simulated_start:.0f} + {simulated_pace:.0f} |

## What does not agree, and why

- *The machine.* The factors ({itl:.1f} between tokens, {pace_factor:.1f} per token of a prompt)
  stand for a slower GPU than the H100 of the example. That between tokens is the same for short
  and long contexts to the errors above; measured times grow a little more with the context.
- *The wait in front.* Between the arrival at Dynamo's front end and the engine lie
  {wait_low:.0f} to {wait_high:.0f} ms, about {start:.0f} ms and {pace:.0f} ms per 1,000 tokens
  of input, cached or not. The simulation has no such term; the `first_token` of an engine epoch
  is a constant.
- *The first two requests* took 1.3 s for 15 tokens and 1.8 s for 4,736, as with an engine that
  is still compiling. They are in the table and not in the factors.
- *Cached tokens.* The simulation takes an answer to stand in the next prompt as it was given;
  less of some was found, perhaps because the harness left their reasoning out. Dynamo sent one
  sub-agent's second turn to the other worker; the simulated router kept it where its prefix
  was. And the simulation lets a prompt be found from the end of its prefill on: on the faster
  machine that is before the sub-agent that came 20 ms later is looked at.
- *{count} requests*, hardly two at a time: queues, preemption and eviction are not tested here.

## Request by request

Tokens and ms; the wait is measured.

| input | output | wait | cached | simulated | prefill | simulated | ITL | simulated |
|---:|---:|---:|---:|---:|---:|---:|---:|---:|
"""


if __name__ == "__main__":
    main()
