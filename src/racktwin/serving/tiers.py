"""The tiers below a pool's prefix caches: how many units they hold, how fast these are loaded."""

from __future__ import annotations

import msgspec

from racktwin.engine.deployment import Deployment
from racktwin.engine.memory import MemoryFit
from racktwin.models.kv import kv_bytes_per_token
from racktwin.network.hierarchy import nic_bandwidth
from racktwin.serving.fleet import Rules
from racktwin.units import Bandwidth, Bytes

MOST = 1 << 30  # units of a tier that are told apart


class Habit(msgspec.Struct, frozen=True):
    """What an engine does by itself.

    evict: host memory takes a unit in when the GPU drops it, else as soon as it is known.
    layered: the layers of a step compute while later ones are loaded, else it waits for them all.
    credit: of a token in host memory, to Dynamo's router, in tokens of the GPU's cache.
    """

    evict: bool
    layered: bool
    credit: float


# vLLM: OffloadingConnector. SGLang: HiCache with write_through. TensorRT-LLM: host_cache_size; its
# events do not tell the router where a block lies (docs/background/scheduling.md, KV offload).
HABITS = {
    "vllm": Habit(evict=False, layered=True, credit=0.75),
    "sglang": Habit(evict=False, layered=True, credit=0.75),
    "trtllm": Habit(evict=True, layered=False, credit=1.0),
}


class Tiers(msgspec.Struct, frozen=True, kw_only=True):
    """Sizes and speeds of the tiers of one pool.

    host: units of one rank; shared: units of the deployment. host_bandwidth, shared_bandwidth: B/s
    to one GPU, with the words that say why. unit: bytes of a unit on all GPUs of a rank; whole:
    bytes of a unit in the shared pool, where nothing lies twice.
    """

    host: int
    shared: int
    host_bandwidth: Bandwidth
    shared_bandwidth: Bandwidth
    host_note: str
    shared_note: str
    unit: float
    whole: float
    gpus: int
    habit: Habit

    @property
    def evidence(self) -> tuple[tuple[str, str], ...]:
        """How fast each tier is read, and what that rests on."""
        host = ("host memory", f"{self.host_bandwidth} to each GPU, {self.host_note}")
        shared = ("shared pool", f"{self.shared_bandwidth} to each GPU, {self.shared_note}")
        return (host,) * (self.host > 0) + (shared,) * (self.shared > 0)

    def remark(self, made: Rules) -> str:
        """What a user may not expect of tiers as small as these, in a sentence; '' for nothing."""
        each, own = self.unit / self.gpus, made.blocks * made.block // made.unit
        if not self.host and not self.shared:
            return f"offload does nothing: a unit takes {Bytes(each)} of a GPU's part"
        if 0 < self.host < own and not self.habit.evict:
            return (
                f"host memory holds less than the GPU's own cache, {Bytes(own * each)}: written "
                "through, it finds little"
            )
        return ""

    def rules(self, made: Rules) -> Rules:
        """`made` with these tiers."""
        each = self.unit / self.gpus
        return made._replace(
            host=self.host,
            shared=self.shared,
            host_pace=each / self.host_bandwidth,
            shared_pace=each / self.shared_bandwidth,
            evict=self.habit.evict and self.host > 0,
            layered=self.habit.layered,
            credit=self.habit.credit,
        )


def tiers(deployment: Deployment, role: str, fit: MemoryFit, unit: int) -> Tiers | None:
    """The tiers of the pool in this role, None without any; unit: tokens.

    A pipeline's stages are scheduled like replicas: each has its part of a rank's host memory.
    """
    asked, layout = deployment.offload, deployment.pools[role].layout
    if not asked.any or not unit or not fit.cache.charged:
        return None
    habit = HABITS[deployment.engine.engine]
    if asked.write is not None:
        habit = msgspec.structs.replace(habit, evict=asked.write == "eviction")
    each = unit * fit.cache.charged
    whole = unit * kv_bytes_per_token(deployment.model.architecture, deployment.precision.kv)
    host, host_note = _host(deployment)
    shared, shared_note = _shared(deployment)
    gpus = layout.tensor * layout.pipeline
    return Tiers(
        host=min(MOST, int(asked.host // (each * layout.pipeline))),
        shared=min(MOST, int(asked.shared // whole)),
        host_bandwidth=host,
        shared_bandwidth=shared,
        host_note=host_note,
        shared_note=shared_note,
        unit=each * gpus,
        whole=whole,
        gpus=gpus,
        habit=habit,
    )


def _host(deployment: Deployment) -> tuple[Bandwidth, str]:
    """B/s from host memory to each GPU, and what it rests on."""
    given, host = deployment.offload.host_bandwidth, deployment.cluster.rack.host
    if given is not None:
        return given, "given"
    if host.to_gpu < host.cpu.to_gpu:
        return Bandwidth(host.to_gpu), f"its share of the memory bandwidth of {host.cpu.name}"
    return Bandwidth(host.to_gpu), f"copies from memory of {host.cpu.name} as measured"


def _shared(deployment: Deployment) -> tuple[Bandwidth, str]:
    """B/s from the shared pool to each GPU, and what it rests on."""
    given = deployment.offload.shared_bandwidth
    if given is not None:
        return given, "given"
    found, note = nic_bandwidth(deployment.cluster)
    return Bandwidth(found), note
