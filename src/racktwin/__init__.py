"""racktwin: a digital twin of rack-scale AI supercomputers."""

from typing import Any

__version__ = "0.1.0"
__all__ = [
    "capacity",
    "chip",
    "cluster",
    "deployment",
    "model",
    "ms",
    "plan",
    "predict",
    "simulate",
    "traffic",
]


def __getattr__(name: str) -> Any:  # loaded when first used: `racktwin --help` needs none of it
    if name not in __all__:
        raise AttributeError(f"module 'racktwin' has no attribute {name!r}")
    from racktwin import api

    return getattr(api, name)
