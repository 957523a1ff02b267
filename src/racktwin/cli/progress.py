"""Progress of a long run: a line on a terminal, nothing in a pipe; Ctrl-C ends the run early."""

from __future__ import annotations

import signal
import sys
import threading
import time
from types import FrameType, TracebackType
from typing import Any, Self

from racktwin.cli.console import READY, tell_once

EVERY = 0.2  # s between updates of the line


class Progress:
    """Shows simulated time and requests done while it is entered."""

    def __init__(self, requests: int | None) -> None:
        self.requests = requests
        self.interrupted = False
        self.shown = 0.0
        self.status: Any = None
        self.before: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self.before = signal.signal(signal.SIGINT, self._interrupt)
        tell_once()
        if sys.stderr.isatty():
            from rich.console import Console

            self.status = Console(stderr=True).status(READY)
            self.status.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self.status is not None:
            self.status.stop()
        if self.before is not None:
            signal.signal(signal.SIGINT, self.before)

    def tell(self, seconds: float, finished: int) -> bool:
        """Show simulated time, s, and requests finished; False when the user wants to stop."""
        now = time.monotonic()
        if self.status is not None and now - self.shown > EVERY:
            self.shown = now
            share = f" of {self.requests:,}" if self.requests else ""
            self.status.update(f"{seconds:,.1f} s simulated, {finished:,} requests{share} done")
        return not self.interrupted

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        """The first Ctrl-C ends the run at its next reading, the second at once."""
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = True
