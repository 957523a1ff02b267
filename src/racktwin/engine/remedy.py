"""What to change when a model does not fit, each with the numbers it would give."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from racktwin.engine import sizing
from racktwin.engine.fit import Answer, evaluate
from racktwin.engine.memory import Stated
from racktwin.engine.question import Question
from racktwin.finding import BadInput
from racktwin.models import Precision
from racktwin.models.formats import bytes_per_value

NARROWER = {"hopper": ("fp8", "int4"), "blackwell": ("fp8", "nvfp4")}
FULLEST = 0.95  # engines fail above it when graphs and allocator need more than they estimated
FEWEST = 256  # sequences; more only helps deployments that hold many short requests


class Remedy(msgspec.Struct, frozen=True):
    """A change, in the words of the command line, and the answer it leads to."""

    change: str
    answer: Answer


def remedies(answer: Answer) -> tuple[Remedy, ...]:
    """Single changes that make it fit, and what does it together on the same GPUs.

    Where nothing makes it fit: the changes that help.
    """
    found = list(_singles(answer))
    fitting = [each for each in found if each.answer.fits]
    if not any(each.answer.layout == answer.layout for each in fitting):
        fitting += _together(answer)
    return tuple(fitting or [each for each in found if _more(each, answer)])


def _more(each: Remedy, before: Answer) -> bool:
    return each.answer.memory.kv_room > before.memory.kv_room


def _singles(answer: Answer) -> Iterator[Remedy]:
    yield from _shorter(answer)
    yield from _thrifty(answer)
    yield from _narrower(answer)
    yield from _wider(answer)


def _together(answer: Answer) -> tuple[Remedy, ...]:
    """Changes on the same GPUs, one on top of the other, until it fits."""
    words: list[str] = []
    now = answer
    for step in (_narrower, _thrifty, _thrifty, _thrifty, _shorter):
        better = [each for each in step(now) if _more(each, now) or each.answer.fits]
        if better:
            best = max(better, key=lambda each: each.answer.memory.kv_room)
            words.append(best.change)
            now = best.answer
        if now.fits:
            return (Remedy(" ".join(words), now),)
    return ()


def _shorter(answer: Answer) -> Iterator[Remedy]:
    if answer.memory.loads and 0 < answer.longest < answer.question.max_len:
        shorter = msgspec.structs.replace(answer.question, max_len=answer.longest)
        yield Remedy(f"--max-len {answer.longest}", evaluate(shorter, answer.layout))


def _thrifty(answer: Answer) -> Iterator[Remedy]:
    """Settings of the engine."""
    question, layout = answer.question, answer.layout
    if bytes_per_value(question.precision.kv) > 1:
        narrow = msgspec.structs.replace(question.precision, kv="fp8")
        yield Remedy("--kv-dtype fp8", evaluate(_with(question, narrow), layout))
    if question.stated.room is not None:
        return
    if answer.memory.fraction < FULLEST:
        fuller = msgspec.structs.replace(question, fraction=FULLEST)
        yield Remedy(f"--memory-fraction {FULLEST}", evaluate(fuller, layout))
    if answer.max_batch > FEWEST and question.stated.activations is None:
        fewer = msgspec.structs.replace(question, max_batch=FEWEST)
        yield Remedy(f"--max-batch {FEWEST}", evaluate(fewer, layout))


def _with(question: Question, precision: Precision) -> Question:
    return msgspec.structs.replace(question, precision=precision)


def _narrower(answer: Answer) -> Iterator[Remedy]:
    """Published or usual precisions with fewer bytes of weights, on the same GPUs."""
    question = answer.question
    if question.stated.weights is not None or question.stated.room is not None:
        return
    family = question.place.chip.family.partition("-")[0]
    for name in NARROWER[family]:
        try:
            precision = question.model.at(name)
        except BadInput:  # the model has no such checkpoint
            continue
        precision = msgspec.structs.replace(precision, kv=question.precision.kv)
        architecture = question.model.architecture
        if sizing.faults(answer.layout, architecture, precision, question.place.gpus):
            continue
        after = evaluate(_with(question, precision), answer.layout)
        if after.memory.weights < 0.99 * answer.memory.weights:
            yield Remedy(f"--precision {name}", after)


def _wider(answer: Answer) -> Iterator[Remedy]:
    """The smallest layout that fits on more GPUs."""
    question = answer.question
    if question.stated != Stated() or question.split or isinstance(question.visible, tuple):
        return
    for layout in sizing.candidates(
        question.model.architecture, question.precision, question.place.gpus, question.place.domain
    ):
        if layout.gpus <= answer.layout.gpus:
            continue
        after = evaluate(question, layout)
        if after.fits:
            stages = f" --pipeline {layout.pipeline}" if layout.pipeline > 1 else ""
            yield Remedy(f"--tensor {layout.tensor}{stages}", after)
            return
