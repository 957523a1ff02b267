"""The state of a pool of equal replicas while it is simulated, as arrays a compiled loop walks.

Requests live in slots; -1 ends every chain. Lists per attention-data rank: the waiting queue
(`following`), and the running ones from the oldest to the newest (`older`, `newer`). Decoding
requests also hang in a ring by the step they end in (`ring`, `after_in_step`, `before_in_step`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from racktwin.serving.compiled import inlined
from racktwin.serving.prefix_cache import PrefixCache, prefix_cache

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Rules(NamedTuple):
    """How an engine schedules; all counts are per attention-data rank.

    ranks, max_batch (requests), budget (tokens of a step), blocks and block (KV blocks, tokens of
    one), queries (tokens a decoding sequence computes), gain (tokens it wins per step).
    reserve: 0 blocks as tokens come (vLLM), 1 the whole output at admission (TensorRT-LLM), 2 room
    for a share of it that sinks from `share` by `decay` per step to `least` (SGLang).
    `gain` is a multiple of 1/4096 and `block` a power of two: sums of blocks are then exact.
    mixed: prompts ride in decode steps; if not, singly: a rank's prompts stall its own decoding
    alone, else that of all ranks.
    balance: steps a prompt waits until every rank has one.
    ring: steps ahead an end can be noted, a power of two.
    chunked: prompts are cut to the tokens a step has left; else only those above the whole budget.
    ahead: tokens per sequence expected beyond those given when one was thrown out (`reserve` 2).
    unit: tokens of a unit of the prefix cache, whole blocks; 0: no cache.
    host, shared: units that host memory of a rank and the pool of all hold; 0: there is none.
    evict: host memory takes units in when a rank drops them, else when they are used.
    layered: a step computes while units are loaded, else behind that.
    host_pace, shared_pace: s to load a unit over the link from host memory, and from the pool.
    credit: what a unit in host memory is worth to `kv_aware`, in units of a rank's cache (1).
    """

    ranks: int
    max_batch: int
    budget: int
    blocks: int
    block: int
    queries: int
    gain: float
    reserve: int
    share: float
    decay: float
    least: float
    mixed: bool
    balance: int
    ring: int
    chunked: bool = True
    ahead: int = 20
    unit: int = 0
    host: int = 0
    shared: int = 0
    evict: bool = False
    layered: bool = True
    host_pace: float = 0.0
    shared_pace: float = 0.0
    credit: float = 1.0
    singly: bool = False


class Known(NamedTuple):
    """What is known of the prefixes of the requests in the window.

    ids: of the units of all requests, end to end. rows: a record for each, and one for their end.
    """

    ids: Ints
    rows: NDArray[Any]


class State(NamedTuple):
    """A pool while it is simulated. Arrays of type Any have records (see below).

    replicas: (replica). ranks: (replica, rank). slots: requests in the pool. results: of those
    that ended, not yet collected. crossing: (replica, rank, remainder) sequences that need a block
    in steps of that remainder. ring: (replica, step) first slot to end in a step. free: stack of
    free slots. counts: free slots left, results written, and what routers count (see `BASE`).
    sums: see `SUMS`. log: steps that overlap `window` (s), as many as there is room for; logged.
    images: rows of the window x (tokens that images make, s and J of encoding them), or no row.
    cache, known: prefixes, those of finished requests (at the places of the ranks and, see
    `offload`, of the tiers below) and those of the requests in the window.
    """

    replicas: NDArray[Any]
    ranks: NDArray[Any]
    slots: NDArray[Any]
    results: NDArray[Any]
    crossing: Ints
    ring: NDArray[np.int32]
    free: Ints
    counts: Ints
    sums: Floats
    log: NDArray[Any]
    logged: Ints
    window: Floats
    images: Floats
    cache: PrefixCache
    known: Known


def record(floats: str, ints: str, small: str = "") -> np.dtype[Any]:
    """A record of 8-byte fields, and `small` ones of 4, attributes with numba and without.

    Small are places and counts in records that many are read of.
    """
    kinds = {"f8": floats, "i8": ints, "i4": small}
    fields = [(name, kind) for kind, names in kinds.items() for name in names.split()]
    return np.dtype((np.record, np.dtype(fields, align=True)))


@inlined
def wide(value: int) -> int:
    """A small field in 8 bytes, to call a function with: numba compiles one for each width."""
    return int(np.int64(value))


# now: s the step under way ends or the next one starts; step: decode steps done;
# decoding, context: sequences in decode and tokens in their caches; held_back: steps of balance;
# pending: prompt tokens to compute; caching: those in caches of requests that do not decode, and of
# caches that wait to leave; ending: no request ends before that step;
# most: decoding on the fullest rank, unless stale;
# fresh: chain of those whose second token the next decode step gives;
# shared: blocks that more requests use, once for each of them after the first.
# Of the step under way, which counts when it ends (until then it can be thrown away):
# under_way: see `IDLE`; seconds, joules; computing: prompt tokens; done: prompts it completes,
# landed: caches that came meanwhile (chains), adding: s that its prompts add to it; prompting: that
# prompts added to all before. closed: whether it takes no requests.
# Where ranks rest (see `resting`): turns: sequences that began to decode; resumed: that had rested.
REPLICA = record(
    floats="now context shared seconds joules adding prompting",
    ints="step decoding waiting prefilling outstanding held_back busy pending ending most stale "
    "under_way computing done landed fresh closed turns resumed caching",
)
# No step is under way, one of prompts alone, one of decoding and perhaps prompts.
IDLE, PROMPTS, DECODES = range(3)
# batch: decoding; running: with the prompt; partial: slot whose prompt is part computed;
# used: blocks, as of step `synced`; promised: sum of the steps its decoding requests end in;
# share: of the output to come that was reserved at step `since`; reading: it computes prompts in
# the step under way, paused: its sequences rest since one in which it did (see `resting`).
RANK = record(
    floats="used share",
    ints="synced promised since",
    small="queue_head queue_tail oldest newest partial batch running queued reading paused",
)
# arrival, admitted, first and second token: s, -1 if not yet. prompt, computed: tokens to prefill
# and done; left: output tokens to come; cached: tokens found when it was first admitted,
# cached_host, cached_shared: of these in the tiers below; held: blocks at admission; units: first
# units of its prefix it holds in the cache; begun, ends: decode steps; losses: times it was
# preempted. computed, and blocks, are those at the end of the step under way. turn: in which it
# began to decode, paused: s of its last token while it rests (see `resting`). read: `prompting`
# when it came; from the first token on, s that prompts added to steps until then.
SLOT = record(
    floats="arrival admitted first second paused read",
    ints="number begun ends priority turn",
    small="prompt computed left output cached held units losses rank following older newer "
    "after_in_step before_in_step cached_host cached_shared",
)
RESULT = record(
    floats="arrival admitted first second finish read",
    ints="number output cached losses replica rank cached_host cached_shared",
)
# Of a request whose prefix is known: where its ids start; the row that goes on where it ends, whose
# ids name the units of the answer, -1 none.
ROW = record(floats="", ints="start heir")
IMAGE_COLUMNS = 3
NOTHING_KNOWN = Known(np.zeros(0, np.int64), np.zeros(1, ROW))
# A step, or a stretch of steps without prompts. begin, end: s; tokens: prefilled; usual: tokens
# that came a step after the one before. No steps: the rest of sequences, `batch` of them.
STEP = record(floats="begin end tokens", ints="replica steps batch usual")
SUMS = (
    "busy_seconds",
    "steps",
    "decode_tokens",
    "prefill_tokens",
    "joules",
    "batch_seconds",
    "block_seconds",
    "losses",
    "finished",
    "from_host",
    "from_shared",
    "to_host",
    "to_shared",
    "interrupted",
    "lost_steps",
    "lost_tokens",
)
BUSY, STEPS, DECODED, PREFILLED, JOULES, BATCH, BLOCKS, LOSSES, FINISHED = range(9)
FROM_HOST, FROM_SHARED, TO_HOST, TO_SHARED = range(9, 13)  # units loaded and written
# Of replicas that failed: requests on them, steps under way, tokens those requests had cached.
INTERRUPTED, LOST_STEPS, LOST_TOKENS = range(13, len(SUMS))


# Of `State.counts`: the place in the stream of request number 0; the scope, which is a part of the
# replicas that a router sees, whose turn it is; then of each scope the next replica of a round
# robin, counted in it, and how many are open.
BASE, TURN, SCOPES = 2, 3, 4
NEXT, OPEN, EACH = range(3)


def state(replicas: int, rules: Rules, slots: int, scopes: int = 1) -> State:
    """`replicas` idle replicas with room for `slots` requests between them.

    scopes: equal parts, each behind a router of its own.
    """
    ranks = np.zeros((replicas, rules.ranks), RANK)
    for name in ("queue_head", "queue_tail", "oldest", "newest", "partial"):
        ranks[name] = -1
    each = np.zeros(replicas, REPLICA)
    each["done"] = each["landed"] = each["fresh"] = -1
    places = replicas * rules.ranks
    return State(
        replicas=each,
        ranks=ranks,
        slots=np.zeros(slots, SLOT),
        results=np.zeros(2 * slots, RESULT),
        crossing=np.zeros((replicas, rules.ranks, rules.block), np.int64),
        ring=np.full((replicas, rules.ring), -1, np.int32),
        free=np.arange(slots - 1, -1, -1, dtype=np.int64),
        counts=np.array([slots, 0, 0, 0, *[0, replicas // scopes] * scopes], np.int64),
        sums=np.zeros(len(SUMS)),
        log=np.zeros(0, STEP),
        logged=np.zeros(1, np.int64),
        window=np.array([np.inf, -np.inf]),
        images=np.empty((0, IMAGE_COLUMNS)),
        cache=prefix_cache(tiers(rules) * places + 1, *_entries(rules, places, slots)),
        known=NOTHING_KNOWN,
    )


def _entries(rules: Rules, places: int, slots: int) -> tuple[int, int]:
    """Entries of the prefix cache at first, and how many always suffice."""
    if not rules.unit:
        return 0, 0
    each = rules.blocks * rules.block // rules.unit + 2
    most = places * (each + rules.host) + rules.shared
    return min(most, slots), most


def tiers(rules: Rules) -> int:
    """Places of the prefix caches for each rank: its own, and that of its host memory."""
    return 2 if rules.host or rules.shared else 1
