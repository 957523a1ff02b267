"""Shell scripts that start a server: flags in, text out, nothing unquoted."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence

from racktwin.export.span import Span

PORT = 8000  # of the first replica on a host; the next ones count up
ROUTER_PORT = 8080


class Shell(str):
    """A value the shell still has to expand ('$port'); everything else is taken literally."""

    __slots__ = ()


Flag = str | int | float | bool | None


def comment(text: str) -> str:
    """`text` as one comment line, whatever it holds."""
    return "# " + "".join(each if each.isprintable() else " " for each in text)


def arguments(flags: Mapping[str, Flag]) -> list[str]:
    """One line per flag; True is a flag without a value, False and None leave it out."""
    lines = []
    for name, value in flags.items():
        if value is True:
            lines.append(name)
        elif value is not None and value is not False:
            quoted = f'"{value}"' if isinstance(value, Shell) else shlex.quote(str(value))
            lines.append(f"{name} {quoted}")
    return lines


def script(
    head: Iterable[str],
    setup: Sequence[str],
    command: str,
    flags: Mapping[str, Flag],
    tail: Sequence[str] = (),
) -> str:
    """A bash script: comments, `setup` lines, the flags as `args`, `tail` lines, the command."""
    lines = ["#!/usr/bin/env bash", *map(comment, head), "set -euo pipefail", *setup]
    lines += ["args=(", *(f"  {each}" for each in arguments(flags)), ")", *tail]
    return "\n".join([*lines, f'exec {command} "${{args[@]}}"', ""])


def place(checkpoint: str, span: Span) -> list[str]:
    """The lines every server script begins with: checkpoint, port, and where it runs.

    They set `model` and `port` and demand what the starter has to say: `SLOT` where replicas share
    a host, `NODE_RANK` and `HEAD_ADDR` where a replica spans hosts.
    """
    lines = [f"checkpoint={shlex.quote(checkpoint)}", 'model="${MODEL:-$checkpoint}"']
    if not checkpoint:
        lines = ['model="${MODEL:?path or name of a checkpoint with the planned weights}"']
    if span.hosts > 1:
        top = span.hosts - 1
        lines.append(f': "${{NODE_RANK:?which host of its replica this is, 0 to {top}}}"')
        lines.append(': "${HEAD_ADDR:?address of the first host of this replica}"')
    if span.share == 1:
        return [*lines, f'port="${{PORT:-{PORT}}}"']
    first, last = f"SLOT * {span.gpus}", f"SLOT * {span.gpus} + {span.gpus - 1}"
    return [
        *lines,
        f': "${{SLOT:?which replica of this host this is, 0 to {span.share - 1}}}"',
        f'export CUDA_VISIBLE_DEVICES="$(seq -s , $(({first})) $(({last})))"',
        f'port="$((${{PORT:-{PORT}}} + SLOT))"',
    ]
