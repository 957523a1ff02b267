"""The page of workloads, with how well each repeats its sample."""

from __future__ import annotations

from racktwin.serving.workload import Workload, names, workload
from workload_fit.goodness import hit

HEAD = """# Workloads

Traffic by name: `--workload NAME`, or from Python `workload(NAME).generate(...)`. A workload is a
YAML file of laws, fitted to a public trace by `tools/fit_workloads.py`; the traces themselves are
not part of racktwin. Yours may be a file too: `extends: azure-conv-2023` and what differs. The
formats of recorded traces are on [their own page](traces.md).

## How much, how fast

| option | meaning |
|---|---|
| `--requests N` | the first N requests; without it and `--duration`, as many as the sample had |
| `--duration T` | the requests that arrive before T |
| `--rate R` | mean requests/s instead of the workload's own; its pattern over time stays |
| `--scale X` | X times the rate; on a trace, arrivals X times as fast. Lengths and pauses stay |
| `--seed S` | another draw of the same statistics; equal seeds give equal bytes |

A run of more requests begins with the requests of a shorter one, and another rate keeps their
lengths. Sessions start at the rate divided by their mean number of turns, so a run with sessions
reaches its rate after a few pauses. `rate` counts requests, not sessions. A closed loop
(`law: closed`) and MLPerf Offline (`law: offline`) come at time 0 and end with `--requests`; a
closed loop may stop at `--duration` instead. `--concurrency` makes any of them closed, with so many
in flight; where there are sessions, so many sessions are under way, their pauses included.

## Which there are

Each MLPerf workload has a twin behind `-offline` whose requests all come at 0. `racktwin show NAME`
shows one of them, or a file of your own, with what is drawn from it and how well it repeats its
sample.

"""
FIT = """
## Goodness of fit

Five generated traces as long as the sample against it. KS is the largest distance between the
two distributions; mean, p50, p90 and p99 are relative errors in percent. CV of the gaps between
arrivals and hits of an endless prefix cache: generated / sample. A dash: the sample does not tell.
MLPerf rows compare the law of the answers with the published figures.

"""
NOTES = """
The prefix hits of a short trace are held down by its start, when no session is known yet: the
Mooncake conversation hits 31 % over its 14 minutes, its workload {steady:.0%} over hours.
Inputs of the synthetic mix have two humps with its p50 between them, where a small shift moves it
far. A sample of n requests leaves about 1.4/sqrt(n) of KS to chance: 0.34 for 16 requests.

## What a file says

| key | meaning |
|---|---|
| `title`, `kind`, `source`, `date`, `note` | what it is and where its figures are from |
| `requests` | size of the sample |
| `arrivals` | `law` (poisson, gamma, constant, offline, closed), `rate`, `cv`, `concurrency`, \
`profile` with `step` (24 factors and `1 h` make a day) |
| `classes` | kinds of sessions: `share`, `input`, `output`, and perhaps `turns`, `images` |
| `turns` | `count`, `added` input per later turn, `output`, `pause` (s), `pause_from`, `kept` |
| `images` | `count` per request and encoder `tokens` of one; part of the input, and encoded |
| `prompt`, `block_size` | tokens all inputs begin with; tokens per prefix block |
| `context` | longest input and output together |

Lengths: `{mean: 1000}`; `{law: uniform, most: 1000, ratio: 80 %}` (whole numbers from 800 to 1,000,
InferenceX's random range; vLLM's newer range of 20 % around 1,000 is `most: 1200, ratio: 66.7 %`);
`{law: lognormal, mean: 1000, cv: 0.8, most: 4000}`;
`{law: empirical, values: [...]}`, with `levels` or at even steps from the least to the most.

## Classes side by side

Classes with a `name` are SLO classes: each arrives by itself, with a priority and limits of its
own, and results are told for each
([guide](../guides/simulate.md#classes-with-limits-of-their-own)).

    classes:
    - name: chat
      workload: azure-conv-2023
      rate: 10/s
      slo: {ttft: 1 s, tpot: 50 ms}
    - {name: batch, input: {mean: 6000}, output: {mean: 500}, rate: 2/s, priority: 1}

| key of a class | meaning |
|---|---|
| `name` | 1 to 40 letters; up to 16 classes |
| `workload` | a workload by name or file with its own arrivals, or lengths as above |
| `rate`, or `share` | requests/s; or a share of `arrivals: {rate: ...}` of the file; `--rate` and \
`--scale` change all alike |
| `priority` | 0 by default; smaller is served first |
| `slo` | `ttft`, `tpot`, `e2e` of a good request of the class |
"""
OFFLINE = "-offline"
LONG = 50_000  # requests of a trace whose start no longer counts
POINTS = ("ks", "mean", "p50", "p90", "p99")


def page() -> str:
    """The whole page."""
    known = [workload(name) for name in names()]
    fitted = [each for each in known if each.fit and not each.name.endswith(OFFLINE)]
    steady = hit(workload("mooncake-conversation").trace(LONG))
    notes = NOTES.replace("{steady:.0%}", f"{steady:.0%}")
    return HEAD + _list(known) + FIT + _table(fitted) + notes


def _list(known: list[Workload]) -> str:
    lines = ["| name | what | made of | source |", "|---|---|---|---|"]
    for each in known:
        source = f"{each.kind}: {each.source.partition(';')[0]}, {each.date}"
        if not each.name.endswith(OFFLINE):
            lines.append(f"| `{each.name}` | {each.title} | {each.note} | {source} |")
    return "\n".join(lines) + "\n"


def _table(known: list[Workload]) -> str:
    lines = [
        "| workload | requests | input KS, mean, p50, p90, p99 | output KS, mean, p50, p90, p99 "
        "| gap CV | prefix hits |",
        "|---|---|---|---|---|---|",
    ]
    for each in known:
        fit = each.fit
        cells = [f"{each.requests:,}", _errors(fit, "input"), _errors(fit, "output")]
        cells += [_pair(fit, "gap_cv", ".2f"), _pair(fit, "prefix_hit", ".0%")]
        lines.append(f"| `{each.name}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _errors(fit: dict[str, float], name: str) -> str:
    told = []
    for point in POINTS:
        value = fit.get(f"{name}_{point}")
        shown = "-" if value is None else f"{value:.3f}" if point == "ks" else f"{value:+.1%}"
        told.append(shown)
    return ", ".join(told) if any(each != "-" for each in told) else "-"


def _pair(fit: dict[str, float], name: str, form: str) -> str:
    if name not in fit:
        return "-"
    return f"{fit[name]:{form}} / {fit[f'{name}_sample']:{form}}"
