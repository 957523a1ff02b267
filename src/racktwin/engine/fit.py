"""The answer to a question about fit: what loads, what is left for the cache, what it serves."""

from __future__ import annotations

import math

import msgspec

from racktwin.engine import sizing, startup
from racktwin.engine.memory import MemoryFit, PerStage, memory
from racktwin.engine.question import Question
from racktwin.finding import BadInput, Finding
from racktwin.models import LatentAttention, Layout
from racktwin.models.layout import check
from racktwin.units import GIB


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """How a model sits on its GPUs.

    chosen: True when the layout was looked for. max_batch, max_batch_tokens: sequences and tokens
    of a step the buffers are sized for. sequences: requests of `max_len` tokens at once, per
    attention-data rank. longest: tokens of the longest request there is room for, whatever the
    model can; request: bytes of one request of `max_len` tokens; request_full, longest_full: the
    same, bytes and tokens, when every layer keeps every token.
    log: lines the engine prints.
    """

    question: Question
    layout: Layout
    chosen: bool
    memory: MemoryFit
    max_batch: int
    max_batch_tokens: int
    sequences: float
    longest: int
    request: float
    request_full: float
    longest_full: int
    log: tuple[str, ...]
    notes: tuple[Finding, ...]

    @property
    def fits(self) -> bool:
        """Whether it loads and serves a request of the length that was asked for."""
        return self.memory.loads and self.sequences >= 1

    @property
    def tokens(self) -> int:
        """Tokens the caches of a whole replica hold."""
        return self.memory.kv_tokens * self.layout.attention_data

    @property
    def verdict(self) -> str:
        """The answer in one sentence."""
        fit, asked = self.memory, self.question.max_len
        if self.fits:
            return f"fits: {self.sequences:,.2f} requests of {asked:,} tokens at once"
        if not fit.loads:
            where = f" of pipeline stage {fit.stage}" if self.layout.pipeline > 1 else ""
            return f"does not load: {-fit.kv_room / GIB:,.2f} GiB are missing on every GPU{where}"
        return (
            f"does not fit: a request of {asked:,} tokens needs {self.request / GIB:,.2f} GiB, "
            f"there is room for {fit.kv_room / GIB:,.2f} GiB"
        )


def answer(question: Question) -> Answer:
    """Answer a question; BadInput when the layout is impossible."""
    if question.layout is not None:
        return evaluate(question, question.layout)
    limit = min(question.place.gpus, question.gpus or question.place.gpus)
    legal = list(
        sizing.candidates(
            question.model.architecture, question.precision, limit, question.place.domain
        )
    )
    exact = [each for each in legal if question.gpus in (None, each.gpus)]
    if not exact:
        raise BadInput([_none_exact(question, legal)], "fit")
    for layout in exact:
        found = evaluate(question, layout, chosen=True)
        if found.fits:
            break
    return found


def _none_exact(question: Question, legal: list[Layout]) -> Finding:
    most = max((each.gpus for each in legal), default=0)
    hint = f"use --gpus {most} or name a layout" if most else "name a layout"
    message = f"{question.gpus} GPUs cannot share {question.model.title} evenly; {hint}"
    return Finding("gpus", message)


def evaluate(question: Question, layout: Layout, *, chosen: bool = False) -> Answer:
    """The answer for one layout."""
    model, rule = question.model, question.rule
    budget = rule.budget(_smallest(question.visible))
    batch = question.max_batch or budget.batch
    tokens = question.max_batch_tokens or budget.tokens
    fit = memory(
        model.architecture,
        question.precision,
        layout,
        visible=question.visible,
        convention=rule,
        max_batch_tokens=tokens,
        max_batch=batch,
        context=question.max_len,
        fraction=question.fraction,
        split=question.split,
        stated=question.stated,
    )
    whole = fit.cache.charged + fit.cache.state / question.max_len
    longest = fit.longest if math.isfinite(fit.longest) else model.architecture.context
    return Answer(
        question=question,
        layout=layout,
        chosen=chosen,
        memory=fit,
        max_batch=batch,
        max_batch_tokens=tokens,
        sequences=fit.sequences(question.max_len),
        longest=int(longest),
        request=fit.cache.sequence(question.max_len, fit.margin),
        request_full=whole * question.max_len,
        longest_full=int(max(0.0, fit.kv_room) / whole) if whole else int(longest),
        log=startup.lines(fit, rule, question.max_len),
        notes=_notes(question, layout, fit),
    )


def _smallest(visible: PerStage) -> float:
    return visible if isinstance(visible, int | float) else min(visible)


def _notes(question: Question, layout: Layout, fit: MemoryFit) -> tuple[Finding, ...]:
    architecture = question.model.architecture
    legality = check(layout, architecture, question.precision)
    notes = [*question.notes, *(each for each in legality if each.note)]
    latent = any(isinstance(layer.mixer, LatentAttention) for layer in architecture.kinds)
    if latent and layout.tensor > 1:
        message = (
            f"all {layout.tensor} ranks keep the same latent cache; "
            f"with --attention-data they keep different ones"
        )
        notes.append(Finding("tensor", message, note=True))
    context = architecture.context
    if question.max_len > context:
        message = f"{question.max_len:,} is beyond the model's {context:,} tokens"
        notes.append(Finding("max_len", message, note=True))
    if layout.stage > question.place.domain:
        message = f"{layout.stage} GPUs of a stage span NVLink domains of {question.place.domain}"
        notes.append(Finding("tensor", message, note=True))
    if question.rule.basis == "static":
        rest = (1 - fit.fraction) * (fit.visible - fit.reserved - question.rule.driver)
        if fit.activations > rest:
            message = (
                f"leaves {rest / GIB:.1f} GiB for activations of {fit.activations / GIB:.1f} GiB"
            )
            notes.append(Finding("memory_fraction", message, note=True))
    return tuple(notes)
