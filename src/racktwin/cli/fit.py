"""`racktwin fit`: does a model load, and what is left for the cache."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from racktwin.engine.flags import Flags

SCHEMA = "racktwin/fit/1"
QUIET = Parameter(show_default=False)
DOES_NOT_FIT = 1


def fit(
    model: str,
    *,
    on: str,
    flags: Annotated[Flags | None, Parameter(name="*")] = None,
    explain: Annotated[bool, QUIET] = False,
    json: Annotated[bool, QUIET] = False,
) -> int:
    """Does a model load, how much room is left for KV, and what would make it fit.

    racktwin fit llama-3.1-70b --on azure-nd-h100-v5
    racktwin fit gpt-oss-120b --on h100 --engine vllm --kv-room 5.38GiB
    racktwin fit deepseek-r1 --on gb300 --engine trtllm --attention-data 8

    Exit code: 0 it fits, 1 it does not, 2 the question cannot be answered.

    Parameters
    ----------
    model
        A model of the catalog, a Hugging Face id, or a path to a config.json.
    on
        A cluster, a cluster file or a chip.
    flags
        Everything below.
    explain
        Weights by part, the cache layer by layer, every assumption.
    json
        Print JSON (schema racktwin/fit/1) instead of a screen.
    """
    from racktwin.cli.console import print_json, print_screen
    from racktwin.cli.ledger import ledger, screen
    from racktwin.engine.fit import answer
    from racktwin.engine.question import ask

    found = answer(ask(model, on, flags))
    if json:
        print_json({"schema": SCHEMA, **ledger(found)})
    else:
        print_screen(screen(found, explain))
    return 0 if found.fits else DOES_NOT_FIT
