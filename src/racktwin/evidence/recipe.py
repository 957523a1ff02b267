"""How many sequences the pools of a disaggregated benchmark held: public launch recipes.

No column of the results says it, and many recipes hold fewer than there are clients, who then wait.
data/recipes.csv.gz: one line per client count of .github/configs/nvidia-master.yaml of
SemiAnalysisAI/InferenceX (0004cf5), batches from the recipes that it names.
"""

from __future__ import annotations

from functools import cache

import msgspec

from racktwin.engine.deployment import Pool
from racktwin.evidence.data import HERE
from racktwin.evidence.table import rows

FILE = HERE / "recipes.csv.gz"
UNKNOWN = -1  # drafts of a recipe whose name does not say
NUMBERS = (
    *("isl", "osl", "concurrency", "prefill_num_workers", "decode_num_workers"),
    *("prefill_gpus", "decode_gpus", "decode_attention_dp_size"),
)


class Run(msgspec.Struct, frozen=True):
    """What is known of a run, model by the catalog's name.

    input, output: nominal tokens; clients, drafts: count.
    """

    model: str
    system: str
    precision: str
    input: int
    output: int
    clients: int
    drafts: int = 0


class Recipe(msgspec.Struct, frozen=True):
    """Limits per rank. batch: sequences of decode; tokens: of a prefill step, 0 where not read.

    drafts: count, below 0 where the recipe's name does not say; source: its path.
    """

    batch: int
    tokens: int
    drafts: int
    source: str


def recipe(run: Run, prefill: Pool, decode: Pool) -> Recipe | None:
    """The recipe of a run with these pools and as many drafts; None without one."""
    precision = run.precision.replace("nvfp4", "fp4")
    key = (run.model, run.system, precision, run.input, run.output, run.clients)
    stages = prefill.layout.stage, decode.layout.stage
    pools = prefill.replicas, decode.replicas, *stages, decode.layout.attention_data
    if max(prefill.layout.pipeline, decode.layout.pipeline) > 1:
        return None
    found = _recipes().get((*key, *pools), ())
    return next((each for each in found if each.drafts == run.drafts), None)


@cache
def _recipes() -> dict[tuple[object, ...], tuple[Recipe, ...]]:
    found: dict[tuple[object, ...], tuple[Recipe, ...]] = {}
    for _, row in rows(FILE, ("decode_batch",)):
        key = (
            row["model"],
            row["gpu_system"],
            row["precision"],
            *(int(row[name]) for name in NUMBERS),
        )
        one = Recipe(
            batch=int(row["decode_batch"]),
            tokens=int(row["prefill_tokens"] or 0),
            drafts=int(row["drafts"] or UNKNOWN),
            source=row["source"],
        )
        found[key] = (*found.get(key, ()), one)
    return found


def launched(run: Run, prefill: Pool, decode: Pool) -> tuple[Pool, Pool, str]:
    """Both pools with the limits of their recipe, and what of them that is, '' without one."""
    found = recipe(run, prefill, decode)
    if found is None:
        return prefill, decode, ""
    decode = msgspec.structs.replace(decode, max_batch=found.batch)
    if found.tokens:
        prefill = msgspec.structs.replace(prefill, max_batch_tokens=found.tokens)
    return prefill, decode, f"{found.batch} sequences a decode rank: {found.source}"
