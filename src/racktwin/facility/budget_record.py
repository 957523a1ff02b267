"""A power budget as plain data."""

from __future__ import annotations

from typing import Any

from racktwin.facility.budget import Budget
from racktwin.facility.level import Level


def record(found: Budget) -> dict[str, Any]:
    """Everything of it, in SI units."""
    power, facility = found.power, found.facility
    return {
        "cluster": found.cluster.name,
        "racks": found.cluster.racks,
        "gpus": found.cluster.gpus,
        "facility": facility.name,
        "feeds": facility.feeds,
        "load": found.load,
        "failed": [word.strip() for word in found.failed.split(",") if word.strip()],
        "dark_racks": found.dark,
        "gpu_watts": found.each.gpu,
        "it_watts": power.it,
        "site_watts": power.site,
        "distribution_loss": power.site - power.house - power.it,
        "tree": [
            {
                "name": node.name,
                "depth": depth,
                "count": node.count,
                "watts": node.watts,
                "loss": node.loss,
            }
            for depth, node in found.tree.walk()
        ],
        "limits": [_level(found, each) for each in found.levels],
        "binds_first": found.binding.name,
        "growth": found.growth,
        "fitting_cap": found.fitting_cap,
    }


def _level(found: Budget, level: Level) -> dict[str, Any]:
    return {
        "name": level.name,
        "units_per_feed": level.units,
        "limit": level.limit,
        "set_by": "budget" if level.budget else "rating",
        "watts": level.now,
        "watts_feed_lost": level.spare if found.feed_lost else None,
        "use": level.use,
        "headroom": level.headroom,
        "oversubscription": level.oversubscription or None,
        "stranded": found.stranded(level),
    }
