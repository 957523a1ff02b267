"""The screen and the JSON of `racktwin fit`."""

from __future__ import annotations

from typing import Any

import msgspec
from rich.console import RenderableType
from rich.text import Text

from racktwin import catalog
from racktwin.cli.console import table
from racktwin.engine.account import Line, account, degrees, layers
from racktwin.engine.fit import Answer
from racktwin.engine.remedy import Remedy, remedies
from racktwin.models import parameters
from racktwin.units import GIB

MOST_REMEDIES = 6
LONGEST = 62  # characters of an origin on one line


def ledger(answer: Answer) -> dict[str, Any]:
    """The answer as JSON data; sizes are bytes per GPU."""
    question, fit = answer.question, answer.memory
    return {
        "model": {
            "name": question.model.name,
            "title": question.model.title,
            "parameters": parameters(question.model.architecture).total,
            "precision": question.precision.name,
            "context": question.model.architecture.context,
            "source": question.model.source,
        },
        "on": {"name": question.place.name, "chip": question.place.chip.name},
        "engine": {
            "name": question.rule.name,
            "memory_fraction": fit.fraction,
            "max_batch": answer.max_batch,
            "max_batch_tokens": answer.max_batch_tokens,
        },
        "layout": {**msgspec.to_builtins(answer.layout), "gpus": answer.layout.gpus},
        "layout_chosen": answer.chosen,
        "fits": answer.fits,
        "loads": fit.loads,
        "verdict": answer.verdict,
        "account": [msgspec.to_builtins(line, enc_hook=float) for line in account(answer)],
        "weights": {part: float(size) for part, size in fit.parts.items()},
        "cache": _cache(answer),
        "log": list(answer.log),
        "remedies": [_remedy(each) for each in ([] if answer.fits else remedies(answer))],
        "notes": [msgspec.to_builtins(note) for note in answer.notes],
    }


def _cache(answer: Answer) -> dict[str, Any]:
    fit = answer.memory
    return {
        "dtype": answer.question.precision.kv,
        "room": fit.kv_room,
        "bytes_per_token": fit.kv_bytes_per_token,
        "growth_per_token": fit.cache.growth,
        "state_per_sequence": fit.state_bytes_per_sequence,
        "tokens": fit.kv_tokens,
        "tokens_per_replica": answer.tokens,
        "blocks": fit.kv_blocks,
        "tokens_per_block": fit.block,
        "stage": fit.stage,
        "max_len": answer.question.max_len,
        "request": answer.request,
        "request_if_no_window": answer.request_full,
        "concurrency": answer.sequences,
        "longest": answer.longest,
        "longest_if_no_window": answer.longest_full,
    }


def _remedy(each: Remedy) -> dict[str, Any]:
    after = each.answer
    return {
        "change": each.change,
        "fits": after.fits,
        "gpus": after.layout.gpus,
        "weights": after.memory.weights,
        "room": after.memory.kv_room,
        "tokens": after.memory.kv_tokens,
        "longest": after.longest,
        "concurrency": after.sequences,
    }


def screen(answer: Answer, explain: bool) -> list[RenderableType]:
    """What is printed: head, verdict, the account, the cache, the log, what would fit."""
    parts: list[RenderableType] = [_head(answer), _verdict(answer), "", _account(answer, explain)]
    if explain:
        parts += ["", _weights(answer), "", _layers(answer)]
    if answer.memory.loads:
        parts += ["", _sizes(answer)]
        title = f"{answer.question.rule.title} prints"
        parts += [Text(title, style="bold"), *(f"  {line}" for line in answer.log)]
    if not answer.fits and (found := remedies(answer)[:MOST_REMEDIES]):
        parts += ["", _remedies(found)]
    if explain:
        parts += ["", *_assumptions(answer)]
    return [*parts, *(f"note: {note.key}: {note.message}" for note in answer.notes)]


