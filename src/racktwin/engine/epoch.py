"""An engine epoch: one serving engine at one version, as named calibrations.

A software release moves results more than a chip generation, so every fitted constant is keyed on
it. Values live in catalog/epochs/*.yaml with their source; tools/calibrate.py fits them.
"""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from racktwin.hardware import Chip
from racktwin.kernels import Kernels
from racktwin.models.architecture import Architecture, Recurrent

Engine = Literal["trtllm", "sglang", "vllm"]


class Epoch(msgspec.Struct, frozen=True, kw_only=True):
    """What one engine version adds to the bare operators, and its memory conventions.

    gap: host and launch time per layer that no operator covers, s.
    piecewise: more of that where CUDA graphs leave attention out (`split_graphs`), so that the host
    launches it layer by layer, s.
    recurrent: more of it in a layer with recurrent attention, whose many small kernels no operator
    covers, s.
    per_sequence: host time per decoding sequence of a rank and step (sampling, bookkeeping), s.
    step_overhead: time per engine step outside the layers (scheduling, sampling, detokenising), s.
    gemm, experts, attention, communication: measured time over operator-table time (1 = table).
    communication counts for the first `brief` seconds of a collective, in which ranks meet; beyond,
    the links bind it like its table, s. hopper: more of it on Hopper; on Blackwell collectives also
    add the residual and normalise, and the kernel behind starts before they end, 1.
    mxfp4: more of `experts` where their weights are mxfp4 (one model was measured: that its routing
    is less even than the tables' and that engines have better kernels cannot be told apart), 1.
    prefill_wait: decode steps between the arrival of a request and its first token that are neither
    its prefill nor its place in the queue (steps that were under way, results that come later).
    prefill: time of a prompt from start to end over that of its steps where decoding shares them
    (work on long texts, clocks under full load), 1; it does not slow down the others.
    prefill_hopper: more of that on Hopper, 1. prefill_experts: of models with routed experts, 1.
    prefill_apart: time of a prompt, wait and all, over its steps' where prefill has a pool, 1.
    launch, launch_recurrent: host time that a layer with latent, or with recurrent attention, adds
    to a prompt, s.
    first_token: time from the finished prefill to the first token at the client, aggregated, s.
    handover: that time where decode has a pool of its own (set-up, cache transfer), s.
    reserved: share of the answer still to come whose cache must be free to admit a request, 0..1.
    balanced: True when attention-data ranks prefill in the same steps, False when each on its own.
    balance_wait: steps such ranks hold prompts back for each other at most.
    mixed: True when prefill chunks ride in decode steps, False when they stall them.
    memory_fraction: the engine's memory flag as launch scripts set it, 0..1 of its own basis.
    max_batch_tokens: default token budget of one step.
    own_experts: families of chips on which experts run on this engine's kernels only; elsewhere it
    has those of others too (TensorRT-LLM's for Blackwell are measured under vLLM and SGLang).
    """

    name: str
    engine: Engine
    version: str
    gap: float
    step_overhead: float
    gemm: float
    experts: float
    attention: float
    communication: float
    hopper: float = 1.0
    brief: float = math.inf
    mxfp4: float = 1.0
    prefill_wait: float
    first_token: float
    balanced: bool
    mixed: bool
    memory_fraction: float
    max_batch_tokens: int
    per_sequence: float = 0.0
    piecewise: float = 0.0
    recurrent: float = 0.0
    split_graphs: bool = False
    prefill: float = 1.0
    prefill_hopper: float = 1.0
    prefill_experts: float = 1.0
    prefill_apart: float = 1.0
    launch: float = 0.0
    launch_recurrent: float = 0.0
    handover: float = 0.0
    balance_wait: int = 0
    reserved: float = 1.0
    own_experts: tuple[str, ...] = ()

    def host(self, architecture: Architecture) -> float:
        """Host time of a step whatever it holds: the gaps of its layers, and its own, s."""
        layers = architecture.layers
        recurrent = sum(isinstance(layer.mixer, Recurrent) for layer in layers)
        gap = self.gap + self.piecewise * self.split_graphs
        return gap * len(layers) + self.recurrent * recurrent + self.step_overhead

    def kernels(self, chip: Chip) -> Kernels:
        """Prices of operators on `chip` with the kernels that this engine launches."""
        return Kernels(chip, self.engine, own_experts=chip.family in self.own_experts)

    def on(self, family: str, experts: str) -> Epoch:
        """The epoch on chips of a family, with experts in a format: both factors applied."""
        return msgspec.structs.replace(
            self,
            hopper=self.hopper if family == "hopper" else 1.0,
            experts=self.experts * (self.mxfp4 if experts == "mxfp4" else 1.0),
            mxfp4=1.0,
        )
