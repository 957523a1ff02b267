"""`racktwin power cost`: what tokens cost, rented and owned, in money, joules and carbon."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

SCHEMA = "racktwin/power-cost/1"
QUIET = Parameter(show_default=False)


def power_cost(
    deployment: str,
    *,
    input: int,
    output: int,
    concurrency: Annotated[float | None, QUIET] = None,
    rate: Annotated[str | None, QUIET] = None,
    price: Annotated[str | None, QUIET] = None,
    tariff: Annotated[str | None, QUIET] = None,
    carbon: Annotated[str | None, QUIET] = None,
    json: Annotated[bool, QUIET] = False,
) -> None:
    """Dollars per million tokens rented and owned, tokens per joule, grams of CO2, with intervals.

    racktwin power cost deployment.yaml --input 8192 --output 1024 --concurrency 64000
    racktwin power cost deployment.yaml --input 1000 --output 200 --rate 40/s --tariff '$0.04/kWh'

    Parameters
    ----------
    deployment
        A deployment.yaml, as `racktwin plan --out` writes one.
    input
        Mean input tokens of a request.
    output
        Mean output tokens of a request.
    concurrency
        Requests in flight over all copies.
    rate
        Poisson arrivals instead: 40/s.
    price
        Rent, $3.50/GPU/h; the catalog's default otherwise.
    tariff
        Electricity: $0.05/kWh; the site's otherwise.
    carbon
        Of electricity: 300 g/kWh; the site's otherwise.
    json
        Print JSON (schema racktwin/power-cost/1) instead of a screen.
    """
    from racktwin.cli.console import print_json, print_screen
    from racktwin.cli.power_cost_screen import screen
    from racktwin.planning.prediction import Load
    from racktwin.planning.token_cost import record, token_cost

    load = Load(input=input, output=output, concurrency=concurrency, rate=rate, price=price)
    found = token_cost(deployment, load, tariff, carbon)
    if json:
        print_json({"schema": SCHEMA, **record(found)})
    else:
        print_screen(screen(found))
