"""MoE dispatch and combine: the libraries of the engines, from their tables."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from collectives import exchanges, records
from collectives.records import SYSTEMS, Record
from racktwin.network.curve import Array
from racktwin.network.exchange import Copies, copies_sent

NOTE = (
    "per phase and payload (alpha^p + (tokens (per_token + copies (per_copy + bytes / bandwidth)))"
    "^p)^(1/p); per_doubling, fan_loss: growth with EP beyond `ranks`, measured on GB200 at EP2 "
    "to EP64 and lent to the libraries that were measured at one EP; payloads nobody measured take "
    "the nearest one's constants and their own bytes; s, bytes and B/s"
)
PAYLOAD = {"bf16": 2.0, "fp8": 1 + 4 / 128, "nvfp4": 0.5 + 1 / 16}
LABEL = {"bfloat16": "bf16", "default": "bf16", "fp8": "fp8", "fp4": "nvfp4", "nvfp4": "nvfp4"}
NORMAL_SMS = 20  # DeepEP's default
FEWEST_EXPERTS = 64  # below, a few experts per rank serialise: no model of today
KEEP = ("phase", "payload", "ranks", "experts", "top_k", "hidden", "tokens", "seconds")
LENDER = ("nvlink_two_sided", "gb200")
LOW_LATENCY_TOKENS = {
    "deepep_low_latency": (128, "SGLang's default number of tokens per rank for this mode"),
    "trtllm_low_latency": (256, "the largest number in its table"),
    "vllm_low_latency": (256, "the largest number in its table"),
}
DEEPEP = {"low_latency": "deepep_low_latency", "throughput": "deepep_normal"}
VLLM = {"low_latency": "vllm_low_latency", "throughput": "vllm_throughput"}
ONE_SIDED = {"low_latency": "nvlink_one_sided", "throughput": "nvlink_one_sided"}
TRTLLM = {"low_latency": "trtllm_low_latency", "throughput": "trtllm_throughput"}
DEFAULT = {
    "trtllm": {"rack": ONE_SIDED, "host": TRTLLM},
    "sglang": {"rack": DEEPEP, "host": DEEPEP},
    "vllm": {"rack": VLLM, "host": VLLM},
}
NEAREST = {
    "gb300": ["gb200", "b300_sxm"],
    "gb200": ["gb300", "b200_sxm"],
    "b300_sxm": ["b200_sxm", "gb300"],
    "b200_sxm": ["b300_sxm", "gb200"],
    "h200_sxm": ["h100_sxm"],
    "h100_sxm": ["h200_sxm"],
}


def fit_libraries(folder: Path) -> Record:
    libraries: Record = {
        "nvlink_two_sided": _library("rank", {"gb200": two_sided(folder)}, balanced=True),
        "nvlink_one_sided": _library("rank", {"gb200": one_sided(folder)}, balanced=True),
        "deepep_low_latency": _library("expert", {s: low_latency(folder, s) for s in SYSTEMS}),
        "deepep_normal": _library("rank", {s: normal(folder, s) for s in SYSTEMS}),
    }
    modes: list[tuple[str, str, Copies]]
    modes = [("low_latency", "ll", "expert"), ("throughput", "ht", "rank")]
    for framework in ("trtllm", "vllm"):
        for mode, backend, sent in modes:
            tables = {s: wide(folder, s, framework, backend) for s in SYSTEMS}
            libraries[f"{framework}_{mode}"] = _library(sent, tables)
    _lend(libraries)
    for name, (tokens, note) in LOW_LATENCY_TOKENS.items():
        libraries[name]["tokens"] = {"value": tokens, "kind": "assumed", "note": note}
    origin = records.origin("MoE dispatch and combine", NOTE)
    routing = {"payload": PAYLOAD, "nearest": NEAREST, "default": DEFAULT}
    return {**origin, **routing, "libraries": libraries}


def ranks_held_out(folder: Path) -> dict[str, dict[int, Array]]:
    """Errors of each EP size predicted from the others, where several were measured."""
    found = {}
    for name, table in (("two-sided", two_sided(folder)), ("one-sided", one_sided(folder))):
        for (phase, payload), rows in table.group_by(["phase", "payload"], maintain_order=True):
            sized = with_copies(rows, "rank", balanced=True)
            off = exchanges.without_ranks(sized, 4, records.link("gb200"))
            found[f"{name} {phase} {payload}"] = off
    return found


def _library(copies: Copies, tables: dict[str, pl.DataFrame], *, balanced: bool = False) -> Record:
    phases: Record = {}
    for system, table in tables.items():
        base = max(int(table["ranks"].to_numpy().min()), 4)
        phases[system] = {}
        for (phase, payload), rows in table.group_by(["phase", "payload"], maintain_order=True):
            sized = with_copies(rows, copies, balanced=balanced)
            phases[system].setdefault(phase, {})[str(payload)] = exchanges.fit(
                sized, base, records.link(system)
            )
    return {"copies": copies, "phases": phases}


def with_copies(rows: pl.DataFrame, copies: Copies, *, balanced: bool) -> pl.DataFrame:
    """Rows with copies sent per token and bytes of each; the median where a key stands twice."""
    keys = [name for name in KEEP if name != "seconds"]
    good = (pl.col("seconds") > 0) & (pl.col("experts") >= FEWEST_EXPERTS)
    rows = rows.filter(good).group_by(keys).agg(pl.col("seconds").median()).sort(keys)
    pairs = zip(rows["ranks"], rows["top_k"], strict=True)
    sent = [copies_sent(copies, int(n), int(k), balanced=balanced) for n, k in pairs]
    value = rows["payload"].replace_strict(PAYLOAD, return_dtype=pl.Float64)
    moves = pl.col("phase") != "prepare"
    return rows.with_columns(
        pl.Series("copies", sent),
        pl.when(moves).then(pl.col("hidden") * value).otherwise(0.0).alias("size"),
        (pl.col("experts") if copies == "expert" else pl.lit(0)).alias("experts"),
    )


def two_sided(folder: Path) -> pl.DataFrame:
    """TensorRT-LLM's two-sided exchange over NVLink; combine is bf16 unless 'low precision'."""
    rows = _trtllm(folder).filter(pl.col("kernel_source") == "NVLinkTwoSided")
    low = rows["op_name"].str.ends_with("low_precision")
    payload = pl.when(low).then(pl.lit("nvfp4")).when(pl.col("phase") == "dispatch")
    return rows.with_columns(
        payload.then(pl.col("payload")).otherwise(pl.lit("bf16")).alias("payload")
    ).select(KEEP)


