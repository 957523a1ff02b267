"""One replica as the oracle sees it: a step is composed and priced, then it ends and counts."""

from __future__ import annotations

from collections import Counter
from itertools import count
from math import ceil
from operator import itemgetter
from typing import NamedTuple

from racktwin.serving.clock import Clock
from racktwin.serving.fleet import SUMS, Rules
from racktwin.serving.oracle_cache import Tier
from racktwin.serving.oracle_clock import Chunk, Load, priced
from racktwin.serving.oracle_rank import Job, Rank

Draft = list[tuple[Job, Chunk]]


class Step(NamedTuple):
    """A step under way: by rank its prompts and its decoding sequences; what it adds to the sums.

    decodes: by rank, whether its decoding sequences take part. prompting: s its prompts add to it.
    """

    drafts: list[Draft]
    batches: list[list[Job]]
    decodes: list[bool]
    prompting: float
    adds: dict[str, float]


class Ended(NamedTuple):
    """A step that ended: from `begin` to `end`, s, with `tokens` of prompts; `batch` decoding.

    See `fleet.STEP`: of a rest there are no `steps`; `usual` tokens came a step after another.
    """

    begin: float
    end: float
    tokens: float
    batch: int
    steps: int = 1
    usual: int = 0


class Replica:
    """Ranks in lock-step. now: s the step under way ends, or the next starts.

    landed: caches that came during the step. closed: it takes no requests. pool: the shared one.
    ended: steps that ended, since they were looked at.
    """

    def __init__(self, rules: Rules, clock: Clock, pool: Tier) -> None:
        self.rules, self.clock, self.order = rules, clock, count()
        self.ranks = [Rank(rules, pool=pool) for _ in range(rules.ranks)]
        self.now, self.busy, self.held_back = 0.0, False, 0
        self.under_way: Step | None = None
        self.prompting = 0.0  # s that prompts added to steps
        self.closed = False
        self.landed: list[tuple[Rank, Job, float]] = []
        self.sums = dict.fromkeys(SUMS, 0.0)
        self.ended: list[Ended] = []

    def take(self, job: Job, time: float, credit: float | None) -> None:
        """A request comes at `time`, s: to the rank with the fewest, or with its longest prefix.

        credit: of a unit in host memory (1); None: prefixes do not count.
        """

        def order(rank: Rank) -> tuple[float, int]:
            known = 0.0 if credit is None else rank.worth(job, credit)
            return -known, rank.requests

        if job.first < 0:
            job.read = self.prompted(time)
        min(self.ranks, key=order).queue(job)
        self.wake(time)

    def prompted(self, time: float) -> float:
        """Seconds that prompts added to steps until `time`, s."""
        if not self.under_way or not self.under_way.prompting:
            return self.prompting
        left = (self.now - time) / self.under_way.adds["busy_seconds"]
        return self.prompting + self.under_way.prompting * (1 - left)

    def wake(self, time: float) -> None:
        """There is something to do from `time`, s, on."""
        if not self.busy:
            self.busy, self.now = True, time

    def longest(self, job: Job, credit: float) -> float:
        """Units of the prompt on the rank that has most; in host memory one counts `credit` (1)."""
        return max(rank.worth(job, credit) for rank in self.ranks)

    @property
    def totals(self) -> dict[str, float]:
        """Sums by name, s, J, tokens, steps; those thrown out by now among them."""
        return self.sums | {"losses": sum(rank.losses for rank in self.ranks)}

    @property
    def outstanding(self) -> int:
        """Requests that wait, run or are on their way."""
        return sum(rank.requests for rank in self.ranks)

    @property
    def context(self) -> float:
        """Tokens cached for decoding sequences."""
        return sum(job.tokens(self.rules) for rank in self.ranks for job in rank.decoding)

    def filled(self, won: float) -> float:
        """Blocks filled by all that is cached, a part of one too, and by `won` tokens more."""
        reading = sum(
            job.computed for rank in self.ranks for job in rank.running if job.steps is None
        )
        shared = sum(rank.cache.again * rank.weight for rank in self.ranks)
        leaving = sum(rank.leaving for rank in self.ranks)
        return (self.context + won + reading + leaving) / self.rules.block - shared

    @property
    def pending(self) -> int:
        """Prompt tokens still to compute, those of the step under way among them."""
        jobs = [
            job
            for rank in self.ranks
            for job in (*rank.waiting, *rank.running)
            if job.steps is None
        ]
        drafts = self.under_way.drafts if self.under_way else []
        computing = sum(chunk.new for draft in drafts for _, chunk in draft)
        return computing + sum(job.prompt - job.computed for job in jobs)

    def admits(self) -> bool:
        """Whether prompts of the queues may start in this step (attention-DP balance)."""
        if not self.rules.balance:
            return True
        self.held_back += 1
        prompts = [
            rank.partial or (rank.waiting and len(rank.running) < self.rules.max_batch)
            for rank in self.ranks
        ]
        held = (rank.decoding or not (rank.running or rank.waiting) for rank in self.ranks)
        balanced = all(prompts) or not all(held)
        if not balanced and self.held_back < self.rules.balance:
            return False
        self.held_back = 0
        return True

    def begin(self) -> None:
        """Compose the next step; it is under way then, unless there is nothing to do."""
        self.busy = any(rank.running or rank.waiting for rank in self.ranks)
        if not self.busy:
            return
        admitting = self.admits()
        drafts = [rank.compose(self.now, admitting) for rank in self.ranks]
        decodes = [self.decodes(drafts, draft) for draft in drafts]
        for rank, goes_on in zip(self.ranks, decodes, strict=True):
            if goes_on and not self.rules.mixed:
                rank.make_room()
        together = list(zip(self.ranks, decodes, strict=True))
        batches = [rank.decoding if goes_on else [] for rank, goes_on in together]
        self.busy = any(drafts) or any(batches)
        if not self.busy:
            return
        for rank, goes_on in together:
            rank.trim(int(goes_on))
        seconds, adds, prompting = self.price(drafts, batches)
        self.now += seconds
        self.under_way = Step(drafts, batches, decodes, prompting, adds)

    def decodes(self, drafts: list[Draft], own: Draft) -> bool:
        """Whether a rank that reads the prompts `own`, and others theirs, decodes too."""
        return self.rules.mixed or not (own if self.rules.singly else any(drafts))

    def end(self) -> list[Job]:
        """The step under way ends and counts; returns the requests that end with it."""
        assert self.under_way is not None
        step, self.under_way = self.under_way, None
        for name, amount in step.adds.items():
            self.sums[name] += amount
        self.prompting += step.prompting
        won = step.adds["decode_tokens"] / 2
        self.sums["block_seconds"] += step.adds["busy_seconds"] * self.filled(won)
        batch = sum(len(rank.decoding) for rank in self.ranks)
        begin = self.now - step.adds["busy_seconds"]
        usual = self.pauses(step, begin)
        self.ended.append(Ended(begin, self.now, step.adds["prefill_tokens"], batch, 1, usual))
        if self.rules.mixed or any(step.batches):
            for rank, goes_on in zip(self.ranks, step.decodes, strict=True):
                rank.step += goes_on
        ended = self.decode(step.batches)
        ended += [
            job
            for rank, draft in zip(self.ranks, step.drafts, strict=True)
            for job in self.prefill(rank, draft)
        ]
        landed, self.landed = self.landed, []
        for rank, job, blocks in landed:
            self.join(rank, job, blocks)
        self.sums["finished"] += len(ended)
        return ended

    def pauses(self, step: Step, begin: float) -> int:
        """Note who rests from `begin`, s, and who did so until now; tokens that came without."""
        rested: Counter[float] = Counter()
        for rank, goes_on in zip(self.ranks, step.decodes, strict=True):
            for job in rank.decoding if self.rules.singly else []:
                if not goes_on:
                    job.paused = begin if job.paused is None else job.paused
                elif job.paused is not None:
                    rested[job.paused] += 1
                    job.paused = None
        self.ended += [Ended(since, self.now, 0.0, rested[since], 0) for since in rested]
        return sum(map(len, step.batches)) - rested.total()

    def lose(self, time: float) -> list[Job]:
        """Fail at `time`, s: everything is gone, and the step under way never was; who was here."""
        waiting = [job for rank in self.ranks for job in rank.waiting]
        running = [job for rank in self.ranks for job in rank.running]
        landed = [job for _, job, _ in self.landed]
        cached = sum(job.cached_tokens(self.rules) for job in running)
        if step := self.under_way:
            seconds = step.adds["busy_seconds"]
            passed = time - (self.now - seconds)
            self.sums["busy_seconds"] += passed
            self.sums["joules"] += step.adds["joules"] * (passed / seconds)
            self.sums["lost_steps"] += 1
            cached -= int(step.adds["prefill_tokens"])
        for job in landed:
            cached, job.steps = cached + job.prompt, 0
        self.sums["lost_tokens"] += cached
        self.sums["interrupted"] += len(waiting) + len(running) + len(landed)
        self.clear(time)
        return [*waiting, *running, *landed]

    def clear(self, time: float) -> None:
        """From `time`, s, on it has nothing, like one that never served."""
        old, self.ranks = self.ranks, [Rank(self.rules, pool=rank.pool) for rank in self.ranks]
        for rank, gone in zip(self.ranks, old, strict=True):
            rank.loaded, rank.host.written = gone.loaded, gone.host.written
            rank.losses = gone.losses
        self.now, self.busy, self.held_back = time, False, 0
        self.under_way, self.landed = None, []

    def land(self, rank: Rank, job: Job, blocks: float) -> None:
        """A cache of `blocks` blocks has come: its sequence decodes from the next step on."""
        if self.under_way:
            self.landed.append((rank, job, blocks))
        else:
            self.join(rank, job, blocks)

    def join(self, rank: Rank, job: Job, blocks: float) -> None:
        """A sequence whose cache of `blocks` blocks came begins to decode."""
        rank.kept -= blocks
        rank.landing -= 1
        job.steps, job.computed, job.turn = 0, job.prompt, next(self.order)
        rank.running.append(job)

    def price(
        self, drafts: list[Draft], batches: list[list[Job]]
    ) -> tuple[float, dict[str, float], float]:
        """How long a step lasts, s, what it adds to the sums, and what prompts add to it, s."""
        rules = self.rules
        loads = [
            Load(len(batch) * rules.queries, len(batch), [chunk for _, chunk in draft])
            for batch, draft in zip(batches, drafts, strict=True)
        ]
        total = sum(load.batch for load in loads)
        riding = sum(job.tokens(rules) for batch in batches for job in batch)
        copied = max(rank.copied for rank in self.ranks)
        aside = rules.singly
        seconds, joules, adds = priced(self.clock, loads, riding, copied, rules.layered, aside)
        sums = {
            "busy_seconds": seconds,
            "steps": 1,
            "decode_tokens": rules.gain * total,
            "prefill_tokens": sum(chunk.new for draft in drafts for _, chunk in draft),
            "joules": joules,
            "batch_seconds": seconds * sum(len(rank.decoding) for rank in self.ranks),
        }
        return seconds, sums, adds

    def decode(self, batches: list[list[Job]]) -> list[Job]:
        """Every sequence wins its tokens; returns those that end, in the order they began."""
        ended: list[tuple[int, Job, Rank]] = []
        for rank, batch in zip(self.ranks, batches, strict=True):
            for job in batch:
                assert job.steps is not None
                job.steps += 1
                job.second = self.now if job.second < 0 else job.second
                if job.steps == ceil(job.left / self.rules.gain):
                    ended.append((job.turn, job, rank))
            rank.trim()
        ended.sort(key=itemgetter(0))
        for _, job, rank in ended:
            rank.end(job)
        return [job for _, job, _ in ended]

    def prefill(self, rank: Rank, draft: Draft) -> list[Job]:
        """Complete prompts give their first token; returns those that need no more."""
        done = [job for job, _ in draft if job.computed == job.prompt]
        for job in done:
            if job.first < 0:
                job.first, job.read = self.now, self.prompting - job.read
            elif job.second < 0 and job.left < job.output:
                job.second = self.now
            job.left -= 1
            job.steps, job.turn = 0, next(self.order)
            rank.know(job, job.ids)
            if job.left == 0:
                rank.end(job)
        return [job for job in done if job.left == 0]
