"""From a checkpoint to a quantized one: shard by shard, in bounded memory, resumable.

Nothing is written before the input, the flags and the disk are checked. A shard gets its name when
it is whole; the index and the configs come last. The input is only ever opened for reading.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import ml_dtypes
import msgspec
import numpy as np

from racktwin.checkpoints.checkpoint import Checkpoint, open_checkpoint, read_json
from racktwin.checkpoints.companions import QUANT, copy_companions, write_configs
from racktwin.checkpoints.input_scales import read_input_scales
from racktwin.checkpoints.layout import BLOCK, LAYOUTS, Layout
from racktwin.checkpoints.pieces import largest_of, pieces
from racktwin.checkpoints.plan import METADATA, ShardPlan, plan_shards
from racktwin.checkpoints.recognition import Holding, recognise, refuse_faults
from racktwin.checkpoints.record import NAME, Record, open_record
from racktwin.checkpoints.selection import Selection, select
from racktwin.checkpoints.weight import Weight, values
from racktwin.checkpoints.writer import Writer
from racktwin.finding import BadInput, Finding, unknown
from racktwin.numerics.deviation import Deviation, deviation
from racktwin.numerics.options import CALIBRATIONS
from racktwin.numerics.quantization import Calibration, quantize_rows, tensor_scale_of
from racktwin.units import Bytes

FORMATS = ("nvfp4",)
HEADED = ("ForCausalLM", "ForConditionalGeneration", "LMHeadModel")  # models with an output head
COPIED = 1 << 26  # bytes copied at once
Tell = Callable[[int, int, str], None]  # bytes read of how many, and of what


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for, as the flags of `racktwin quantize` say it."""

    source: str
    target: str
    format: str = "nvfp4"
    layout: str = "modelopt"
    exclude: tuple[str, ...] = ()
    calibration: Calibration = "max"
    input_scales: str | None = None


class Conversion(msgspec.Struct, frozen=True, kw_only=True):
    """What was done. read, written: bytes of tensors; resumed: shards that were there already."""

    selection: Selection
    layout: Layout
    calibration: str
    deviations: dict[str, Deviation]
    read: int
    written: int
    shards: int
    resumed: int
    widened: int
    with_input: bool
    companions: tuple[str, ...]


def quantize_checkpoint(wish: Wish, tell: Tell = lambda done, of, what: None) -> Conversion:
    """Write the quantized checkpoint, or what is left of it. tell: is told of progress."""
    _check_names(wish)
    with open_checkpoint(wish.source) as found:
        held = recognise(found)
        refuse_faults(found, held)
        _refuse_quantized(found)
        chosen = select(held, wish.exclude, BLOCK, wish.source)
        layout = LAYOUTS[wish.layout]
        scales = {}
        if wish.input_scales is not None:
            scales = read_input_scales(Path(wish.input_scales), chosen.chosen)
        target = _target(wish, found)
        record = open_record(target, _settings(wish, found))
        plans = plan_shards(found, held, chosen, layout, scales)
        _check_room(target, [each for each in plans if each.file not in record.done])
        try:
            with _locked(target):
                record.save(target)
                resumed = len(record.done)
                work = _Work(found, held, chosen, layout, scales, wish.calibration, tell)
                for plan in plans:
                    work.write(plan, target, record)
                companions = _finish(found, target, layout, chosen, plans, bool(scales))
        except OSError as fault:
            reason = fault.strerror or str(fault)
            text = f"{reason}; {target} is left as it is: run the same command again to go on"
            raise BadInput([Finding("OUT", text)], "quantize") from None
        return Conversion(
            selection=chosen, layout=layout, calibration=wish.calibration,
            deviations=record.deviations, read=found.bytes,
            written=sum(each.stored for each in plans), shards=len(plans), resumed=resumed,
            widened=sum(job.kind == "widen" for each in plans for job in each.jobs),
            with_input=bool(scales), companions=companions,
        )  # fmt: skip


def _check_names(wish: Wish) -> None:
    found = []
    for key, given, known in (
        ("--format", wish.format, FORMATS),
        ("--layout", wish.layout, tuple(LAYOUTS)),
        ("--calibration", wish.calibration, CALIBRATIONS),
    ):
        if given not in known:
            found.append(unknown(key, given, known))
    if found:
        raise BadInput(found, "quantize")


def _refuse_quantized(found: Checkpoint) -> None:
    """Refuse what its config says is quantized, but for FP8 in blocks, whatever its tensors say."""
    settings = found.quantization
    faults = []
    if settings:
        method = settings.get("quant_method", "fp8")
        if method != "fp8" or "weight_block_size" not in settings:
            text = f"says it is quantized already ({str(method)[:40]})"
            faults.append(Finding("config.json", text))
    beside = read_json(found.folder / QUANT) if found.folder else {}
    inner = beside.get("quantization")
    if isinstance(inner, dict) and inner.get("quant_algo"):
        text = f"says it is quantized already ({str(inner['quant_algo'])[:40]})"
        faults.append(Finding(QUANT, text))
    if faults:
        raise BadInput(faults, str(found.path))


def _target(wish: Wish, found: Checkpoint) -> Path:
    """The folder to write, refused where it and the input lie in one another."""
    target, source = Path(wish.target), found.path.resolve()
    own, home = target.resolve(), source if found.folder else source.parent
    if own == home or own in home.parents or (found.folder and home in own.parents):
        text = f"{target} and the input lie in one another; the input is never written to"
        raise BadInput([Finding("OUT", text)], "quantize")
    return target


