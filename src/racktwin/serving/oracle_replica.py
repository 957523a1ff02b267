"""One replica as the oracle sees it: a step is composed, priced and applied, then the next."""

from __future__ import annotations

from math import ceil

from racktwin.serving.clock import Clock
from racktwin.serving.fleet import SUMS, Rules
from racktwin.serving.oracle_clock import Chunk, Load, priced
from racktwin.serving.oracle_rank import Job, Rank

Draft = list[tuple[Job, Chunk]]


class Replica:
    """Ranks in lock-step. now: s its next step starts; step: decode steps done."""

    def __init__(self, rules: Rules, clock: Clock) -> None:
        self.rules, self.clock = rules, clock
        self.ranks = [Rank(rules) for _ in range(rules.ranks)]
        self.now, self.busy, self.step, self.held_back = 0.0, False, 0, 0
        self.sums = dict.fromkeys(SUMS, 0.0)

    def take(self, job: Job, *, by_prefix: bool) -> None:
        """A request arrives: to the rank with the fewest, or to the one with its longest prefix."""
        job.left = job.output

        def order(rank: Rank) -> tuple[int, int]:
            known = len(rank.prefix(job)) if by_prefix else 0
            return -known, rank.requests

        min(self.ranks, key=order).queue(job)
        self.wake(job.arrival)

    def wake(self, time: float) -> None:
        """There is something to do from `time`, s, on."""
        if not self.busy:
            self.busy, self.now = True, time

    def longest(self, job: Job) -> int:
        """Units of the prompt on the rank that has most."""
        return max(len(rank.prefix(job)) for rank in self.ranks)

    @property
    def outstanding(self) -> int:
        """Requests that wait, run or are on their way."""
        return sum(rank.requests for rank in self.ranks)

    @property
    def context(self) -> float:
        """Tokens cached for decoding sequences."""
        return sum(job.tokens(self.rules) for rank in self.ranks for job in rank.decoding)

    @property
    def pending(self) -> int:
        """Prompt tokens still to compute."""
        jobs = [
            job
            for rank in self.ranks
            for job in (*rank.waiting, *rank.running)
            if job.steps is None
        ]
        return sum(job.prompt - job.computed for job in jobs)

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

    def go(self) -> list[tuple[Job, float]]:
        """Do one step; returns the requests that ended, and when (s)."""
        if not any(rank.running or rank.waiting for rank in self.ranks):
            self.busy = False
            return []
        admitting = self.admits()
        drafts = [rank.compose(self.step, self.now, admitting) for rank in self.ranks]
        if not self.rules.mixed and not any(drafts):
            for rank in self.ranks:
                rank.make_room(self.step)
        decodes = self.rules.mixed or not any(drafts)
        batches = [rank.decoding if decodes else [] for rank in self.ranks]
        if not any(drafts) and not any(batches):
            self.busy = False
            return []
        self.account(drafts, batches)
        self.step += decodes
        ended = [
            job
            for rank, batch in zip(self.ranks, batches, strict=True)
            for job in self.decode(rank, batch)
        ]
        ended += [
            job
            for rank, draft in zip(self.ranks, drafts, strict=True)
            for job in self.prefill(rank, draft)
        ]
        for job in ended:
            self.sums["finished"] += 1
            self.sums["losses"] += job.losses
        return [(job, self.now) for job in ended]

    def account(self, drafts: list[Draft], batches: list[list[Job]]) -> None:
        """Let the time of the step pass, and add it up."""
        rules = self.rules
        loads = [
            Load(len(batch) * rules.queries, len(batch), [chunk for _, chunk in draft])
            for batch, draft in zip(batches, drafts, strict=True)
        ]
        context, total = self.context, sum(load.batch for load in loads)
        shared = sum(rank.cache.again * rank.weight for rank in self.ranks)
        seconds, joules = priced(self.clock, loads, context)
        self.now += seconds
        done = {
            "busy_seconds": seconds,
            "steps": 1,
            "decode_tokens": rules.gain * total,
            "prefill_tokens": sum(chunk.new for draft in drafts for _, chunk in draft),
            "joules": joules,
            "batch_seconds": seconds * sum(len(rank.decoding) for rank in self.ranks),
            "block_seconds": seconds * ((context + rules.gain * total / 2) / rules.block - shared),
        }
        for name, amount in done.items():
            self.sums[name] += amount

    def decode(self, rank: Rank, batch: list[Job]) -> list[Job]:
        """Every sequence wins its tokens; returns those that end."""
        for job in batch:
            assert job.steps is not None
            job.steps += 1
        rank.trim()
        ended = [job for job in batch if job.steps == ceil(job.left / self.rules.gain)]
        for job in ended:
            rank.end(job)
        return ended

    def prefill(self, rank: Rank, draft: Draft) -> list[Job]:
        """Complete prompts give their first token; returns those that need no more."""
        done = [job for job, _ in draft if job.computed == job.prompt]
        for job in done:
            job.first = self.now if job.first < 0 else job.first
            job.left -= 1
            job.steps = 0
            rank.hold(job, job.ids)
            if job.left == 0:
                rank.end(job)
        return [job for job in done if job.left == 0]
