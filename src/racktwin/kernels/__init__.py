"""One operator on one chip: roofline times measured efficiency."""

from racktwin.kernels.operators import Kernels
from racktwin.kernels.priced import Priced

__all__ = ["Kernels", "Priced"]
