"""Charts and tables beside the accuracy page: `python tools/accuracy_charts.py`.

Writes docs/background/accuracy-charts.md and its SVG files from the measurements that ship.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

from accuracy_pages import scatter, tables
from racktwin.evidence import validation
from racktwin.evidence.validation.point import Validation

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "background" / "accuracy-charts.md"
FOLDER = PAGE.parent / "accuracy"
UNITS = {"tpot": "TPOT, ms", "ttft": "TTFT, ms", "output_rate": "output tokens/s/GPU"}
REST = Path(__file__).parent / "accuracy_pages" / "unexplained.md"


def main() -> None:
    """Predict, draw and write."""
    found = validation.serving()
    FOLDER.mkdir(exist_ok=True)
    for figure, unit in UNITS.items():
        text = scatter.chart(f"{unit}, predicted against measured", unit, _groups(found, figure))
        (FOLDER / f"{figure}.svg").write_text(text, encoding="utf-8")
    PAGE.write_text("\n".join([*_page(found), ""]), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")


def _groups(found: Validation, figure: str) -> dict[str, list[tuple[float, float]]]:
    """(measured, predicted out of fold) by chip."""
    groups: dict[str, list[tuple[float, float]]] = {}
    for point in found.answered:
        if value := tables.scored(point, figure):
            pair = (value.measured or 0.0, value.unseen.value)
            groups.setdefault(point.traits["chip"], []).append(pair)
    return dict(sorted(groups.items()))


def _page(found: Validation) -> Iterator[str]:
    yield "# Accuracy: charts and what remains"
    yield ""
    yield f"Written by `python tools/accuracy_charts.py` on {date.today()}; do not edit."
    yield "Predictions are out of fold: by constants that saw no row of the same curve. Doubted"
    yield "rows are left out. Tables by chip, engine and model: [Accuracy](accuracy.md)."
    for figure, unit in UNITS.items():
        yield f"\n## {unit[0].upper()}{unit[1:]}\n"
        yield f"![{unit}, predicted against measured](accuracy/{figure}.svg)"
    yield "\nThe line is predicted = measured; the dashed ones are one and a half times more and"
    yield "less."
    yield "\n## By regime\n"
    yield from tables.regimes(found)
    yield "\n## The fitted constants\n"
    yield "One value a release of an engine, or one for all of its releases; a dozen of your own"
    yield "rows make [your own](../guides/calibrate.md)."
    yield ""
    yield from tables.constants()
    yield "\n## Suspicious rows\n"
    yield "Judged once, from the data and the public launch scripts; never fitted, and every error"
    yield "is given with and without them (`src/racktwin/evidence/data/suspicious.yaml`)."
    yield ""
    yield from tables.suspicious(found)
    yield "\n## What remains unexplained\n"
    yield f"Groups of {tables.FEW} rows or more whose median error of TPOT is above"
    yield f"{100 * tables.FAR:.0f} %:"
    yield ""
    yield from tables.unexplained(found)
    yield ""
    yield REST.read_text(encoding="utf-8").rstrip()


if __name__ == "__main__":
    main()
