"""One exchange of tokens: fit its constants to rows of tokens, ranks and seconds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from collectives import records
from collectives.descent import descend
from racktwin.network.curve import Array
from racktwin.network.exchange import Exchange

FOLDS = 5
NAMES = (
    "alpha",
    "per_token",
    "per_copy",
    "bandwidth",
    "power",
    "per_doubling",
    "per_expert",
    "fan_loss",
)
NOTHING = 1e-12  # s per token: no longer a cost
POWER = (0.5, 4.0)  # of the sum of start-up and transfer


class Terms(NamedTuple):
    """Which terms the rows can tell: growth over ranks, over experts, cost of a copy."""

    ranks: bool
    experts: bool
    copy: bool


def fit(rows: pl.DataFrame, base: int, link: float) -> records.Record:
    """Constants, with errors on the rows and on every fifth size predicted without it.

    rows: tokens, ranks, experts, copies (sent per token), size (bytes of a copy), seconds.
    base: ranks from which terms grow. link: line rate, B/s, above which no bandwidth is fitted.
    """
    found = _fit(rows, base, link, _terms(rows))
    truth = rows["seconds"].to_numpy()
    without = held(rows, base, link)
    error = records.error(records.off(seconds(found, rows), truth), records.off(without, truth))
    values = {name: records.rounded(getattr(found, name)) for name in NAMES}
    if not rows["size"].to_numpy().any():  # nothing is sent
        values |= {"bandwidth": link, "fan_loss": 0.0}
    return {**values, "ranks": base, "error": error}


def held(rows: pl.DataFrame, base: int, link: float) -> Array:
    """Every fifth size predicted by the constants of the rest, s, in the order of the rows."""
    terms = _terms(rows)
    fold = rows["tokens"].rank("dense").to_numpy() % FOLDS
    found = np.empty(rows.height)
    for each in range(FOLDS):
        inside = pl.Series(fold != each)
        found[fold == each] = seconds(
            _fit(rows.filter(inside), base, link, terms), rows.filter(~inside)
        )
    return found


def _terms(rows: pl.DataFrame) -> Terms:
    return Terms(*(rows[name].n_unique() > 1 for name in ("ranks", "experts", "size")))


def without_ranks(rows: pl.DataFrame, base: int, link: float) -> dict[int, Array]:
    """Errors of each rank count predicted from the others."""
    out = {}
    for ranks in rows["ranks"].unique().sort():
        rest, only = rows.filter(pl.col("ranks") != ranks), rows.filter(pl.col("ranks") == ranks)
        guess = seconds(_fit(rest, base, link, Terms(True, False, False)), only)
        out[int(ranks)] = records.off(guess, only["seconds"].to_numpy())
    return out


def seconds(exchange: Exchange, rows: pl.DataFrame) -> Array:
    """What `exchange` gives for each row."""
    names = ("tokens", "copies", "size", "ranks", "experts")
    tokens, copies, size, ranks, experts = (rows[name].to_numpy() for name in names)
    out = np.empty(rows.height)
    for b, n, e in {*zip(size.tolist(), ranks.tolist(), experts.tolist(), strict=True)}:
        here = (size == b) & (ranks == n) & (experts == e)
        out[here] = exchange.seconds(tokens[here], copies[here], b, n, e)
    return out


def _fit(rows: pl.DataFrame, base: int, link: float, terms: Terms) -> Exchange:
    truth = rows["seconds"].to_numpy()

    def exchange(x: Array) -> Exchange:
        alpha, per_token, bandwidth, power = (float(each) for each in np.exp(x[:4]))
        rest = [float(each) for each in np.maximum(x[4:], 0.0)]
        return Exchange(
            alpha=alpha,
            per_token=per_token if per_token > NOTHING else 0.0,
            bandwidth=min(bandwidth, link),
            power=float(np.clip(power, *POWER)),
            ranks=base,
            per_doubling=rest.pop() if terms.ranks else 0.0,
            fan_loss=rest.pop() if terms.ranks else 0.0,
            per_expert=rest.pop() if terms.experts else 0.0,
            per_copy=1e-8 * rest.pop() if terms.copy else 0.0,
        )

    sent = (rows["tokens"] * rows["size"] * rows["copies"]).to_numpy()
    fastest = max(float(np.quantile(sent / truth, 0.95)), 1.0)
    start = [*np.log([truth.min(), 1e-8, 1.2 * fastest]), 0.0]
    start += [0.5] * terms.copy + [0.1] * terms.experts + [0.05, 0.05] * terms.ranks
    return exchange(descend(lambda x: np.log(seconds(exchange(x), rows) / truth), start))
