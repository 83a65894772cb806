"""Modules that differ in numbers alone, as one with a leading axis."""

__all__ = ["repeated", "stacked"]

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


def repeated(value: float, times: int) -> Float[Array, " e"]:
    """The same number for every budget."""
    return jnp.asarray(np.full(times, value), float)


def stacked(many: Sequence[Any]) -> Any:
    """One module with an axis for how many there are, on the host."""
    return jax.tree.map(lambda *leaves: np.stack(leaves), *many)
