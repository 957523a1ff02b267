"""Reading: what a reader finds out beside the requests, and tells at the end."""

from __future__ import annotations

from collections.abc import Iterable

from racktwin.serving.trace import Skipped

SHOWN = 5  # line numbers kept for a reason
UNREADABLE = "cannot be read"


class Names:
    """Numbers for names, in the order they are met; -1 for no name."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {"": -1}

    def number(self, name: str) -> int:
        """The number of a name."""
        return self.known.setdefault(name, len(self.known) - 1)


class Reading:
    """One pass over a file.

    limit: longest input and output together, tokens. block_size: tokens per prefix block.
    origin: what the file's clock shows at the start, s; None for the first arrival.
    """

    def __init__(self, limit: int | None = None, seed: int = 0) -> None:
        self.limit, self.seed = limit, seed
        self.block_size = 0
        self.origin: float | None = None
        self.sessions, self.models, self.classes = Names(), Names(), Names()
        self.unsorted = 0
        self.remarks: list[str] = []
        self.counts: dict[str, int] = {}
        self.first: dict[str, list[int]] = {}

    def skip(self, reason: str, lines: Iterable[int]) -> None:
        """Leave these lines out."""
        for line in lines:
            self.counts[reason] = self.counts.get(reason, 0) + 1
            shown = self.first.setdefault(reason, [])
            if len(shown) < SHOWN:
                shown.append(int(line))

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """Every reason so far, the most frequent first."""
        by_count = sorted(self.counts.items(), key=lambda each: -each[1])
        return tuple(Skipped(why, count, tuple(self.first[why])) for why, count in by_count)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Remarks so far, and how many lines stood out of order."""
        if not self.unsorted:
            return tuple(self.remarks)
        word = "line was" if self.unsorted == 1 else "lines were"
        return (*self.remarks, f"{self.unsorted:,} {word} out of order and sorted")
