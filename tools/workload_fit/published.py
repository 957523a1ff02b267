"""Published figures: workloads of MLPerf Inference, whose requests are not public as a trace."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from statistics import NormalDist
from typing import Any

import msgspec

NINETY = NormalDist().inv_cdf(0.9)


class Dataset(msgspec.Struct, frozen=True):
    """A row of the table, and what is assumed beside it.

    input_mean: tokens; input_cv, output_cv: 1. why: where the assumptions are from.
    """

    model: str
    title: str
    input_mean: float
    input_cv: float
    output_cv: float
    why: str


UNKNOWN = "the mean input is in no source at hand"
DATASETS = {
    "mlperf-deepseek-r1": Dataset("deepseek-r1", "DeepSeek-R1, reasoning", 800, 0.6, 0.0, UNKNOWN),
    "mlperf-llama2-70b": Dataset("llama2-70b", "Llama 2 70B, OpenOrca", 300, 0.8, 0.7, UNKNOWN),
    "mlperf-llama3.1-405b": Dataset(
        "llama3.1-405b",
        "Llama 3.1 405B, long documents",
        9400,
        0.7,
        0.8,
        "mean input about 9,400 tokens as MLCommons announced with v5.0, not read again",
    ),
    "mlperf-gpt-oss-120b": Dataset(
        "gpt-oss-120b", "gpt-oss-120b, low effort", 1000, 1.0, 1.2, UNKNOWN
    ),
}


def documents(table: Path) -> dict[str, dict[str, Any]]:
    """Workload documents by name: Server, and Offline on top of it."""
    with table.open(encoding="utf-8") as file:
        rows = {row["model"]: row for row in csv.DictReader(file) if row["scenario"] == "Server"}
    found: dict[str, dict[str, Any]] = {}
    for name, dataset in DATASETS.items():
        found[name] = _server(dataset, rows[dataset.model])
        title = f"MLPerf Inference {dataset.title}, Offline"
        found[f"{name}-offline"] = {
            "extends": name,
            "title": title,
            "arrivals": {"law": "offline"},
        }
    return found


def _server(dataset: Dataset, row: dict[str, str]) -> dict[str, Any]:
    mean, most, longest = (float(row[name]) for name in ("osl_mean", "osl_max", "isl_max"))
    if row["osl_p50"]:
        middle, high = float(row["osl_p50"]), float(row["osl_p90"])
        sigma = math.log(high / middle) / NINETY
        law, cv = middle * math.exp(sigma**2 / 2), math.sqrt(math.expm1(sigma**2))
        how = "answers: lognormal through the published p50 and p90"
    else:
        law, cv = uncut(mean, dataset.output_cv, most), dataset.output_cv
        how = f"answers: lognormal of the published mean, their cv of {cv} is assumed"
    first = uncut(dataset.input_mean, dataset.input_cv, longest)
    input = _law(assumed(round(first), dataset.why), assumed(dataset.input_cv), longest)
    given = round(cv, 3) if row["osl_p50"] else assumed(cv)
    return {
        "title": f"MLPerf Inference {dataset.title}, Server",
        "kind": "derived",
        "source": f"MLPerf Inference: {row['source']}",
        "date": "2026-11-30",
        "note": f"{how}; inputs: lognormal, mean {dataset.input_mean:,.0f} and cv "
        f"{dataset.input_cv} are assumed ({dataset.why}); the rate is yours to give",
        "requests": int(float(row["n_samples"])),
        "arrivals": {"law": "poisson", "rate": assumed(1.0, "yours to give")},
        "classes": [{"input": input, "output": _law(round(law), given, most)}],
        "fit": _fit(law, cv, mean, most, row),
    }


def assumed(value: float, note: str = "not published") -> dict[str, Any]:
    """A figure (any unit) that nobody published, as the catalog writes it."""
    return {"value": value, "kind": "assumed", "note": note}


def _law(mean: Any, cv: Any, most: float) -> dict[str, Any]:
    return {"law": "lognormal", "mean": mean, "cv": cv, "least": 1, "most": int(most)}


def uncut(mean: float, cv: float, most: float) -> float:
    """Mean of the lognormal law whose draws, cut at `most`, have this mean (tokens); cv: 1."""
    low, high = mean, 4 * mean
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if cut_mean(middle, cv, most) < mean else (low, middle)
    return low


def cut_mean(mean: float, cv: float, most: float) -> float:
    """Mean of min(X, most) for a lognormal X of this mean (tokens) and cv (1)."""
    sigma = math.sqrt(math.log1p(cv**2))
    edge = (math.log(most / mean) + sigma**2 / 2) / sigma
    below = NormalDist().cdf
    return mean * below(edge - sigma) + most * (1 - below(edge))


def _fit(law: float, cv: float, mean: float, most: float, row: dict[str, str]) -> dict[str, float]:
    """Errors (1) of the answers' law (mean in tokens, cv 1) against the published figures."""
    found = {"output_mean": cut_mean(law, cv, most) / mean - 1}
    sigma = math.sqrt(math.log1p(cv**2))
    for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
        if row[f"osl_{name}"]:
            drawn = law * math.exp(NormalDist().inv_cdf(share) * sigma - sigma**2 / 2)
            found[f"output_{name}"] = min(drawn, most) / float(row[f"osl_{name}"]) - 1
    return {name: round(value, 4) + 0.0 for name, value in found.items()}
