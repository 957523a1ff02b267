"""The screen of `racktwin plan`: the ranking, the front, why the first stops where it does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from textwrap import wrap

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from racktwin.cli.console import WIDTH, table
from racktwin.cli.plot import scatter
from racktwin.cli.trial_table import trials
from racktwin.estimate import Estimate
from racktwin.planning.ask import Ask
from racktwin.planning.choice import Choice
from racktwin.planning.objective import OBJECTIVES
from racktwin.planning.places import places, sentences
from racktwin.planning.plan import EQUAL, Plan
from racktwin.units import Seconds, Watts

LEFT = 51  # columns of the plot beside the reasons
NOTABLE = 0.01  # shares below this are not mentioned
COLUMNS = ("GPUs", "out tok/s/GPU", "(total)", "TPOT ms", "TTFT s", "rack kW", "$/Mtok out")


def screen(plan: Plan) -> Iterator[RenderableType]:
    """The parts of the screen, top to bottom."""
    yield from _head(plan)
    yield ""
    if not plan.choices:
        yield Text("nothing meets the limits; this comes closest:", style="bold yellow")
    yield _ranking(plan.shown)
    yield from _idle(plan)
    if plan.trials:
        yield ""
        yield from trials(plan)
    yield ""
    yield from _beside(_front(plan), _why(plan))
    yield ""
    yield from _footing(plan)


def _head(plan: Plan) -> Iterator[RenderableType]:
    ask = plan.ask
    cluster = ask.cluster
    chip = cluster.chip.name.upper()
    size = f"{cluster.racks:,} rack{'s' * (cluster.racks > 1)}, {cluster.gpus:,} {chip}"
    if ask.gpus < cluster.gpus:
        size = f"{ask.gpus:,} of {cluster.gpus:,} {chip}"
    cache = f" and {ask.precision.kv.upper()} KV"
    yield Text.assemble(
        (ask.model.title, "bold"),
        f" in {ask.precision.name.upper()}{cache}  on  ",
        (cluster.name, "bold"),
        f" ({size}), {ask.epoch.name}",
    )
    yield f"{_traffic(ask)}    {_limits(ask)}    best {OBJECTIVES[ask.objective][1]}"
    yield (
        f"{plan.candidates:,} deployments of {plan.layouts} layouts priced in {plan.seconds:.1f} s"
        f", {plan.meeting:,} within the limits"
    )


def _traffic(ask: Ask) -> str:
    traffic = ask.traffic
    text = f"{traffic.input:,.0f} in / {traffic.output:,.0f} out"
    if ask.demand:
        text = f"{ask.demand.name}: {text} on average"
    if traffic.prefix_hit:
        text += f", {traffic.prefix_hit:.0%} of the input cached"
    if ask.speculation.tokens:
        each = ask.speculation.chances
        shown = each[:1] if len(set(each)) == 1 else each
        text += f", MTP {len(each)} at {', '.join(f'{a:.0%}' for a in shown)}"
    return text


def _limits(ask: Ask) -> str:
    limits = {"TTFT": ask.ttft, "TPOT": ask.tpot}
    said = [f"{name} <= {Seconds(limit)}" for name, limit in limits.items() if limit is not None]
    return ", ".join(said) or "no latency limits"


def _ranking(choices: Sequence[Choice]) -> Table:
    made = table("#", "deployment (one copy)", *COLUMNS, right=("#", *COLUMNS))
    for rank, each in enumerate(choices, 1):
        made.add_row(
            str(rank),
            "\n + ".join(each.deployment.titles),
            f"{each.deployment.gpus:,}",
            _sure(each.output_rate, ",.0f"),
            f"{each.total_rate.value:,.0f}",
            _sure(each.tpot, ".1f", 1e3),
            _sure(each.ttft, ".2f"),
            f"{each.rack_power / 1e3:.0f}",
            f"{each.cost.value:.2f}",
            style="bold green" if rank == 1 else "",
        )
    return made


def _sure(estimate: Estimate, form: str, scale: float = 1.0) -> str:
    """The value, and its interval on a line of its own: it seldom reaches as far to both sides."""
    value, low, high = (each * scale for each in (estimate.value, estimate.low, estimate.high))
    return f"{value:{form}}\n{low:{form}}-{high:{form}}"


def _idle(plan: Plan) -> Iterator[str]:
    """Why rows may not stand in the order of the figures shown."""
    gpus, found = plan.ask.gpus, []
    for rank, each in enumerate(plan.choices, 1):
        left = gpus - each.deployment.gpus * each.deployment.copies
        if left > EQUAL * gpus:
            found.append(f"#{rank} {left:,}")
    if found and plan.ask.objective != "latency":
        yield f"ranked with idle GPUs counted as spent; left idle of {gpus:,}: {', '.join(found)}"


def _front(plan: Plan) -> list[str]:
    users = [each.per_user for each in plan.front]
    rates = [each.per_gpu for each in plan.front]
    marked = plan.best.per_user.value, plan.best.output_rate.value
    return ["output tok/s/GPU against tok/s/user (O: #1)", *scatter(users, rates, marked)]


def _why(plan: Plan) -> list[str]:
    best = plan.best
    step = sum(best.parts.values())
    shares = sorted(best.parts.items(), key=lambda part: -part[1])[:4]
    lines = [
        f"why #1 stops at batch {_batch(best):,} per rank" if plan.choices else "what it misses",
        *wrap(best.limit, WIDTH - LEFT, initial_indent="  ", subsequent_indent="  "),
        f"  decode step {step * 1e3:.1f} ms{_stalls(best, step)}:",
        *(f"    {seconds / step:4.0%}  {name}" for name, seconds in shares),
    ]
    watts = best.watts.value * best.deployment.gpus * best.deployment.copies
    many = best.deployment.copies
    copies = f"{many:,} {'copy' if many == 1 else 'copies'}"
    if best.busy_copies < many:
        copies += f" ({best.busy_copies:,} busy)"
    rate = best.cluster_rate
    shown = f"{rate / 1e6:,.2f} M" if rate >= 1e6 else f"{rate:,.0f}"
    all_of_it = f"{shown} out tok/s, {Watts(watts).text(3)}"
    load = f"  requests in flight: {best.concurrency * best.busy_copies:,.0f}"
    return [*lines, f"all {plan.ask.gpus:,} GPUs: {copies},", f"  {all_of_it}", load]


def _stalls(best: Choice, step: float) -> str:
    """What prefill in between adds to a decode step; nothing where it has GPUs of its own."""
    pool = best.deployment.serve
    stalls = best.tpot.value * pool.speculation.tokens_per_step - step if pool else 0.0
    return f" + {stalls * 1e3:.1f} ms of prefill" if stalls > NOTABLE * step else ""


def _batch(choice: Choice) -> int:
    pool = choice.deployment.serve or choice.deployment.decode
    assert pool is not None
    return pool.max_batch


def _beside(left: list[str], right: list[str]) -> Iterator[str]:
    for one, other in zip_longest(left, right, fillvalue=""):
        yield f"{one:<{LEFT}}{other}".rstrip()


def _footing(plan: Plan) -> Iterator[RenderableType]:
    best, ask = plan.best, plan.ask
    known = {each for part in best.evidence.values() for each in part}
    measured = sum(each.kind == "measured" for each in known)
    yield f"evidence: TPOT {best.tpot.evidence}"
    yield f"          TTFT {best.ttft.evidence}"
    rest = [f"{measured} of {len(known)} operator prices measured"]
    for kind in ("formula", "assumed"):
        parts = [name for name, each in best.evidence.items() if kind in {e.kind for e in each}]
        rest += [f"by {kind}: {', '.join(parts)} (plan.json says which)"] if parts else []
    yield f"kernels:  {'; '.join(rest)}"
    seated = places(best.deployment, best.memory, ask.traffic.input)
    yield f"places:   {'; '.join(sentences(seated, best.deployment))}"
    yield f"price:    ${ask.price:.2f}/GPU/h ({ask.price_note})"


def comparison(plans: Sequence[Plan]) -> Iterator[RenderableType]:
    """The best deployments of several clusters, a column each."""
    names = [each.ask.cluster.name for each in plans]
    made = table("", *names, title="side by side", right=tuple(names))
    best = [each.best for each in plans]
    rows = {
        "deployment": [each.deployment.title for each in best],
        "precision": [each.ask.precision.name.upper() for each in plans],
        "$/GPU/h": [f"{each.ask.price:.2f}" for each in plans],
        "within the limits": ["yes" if each.choices else "no" for each in plans],
        "GPUs of a copy": [f"{each.deployment.gpus:,}" for each in best],
        "output tok/s/GPU": [_sure(each.output_rate, ",.0f") for each in best],
        "total tok/s/GPU": [_sure(each.total_rate, ",.0f") for each in best],
        "TPOT ms": [_sure(each.tpot, ".1f", 1e3) for each in best],
        "TTFT s": [_sure(each.ttft, ".2f") for each in best],
        "W of IT per GPU": [_sure(each.watts, ",.0f") for each in best],
        "$/Mtok output": [_sure(each.cost, ".2f") for each in best],
        "output tok/s, all copies": [f"{each.cluster_rate:,.0f}" for each in best],
    }
    for name, cells in rows.items():
        made.add_row(name, *cells)
    yield ""
    yield made
