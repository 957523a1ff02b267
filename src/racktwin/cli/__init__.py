"""The command line: one module per verb; it parses, calls and prints."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Mapping, Sequence

from racktwin import __version__
from racktwin.finding import BadInput, Finding, unknown

__all__ = ["main"]

VERBS = {
    "plan": "which layout serves a model best on a cluster, what it yields and costs",
    "predict": "what one deployment file yields at a load",
    "validate": "how far predictions lie from published measurements, or from yours",
    "calibrate": "an engine epoch of your own from a dozen measurements",
    "simulate": "what users feel when a trace or a synthetic load meets a deployment",
    "capacity": "the load a deployment sustains within its objectives, or what a load takes",
    "collective": "what nccl-tests should print on a fabric, why, and what a run of it lacks",
    "fabric": "switches, cables, bandwidth and faults of a fabric; traffic of several jobs on it",
    "power": "watts from the chips to the meter, limits, swings; cooling, PUE, carbon and cost",
    "fit": "does a model load: weights, room for KV, largest context",
    "quantize": "a checkpoint in NVFP4, what that costs it, and what a checkpoint holds",
    "show": "clusters, racks, chips, models, engines, and the source of every figure",
}
SECOND = {
    "fabric": {
        "show": "what a fabric consists of, what it offers, what faults leave of it",
        "simulate": "jobs that share a fabric: when each ends, and what the others cost it",
    },
    "power": {
        "budget": "what a cluster draws part by part, and which limit of its chain binds first",
        "swings": "power over a job at 1 ms, storage and smoothing, against a utility's limits",
        "cost": "what tokens cost, rented and owned: dollars, joules, carbon, with intervals",
        "lose": "seconds until GPUs throttle after a loss of pumps, CDUs, coolers or chillers",
        "simulate": "a deployment that serves a day: load, power, temperature, throttling, latency",
        "year": "PUE, water, energy, carbon and cost of a year of weather, hour by hour",
    },
}
BAD_INPUT = 2
INTERRUPTED = 130


def main(words: Sequence[str] | None = None) -> int:
    """Run one command line (sys.argv by default) and return its exit code."""
    words = list(sys.argv[1:] if words is None else words)
    code = 0
    _open_streams()
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
        _drop_output()
    except OSError as fault:  # a full disk behind standard output
        _drop_output()
        where = str(fault.filename or "output")
        found = Finding(where, f"cannot be used: {fault.strerror or fault}")
        print(BadInput([found], "racktwin"), file=sys.stderr)
        return BAD_INPUT
    return code


def _open_streams() -> None:
    """Give closed streams a place, and letters that the output cannot encode a stand-in."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def _drop_output() -> None:
    """Send what is left in standard output nowhere, so that closing it does not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def overview() -> str:
    """The help of the command as a whole; printed without loading anything."""
    head = f"racktwin {__version__}: a digital twin of rack-scale AI supercomputers"
    return _listed(head, "racktwin", VERBS)


def _listed(head: str, command: str, verbs: Mapping[str, str]) -> str:
    width = max(map(len, verbs)) + 1
    lines = "\n".join(f"  {verb:{width}}{about}" for verb, about in verbs.items())
    more = f"  {command} VERB --help    options and examples of a verb"
    return f"{head}\n\n  {command} VERB ...\n\n{lines}\n\n{more}"


def _run(verb: str, words: list[str]) -> int:
    """Run a verb; its exit code, 0 unless it returns another."""
    if verb not in VERBS:
        raise BadInput([unknown("verb", verb, VERBS)], "racktwin")
    if verb in SECOND:
        second = words[1] if len(words) > 1 else "--help"
        if second in ("-h", "--help", "help"):
            print(_listed(VERBS[verb], f"racktwin {verb}", SECOND[verb]))
            return 0
        if second not in SECOND[verb]:
            raise BadInput([unknown("verb", second, SECOND[verb])], f"racktwin {verb}")
        verb = f"{verb} {second}"
    from racktwin.cli.words import bind

    code = bind(verb, words)()
    return code if isinstance(code, int) else 0
