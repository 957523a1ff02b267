"""What tokens cost: rented and owned, joules and carbon, each with its interval."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import msgspec

from racktwin.estimate import Estimate
from racktwin.evidence.confidence import power
from racktwin.facility.asked import Gathered
from racktwin.facility.grid import grid
from racktwin.facility.ownership import Owned, owned
from racktwin.facility.series import carbon, prices
from racktwin.planning.choice import errors, inverse
from racktwin.planning.prediction import Load, Prediction, predicted

HOUR = 3600.0
YEAR = 8760  # hours


class TokenCost(msgspec.Struct, frozen=True, kw_only=True):
    """Of a deployment under a load. rented, owned_hour: $/GPU/h; prefill: share of the GPU time.

    input, output (rented), own_input, own_output: $/Mtok; per_joule: output tokens for each J at
    the meter; carbon: grams of CO2 for 1,000 output tokens. tariff: $/kWh; intensity: kg/kWh.
    """

    found: Prediction
    owned: Owned
    rented: float
    prefill: float
    input: Estimate
    output: Estimate
    own_input: Estimate
    own_output: Estimate
    per_joule: Estimate
    carbon: Estimate
    tariff: float
    intensity: float


def token_cost(path: str | Path, load: Load, tariff: str | None, dirt: str | None) -> TokenCost:
    """Predict and price; BadInput with every finding. tariff, dirt: as typed, else the site's.

    Of files by hour the mean over a year is taken: the load is the same at every hour.
    """
    gathered = Gathered()
    paid = gathered.read("--tariff", lambda: float(prices(tariff, YEAR).mean())) if tariff else None
    emitted = gathered.read("--carbon", lambda: float(carbon(dirt, YEAR).mean())) if dirt else None
    gathered.done("power cost")
    found = predicted(path, load)
    cluster, state = found.deployment.cluster, found.state
    site = cluster.site
    price = float(site.electricity) if paid is None else paid
    intensity = float(site.carbon or grid().carbon) if emitted is None else emitted
    own = owned(cluster, found.watts, site.pue, price)
    share = _prefill(found)
    rate = inverse(errors(found.deployment)[2])  # what a token costs falls as the rate rises
    input_rate = state.requests / state.gpus * found.traffic.input  # tokens/s/GPU
    output_rate = state.output_rate_per_gpu
    watts = found.watts * site.pue

    def per_mtok(hourly: Estimate, part: float, tokens: float) -> Estimate:
        scale = part / HOUR / tokens * 1e6
        value, size = hourly.value, abs(hourly.value)  # below 0 where the grid pays for taking
        low = value - math.hypot(value - hourly.low, size * (1 - rate.low))
        high = value + math.hypot(hourly.high - value, size * (rate.high - 1))
        low = max(low, min(0.0, value, hourly.low)) if value > 0 else low
        return Estimate(value * scale, low * scale, high * scale, "$/Mtok", hourly.evidence)

    flat = Estimate(found.price, found.price, found.price, "$/GPU/h", found.price_note)
    rent = msgspec.structs.replace(flat, value=flat.value or 1e-9, low=flat.low or 1e-9,
                                   high=flat.high or 1e-9)  # fmt: skip
    joule = power()
    low, high = (math.hypot(1 - edge[0], 1 - edge[1]) for edge in
                 ((joule.low, rate.low), (joule.high, rate.high)))  # fmt: skip
    energy = watts / output_rate  # J of the meter for an output token
    words = f"{joule.text}; {rate.text}"
    grams = energy / 3.6 * intensity  # kg/kWh is g/kJ over 3.6
    return TokenCost(
        found=found,
        owned=own,
        rented=found.price,
        prefill=share,
        input=per_mtok(rent, share, input_rate),
        output=per_mtok(rent, 1 - share, output_rate),
        own_input=per_mtok(own.all, share, input_rate),
        own_output=per_mtok(own.all, 1 - share, output_rate),
        per_joule=Estimate(
            1 / energy, 1 / energy / (1 + high), 1 / energy / max(1e-3, 1 - low), "tokens/J", words
        ),
        carbon=Estimate(
            grams, grams * max(0.0, 1 - low), grams * (1 + high), "g/1,000 tokens", words
        ),
        tariff=price,
        intensity=intensity,
    )


def _prefill(found: Prediction) -> float:
    """Share of the GPU time that goes into input: prefill GPUs, or steps that hold prompts."""
    deployment = found.deployment
    if deployment.prefill is not None:
        return deployment.prefill.gpus / deployment.gpus
    return min(0.99, max(0.01, found.state.prefill_busy))


def record(cost: TokenCost) -> dict[str, Any]:
    """As plain data (schema racktwin/power-cost/1)."""
    found = cost.found
    return {
        "deployment": found.deployment.title,
        "cluster": found.deployment.cluster.name,
        "input_tokens": found.traffic.input,
        "output_tokens": found.traffic.output,
        "load": found.wanted,
        "watts_per_gpu": found.watts,
        "pue": float(found.deployment.cluster.site.pue),
        "tariff_per_kwh": cost.tariff,
        "carbon_kg_per_kwh": cost.intensity,
        "prefill_share": cost.prefill,
        "rented_per_gpu_hour": cost.rented,
        "owned_per_gpu_hour": msgspec.structs.asdict(cost.owned.all),
        "owned_parts": {
            name: msgspec.structs.asdict(getattr(cost.owned, name))
            for name in ("racks", "building", "upkeep", "electricity")
        },
        "rack_capital": msgspec.structs.asdict(cost.owned.rack),
        **{
            f"{name}_per_mtok": msgspec.structs.asdict(getattr(cost, name))
            for name in ("input", "output", "own_input", "own_output")
        },
        "output_tokens_per_joule": msgspec.structs.asdict(cost.per_joule),
        "carbon_g_per_1k_output_tokens": msgspec.structs.asdict(cost.carbon),
    }
