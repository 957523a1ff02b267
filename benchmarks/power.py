"""The hall: a year by the hour, a day second by second."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmarks.registry import Benchmark, Work
from racktwin.facility.asked import YearWish, year_of
from racktwin.planning.hall_day import DayWish, hall_day

DEPLOYMENT = Path(__file__).parents[1] / "examples/deepseek-r1-gb300-disaggregated.yaml"
DAYS = 7


def _year() -> Work:
    year_of("azure-nd-gb300-v6", YearWish(weather="phoenix"))
    return Work(1, "year")


def _days() -> Callable[[], Work]:
    wish = DayWish(input=8192, output=1024, weather="phoenix", days=DAYS)

    def run() -> Work:
        hall_day(DEPLOYMENT, wish)
        return Work(24 * DAYS, "simulated hours")

    return run


BENCHMARKS = [
    Benchmark(name="power.year", phase="hourly", size="8,760 hours", run=_year, goal="1 s"),
    Benchmark(
        name="power.simulate",
        phase="with the cooling loop, tables included",
        size=f"64 racks, {DAYS} days at 1 s",
        run=_days(),
        goal="200 simulated hours per CPU s",
    ),
]
