"""`racktwin simulate`: requests over time through a deployment."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from racktwin.planning.stream_wish import Wish

SCHEMA = "racktwin/simulate/1"
QUIET = Parameter(show_default=False)
OVERLOADED, INTERRUPTED = 1, 130


def simulate(
    deployment: str,
    *,
    engine: Annotated[str | None, QUIET] = None,
    wish: Annotated[Wish | None, Parameter(name="*")] = None,
    requests_out: Annotated[str, QUIET] = "",
    json: Annotated[bool, QUIET] = False,
    out: Annotated[str, QUIET] = "",
) -> int:
    """Put requests through a deployment step by step: latencies, throughput, power.

    racktwin simulate deployment.yaml --input 1000 --output 200 --rate 2000/s
    racktwin simulate deployment.yaml --workload azure-conv-2023 --scale 10 --slo-ttft 2s
    racktwin simulate deployment.yaml --trace requests.jsonl --out run

    The load is the total over all copies. Exit code: 0 it is carried, 1 the queue grows without
    end, 2 bad input, 130 interrupted: what was done by then is reported.

    Parameters
    ----------
    deployment
        A deployment.yaml, as `racktwin plan --out` writes one.
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
    from racktwin.cli.console import print_json, print_screen
    from racktwin.cli.progress import Progress
    from racktwin.cli.simulate_folder import check_targets, write_run
    from racktwin.cli.simulate_screen import screen
    from racktwin.export.request_file import RequestFile
    from racktwin.planning.replay import replayed
    from racktwin.planning.replay_record import record

    wish = wish or Wish()
    check_targets(out, requests_out, wish.trace_window)
    with Progress(wish.requests) as progress, RequestFile(requests_out) as file:
        rows = file.add if requests_out else None
        found = replayed(deployment, wish, engine=engine, rows=rows, watch=progress.tell)
    answer = {"schema": SCHEMA, **record(found)}
    written = write_run(out, found, answer) if out else ()
    if json:
        print_json(answer)
    else:
        print_screen(screen(found, (*written, *filter(None, [requests_out]))))
    if found.outcome.stopped:
        return INTERRUPTED
    return OVERLOADED if found.outcome.overloaded else 0
