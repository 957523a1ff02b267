"""Fit collectives to measured tables: `python tools/fit_collectives.py DIR`.

DIR holds kernels/<system>/comm.*.parquet and truth/collectives.csv. Writes
src/racktwin/catalog/fabrics/{nccl,engine,experts}.yaml and docs/reference/collectives.md.
"""

import sys
from pathlib import Path

from collectives import records
from collectives.engines import fit_engines
from collectives.libraries import fit_libraries, ranks_held_out
from collectives.nccl import fit_nccl
from collectives.page import render

ROOT = Path(__file__).resolve().parents[1]


def main(folder: Path) -> None:
    nccl, held = fit_nccl(folder)
    engine = fit_engines(folder)
    experts = fit_libraries(folder)
    for name, record in (("nccl", nccl), ("engine", engine), ("experts", experts)):
        records.write(ROOT / f"src/racktwin/catalog/fabrics/{name}.yaml", record)
    text = render(nccl, held, engine, experts, ranks_held_out(folder))
    (ROOT / "docs/reference/collectives.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
