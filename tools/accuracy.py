"""Errors against published measurements: prints them, writes the page and the intervals.

`python tools/accuracy.py [FOLDER]`, where FOLDER holds serving_measured.csv and the MLPerf tables.
"""

from __future__ import annotations

import argparse
from datetime import date
from operator import attrgetter
from pathlib import Path

import numpy as np

from calibration import coverage, noise, page, spread
from racktwin.evidence import confidence, mlperf
from racktwin.evidence.calibration.scored import Scored
from racktwin.evidence.calibration.study import FOLDS, Study
from racktwin.evidence.measurement import Measurement
from racktwin.evidence.prediction import Prediction
from racktwin.serving.steady import SteadyState

ROOT = Path(__file__).parents[1]
TRUTH = ROOT.parent / "shared" / "truth"
PAGE = ROOT / "docs" / "background" / "accuracy.md"
INTRODUCTION = """# Accuracy

Written by `python tools/accuracy.py` on {date}; do not edit.

{read:,} of {all:,} rows of published serving measurements say which deployment ran; {priced:,} of
those ({share:.0f} %) are answered. The rest is refused: it does not say how many replicas ran.
(`racktwin validate serving` answers four rows more, whose clients it infers, and tells queued rows
apart; its figures differ from these by so much.)

**Method.** Every row is its clients' closed loop, followed request by request (`evidence/loop`):
all start at once, each sends its next request 10 ms after an answer, ten in all, with the
benchmark's own lengths. A request passes a server in front of the engine, 1 ms and 2 µs per token
of its prompt, one after the other; where prompts ride in decode steps, two enter a step and 2,048
tokens at most. Those five numbers hold for all rows, and were chosen on these same rows (the best
of some forty settings), so they are in no fold. Three constants per engine epoch for TPOT (host
time per layer and per sequence, collectives over their table) and three for TTFT (steps waited,
prefill over its table, reply; with pools of their own: prefill, handover) are fitted on log
errors, robustly, and shrunk towards their engine's value (`tools/calibrate.py`), which an epoch
of fewer than ten rows takes as it is. Collectives are calibrated over their first 15 µs, in which
ranks meet. Eight more hold for all releases of an engine (that on Hopper, experts in mxfp4, the
gap where CUDA graphs leave attention out, that of recurrent layers; prefill on Hopper and with
routed experts, launching latent and launching recurrent attention), and TensorRT-LLM 1.0 has one
for matrix products, slower than those of today's tables. Rows of one engine, chip, model and
precision err together, so n of them weigh as the square root of n. *Out of fold*: {folds} folds
over whole curves (model, chip, engine version, precision, layout, lengths), so no row of a curve
helps to predict another one. *Unseen*: every row of a chip, or of a model, left out of the fit.
Errors are relative to the measured mean; bias is the median signed error. Layouts, cache formats
and launch settings that rows do not state are inferred from public launch scripts and said with
every row; doubted rows stand in `src/racktwin/evidence/data/suspicious.yaml` with the reason, and
are never fitted.
"""


def main() -> None:
    """Study, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=TRUTH)
    asked = parser.parse_args()
    if not asked.folder.is_dir():
        parser.error(f"{asked.folder} is not there: give the folder of the published tables")
    study = Study(Scored.of(asked.folder / "serving_measured.csv"))
    rows = study.scored.rows
    folded = study.out_of_fold()
    chips = study.left_out(lambda row: row.system)
    models = study.left_out(lambda row: row.model)
    everything = np.ones(len(rows), dtype=bool)
    spread.write(
        list(spread.kinds(rows, folded, chips, models, everything)),
        sorted({row.model for row in rows}),
    )
    spread.write_folds(
        [
            list(spread.kinds(rows, folded, chips, models, study.fold != each))
            for each in range(FOLDS)
        ]
    )
    confidence.kinds.cache_clear()
    inside = ["## Intervals", "", "80 % intervals of rows from other folds.", ""]
    inside += [*coverage.table(study, folded), "", *noise.table(rows), ""]
    rack = Scored(
        mlperf.read(asked.folder / "mlperf_inference.csv", asked.folder / "mlperf_configs.csv")
    )
    offline = list(zip(rack.rows, rack.steady(study.best), strict=True))
    text = "\n".join(
        [
            _introduction(study.scored),
            *_tables(study, folded, chips, models),
            *inside,
            *_last(offline),
        ]
    )
    print(text)
    PAGE.write_text(text + "\n", encoding="utf-8")


def _introduction(scored: Scored) -> str:
    read = len(scored.rows) + len(scored.refused)
    return INTRODUCTION.format(
        date=date.today().isoformat(),
        read=read,
        all=read + len(scored.unread),
        priced=len(scored.rows),
        share=100 * len(scored.rows) / read,
        folds=FOLDS,
    )


def _tables(
    study: Study, folded: list[Prediction], chips: list[Prediction], models: list[Prediction]
) -> list[str]:
    def paired(predictions: list[Prediction]) -> page.Scores:
        return list(zip(study.scored.rows, predictions, strict=True))

    fitted, out = paired(study.scored.predict(study.best)), paired(folded)
    roles = {True: "aggregated", False: "disaggregated"}
    whole = [("all", out), *page.by(out, lambda row: roles[row.aggregated])]
    lines = ["## Out of fold", "", *page.table("rows", whole), ""]
    lines += ["With the doubted rows:", "", *page.table("rows", whole, doubted=True), ""]
    keys = {"chip": attrgetter("system"), "engine": attrgetter("engine")}
    for title, key in (keys | {"model": attrgetter("model")}).items():
        for role, name in roles.items():
            part = [pair for pair in out if pair[0].aggregated == role]
            lines += [f"## By {title}, {name}", "", *page.table(title, page.by(part, key)), ""]
    left = [("chip", paired(chips)), ("model", paired(models)), ("nothing (fitted)", fitted)]
    lines += ["## Unseen", "", *page.table("left out of the fit", left), ""]
    lines += page.table("chip never seen", page.by(paired(chips), lambda row: row.system))
    lines += ["", *page.table("model never seen", page.by(paired(models), lambda row: row.model))]
    return [*lines, ""]


def _last(offline: list[tuple[Measurement, SteadyState]]) -> list[str]:
    note = (
        "DeepSeek-R1 Offline. The mean input length is published nowhere (800 tokens assumed). All"
        " of v5.1 have one constant that was fitted to them (`tools/fit_rounds.py`), v6.0 has none."
    )
    return ["## MLPerf inference", "", note, "", *page.offline(offline)]


if __name__ == "__main__":
    main()
