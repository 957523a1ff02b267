"""Predictions of published measurements, row by row, and what they come to."""

from racktwin.evidence.validation.azure import azure
from racktwin.evidence.validation.collectives import collectives
from racktwin.evidence.validation.kernels import kernels
from racktwin.evidence.validation.mlperf import mlperf
from racktwin.evidence.validation.serving import serving

__all__ = ["azure", "collectives", "kernels", "mlperf", "serving"]
