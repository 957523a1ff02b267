"""`racktwin predict`: what one deployment yields under a steady load."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

SCHEMA = "racktwin/predict/1"
QUIET = Parameter(show_default=False)
OVERLOADED = 1


def predict(
    deployment: str,
    *,
    input: int,
    output: int,
    concurrency: Annotated[float | None, QUIET] = None,
    rate: Annotated[str | None, QUIET] = None,
    prefix_hit: Annotated[str | None, QUIET] = None,
    engine: Annotated[str | None, QUIET] = None,
    price: Annotated[str | None, QUIET] = None,
    json: Annotated[bool, QUIET] = False,
) -> int:
    """Latency, throughput, power and cost of a deployment under a steady load.

    racktwin predict deployment.yaml --input 8192 --output 1024 --concurrency 4096
    racktwin predict deployment.yaml --input 8192 --output 1024 --rate 40/s

    The load is the total over all copies.

    Exit code: 0 it is carried, 1 it is more than can be carried, 2 bad input.

    Parameters
    ----------
    deployment
        A deployment.yaml, as `racktwin plan --out` writes one.
    input
        Mean input tokens of a request.
    output
        Mean output tokens of a request.
    concurrency
        Requests in flight, each followed by the next at once.
    rate
        Poisson arrivals instead: 40/s.
    prefix_hit
        Share of input tokens found in the cache: 40%.
    engine
        trtllm, sglang, vllm, a release of them or your own, instead of the file's.
    price
        $3.50/GPU/h; the catalog's default price of the chip otherwise.
    json
        Print JSON (schema racktwin/predict/1) instead of a screen.
    """
    from racktwin.cli.console import print_json, print_screen
    from racktwin.cli.predict_screen import screen
    from racktwin.planning.prediction import Load, predicted, record

    load = Load(
        input=input,
        output=output,
        concurrency=concurrency,
        rate=rate,
        prefix_hit=prefix_hit,
        price=price,
    )
    found = predicted(deployment, load, engine)
    if json:
        print_json({"schema": SCHEMA, **record(found)})
    else:
        print_screen(screen(found))
    return OVERLOADED if found.overloaded else 0
