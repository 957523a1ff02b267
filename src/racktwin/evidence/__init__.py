"""Published measurements, how far predictions lie from them, and what interval follows."""

from racktwin.evidence.confidence import Interval, interval
from racktwin.evidence.measurement import Measurement, deployment

__all__ = ["Interval", "Measurement", "deployment", "interval"]
