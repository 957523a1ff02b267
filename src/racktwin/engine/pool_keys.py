"""The keys of one pool in deployment.yaml, and the pool they make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import msgspec

from racktwin.catalog.bounds import Count
from racktwin.engine.autoscale import AutoscaleKeys, autoscale, faults
from racktwin.engine.deployment import Pool, Speculation
from racktwin.engine.deployment_check import experts_of
from racktwin.engine.epoch import Epoch
from racktwin.finding import Finding
from racktwin.models import Layout, Model
from racktwin.units import Fraction


class Mtp(msgspec.Struct, frozen=True, kw_only=True):
    """Multi-token prediction.

    acceptance: probability of a draft whose predecessors were taken, one for all or one for each.
    """

    tokens: Annotated[int, msgspec.Meta(ge=1, le=16)]
    acceptance: Fraction | tuple[Fraction, ...]


class PoolKeys(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of a pool; None stands for the default of the model or of the engine."""

    replicas: Count = 1
    tensor: Count = 1
    pipeline: Count = 1
    attention_data: Count = 1
    expert: Count = 1
    expert_tensor: Count | None = None
    slots: Count | None = None
    max_batch: Count = 256
    max_batch_tokens: Count | None = None
    mtp: Mtp | None = None
    autoscale: AutoscaleKeys | None = None


def pool(
    keys: PoolKeys,
    of: Model,
    engine: Epoch | None,
    role: str,
    tell: Callable[[list[Finding]], None],
) -> Pool:
    """The pool that `keys` describe; defaults come from the model and the engine.

    The experts fill a stage: expert_tensor is what expert leaves of it. The token budget is the
    engine's, or what a full batch needs if that is more. tell: takes findings.
    """
    experts, stage = experts_of(of), keys.tensor * keys.attention_data
    rest = max(1, stage // keys.expert) if experts else 1
    slots = keys.slots or experts
    if slots < experts or (keys.slots and not experts):
        text = f"{slots} slots for {experts} experts; expected one for each or more"
        tell([Finding(f"{role}.slots", text)])
    mtp = _speculation(keys.mtp) if keys.mtp else Speculation()
    if len(mtp.chances) != mtp.tokens:
        text = f"has {len(mtp.chances)} values for {mtp.tokens} drafts; expected one for each"
        tell([Finding(f"{role}.mtp.acceptance", text)])
    need = keys.max_batch * (1 + mtp.tokens)
    wrong = faults(keys.autoscale, keys.replicas, role) if keys.autoscale else []
    tell(wrong)
    return Pool(
        layout=Layout(
            tensor=keys.tensor,
            pipeline=keys.pipeline,
            attention_data=keys.attention_data,
            expert=keys.expert,
            expert_tensor=keys.expert_tensor or rest,
        ),
        replicas=keys.replicas,
        max_batch=keys.max_batch,
        max_batch_tokens=keys.max_batch_tokens
        or max(engine.max_batch_tokens if engine else 0, need),
        speculation=mtp,
        spare_experts=max(0, slots - experts),
        autoscale=autoscale(keys.autoscale) if keys.autoscale and not wrong else None,
    )


def _speculation(keys: Mtp) -> Speculation:
    given = keys.acceptance
    each = tuple(map(float, given)) if isinstance(given, tuple) else float(given)
    return Speculation(keys.tokens, each)
