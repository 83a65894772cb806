"""Modules that differ in numbers alone, as one with a leading axis."""

__all__ = ["stacked"]

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np


def stacked(many: Sequence[Any]) -> Any:
    """One module with an axis for how many there are, on the host."""
    return jax.tree.map(lambda *leaves: np.stack(leaves), *many)
