"""The requests of a stream that matter now: those to come next, and those not finished yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from racktwin.serving.fleet import IMAGE_COLUMNS, Floats, Ints
from racktwin.serving.prefixes import Prefixes
from racktwin.serving.trace import Trace

NEVER = -1.0  # pause of a request that waits for no other
REMEMBERED = 1 << 16  # finished requests kept where later ones may wait for them
COLUMNS = {
    "index": np.int64,
    "arrival": np.float64,
    "prompt": np.int64,
    "output": np.int64,
    "priority": np.int64,
    "after": np.int64,
    "pause": np.float64,
    "slo_class": np.int64,
}
Fits = Callable[[Ints, Ints], NDArray[np.bool_]]
Encoding = Callable[[Ints, Ints], tuple[Floats, Floats]]


def no_images(images: Ints, tokens: Ints) -> tuple[Floats, Floats]:
    """Images that cost nothing, s and J; tokens: of each."""
    return np.zeros(len(images)), np.zeros(len(images))


class Window:
    """Requests by number: `base` is that of row 0.

    index: place in the stream; arrival: s; prompt, output: tokens; after: row that must finish
    first, negative for none; pause: s behind it. finish: s, NaN until then. prefixes: their units.
    images: see `fleet.State`; no row as long as none has any. born: s at which the session of a
    finished request began; turns: whether requests wait for others.
    """

    index: Ints
    arrival: Floats
    prompt: Ints
    output: Ints
    priority: Ints
    after: Ints
    pause: Floats
    slo_class: Ints
    finish: Floats
    born: Floats

    def __init__(self, fits: Fits, unit: int = 0, encoding: Encoding = no_images) -> None:
        self.fits, self.base, self.prefixes = fits, 0, Prefixes(unit)
        self.encoding, self.images = encoding, np.empty((0, IMAGE_COLUMNS))
        self.refused = 0
        self.longest_refused = 0
        self.refused_rows: set[int] = set()
        for name, dtype in COLUMNS.items():
            setattr(self, name, np.empty(0, dtype))
        self.finish, self.born, self.turns = np.empty(0), np.empty(0), False

    def __len__(self) -> int:
        return len(self.arrival)

    @property
    def last(self) -> float:
        """Arrival of the last request known, s; -inf when there is none."""
        return float(self.arrival[-1]) if len(self) else -np.inf

    def add(self, stretch: Trace) -> int:
        """Take in a stretch of the stream, without what can never fit; the rows that are new."""
        kept = self._kept(stretch)
        keep: Any = slice(None) if kept.all() else kept
        before = len(self)
        index = (stretch.first + np.arange(len(stretch)))[keep]
        added: dict[str, NDArray[Any]] = {
            "index": index,
            "arrival": stretch.arrival[keep],
            "prompt": stretch.input[keep],
            "output": stretch.output[keep],
            "priority": stretch.priority[keep],
            "after": stretch.after[keep],
            "slo_class": stretch.slo_class[keep],
            "pause": np.where(stretch.after[keep] >= 0, stretch.pause[keep], NEVER),
        }
        for name, dtype in COLUMNS.items():
            more = added[name].astype(dtype, copy=False)
            setattr(self, name, np.concatenate([getattr(self, name), more]))
        self.finish = np.concatenate([self.finish, np.full(len(index), np.nan)])
        self.born = np.concatenate([self.born, np.full(len(index), np.nan)])
        waiting = before + np.flatnonzero(self.after[before:] >= 0)
        self.turns |= len(waiting) > 0
        if len(waiting):  # from places in the stream to rows; rows long gone become -2
            place = np.searchsorted(self.index, self.after[waiting])
            known = self.index[place] == self.after[waiting]
            self.after[waiting] = np.where(known, place, -2)
        self.prefixes.add(stretch, kept, self.after[before:])
        self._encode(stretch.images[keep], stretch.encoder[keep])
        return len(index)

    def _encode(self, images: Ints, tokens: Ints) -> None:
        """Price the images of the last rows; tokens: that all those of a row make."""
        if not len(self.images) and not tokens.any():
            return
        count = np.maximum(images, tokens > 0)
        seconds, joules = self.encoding(count, tokens // np.maximum(count, 1))
        before = np.zeros((len(self) - len(tokens) - len(self.images), IMAGE_COLUMNS))
        own = np.stack([tokens.astype(float), seconds, joules], axis=1)
        self.images = np.concatenate([self.images, before, own])

    def begun(self, rows: Ints, arrival: Floats) -> Floats:
        """When the sessions of these finished requests began, s; arrival: theirs.

        What a request waited for has finished before, or is among them.
        """
        self.born[rows] = np.where(self.after[rows] < 0, arrival, np.nan)
        left = rows[self.after[rows] >= 0]
        while len(left):
            found = self.born[self.after[left]]
            self.born[left] = found
            if np.isfinite(found).sum() == 0:
                self.born[left] = arrival.min()
            left = left[np.isnan(self.born[left])]
        return self.born[rows]

    def _kept(self, stretch: Trace) -> NDArray[np.bool_]:
        """Rows that can be served: they fit, and so does what they wait for."""
        keep = self.fits(stretch.input, stretch.output)
        if not keep.all():
            size = (stretch.input + stretch.output)[~keep]
            self.longest_refused = max(self.longest_refused, int(size.max()))
        if (stretch.after >= 0).any() and (self.refused_rows or not keep.all()):
            for row in range(len(stretch)):
                if not keep[row] or int(stretch.after[row]) in self.refused_rows:
                    keep[row] = False
                    self.refused_rows.add(stretch.first + row)
        self.refused += int((~keep).sum())
        return keep

    def drop(self) -> int:
        """Forget leading rows that are finished, once they are half of all; how many."""
        open_rows = np.flatnonzero(np.isnan(self.finish))
        done = int(open_rows[0]) if len(open_rows) else len(self)
        done -= REMEMBERED if (self.after != -1).any() else 0
        if done <= 0 or 2 * done < len(self):
            return 0
        for name in (*COLUMNS, "finish", "born"):
            setattr(self, name, getattr(self, name)[done:].copy())
        self.after[self.after >= 0] -= done
        gone = (self.after < 0) & (self.pause >= 0)
        self.after[gone] = -2
        self.base += done
        self.images = self.images[done:].copy()
        self.prefixes.drop(done)
        return done
