"""What differs between deployments that are simulated together, as typed."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from racktwin.finding import BadInput, Finding
from racktwin.planning.stream_wish import Wish
from racktwin.serving.mix import is_traffic


@dataclass(frozen=True, kw_only=True)
class Loads:
    """A flag that is given once is for every deployment; else it is given once for each, in order.

    Parameters
    ----------
    trace
        A file of requests; its format is recognised.
    workload
        Traffic by name, a YAML file of it, or a file of requests.
    input
        Input tokens of every request.
    output
        Output tokens of every request.
    rate
        Poisson arrivals: 2000/s; of a workload, its mean rate.
    concurrency
        Requests in flight instead, each followed by the next at once.
    scale
        Arrivals so many times as fast, 1 by default.
    slo_ttft
        A good request has its first token within: 2s.
    slo_tpot
        And takes no longer per token than: 50ms.
    slo_e2e
        And ends within: 30s.
    """

    trace: list[str] | None = None
    workload: list[str] | None = None
    input: list[int] | None = None
    output: list[int] | None = None
    rate: list[str] | None = None
    concurrency: list[int] | None = None
    scale: list[float] | None = None
    slo_ttft: list[str] | None = None
    slo_tpot: list[str] | None = None
    slo_e2e: list[str] | None = None

    def each(self, wish: Wish, count: int) -> list[Wish]:
        """The wish of each of `count` deployments; BadInput where a flag has another number.

        Each draws its own requests: the seed of the second is one more, and so on.
        """
        given = {name: values for name, values in vars(self).items() if values}
        if wrong := [
            Finding(f"--{name.replace('_', '-')}", _number(values, count))
            for name, values in given.items()
            if len(values) not in (1, count)
        ]:
            raise BadInput(wrong, "simulate")
        return [
            _placed(wish, at, {name: values[at % len(values)] for name, values in given.items()})
            for at in range(count)
        ]


def _number(values: Sequence[Any], count: int) -> str:
    if count == 1:
        return f"is given {len(values)} times for one deployment"
    return f"is given {len(values)} times for {count} deployments; once, or once for each"


def _placed(wish: Wish, at: int, said: dict[str, Any]) -> Wish:
    """The wish of deployment number `at`; a file of requests is a trace, however it was given."""
    if "trace" not in said and "workload" in said and not is_traffic(said["workload"]):
        said["trace"] = said.pop("workload")
    return dataclasses.replace(wish, seed=wish.seed + at, **said)