def one_sided(folder: Path) -> pl.DataFrame:
    """The one-sided exchange: NVFP4 dispatch from the tables, bf16 from TensorRT-LLM's blog."""
    rows = _trtllm(folder).filter(pl.col("kernel_source") == "NVLinkOneSided")
    bf16 = pl.when(pl.col("phase") == "combine").then(pl.lit("bf16")).otherwise(pl.col("payload"))
    rows = rows.with_columns(bf16.alias("payload")).select(KEEP)
    blog = pl.read_csv(folder / "truth/collectives.csv", infer_schema_length=0)
    blog = blog.filter(pl.col("op").is_in(["moe_dispatch bf16", "moe_combine bf16"])).select(
        pl.col("op").str.extract("moe_(.*) bf16").alias("phase"),
        pl.lit("bf16").alias("payload"),
        pl.col("n_gpus").cast(pl.Float64).cast(pl.Int64).alias("ranks"),
        pl.lit(256, pl.Int64).alias("experts"),
        pl.lit(8, pl.Int64).alias("top_k"),
        pl.lit(7168, pl.Int64).alias("hidden"),
        pl.col("bytes_or_tokens").str.extract(r"(\d+) tokens").cast(pl.Int64).alias("tokens"),
        (pl.col("latency_us").cast(pl.Float64) * 1e-6).alias("seconds"),
    )
    return pl.concat([rows, blog])


