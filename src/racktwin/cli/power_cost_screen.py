"""What tokens cost, on one screen."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from racktwin.cli.console import table
from racktwin.dashboard.money import dollars
from racktwin.estimate import Estimate
from racktwin.planning.token_cost import TokenCost

HEADS = ("middle", "low", "high")


def screen(cost: TokenCost) -> Iterator[RenderableType]:
    """Title, hours, tokens, joules."""
    found = cost.found
    yield Text.assemble((found.deployment.model.title, "bold"), f"   {found.deployment.title}")
    traffic = found.traffic
    yield f"{traffic.input:,.0f} in / {traffic.output:,.0f} out at {found.wanted}"
    yield ""
    made = table("", *HEADS, title="80 % interval", right=HEADS)
    own = cost.owned
    made.add_row("rack with fabric and building, M$", *_cells(own.rack, 1e-6))
    made.add_row("owned, $/GPU/h", *_cells(own.all))
    for name in ("racks", "building", "upkeep", "electricity"):
        made.add_row(f"  {name}", *_cells(getattr(own, name)))
    made.add_row("rented, $/GPU/h", f"{cost.rented:.3g}", "", "")
    for name, each in (
        ("$/Mtok input, rented", cost.input),
        ("$/Mtok output, rented", cost.output),
        ("$/Mtok input, owned", cost.own_input),
        ("$/Mtok output, owned", cost.own_output),
        ("output tokens per joule", cost.per_joule),
        ("g CO2 per 1,000 output tokens", cost.carbon),
    ):
        made.add_row(name, *_cells(each))
    yield made
    yield ""
    yield (
        f"{found.watts:,.0f} W of IT a GPU, PUE {found.deployment.cluster.site.pue:g}, "
        f"{dollars(cost.tariff, '.3g')}/kWh, {cost.intensity * 1e3:.0f} g/kWh"
    )
    yield "the PUE is the cluster file's; `power year` computes one from weather and plant"
    yield f"input takes {cost.prefill:.0%} of the GPU time; joules and carbon all count as output's"
    yield f"owned: {cost.owned.all.evidence}"


def _cells(each: Estimate, scale: float = 1.0) -> tuple[str, ...]:
    return tuple(f"{value * scale:.3g}" for value in (each.value, each.low, each.high))