def _head(answer: Answer) -> Text:
    question, layout, fit = answer.question, answer.layout, answer.memory
    size = parameters(question.model.architecture).total / 1e9
    chips = f"{layout.gpus} x {question.place.chip.name.upper()}"
    smallest = answer.chosen and answer.fits and question.gpus is None
    chosen = " (smallest that fits)" if smallest else ""
    return Text.assemble(
        (question.model.title, "bold"),
        f" ({size:,.1f} B) in {question.precision.name}, cache {question.precision.kv}",
        f"  on  {chips} of {question.place.name}\n",
        f"{question.rule.title}, {degrees(answer)}{chosen}, memory fraction {fit.fraction:g}, ",
        f"{answer.max_batch:,} sequences and {answer.max_batch_tokens:,} tokens a step",
    )


def _verdict(answer: Answer) -> Text:
    return Text(answer.verdict, style="bold green" if answer.fits else "bold red")


def _gib(size: float) -> str:
    return f"{size / GIB:,.2f}"


def _account(answer: Answer, whole: bool) -> RenderableType:
    stages = answer.layout.pipeline
    title = f"per GPU of stage {answer.memory.stage}" if stages > 1 else "per GPU"
    made = table(title, "GiB", "from", title=title, right=("GiB",))
    for line in account(answer):
        made.add_row(line.part, _gib(line.bytes), _origin(line, whole))
    return made


def _origin(line: Line, whole: bool) -> str:
    text = f"{line.kind}: {line.source}"
    return text if whole or len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def _weights(answer: Answer) -> RenderableType:
    made = table("weights by part", "GiB", "format", title="weights by part", right=("GiB",))
    precision = answer.question.precision
    for part, size in sorted(answer.memory.parts.items(), key=lambda item: -item[1]):
        made.add_row(part, _gib(size), precision.of(part))
    return made


def _layers(answer: Answer) -> RenderableType:
    made = table("cache of a layer", "layers", "B/token", "B/sequence", title="cache of a layer")
    for each in layers(answer):
        made.add_row(each.what, f"{each.layers}", f"{each.per_token:,.0f}", f"{each.state:,.0f}")
    return made


def _sizes(answer: Answer) -> RenderableType:
    fit, asked = answer.memory, answer.question.max_len
    made = table("cache", "", "", title="cache", right=())
    per = f"{fit.kv_bytes_per_token:,.0f} B on each GPU"
    if fit.cache.growth != fit.kv_bytes_per_token:
        per += f"; {fit.cache.growth:,.0f} B in layers that keep all"
    made.add_row("a token", per)
    if fit.state_bytes_per_sequence:
        made.add_row("a sequence", f"{fit.state_bytes_per_sequence / 2**20:,.1f} MiB of state")
    groups = answer.layout.attention_data
    whole = f"; {answer.tokens:,} in the {groups} groups of a replica" if groups > 1 else ""
    blocks = f"{fit.kv_blocks:,} blocks of {fit.block}" if fit.block > 1 else "one by one"
    made.add_row("tokens", f"{fit.kv_tokens:,}, {blocks}{whole}")
    made.add_row("a request", f"{_gib(answer.request)} GiB for {asked:,} tokens")
    if fit.cache.shared:
        full = f"{_gib(answer.request_full)} GiB if every layer kept every token"
        made.add_row("", f"{full}; then {answer.longest_full:,} tokens fit")
    context = answer.question.model.architecture.context
    made.add_row("longest", f"{answer.longest:,} tokens; the model's context is {context:,}")
    made.add_row("at once", f"{answer.sequences:,.2f} requests of {asked:,} tokens")
    return made


def _remedies(found: tuple[Remedy, ...]) -> RenderableType:
    columns = ("GPUs", "weights GiB", "tokens", "longest", "at once")
    made = table("what to change", *columns, "", title="what to change", right=columns)
    for each in found:
        after = each.answer
        made.add_row(
            each.change,
            f"{after.layout.gpus}",
            _gib(after.memory.weights),
            f"{after.memory.kv_tokens:,}",
            f"{after.longest:,}",
            f"{after.sequences:,.2f}",
            "fits" if after.fits else "not enough",
        )
    return made


def _assumptions(answer: Answer) -> list[RenderableType]:
    rule = answer.question.rule
    made = table("engine", "", "kind", "source", title=f"{rule.title} accounting")
    for fact in catalog.load("engines", rule.name).facts():
        if fact.source:
            made.add_row(fact.key, str(fact.value), fact.kind, f"{fact.source}. {fact.note}")
    return [made]
