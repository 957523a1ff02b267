"""A question of capacity: which deployments, which requests, within which objectives."""

from __future__ import annotations

import msgspec

from racktwin.engine.deployment import Deployment
from racktwin.planning.ask import Ask
from racktwin.planning.demand import Demand
from racktwin.planning.slo import Slo
from racktwin.serving.limits import Limits


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked. rate: requests/s to serve, None to find the most. spare: copies kept idle.

    limits: of a good request, s.
    requests: of one trial, None for enough; seed: of their draws.
    """

    demand: Demand
    slos: tuple[Slo, ...]
    limits: Limits = Limits()
    rate: float | None = None
    spare: int = 0
    requests: int | None = None
    seed: int = 0


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A deployment, or a plan whose finalists are tried; the task; remarks on the file."""

    subject: Deployment | Ask
    task: Task
    notes: tuple[str, ...]
