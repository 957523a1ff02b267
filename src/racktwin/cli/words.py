"""The words of a command line against the flags of a verb: every fault at once."""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, get_args

from cyclopts import (
    App,
    Argument,
    ArgumentCollection,
    CycloptsError,
    Parameter,
    RepeatArgumentError,
)

from racktwin.cli.reflow import reflow
from racktwin.finding import BadInput, Finding, unknown

WHOLE = re.compile(r"[+-]?[0-9]+")
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
BELOW_ZERO = re.compile(r"-\.?[0-9].*")
MOST_DIGITS = 18
LONGEST = 40  # characters of a wrong word that are repeated


def bind(verb: str, words: Sequence[str]) -> Callable[[], Any]:
    """The call of `racktwin VERB ...`, or BadInput with all findings.

    words: the whole line, the verb in front; of 'fabric show' both words of it.
    """
    garbled = [ascii(word)[:LONGEST] for word in words if _garbled(word)]
    if garbled:
        text = "is not text in the encoding of this shell"
        raise BadInput([Finding(word, text) for word in garbled], f"racktwin {verb}")
    found: list[Finding] = []
    flags: list[str] = []

    def check(app: App, commands: Sequence[str], arguments: ArgumentCollection) -> None:
        flags.extend(name for each in arguments for name in each.names if name.startswith("-"))
        found.extend(finding for each in arguments for finding in _faults(each))

    app = inner = App(
        "racktwin",
        default_parameter=Parameter(negative=()),
        help_format="plaintext",
        suppress_keyboard_interrupt=False,
        config=check,
    )
    *groups, name = verb.split()
    for group in groups:
        outer, inner = inner, App(group)
        outer.command(inner)
    module = verb.replace(" ", "_")
    run = getattr(importlib.import_module(f"racktwin.cli.{module}"), module)
    reflow(run)
    inner.command(run, name=name)
    try:
        command, bound, unused, _ = app.parse_known_args(_joined(words))
    except CycloptsError as fault:
        found += _strays(fault.unused_tokens or (), flags) if flags else ()
        raise BadInput(found or [_other(fault, words)], f"racktwin {verb}") from fault
    found += _strays(unused, flags) if unused else ()
    if found:
        raise BadInput(found, f"racktwin {verb}")
    return lambda: command(*bound.args, **bound.kwargs)


def _joined(words: Sequence[str]) -> list[str]:
    """The words, values below zero tied to their flags: they are values, though not good ones."""
    made: list[str] = []
    for word in words:
        flag = made[-1] if made else ""
        if BELOW_ZERO.fullmatch(word) and flag.startswith("--") and "=" not in flag:
            made[-1] = f"{flag}={word}"
        else:
            made.append(word)
    return made


def _garbled(word: str) -> bool:
    """Whether `word` holds bytes that are no letters, and so can stand in no file or answer."""
    return any("\ud800" <= letter <= "\udfff" for letter in word)


def _faults(argument: Argument) -> Iterator[Finding]:
    """A flag that must be there and is not; text where a number belongs."""
    name = argument.name
    if argument.field_info.is_positional:
        name = name.lstrip("-").upper()
    if argument.field_info.required and not argument.has_tokens:
        yield Finding(name, "is missing")
    kind = str(argument.hint if get_args(argument.hint) else argument.hint.__name__)
    kind = kind.partition(" ")[0].removeprefix("list[").removesuffix("]")
    for word in (token.value for token in argument.tokens):
        if kind == "int" and not WHOLE.fullmatch(word):
            yield Finding(name, f"expected a whole number, found {word[:LONGEST]!r}")
        elif kind == "int" and len(word) > MOST_DIGITS:
            yield Finding(name, f"expected at most {MOST_DIGITS} digits, found {len(word):,}")
        elif kind == "float" and not (NUMBER.fullmatch(word) and math.isfinite(float(word))):
            yield Finding(name, f"expected a number, found {word[:LONGEST]!r}")


def _strays(words: Sequence[str], flags: Sequence[str]) -> list[Finding]:
    """Flags that the verb does not have; other words left over where there is no such flag."""
    unheard = [word.partition("=")[0][:LONGEST] for word in words if word.startswith("-")]
    if unheard:
        return [unknown(flag, flag, flags) for flag in unheard]
    return [Finding(word[:LONGEST], "is one word too many") for word in words]


def _other(fault: CycloptsError, words: Sequence[str]) -> Finding:
    """A flag without its value, and whatever else the parser refuses."""
    if fault.argument and fault.argument.hint is bool:
        return Finding(fault.argument.name, "is a switch: it takes no value")
    if isinstance(fault, RepeatArgumentError):
        return Finding(fault.token.keyword or "arguments", "is given twice")
    flag = getattr(fault, "keyword", None)
    if not flag or flag not in words:
        return Finding(fault.argument.name if fault.argument else "arguments", str(fault))
    behind = list(words)[list(words).index(flag) + 1 :]
    found = f", found {behind[0][:LONGEST]!r}" if behind else ""
    return Finding(flag, f"expected a value{found}")
