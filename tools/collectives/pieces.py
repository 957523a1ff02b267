"""Curves of alpha-beta pieces: the cuts with the least absolute log error, a price on each."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from collectives import records
from racktwin.network.curve import Array, Curve

FEWEST = 3  # sizes in a piece
PRICE = 0.1  # sum of absolute log errors that another piece has to save
ROUNDS = 6  # of reweighting towards the least absolute error
JITTER = 1.4  # times the time of a larger message
LEAST = 0.01  # error below which a size pulls no harder
LAST = 3.0  # times the two largest sizes count: what lies beyond them hangs on them
FLAT = 1e-3  # growth of a piece that counts as none
TINY = 1e-300

Piece = tuple[float, float, float]


def fit(size: Array, truth: Array, most: int = 4) -> records.Record:
    """A curve with its error, and with the error of each inner size predicted without itself.

    Jitter is not fitted, but counted in the errors: a message slower than a much larger one.
    """
    calm = _calm(truth)
    curve = best(size[calm], truth[calm], most)
    return {
        "upto": records.rounded_all(curve.upto),
        "alpha": records.rounded_all(curve.alpha),
        "bandwidth": records.rounded_all(curve.bandwidth),
        "largest": float(size[-1]),
        "error": records.error(
            records.off(curve.seconds(size), truth),
            records.off(held(size, truth, most), truth[1:-1]),
        ),
    }


def held(size: Array, truth: Array, most: int = 4) -> Array:
    """Each inner size (bytes) predicted by the curve of the others, s."""
    calm, found = _calm(truth), []
    for i in range(1, len(size) - 1):
        rest = calm & (np.arange(len(size)) != i)
        found.append(float(best(size[rest], truth[rest], most).seconds(size[i])))
    return np.array(found)


def _calm(truth: Array) -> NDArray[np.bool_]:
    return np.asarray(truth <= JITTER * np.minimum.accumulate(truth[::-1])[::-1])


def best(size: Array, truth: Array, most: int) -> Curve:
    """The curve of at most `most` pieces over sizes in rising order."""
    count = len(size)
    spans = [(i, j) for i in range(count) for j in range(i + FEWEST, count + 1)]
    times = np.where(np.arange(count) >= count - 2, LAST, 1.0)
    pieces = {}
    for span in spans:
        part = slice(*span)
        pieces[span] = _piece(size[part], truth[part], times[part])
    ways: dict[int, tuple[float, list[int]]] = {0: (0.0, [0])}
    complete = []
    for _ in range(most):
        longer: dict[int, tuple[float, list[int]]] = {}
        for (i, j), piece in pieces.items():
            if i in ways:
                cost = ways[i][0] + piece[2] + PRICE
                if j not in longer or cost < longer[j][0]:
                    longer[j] = (cost, [*ways[i][1], j])
        ways = longer
        complete += [ways[count]] if count in ways else []
    _, cuts = min(complete)
    chosen = [pieces[span] for span in pairwise(cuts)]
    return Curve(
        upto=tuple(float(np.sqrt(size[cut - 1] * size[cut])) for cut in cuts[1:-1]),
        alpha=tuple(piece[0] for piece in chosen),
        bandwidth=tuple(piece[1] for piece in chosen),
        largest=float(size[-1]),
    )


def _piece(size: Array, truth: Array, count: Array) -> Piece:
    """alpha, bandwidth and absolute log error of alpha + size / bandwidth, neither negative.

    count: how often each size counts.
    """
    one, x = 1 / truth, size / truth
    weight = count
    for _ in range(ROUNDS):
        a, b, c = float(weight @ one**2), float(weight @ (one * x)), float(weight @ x**2)
        e, f = float(weight @ one), float(weight @ x)
        determinant = max(a * c - b * b, TINY)
        alpha, slope = (c * e - b * f) / determinant, (a * f - b * e) / determinant
        if alpha < 0:
            alpha, slope = 0.0, f / c
        elif slope * float(size[-1]) < FLAT * alpha:
            alpha, slope = e / a, FLAT * e / a / float(size[-1])
        off = np.abs((alpha + slope * size) / truth - 1)
        weight = count / np.maximum(off, LEAST)
    return alpha, 1 / slope, float(count @ off)
