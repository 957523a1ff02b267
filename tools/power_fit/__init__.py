"""Fits what a chip draws for its work to the measured watts of kernels."""
