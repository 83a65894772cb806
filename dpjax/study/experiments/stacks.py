"""Stacks of modules along a leading axis of their arrays."""

__all__ = ["repeated", "stacked"]

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


def repeated(value: float, times: int) -> Float[Array, " e"]:
    """Repeat a number for every budget."""
    return jnp.asarray(np.full(times, value), float)


def stacked(many: Sequence[Any]) -> Any:
    """Stack modules of one structure along a leading axis, on the host."""
    return jax.tree.map(lambda *leaves: np.stack(leaves), *many)
