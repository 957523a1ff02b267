"""`racktwin simulate`: requests over time through a deployment."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from racktwin.planning.loads import Loads
from racktwin.planning.neighbours import Neighbours, together
from racktwin.planning.replay import Replay, ready
from racktwin.planning.stream_wish import Wish

SCHEMA = "racktwin/simulate/1"
QUIET = Parameter(show_default=False)
OVERLOADED, INTERRUPTED = 1, 130


def simulate(
    deployment: list[str],
    *,
    loads: Annotated[Loads | None, Parameter(name="*")] = None,
    engine: Annotated[str | None, QUIET] = None,
    wish: Annotated[Wish | None, Parameter(name="*")] = None,
    requests_out: Annotated[str, QUIET] = "",
    json: Annotated[bool, QUIET] = False,
    out: Annotated[str, QUIET] = "",
) -> int:
    """Put requests through deployments step by step: latencies, throughput, power.

    racktwin simulate deployment.yaml --input 1000 --output 200 --rate 2000/s
    racktwin simulate deployment.yaml --workload azure-conv-2023 --scale 10 --slo-ttft 2s
    racktwin simulate deployment.yaml --trace requests.jsonl --out run
    racktwin simulate a.yaml b.yaml --workload sharegpt --workload requests.jsonl

    The load is the total over all copies. Several deployments share their cluster: a flag of load
    or limits is given once for all of them, or once for each. Exit code: 0 it is carried, 1 the
    queue grows without end or no replica is left for some requests, 2 bad input, 130 interrupted:
    what was done by then is reported.

    Parameters
    ----------
    deployment
        A deployment.yaml, as `racktwin plan --out` writes one; or several of one cluster.
    loads
        The load of each, and its limits.
    engine
        trtllm, sglang, vllm, a release of them or your own, instead of the file's.
    wish
        Everything below.
    requests_out
        Parquet file to write with a row per request.
    json
        Print JSON (schema racktwin/simulate/1) instead of a screen.
    out
        Folder to write: report.html, simulate.json and, with a window, steps.json.
    """
    from racktwin.cli.progress import Progress
    from racktwin.cli.simulate_folder import check_targets
    from racktwin.export.request_file import RequestFile

    wish = wish or Wish()
    check_targets(out, requests_out, wish.trace_window)
    wishes = (loads or Loads()).each(wish, len(deployment))
    with Progress(wish.requests) as progress, RequestFile(requests_out) as file:
        rows = file.add if requests_out else None
        found: Replay | Neighbours
        if len(deployment) > 1:
            found = together(deployment, wishes, engine=engine, rows=rows, watch=progress.tell)
        else:
            one = ready(deployment[0], wishes[0], engine)
            found = one.run(rows=rows, watch=progress.tell)
    _show(found, out, requests_out, json)
    replays = found.replays if isinstance(found, Neighbours) else (found,)
    outcomes = [each.outcome for each in replays]
    if any(each.stopped for each in outcomes):
        return INTERRUPTED
    return OVERLOADED if any(each.overloaded or each.unserved for each in outcomes) else 0


def _show(found: Replay | Neighbours, out: str, requests_out: str, json: bool) -> None:
    """Write the files asked for, then print the answer."""
    from racktwin.cli import neighbours_screen, simulate_screen
    from racktwin.cli.console import print_json, print_screen
    from racktwin.cli.simulate_folder import write_neighbours, write_run
    from racktwin.planning import neighbours_record, replay_record

    if isinstance(found, Neighbours):
        answer = {"schema": SCHEMA, **neighbours_record.record(found)}
        written = write_neighbours(out, found, answer) if out else ()
    else:
        answer = {"schema": SCHEMA, **replay_record.record(found)}
        written = write_run(out, found, answer) if out else ()
    if json:
        print_json(answer)
        return
    written = (*written, *filter(None, [requests_out]))
    if isinstance(found, Neighbours):
        print_screen(neighbours_screen.screen(found, written))
    else:
        print_screen(simulate_screen.screen(found, written))