def _settings(wish: Wish, found: Checkpoint) -> str:
    """A hash of all that decides the bytes of the output."""
    parts: list[object] = [wish.format, wish.layout, wish.calibration, *sorted(wish.exclude)]
    for shard in found.shards:
        state = os.fstat(shard.file)
        parts += [shard.path.name, state.st_size, state.st_mtime_ns]
    if wish.input_scales is not None:
        parts.append(hashlib.sha256(Path(wish.input_scales).read_bytes()).hexdigest())
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _check_room(target: Path, plans: Sequence[ShardPlan]) -> None:
    place = target.absolute()
    while not place.exists():
        place = place.parent
    need, free = sum(each.bytes for each in plans), shutil.disk_usage(place).free
    if need > free:
        text = f"needs {Bytes(need)} on {place}, where {Bytes(free)} are free"
        raise BadInput([Finding("OUT", text)], "quantize")


@contextmanager
def _locked(target: Path) -> Iterator[None]:
    """Make the folder and keep others from writing into it at the same time."""
    target.mkdir(parents=True, exist_ok=True)
    handle = os.open(target, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            text = f"another run writes into {target}"
            raise BadInput([Finding("OUT", text)], "quantize") from None
        yield
    finally:
        os.close(handle)


class _Work:
    """The writing of shards, one after the other."""

    def __init__(
        self, found: Checkpoint, held: Holding, chosen: Selection, layout: Layout,
        scales: dict[str, np.float32], calibration: Calibration, tell: Tell,
    ) -> None:  # fmt: skip
        self.found, self.held, self.chosen, self.layout = found, held, chosen, layout
        self.scales, self.calibration, self.tell = scales, calibration, tell
        self.largest: dict[tuple[str, ...], np.float32] = {}
        self.done, self.all = 0, found.bytes

    def write(self, plan: ShardPlan, target: Path, record: Record) -> None:
        """Write one shard unless it is there."""
        before = self.done
        if plan.file not in record.done:
            with Writer(target / plan.file, plan.tensors, METADATA) as out:
                seen = {}
                for job in plan.jobs:
                    if job.kind == "quantize" and job.weight:
                        seen[job.weight.module] = self.quantize(job.weight, out)
                    elif job.kind == "widen" and job.weight:
                        self.widen(job.weight, out)
                    else:
                        self.copy(job.name, out)
            record.deviations |= seen
            record.done.append(plan.file)
            record.save(target)
        self.done = before + sum(each.bytes for each in plan.shard.header.entries.values())
        self.tell(self.done, self.all, plan.file)

    def quantize(self, weight: Weight, out: Writer) -> Deviation:
        """Write one weight in the layout, with a tensor scale shared by those it is fused with."""
        mates, layout, module = self.chosen.mates[weight.module], self.layout, weight.module
        if mates not in self.largest:
            weights = [self.chosen.chosen[each] for each in mates]
            self.largest[mates] = largest_of(self.found, weights)
        most = self.largest[mates]
        scale = tensor_scale_of(most) if most else np.float32(1)
        total = Deviation()
        rows, columns = weight.shape
        for begin, end in pieces(weight):
            piece = values(self.found, weight, begin, end)
            made = quantize_rows(piece, scale, self.calibration)
            out.put(f"{module}.{layout.weight}", made.packed, begin * columns // 2)
            out.put(f"{module}.{layout.scale}", made.scales, begin * columns // BLOCK)
            total.add(deviation(np.ascontiguousarray(piece, np.float32), made, begin))
            self._on(weight, (end - begin) / rows)
        out.put(f"{module}.{layout.tensor_scale}", layout.scalar(scale))
        if module in self.scales:
            out.put(f"{module}.{layout.input_scale}", layout.scalar(self.scales[module]))
        return total

    def widen(self, weight: Weight, out: Writer) -> None:
        """Write a block-scaled FP8 weight as plain bfloat16."""
        for begin, end in pieces(weight):
            wide = values(self.found, weight, begin, end).astype(ml_dtypes.bfloat16)
            out.put(weight.tensors["weight"], wide, begin * weight.shape[1] * wide.itemsize)
            self._on(weight, (end - begin) / weight.shape[0])

    def copy(self, name: str, out: Writer) -> None:
        """Write a tensor as it is."""
        shard, size = self.found.at[name], self.found.entry(name).bytes
        for begin in range(0, size, COPIED):
            end = min(size, begin + COPIED)
            out.put(name, shard.bytes(name, begin, end), begin)
            self.done += end - begin
            self.tell(self.done, self.all, name)

    def _on(self, weight: Weight, share: float) -> None:
        self.done += int(self.found.entry(weight.tensors["weight"]).bytes * share)
        self.tell(self.done, self.all, weight.module)


def _finish(
    found: Checkpoint, target: Path, layout: Layout, chosen: Selection,
    plans: Sequence[ShardPlan], with_input: bool,
) -> tuple[str, ...]:  # fmt: skip
    """What belongs beside the shards; the record of unfinished work goes last."""
    copied = copy_companions(found, target)
    written = write_configs(found, target, layout, _ignored(found, chosen), plans, with_input)
    (target / NAME).unlink(missing_ok=True)
    return (*copied, *written)


def _ignored(found: Checkpoint, chosen: Selection) -> list[str]:
    """Modules that are not quantized: matrices that stay, and a head that is the embedding.

    Such a head is not stored; engines make a linear layer of it and would look for its codes.
    """
    config = found.config
    classes = config.get("architectures")
    named = classes if isinstance(classes, list) else []
    answers = any(str(each).endswith(HEADED) for each in named)
    stored = any(name.rpartition(".")[2] == "lm_head" for name in (*chosen.kept, *chosen.chosen))
    tied = (answers or config.get("tie_word_embeddings") is True) and not stored
    return sorted([*chosen.kept, *(["lm_head"] if tied else [])])
