"""`racktwin simulate`: requests over time through a deployment."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

SCHEMA = "racktwin/simulate/1"
QUIET = Parameter(show_default=False)
OVERLOADED, INTERRUPTED = 1, 130


def simulate(
    deployment: str,
    *,
    trace: Annotated[str | None, QUIET] = None,
    workload: Annotated[str | None, QUIET] = None,
    input: Annotated[int | None, QUIET] = None,
    output: Annotated[int | None, QUIET] = None,
    rate: Annotated[str | None, QUIET] = None,
    concurrency: Annotated[int | None, QUIET] = None,
    requests: Annotated[int | None, QUIET] = None,
    duration: Annotated[str | None, QUIET] = None,
    scale: Annotated[float, QUIET] = 1.0,
    seed: int = 0,
    router: Annotated[str | None, QUIET] = None,
    slo_ttft: Annotated[str | None, QUIET] = None,
    slo_tpot: Annotated[str | None, QUIET] = None,
    slo_e2e: Annotated[str | None, QUIET] = None,
    definitions: str = "vllm",
    resolution: Annotated[str | None, QUIET] = None,
    requests_out: Annotated[str | None, QUIET] = None,
    trace_window: Annotated[str | None, QUIET] = None,
    json: Annotated[bool, QUIET] = False,
    out: Annotated[str | None, QUIET] = None,
) -> int:
    """Put requests through a deployment step by step: latencies, throughput, power.

    racktwin simulate deployment.yaml --input 1000 --output 200 --rate 2000/s
    racktwin simulate deployment.yaml --workload azure-conv-2023 --scale 10 --slo-ttft 2s
    racktwin simulate deployment.yaml --trace requests.jsonl --out run

    The load is the total over all copies. Exit code: 0 it is carried, 1 the queue grows without
    end, 2 bad input, 130 interrupted (what was done by then is reported).

    Parameters
    ----------
    deployment
        A deployment.yaml, as `racktwin plan --out` writes one.
    trace
        A file of requests; the format is recognised.
    workload
        Traffic by name or from a YAML file; docs/reference/workloads.md lists them.
    input
        Input tokens of every request.
    output
        Output tokens of every request.
    rate
        Poisson arrivals: 2000/s; of a workload, its mean rate.
    concurrency
        Requests in flight instead, each followed by the next at once.
    requests
        The first so many requests.
    duration
        The requests of the first so many seconds: 10min.
    scale
        Arrivals so many times as fast.
    seed
        Another draw of the same statistics.
    router
        round_robin, least_outstanding, least_kv, power_of_two, input_balanced.
    slo_ttft
        A good request has its first token within: 2s.
    slo_tpot
        And takes at most so long per token: 50ms.
    slo_e2e
        And ends within: 30s.
    definitions
        Whose metrics: vllm, aiperf, mlperf.
    resolution
        Time between readings of the time lines: 10s.
    requests_out
        A Parquet file with one row per request.
    trace_window
        Steps drawn for Perfetto in OUT/steps.json: 10s:12s.
    json
        Print JSON (schema racktwin/simulate/1) instead of a screen.
    out
        A folder for report.html, simulate.json and steps.json.
    """
    from racktwin.cli.console import print_json, print_screen
    from racktwin.cli.progress import Progress
    from racktwin.cli.simulate_folder import check_targets, write_run
    from racktwin.cli.simulate_screen import screen
    from racktwin.export.request_file import RequestFile
    from racktwin.planning.replay import Wish, replayed
    from racktwin.planning.replay_record import record

    asked = {name: value for name, value in locals().items() if name in Wish.__struct_fields__}
    wish = Wish(**asked)
    check_targets(out, requests_out, trace_window)
    with Progress(requests) as progress, RequestFile(requests_out) as file:
        found = replayed(
            deployment, wish, rows=file.add if requests_out else None, watch=progress.tell
        )
    answer = {"schema": SCHEMA, **record(found)}
    written = write_run(out, found, answer) if out else ()
    written += (requests_out,) if requests_out else ()
    if json:
        print_json(answer)
    else:
        print_screen(screen(found, written))
    if found.outcome.stopped:
        return INTERRUPTED
    return OVERLOADED if found.outcome.overloaded else 0
