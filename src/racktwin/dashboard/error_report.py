"""The page of what formats cost the weights of a model: errors by layer, scales, worst weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from markupsafe import Markup

from racktwin import __version__
from racktwin.checkpoints.comparison import by_layer, whole
from racktwin.dashboard import svg
from racktwin.dashboard.page import page
from racktwin.dashboard.scatter import Point, scatter
from racktwin.numerics.deviation import Deviation

Errors = Mapping[str, Mapping[str, Deviation]]  # format -> module -> error
WORST = 20  # weights that are listed
WIDTH, HEIGHT, LEFT, BOTTOM = 760.0, 150.0, 70.0, 30.0


def error_report(seen: Errors, cosines: Mapping[str, Any], title: str) -> str:
    """The page as text. cosines: of sentence vectors with those of the stored weights."""
    return page("errors.html").render(
        title=title,
        columns=("RMS error", "SNR dB", "clipped", *(("cosine, mean", "least") if cosines else ())),
        rows=[(name, _row(whole(dict(each)), cosines.get(name))) for name, each in seen.items()],
        layers=Markup(_layers(seen)),
        scales=[(name, Markup(_scales(whole(dict(each))))) for name, each in seen.items()],
        worst=[(name, _worst(each)) for name, each in seen.items()],
        version=__version__,
    )


def _row(total: Deviation, cosines: Any) -> list[str]:
    cells = [f"{total.error:.3%}", f"{total.snr:.2f}", f"{total.clipped_share:.3%}"]
    if cosines is not None:
        cells += [f"{np.mean(cosines):.5f}", f"{np.min(cosines):.5f}"]
    return cells


def _layers(seen: Errors) -> str:
    """Error of each layer, a series for each format."""
    points = []
    for series, (name, each) in enumerate(seen.items()):
        for layer, total in by_layer(dict(each)).items():
            if layer:
                hover = f"{name}, layer {layer}: {total.error:.3%}"
                points.append(Point(float(layer), 100 * total.error, series, hover))
    return scatter(points, across="layer", up="relative RMS error, %", series=list(seen))


def _scales(total: Deviation) -> str:
    """How many blocks have a scale of each power of two."""
    if not total.powers:
        return ""
    low, high = min(total.powers), max(total.powers)
    most = max(total.powers.values())
    step = (WIDTH - LEFT) / max(high - low + 1, 8)
    marks = [svg.line(LEFT, HEIGHT - BOTTOM, WIDTH, HEIGHT - BOTTOM)]
    for power in range(low, high + 1):
        count = total.powers.get(power, 0)
        tall = (HEIGHT - BOTTOM - 10) * count / most
        x = LEFT + (power - low) * step
        hover = f"2^{power}: {count:,} blocks"
        marks.append(
            svg.rectangle(x + 1, HEIGHT - BOTTOM - tall, step - 2, tall, svg.PALETTE[0], hover)
        )
        if (high - low) < 24 or (power - low) % 8 == 0:
            marks.append(svg.words(x + step / 2, HEIGHT - 12, f"2^{power}", "middle", "small"))
    marks.append(svg.words(LEFT - 8, 18, f"{most:,}", "end"))
    marks.append(svg.words(LEFT - 8, HEIGHT - BOTTOM, "0", "end"))
    return svg.drawing(WIDTH, HEIGHT, marks, "blocks by the power of two of their scale")


def _worst(seen: Mapping[str, Deviation]) -> list[tuple[str, str, str, str]]:
    """Weights of the largest error, and their worst block."""
    rows = sorted(seen.items(), key=lambda each: -each[1].error)[:WORST]
    return [
        (name, f"{each.error:.3%}", f"{each.clipped_share:.3%}",
         f"row {each.worst[0].row:,}, block {each.worst[0].block:,}: {each.worst[0].error:.1%}"
         if each.worst else "")
        for name, each in rows
    ]  # fmt: skip
