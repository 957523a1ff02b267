"""The command: distill every chip, write the tables and the accuracy tables of the docs."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from distillation import (
    archive,
    attention,
    encoder,
    experts,
    fastest,
    gemm,
    latent,
    recurrent,
    report,
    sparse,
    stream,
    unseen,
)
from distillation.draft import BUSY, Draft, Score
from distillation.source import Source
from racktwin import hardware
from racktwin.kernels.tables import Tables

ROOT = Path(__file__).resolve().parents[2]
TABLES = ROOT / "src/racktwin/kernels/tables"
PAGE = ROOT / "docs/reference/kernel-tables.md"
NAMES = ("gb300", "gb200", "b300", "b200", "h200", "h100")
OPERATORS = (gemm, attention, latent, sparse, experts, recurrent, encoder, stream)
CLASSES = {
    "gemm": ("gemm",),
    "attention": ("attention_prefill", "attention_decode", "mla_prefill", "mla_decode", "encoder"),
    "experts": ("experts",),
    "recurrent": ("scan_decode", "scan_prefill"),
    "stream": ("stream",),
}


def main() -> None:
    """Distill the tables under a folder; without one of the chips, the docs stay as they are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder of raw tables, or the wheel")
    parser.add_argument("--chip", action="append", choices=NAMES, help="only these")
    arguments = parser.parse_args()
    TABLES.mkdir(parents=True, exist_ok=True)
    scores: dict[str, list[Score]] = {}
    without: dict[str, list[Score]] = {}
    sizes: dict[str, int] = {}
    made: list[Draft] = []
    for name in arguments.chip or NAMES:
        chip = hardware.chip(name)
        source = Source(arguments.folder, chip.tables)
        drafts = [each for module in OPERATORS for each in module.drafts(source, chip)]
        path = TABLES / f"{chip.tables}.npz"
        sizes[name] = archive.write(path, drafts, chip)
        tables = Tables(chip.tables, np.load(path, allow_pickle=False))
        scores[name] = [*fastest.scores(source, chip, tables), *(each.score for each in drafts)]
        without[name] = list(unseen.scores(drafts))
        made += drafts
        for line in report.lines(name, [*scores[name], *without[name]]):
            print(line)
        print(f"{name}: {sizes[name]:,} bytes")
    _defaults(made)
    if not arguments.chip:
        PAGE.parent.mkdir(parents=True, exist_ok=True)
        PAGE.write_text(report.document(scores, without, sizes), encoding="utf-8")


def _defaults(made: list[Draft]) -> None:
    """Print what catalog/kernels/generic.yaml is derived from."""
    print(f"median efficiency where the roofline takes {BUSY * 1e6:.0f} us or more:")
    for operator, members in CLASSES.items():
        busy = [each.busy for each in made if each.name.split(".")[0] in members]
        print(f"  {operator}: {np.median(np.concatenate(busy)):.2f}")
