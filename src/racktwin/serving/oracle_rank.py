"""One attention-data rank of a replica as the oracle sees it: objects in lists, blocks counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil

from racktwin.serving.fleet import Rules
from racktwin.serving.oracle_cache import Cache, Tier
from racktwin.serving.oracle_clock import Chunk


@dataclass
class Job:
    """A request in a replica. arrival, admitted, first and second token: s, -1 if not yet.

    prompt: tokens to compute before the next one is won, `computed` of them are; left: output
    tokens to come when that began; steps: decode steps since, None while the prompt is computed;
    turn: in which it began to decode; paused: s of its last token while its rank reads prompts.
    read: s that prompts added to steps before it came; once it has its first token, since then.
    ids: of the full units of its prompt; answer: of those of its prompt and answer, where known;
    units: those it holds in the cache. cached: tokens found when it was first admitted, of these
    in host memory and in the shared pool. images: tokens they make, s and J of encoding them.
    """

    number: int
    arrival: float
    prompt: int
    output: int
    priority: int = 0
    admitted: float = -1.0
    first: float = -1.0
    second: float = -1.0
    left: int = 0
    computed: int = 0
    steps: int | None = None
    turn: int = 0
    paused: float | None = None
    read: float = 0.0
    promised: int = 0
    losses: int = 0
    ids: Sequence[int] = ()
    answer: Sequence[int] = ()
    units: list[int] = field(default_factory=list)
    cached: int = 0
    images: tuple[int, float, float] = (0, 0.0, 0.0)
    cached_host: int = 0
    cached_shared: int = 0

    def blocks(self, rules: Rules, ahead: int = 0) -> float:
        """Blocks it holds, or will after `ahead` more decode steps."""
        if rules.reserve == 1:
            return self.promised
        if self.steps is None:
            return ceil(self.computed / rules.block)
        steps = self.steps + ahead
        if rules.gain != 1:
            return ceil(self.prompt / rules.block) + steps * rules.gain / rules.block
        return ceil((self.prompt + steps) / rules.block)

    def encoding(self, found: int) -> tuple[float, float]:
        """Seconds and joules of its images, but for `found` tokens that are cached."""
        tokens, seconds, joules = self.images
        share = min(tokens, self.prompt - found) / tokens if tokens else 0.0
        return share * seconds, share * joules

    def given(self, rules: Rules) -> int:
        """Output tokens given so far."""
        return self.output - self.left + int((self.steps or 0) * rules.gain)

    def tokens(self, rules: Rules) -> float:
        """Tokens cached while it decodes."""
        return self.prompt + (self.steps or 0) * rules.gain

    def cached_tokens(self, rules: Rules) -> int:
        """Tokens computed of a running request, while it decodes without the last one given."""
        if self.steps is None:
            return self.computed
        return self.prompt + min(int(self.steps * rules.gain), self.left - 1)

    def begin_again(self, rules: Rules, prompt: int, output: int, *, migrate: bool) -> None:
        """Its replica has failed: what was told is computed with the prompt, or all anew.

        prompt, output: tokens as it first came.
        """
        if not migrate:
            self.prompt, self.left = prompt, output
        elif self.steps is not None:
            won = min(int(self.steps * rules.gain), self.left - 1)
            self.prompt, self.left = self.prompt + won + 1, self.left - won
        self.steps, self.computed, self.units, self.promised = None, 0, [], 0
        self.paused = None

    def lose(self, rules: Rules) -> None:
        """Give everything computed away."""
        if self.steps is not None:
            won = min(int(self.steps * rules.gain), self.left - 1)
            self.prompt += won + 1
            self.left -= won
        self.steps, self.computed, self.paused = None, 0, None
        self.losses += 1


@dataclass
class Rank:
    """Its queue, its running requests from the oldest to the newest, and the share it reserves.

    kept: blocks of caches that wait to leave or are on their way here; landing: how many of these;
    leaving: tokens of those that leave. losses: requests thrown out. host: its part of host memory;
    pool: the shared one. loading: units of either (count) that the coming step loads; loaded: that
    all did. step: decode steps it did.
    """

    rules: Rules
    waiting: list[Job] = field(default_factory=list)
    running: list[Job] = field(default_factory=list)
    share: float = 0.0
    since: int = 0
    kept: float = 0.0
    leaving: int = 0
    landing: int = 0
    step: int = 0
    losses: int = 0
    pool: Tier = field(default_factory=lambda: Tier(0))

    def __post_init__(self) -> None:
        self.host = Tier(self.rules.host)
        self.cache = Cache(self.host if self.rules.evict else None)
        self.loading = self.loaded = (0, 0)

    @property
    def requests(self) -> int:
        """Requests that wait, run or are on their way."""
        return len(self.waiting) + len(self.running) + self.landing

    @property
    def decoding(self) -> list[Job]:
        """The running requests whose prompt is computed."""
        return [job for job in self.running if job.steps is not None]

    @property
    def partial(self) -> Job | None:
        """The running request whose prompt is part computed."""
        return next((job for job in self.running if job.steps is None), None)

    def used(self, ahead: int = 0) -> float:
        """Blocks in use, or after `ahead` more steps of decoding; a shared one counts once."""
        each = sum(job.blocks(self.rules, ahead) for job in self.running)
        again = sum(len(job.units) for job in self.running) - len(self.cache.held)
        return self.kept + each - again * self.weight

    @property
    def weight(self) -> int:
        """Blocks of a unit of the prefix cache."""
        return self.rules.unit // self.rules.block

    def trim(self, ahead: int = 0) -> None:
        """Drop idle units whose room is needed by now, or in `ahead` more steps."""
        if self.rules.unit:
            self.cache.trim((self.rules.blocks - self.used(ahead)) // self.weight)

    def prefix(self, job: Job) -> list[int]:
        """The units of a prompt that are cached; at least one token is computed."""
        unit = self.rules.unit
        return self.cache.prefix(job.ids[: (job.prompt - 1) // unit]) if unit else []

    def lower(self, job: Job, above: int) -> tuple[list[int], list[int]]:
        """What goes on behind `above` (count) cached units: in host memory, then in the pool."""
        if not self.rules.unit:
            return [], []
        rest = job.ids[above : (job.prompt - 1) // self.rules.unit]
        host = self.host.prefix(rest)
        return host, self.pool.prefix(rest[len(host) :])

    def worth(self, job: Job, credit: float) -> float:
        """Units of a prompt found here; one in host memory counts as `credit` (1) of one above."""
        above = len(self.prefix(job))
        return above + credit * len(self.lower(job, above)[0])

    def use(self, ids: Sequence[int]) -> None:
        """The units of a prefix are used."""
        if not self.rules.evict:
            self.host.use(ids)
        self.pool.use(ids)

    def know(self, job: Job, ids: Sequence[int]) -> None:
        """The units `ids`, whose first a request holds, can be found from now on."""
        self.hold(job, ids)
        self.use(ids)

    def load(self, job: Job, found: list[int], host: list[int], pool: list[int]) -> None:
        """An admitted request holds what it found in the cache and, loaded, in both tiers."""
        if self.rules.evict:
            for unit in host:
                del self.host.units[unit]
        self.know(job, [*found, *host, *pool])
        counts = len(host), len(pool)
        self.loading = (self.loading[0] + counts[0], self.loading[1] + counts[1])
        self.loaded = (self.loaded[0] + counts[0], self.loaded[1] + counts[1])

    @property
    def copied(self) -> float:
        """How long this rank loads in the coming step, s: over the link, and over its port."""
        host, pool = self.loading
        return max((host + pool) * self.rules.host_pace, pool * self.rules.shared_pace)

    def hold(self, job: Job, ids: Sequence[int]) -> None:
        """A request goes on to hold the units `ids`, of which it holds the first already."""
        for unit in ids[len(job.units) :]:
            self.cache.hold(unit)
            job.units.append(unit)

    def let_go(self, units: list[int]) -> None:
        """Nobody holds `units` for a request any more, the last one first."""
        while units:
            self.cache.let_go(units.pop())

    def leave(self, job: Job) -> None:
        """A request that ran lets its blocks go."""
        self.running.remove(job)
        self.let_go(job.units)

    def end(self, job: Job) -> None:
        """A request has its last token; of that one nothing is cached."""
        if self.rules.unit:
            self.know(job, job.answer[: (job.prompt + job.left) // self.rules.unit])
        self.leave(job)

    def queue(self, job: Job, *, first: bool = False) -> None:
        """Put into the queue: behind, or ahead of, those of the same priority."""
        ahead = [
            other
            for other in self.waiting
            if other.priority < job.priority or (other.priority == job.priority and not first)
        ]
        self.waiting.insert(len(ahead), job)

    def preempt(self) -> Job:
        """Throw a running request out."""
        newest_first = reversed(self.running)
        if self.rules.reserve == 2:
            gone = max(newest_first, key=lambda job: (-job.given(self.rules), job.prompt))
        else:
            gone = max(newest_first, key=lambda job: job.priority)
        self.cache.trim(0)
        self.leave(gone)
        gone.lose(self.rules)
        self.losses += 1
        self.queue(gone, first=self.rules.reserve != 2)
        return gone

    def make_room(self) -> int:
        """Let decoding have its blocks; returns how many requests had to go."""
        gone = 0
        while self.used(1) > self.rules.blocks and len(self.running) > 1:
            self.preempt()
            gone += 1
        if gone and self.rules.reserve == 2:
            given = sum(job.given(self.rules) + self.rules.ahead for job in self.running)
            self.share = min(1.0, given / (sum(job.output for job in self.running) + 1))
            self.since = self.step + 1
        return gone

    def compose(self, time: float, admitting: bool) -> list[tuple[Job, Chunk]]:
        """The prompts of the coming step, s of its start `time`."""
        rules, budget, lost, self.loading = self.rules, self.rules.budget, 0, (0, 0)
        if rules.mixed:
            lost = self.make_room()
            budget -= len(self.decoding) * rules.queries
        drafted: list[tuple[Job, Chunk]] = []
        if (job := self.partial) and budget > 0:
            new = min(job.prompt - job.computed, budget)
            job.computed += new
            while rules.reserve != 1 and self.used(int(rules.mixed)) > rules.blocks:
                lost += 1
                if self.preempt() is job:
                    return []
            drafted.append((job, Chunk(new, job.computed - new)))
            budget -= new
        if admitting and not lost and budget > 0:
            self.admit(time, budget, drafted)
        return drafted

    def admit(self, time: float, budget: int, drafted: list[tuple[Job, Chunk]]) -> None:
        """Let the queue in, in order, while `budget` tokens, places and blocks last."""
        rules = self.rules
        if not self.running:
            self.share, self.since = rules.share, self.step
        while self.waiting and budget > 0 and len(self.running) < rules.max_batch:
            job = self.waiting[0]
            if any(other.computed < other.prompt for other in self.running):
                return
            self.trim(int(rules.mixed))
            found = self.prefix(job)
            host, pool = self.lower(job, len(found))
            known = (len(found) + len(host) + len(pool)) * rules.unit
            new = min(job.prompt - known, budget)
            if not rules.chunked and new < job.prompt - known <= rules.budget:
                return
            if not self.fits(job, found, known + new, [other for other, _ in drafted]):
                return
            self.load(job, found, host, pool)
            self.running.append(self.waiting.pop(0))
            job.promised = ceil((job.prompt + job.left) / rules.block)
            job.computed = known + new
            if job.admitted < 0:
                job.admitted, job.cached = time, known
                job.cached_host = len(host) * rules.unit
                job.cached_shared = len(pool) * rules.unit
            drafted.append((job, Chunk(new, known, *job.encoding(known))))
            budget -= new

    def fits(self, job: Job, found: list[int], end: int, coming: list[Job]) -> bool:
        """Whether a prompt may start, computed up to token `end` by the coming step.

        found: units in the cache. coming: prompts of the same step.
        """
        rules = self.rules
        free = rules.blocks - self.used(int(rules.mixed))
        free += sum(unit in self.cache.held for unit in found) * self.weight
        if rules.reserve == 1:
            return ceil((job.prompt + job.left) / rules.block) <= free
        if rules.reserve == 0 or not self.running:
            return ceil((end if rules.mixed else job.prompt) / rules.block) <= free
        share = max(rules.least, self.share - rules.decay * (self.step - self.since))
        later = sum(ceil(other.left / rules.gain) - (other.steps or 0) for other in self.decoding)
        own = job.prompt + job.left + sum(other.left for other in coming)
        return ceil((own + share * (later * rules.gain)) / rules.block) <= free
