"""The rules an engine schedules by, and a clock of the right size, for a pool of a deployment."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from racktwin.engine.autoscale import METRICS, defaults
from racktwin.engine.convention import of_epoch
from racktwin.engine.deployment import Deployment, Pool
from racktwin.engine.graphs import recorded
from racktwin.engine.memory import MemoryFit
from racktwin.engine.startup import seconds
from racktwin.engine.table import StepTable
from racktwin.serving.clock import Clock, clock
from racktwin.serving.fleet import Rules
from racktwin.serving.prompting import singly
from racktwin.serving.scaling import Scaling
from racktwin.serving.steady import Served

GRAIN = 4096  # parts of a token a gain is counted in
ENDLESS = 1 << 40  # blocks where length costs nothing
RING = 1024  # steps ahead an end can be noted at first; it grows with the outputs that come


class Policy(msgspec.Struct, frozen=True):
    """How an engine admits requests; see `fleet.Rules`.

    share, least: of the output to come that is kept free; steps: until it has sunk.
    """

    reserve: int
    chunked: bool
    share: float = 0.0
    least: float = 0.0
    steps: int = 1


# vLLM: blocks as tokens come, preemption by recompute (v1/core/sched/scheduler.py).
# TensorRT-LLM: GUARANTEED_NO_EVICT keeps the whole output free, chunked context on;
# MAX_UTILIZATION takes blocks as tokens come and pauses the last started request.
# SGLang: new_token_ratio 0.7 sinks to 0.14 x 0.7 in 600 decode steps (managers/scheduler.py).
POLICIES = {
    "vllm": Policy(reserve=0, chunked=True),
    "trtllm": Policy(reserve=1, chunked=True),
    "max_utilization": Policy(reserve=0, chunked=True),
    "sglang": Policy(reserve=2, chunked=True, share=0.7, least=0.14 * 0.7, steps=600),
}


def rules(deployment: Deployment, role: str, fit: MemoryFit, context: float) -> Rules:
    """The rules of the pool in this role.

    context: mean tokens of a request. A pipeline has as many steps under way as stages: each is
    scheduled like a replica of its own with its part of the batch and of the blocks.
    """
    pool, engine = deployment.pools[role], deployment.engine
    policy = POLICIES.get(deployment.scheduler, POLICIES[engine.engine])
    stages = pool.layout.pipeline
    ranks = pool.layout.attention_data
    batch = min(float(pool.max_batch), _states(fit))
    return Rules(
        ranks=ranks,
        max_batch=max(1, int(batch) // stages),
        budget=pool.max_batch_tokens,
        blocks=blocks(fit, context) // stages,
        block=fit.block,
        queries=1 + pool.speculation.tokens,
        gain=gain(pool),
        reserve=policy.reserve,
        share=policy.share,
        decay=(policy.share - policy.least) / policy.steps,
        least=policy.least,
        mixed=engine.mixed,
        singly=singly(engine, ranks, pool.speculation.tokens),
        balance=balance(deployment, ranks),
        ring=RING,
        chunked=policy.chunked,
    )


def gain(pool: Pool) -> float:
    """Mean tokens a sequence wins per decode step, in whole 1/4096."""
    return round(pool.speculation.tokens_per_step * GRAIN) / GRAIN


def balance(deployment: Deployment, ranks: int) -> int:
    """Steps attention-data ranks wait at most for each other's prompts; 0: they do not."""
    engine = deployment.engine
    return engine.balance_wait if engine.balanced and ranks > 1 else 0


def blocks(fit: MemoryFit, context: float) -> int:
    """Blocks of a rank; where length costs less and less, what requests of `context` tokens fill.

    That is so with layers that keep a window or a state.
    """
    plain = not fit.cache.windows and not fit.cache.state
    if fit.pooled or plain:
        return fit.kv_blocks
    held = fit.sequences(context)
    return ENDLESS if math.isinf(held) else int(held * math.ceil(context / fit.block))


def unit(size: int, fit: MemoryFit) -> int:
    """Tokens of a unit of the prefix cache: whole KV blocks and prefix blocks of `size` tokens."""
    return math.lcm(size, fit.block)


def _states(fit: MemoryFit) -> float:
    """Sequences whose recurrent states fit."""
    if not fit.state_bytes_per_sequence:
        return math.inf
    room = fit.state_room or max(0.0, fit.kv_room)
    return room / fit.state_bytes_per_sequence


def sized_clock(table: StepTable, rules: Rules, longest: int) -> Clock:
    """The clock of a pool whose sequences have up to `longest` tokens."""
    tokens, most = rules.budget + rules.max_batch * rules.queries, rules.max_batch
    sizes = recorded(of_epoch(table.step.epoch).graphs, most)
    return clock(table, tokens=tokens, batch=most, context=longest, sizes=sizes)


def scaling(served: Served, role: str, scopes: int) -> Scaling:
    """The autoscaling of the pool in this role, which has it, in each of `scopes` parts."""
    deployment = served.deployment
    asked = deployment.pools[role].autoscale
    assert asked is not None
    copies, usual = deployment.copies // scopes, defaults()
    ticks = max(1, math.ceil(asked.stabilisation / asked.interval))
    return Scaling(
        least=asked.least * copies,
        most=asked.most * copies,
        metric=METRICS.index(asked.metric),
        target=asked.target,
        interval=asked.interval,
        tolerance=asked.tolerance,
        growth=usual.growth,
        steps=usual.steps,
        start_up=start_up(served, role),
        advice=np.zeros((scopes, ticks), np.int64),
    )


def start_up(served: Served, role: str) -> float:
    """Seconds until a new replica of the pool in this role serves."""
    asked = served.deployment.pools[role].autoscale
    if asked is not None and asked.start_up is not None:
        return asked.start_up
    return seconds(served.memory[role], of_epoch(served.deployment.engine))


def ring_for(output: int, rules: Rules) -> int:
    """Steps ahead the ring must hold for answers of `output` tokens: a power of two."""
    steps = math.ceil(output / rules.gain) + 2
    return max(rules.ring, 1 << (steps - 1).bit_length())
