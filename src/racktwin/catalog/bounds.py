"""Whole and plain numbers with a range, for the fields of records."""

from __future__ import annotations

from typing import Annotated

import msgspec

Count = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
Number = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
Ratio = Annotated[float, msgspec.Meta(ge=1.0, le=1000.0)]
