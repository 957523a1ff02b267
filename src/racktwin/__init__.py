"""racktwin: a digital twin of rack-scale AI supercomputers."""

__version__ = "0.1.0"
