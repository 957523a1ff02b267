"""NCCL: a curve for each system, operation and rank count; a rule for each generation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from collectives import pieces, records
from collectives.descent import descend
from collectives.records import GENERATIONS, LINK, SIBLINGS, SYSTEMS, Record
from racktwin.network.curve import Array, Rule
from racktwin.network.volume import OPERATIONS, Operation, switch_share

NOTE = (
    "nccl-tests sizes, half precision, NCCL 2.27 to 2.29; curves are alpha + size / bandwidth "
    "between protocol switches, rules alpha + per_rank (ranks - 1) + wire + 2 sqrt(ramp wire); "
    "s, bytes and B/s; errors are |fit / measured - 1|, held: a size (curves) or a rank count "
    "(rules) predicted without itself"
)
SMALL = float(1 << 20)  # bytes, up to which bandwidth hardly counts
BYTES = 2.0  # of an element, half precision


def fit_nccl(folder: Path) -> tuple[Record, Record]:
    """The catalog record, and errors per rank count predicted from the other rank counts."""
    rows = read(folder)
    curves: Record = {system: {} for system in SYSTEMS}
    for (system, op, ranks), group in rows.group_by(["system", "op", "ranks"], maintain_order=True):
        found = pieces.fit(group["size"].to_numpy(), group["seconds"].to_numpy())
        curves[str(system)].setdefault(op, {})[str(ranks)] = found
    rules: Record = {}
    held: Record = {}
    start = switch_start(folder)
    for generation, systems in GENERATIONS.items():
        part = rows.filter(pl.col("system").is_in(systems))
        rules[generation], held[generation] = _rules(part, LINK[generation], start)
    origin = records.origin("NCCL inside an NVLink domain", NOTE)
    return {**origin, "sibling": SIBLINGS, "rules": rules, "curves": curves}, held


def read(folder: Path) -> pl.DataFrame:
    """system, op, ranks, size (bytes), seconds; the median where a key stands several times."""
    frames = [
        pl.read_parquet(path)
        .filter(pl.col("nccl_dtype") == "half")
        .select(
            pl.lit(system).alias("system"),
            pl.col("op_name").replace({"alltoall": "all_to_all"}).alias("op"),
            pl.col("num_gpus").alias("ranks"),
            (pl.col("message_size") * BYTES).alias("size"),
            (pl.col("latency") * 1e-3).alias("seconds"),
        )
        for system in SYSTEMS
        for path in sorted((folder / "kernels" / system).glob("comm.*nccl_perf.parquet"))
    ]
    keys = ["system", "op", "ranks", "size"]
    return pl.concat(frames).group_by(keys).agg(pl.col("seconds").median()).sort(keys)


def switch_start(folder: Path) -> float:
    """Start-up of reduction in the NVLink switch, s: what published runs held to it took."""
    rows = pl.read_csv(folder / "truth/collectives.csv", infer_schema_length=0)
    size = pl.col("bytes_or_tokens").cast(pl.Float64, strict=False)
    small = rows.filter(pl.col("settings").str.contains("NVLS, in-place") & (size <= SMALL))
    return records.rounded(1e-6 * float(np.median(small["latency_us"].cast(pl.Float64).to_numpy())))


def _rules(rows: pl.DataFrame, link: float, start: float) -> tuple[Record, Record]:
    rules: Record = {}
    table: Record = {}
    for operation in OPERATIONS:
        part = rows.filter(pl.col("op") == operation)
        rule = _rule(operation, part, link)
        truth = part["seconds"].to_numpy()
        table[operation] = {}
        for ranks in part["ranks"].unique().sort():
            without, only = (
                part.filter(pl.col("ranks") != ranks),
                part.filter(pl.col("ranks") == ranks),
            )
            guess = _seconds(_rule(operation, without, link), operation, only)
            table[operation][str(ranks)] = records.off(guess, only["seconds"].to_numpy())
        held = np.concatenate(list(table[operation].values()))
        names = ("alpha", "per_rank", "bandwidth", "pair_loss", "ramp", "in_switch")
        rules[operation] = {name: records.rounded(getattr(rule, name)) for name in names}
        fitted = records.off(_seconds(rule, operation, part), truth)
        if rule.in_switch:
            rules[operation]["switch_alpha"] = start
        rules[operation]["error"] = records.error(fitted, held)
    return rules, table


def _rule(operation: Operation, rows: pl.DataFrame, link: float) -> Rule:
    truth = rows["seconds"].to_numpy()
    in_switch = _in_switch(rows) if operation == "all_reduce" else 0.0

    def rule(x: Array) -> Rule:
        alpha, per_rank, bandwidth, ramp = (float(each) for each in np.exp(x[:4]))
        loss = float(np.clip(x[4], 0.0, 2.0))
        return Rule(alpha, per_rank, bandwidth, loss, ramp, in_switch)

    start = [*np.log([8e-6, 1e-6, 0.85 * link, 2e-6]), 1.0]
    return rule(descend(lambda x: np.log(_seconds(rule(x), operation, rows) / truth), start))


def _in_switch(rows: pl.DataFrame) -> float:
    """B/s of the switch's reduction: from the two largest sizes, where no start-up is left."""
    found = []
    for (_, ranks), group in rows.filter(pl.col("ranks") >= 8).group_by(["system", "ranks"]):
        size, truth = (
            group.sort("size")["size"].to_numpy(),
            group.sort("size")["seconds"].to_numpy(),
        )
        rate = (size[-1] - size[-2]) / (truth[-1] - truth[-2])
        found.append(rate * switch_share(int(ranks)))
    return float(np.median(found)) if found else 0.0


def _seconds(rule: Rule, operation: Operation, rows: pl.DataFrame) -> Array:
    size, ranks = rows["size"].to_numpy(), rows["ranks"].to_numpy()
    out = np.empty(rows.height)
    for each in np.unique(ranks):
        out[ranks == each] = rule.seconds(operation, size[ranks == each], int(each))
    return out
