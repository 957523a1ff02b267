"""What 'best' means: each objective is a function of candidates, higher is better."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np

from racktwin.engine.cost import Array
from racktwin.facility.grid import KWH, grid
from racktwin.finding import BadInput, unknown
from racktwin.hardware import Cluster
from racktwin.planning.search import Candidates
from racktwin.serving.traffic import Traffic


class Terms(msgspec.Struct, frozen=True):
    """What objectives need besides the candidates. price: $/GPU/h; gpus: budget, GPUs.

    copies: of every candidate that serve at a time, array; spare ones left out.
    """

    traffic: Traffic
    cluster: Cluster
    price: float
    gpus: int
    copies: Array


def output_per_gpu(candidates: Candidates, terms: Terms) -> Array:
    """Output tokens/s/GPU."""
    return candidates.rate * terms.traffic.output / candidates.gpus


def total_per_gpu(candidates: Candidates, terms: Terms) -> Array:
    """Input and output tokens/s/GPU."""
    return candidates.rate * (terms.traffic.input + terms.traffic.output) / candidates.gpus


def cost_per_token(candidates: Candidates, terms: Terms) -> Array:
    """$ per output token."""
    return terms.price / 3600 / output_per_gpu(candidates, terms)


def it_watts(candidates: Candidates, cluster: Cluster) -> Array:
    """W of IT per GPU: the GPU at its mean power and its share of the rest of the rack."""
    return candidates.watts + idle_watts(cluster)


def idle_watts(cluster: Cluster) -> float:
    """W of a GPU's share of the rest of its rack at its limit: CPUs, NICs, switches, conversion."""
    return float(cluster.rack_power / cluster.gpus_per_rack - cluster.chip.tdp)


def tokens_per_watt(candidates: Candidates, terms: Terms) -> Array:
    """Output tokens/s per W of IT."""
    return output_per_gpu(candidates, terms) / it_watts(candidates, terms.cluster)


def carbon_per_token(candidates: Candidates, terms: Terms) -> Array:
    """Kilograms of CO2 for each output token, at the meter (IT x PUE) and the site's grid."""
    site = terms.cluster.site
    intensity = float(site.carbon or grid().carbon) / KWH  # kg/J
    return site.pue * intensity / tokens_per_watt(candidates, terms)


Objective = Callable[[Candidates, Terms], Array]
OBJECTIVES: dict[str, tuple[Objective, str]] = {
    "throughput": (output_per_gpu, "output tokens/s/GPU"),
    "total": (total_per_gpu, "input + output tokens/s/GPU"),
    "cost": (lambda each, terms: -cost_per_token(each, terms), "$ per million output tokens"),
    "tokens_per_mw": (tokens_per_watt, "output tokens/s per MW of IT"),
    "carbon": (lambda each, terms: -carbon_per_token(each, terms), "g of CO2 per output token"),
    "latency": (lambda each, terms: -each.tpot, "TPOT, then TTFT"),
}


def score(name: str, candidates: Candidates, terms: Terms) -> Array:
    """The score of every candidate under the objective called `name`.

    GPUs of the budget that the copies at work leave idle count as spent, except for latency.
    """
    if name not in OBJECTIVES:
        raise BadInput([unknown("--objective", name, OBJECTIVES)])
    scored = OBJECTIVES[name][0](candidates, terms)
    if name == "latency":
        return np.asarray(scored - 1e-6 * candidates.ttft)
    used = terms.copies * candidates.gpus / terms.gpus
    return np.asarray(np.where(scored > 0, scored * used, scored / used))
