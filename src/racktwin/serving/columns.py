"""Columns: records kept as one array per field, all of the same length."""

from __future__ import annotations

from typing import Any, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from racktwin.serving.ragged import Ragged


class Columns(msgspec.Struct, frozen=True, eq=False):
    """n records; every field is an array or `Ragged` of n members."""

    def __len__(self) -> int:
        return len(getattr(self, self.__struct_fields__[0]))

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_] | slice) -> Self:
        """The records at these indices, or where the mask holds, in that order."""
        taken: list[Any] = [
            each.take(rows) if isinstance(each, Ragged) else each[rows]
            for each in msgspec.structs.astuple(self)
        ]
        return type(self)(*taken)

    @classmethod
    def join(cls, parts: list[Self]) -> Self:
        """The records of all parts in turn."""
        joined: list[Any] = [
            Ragged.join(list(pieces)) if isinstance(pieces[0], Ragged) else np.concatenate(pieces)
            for pieces in zip(*map(msgspec.structs.astuple, parts), strict=True)
        ]
        return cls(*joined)
