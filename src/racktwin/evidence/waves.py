"""Waves of a closed loop: clients that all start at once keep meeting each other.

Answers of nearly one length end nearly together, so a wave of requests arrives in less time than
a request takes. Closed forms. Time is counted in seconds, or in decode steps where prompts ride
in them: both only as the ratio of `work` to `jitter`.
"""

from __future__ import annotations

import math

import msgspec

from racktwin.serving.queue import wait

BRIDGE = 3 / 8 * math.sqrt(math.pi / 2)  # mean of a reflected Brownian bridge, a just busy queue
FORGOTTEN = 100  # waves after which the start no longer matters


class Wave(msgspec.Struct, frozen=True, kw_only=True):
    """What a wave of prompts meets on one rank.

    clients: requests that make a wave. work: time that prefill takes for all of them; jitter:
    width of the lengths of an answer, same unit. utilisation: of prefill without waves, 0..1.
    service: s of the prompts that go together, `together` of them. stalling: prompts hold up
    decoding, so only answers spread a wave.
    """

    clients: float
    work: float
    jitter: float
    utilisation: float
    service: float
    together: float
    stalling: bool = False

    @property
    def first(self) -> float:
        """Mean time to the end of prefill where all prompts come at once, s."""
        groups = math.ceil(self.clients / self.together)
        return self.service * (groups + 1) / 2

    def later(self, waves: int) -> float:
        """Mean wait for prefill over the `waves` after the first, s."""
        if not waves:
            return 0.0
        known = min(waves, FORGOTTEN)
        found = sum(self.wait(number) for number in range(1, known + 1))
        return (found + (waves - known) * self.wait(FORGOTTEN)) / waves

    def wait(self, number: int) -> float:
        """Mean wait for prefill in wave `number` (1: the second), s.

        Where prompts ride in steps or have GPUs of their own, they come as they went in, `work`
        long, blurred by the lengths of their answers so far. Else those of one step queue.
        """
        width = self.jitter * math.sqrt(number)
        each = self.service / self.together
        if self.stalling:
            return each * max(0.0, min(self.clients - 1, self.clients / max(width, 1.0))) / 2
        if not self.work:
            return 0.0
        busy = max(self.work / math.hypot(self.work, width), self.utilisation)
        mixed = self.clients * min(1.0, width / self.work)
        return min(float(wait(each, busy)), BRIDGE * each * math.sqrt(mixed))
