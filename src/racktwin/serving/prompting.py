"""What an engine adds to a prompt beyond its operators; it holds nobody else up."""

from __future__ import annotations

import msgspec

from racktwin.engine.deployment import Deployment
from racktwin.engine.epoch import Epoch
from racktwin.engine.step import Step
from racktwin.models.architecture import Architecture, Experts, LatentAttention, Recurrent


def singly(epoch: Epoch, ranks: int, drafts: int) -> bool:
    """Whether a rank's prompts stall its own decoding alone, while others of `ranks` (count) go on.

    drafts: of speculation, count. SGLang: with them a prompt on any rank stalls all.
    """
    return ranks > 1 and not (epoch.mixed or epoch.balanced or drafts)


def reading(epoch: Epoch, step: Step) -> float:
    """Time of a prompt from start to end over that of its steps, aggregated, 1."""
    kinds = step.architecture.kinds
    routed = any(isinstance(layer.feedforward, Experts) for layer in kinds)
    hopper = step.cluster.chip.family == "hopper"
    found = epoch.prefill * (epoch.prefill_hopper if hopper else 1.0)
    return found * (epoch.prefill_experts if routed else 1.0)


def launching(epoch: Epoch, architecture: Architecture) -> float:
    """Host time of a prompt in layers with latent or recurrent attention, s."""
    mixers = [layer.mixer for layer in architecture.layers]
    latent = sum(isinstance(each, LatentAttention) for each in mixers)
    recurrent = sum(isinstance(each, Recurrent) for each in mixers)
    return latent * epoch.launch + recurrent * epoch.launch_recurrent


def reply(epoch: Epoch, architecture: Architecture) -> float:
    """Seconds before the first token of a request that are no step's, where decode is not apart."""
    return epoch.first_token + launching(epoch, architecture)


class Added(msgspec.Struct, frozen=True):
    """What TTFT has beyond the schedule of steps, fitted on measurements; it holds nobody else up.

    reply: s. prompts: of the time that prompts add to steps meanwhile, 1. waits: times between its
    later tokens (count).
    """

    reply: float = 0.0
    prompts: float = 0.0
    waits: float = 0.0


def added(deployment: Deployment, step: Step) -> Added:
    """What an engine adds to the first token of a request in this deployment.

    step: of its prompts. Ranks that wait for each other do so in the schedule.
    """
    engine, architecture, pool = deployment.engine, step.architecture, deployment.serve
    if pool is None:
        apart = engine.handover + launching(engine, architecture)
        return Added(apart, engine.prefill_apart - 1)
    longer = reading(engine, step) - 1
    scheduled = engine.balanced and engine.balance_wait and pool.layout.attention_data > 1
    waits = 0.0 if scheduled else engine.prefill_wait * pool.speculation.tokens_per_step
    return Added(reply(engine, architecture), longer, waits)
