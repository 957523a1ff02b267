"""The command line: one module per verb; it parses, calls and prints."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from racktwin import __version__
from racktwin.finding import BadInput, Finding, unknown

__all__ = ["main"]

VERBS = {
    "plan": "which layout serves a model best on a cluster, what it yields and costs",
    "predict": "what one deployment file yields at a load",
    "fit": "does a model load: weights, room for KV, largest context",
    "show": "clusters, racks, chips, models, engines, and the source of every figure",
}
BAD_INPUT = 2
INTERRUPTED = 130


def main(words: Sequence[str] | None = None) -> int:
    """Run one command line (sys.argv by default) and return its exit code."""
    words = list(sys.argv[1:] if words is None else words)
    code = 0
    try:
        if not words or words[0] in ("-h", "--help", "help"):
            print(overview())
        elif words == ["--version"]:
            print(__version__)
        else:
            code = _run(words[0], words)
        sys.stdout.flush()
    except BadInput as fault:
        print(fault, file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of a pipe (head, less) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def overview() -> str:
    """The help of the command as a whole; printed without loading anything."""
    verbs = "\n".join(f"  {verb:9}{about}" for verb, about in VERBS.items())
    return (
        f"racktwin {__version__}: a digital twin of rack-scale AI supercomputers\n\n"
        f"  racktwin VERB ...\n\n{verbs}\n\n"
        "  racktwin VERB --help    options and examples of a verb"
    )


def _run(verb: str, words: list[str]) -> int:
    """Run a verb; its exit code, 0 unless it returns another."""
    if verb not in VERBS:
        raise BadInput([unknown("verb", verb, VERBS)], "racktwin")
    from cyclopts import App, CycloptsError, Parameter

    app = App(
        "racktwin",
        default_parameter=Parameter(negative=()),
        help_format="plaintext",
        suppress_keyboard_interrupt=False,
    )
    app.command(f"racktwin.cli.{verb}:{verb}", name=verb)
    try:
        code = app(words, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as fault:
        flag = fault.argument.name if fault.argument else "arguments"
        raise BadInput([Finding(flag, str(fault))], f"racktwin {verb}") from fault
    return code if isinstance(code, int) else 0