def _trtllm(folder: Path) -> pl.DataFrame:
    path = folder / "kernels/gb200/comm.trtllm.trtllm_alltoall_perf.parquet"
    return pl.read_parquet(path).with_columns(
        pl.col("op_name").str.extract("alltoall_([a-z]+)").alias("phase"),
        pl.col("moe_dtype").replace(LABEL).alias("payload"),
        pl.col("moe_ep_size").alias("ranks"),
        pl.col("num_experts").alias("experts"),
        pl.col("topk").alias("top_k"),
        pl.col("hidden_size").alias("hidden"),
        pl.col("num_tokens").alias("tokens"),
        (pl.col("latency") * 1e-3).alias("seconds"),
    )


def low_latency(folder: Path, system: str) -> pl.DataFrame:
    """DeepEP's low-latency mode as SGLang runs it: fp8 out, bf16 back."""
    return _deepep(folder, system, "ll", "avg_t_us")


def normal(folder: Path, system: str) -> pl.DataFrame:
    """DeepEP's normal mode as SGLang runs it, on its default number of SMs."""
    return _deepep(folder, system, "normal", "transmit_us")


def _deepep(folder: Path, system: str, mode: str, column: str) -> pl.DataFrame:
    path = folder / f"kernels/{system}/comm.sglang.wideep_deepep_{mode}_perf.parquet"
    rows = pl.read_parquet(path)
    ranks = 4 if system.startswith("gb") else 8
    parts = []
    for phase, payload in (("dispatch", "fp8"), ("combine", "bf16")):
        part = rows.filter(pl.col(f"{phase}_sms") == NORMAL_SMS) if mode == "normal" else rows
        parts.append(
            part.select(
                pl.lit(phase).alias("phase"),
                pl.lit(payload).alias("payload"),
                pl.lit(ranks, pl.Int64).alias("ranks"),
                pl.col("num_experts").alias("experts"),
                pl.col("num_topk").alias("top_k"),
                pl.col("hidden_size").alias("hidden"),
                pl.col("num_token").alias("tokens"),
                (pl.col(f"{phase}_{column}") * 1e-6).alias("seconds"),
            )
        )
    return pl.concat(parts)


def wide(folder: Path, system: str, framework: str, backend: str) -> pl.DataFrame:
    """DeepEP as TensorRT-LLM and vLLM run it; high-throughput combine is always bf16."""
    rows = pl.read_parquet(folder / f"kernels/{system}/comm.{framework}.moe_a2a_perf.parquet")
    plain = (pl.col("phase") == "combine") & pl.lit(backend == "ht")
    return rows.filter(pl.col("comm_backend").str.ends_with(f"deepep_{backend}")).select(
        "phase",
        pl.when(plain)
        .then(pl.lit("bf16"))
        .otherwise(pl.col("comm_dtype").replace(LABEL))
        .alias("payload"),
        pl.col("ep_size").alias("ranks"),
        pl.col("num_experts").alias("experts"),
        pl.col("topk").alias("top_k"),
        pl.col("hidden_size").alias("hidden"),
        pl.col("num_tokens").alias("tokens"),
        (pl.col("transmit_us") * 1e-6).alias("seconds"),
    )


def _lend(libraries: Record) -> None:
    """Growth over ranks where one EP was measured: that of the two-sided exchange, bf16."""
    library, system = LENDER
    lender = libraries[library]["phases"][system]
    for name, each in libraries.items():
        if name.startswith("nvlink"):
            continue
        for phases in each["phases"].values():
            for phase, payloads in phases.items():
                for constants in payloads.values():
                    for term in ("per_doubling", "fan_loss"):
                        constants[term] = lender[phase]["bf16"][term]
