"""NumPyro distributions of the library's posteriors."""

__all__ = ["dirichlet_rows"]

import numpyro.distributions as dist
from jaxtyping import Array, Float


def dirichlet_rows(concentration: Float[Array, "*rows k"]) -> dist.Dirichlet:
    """Independent Dirichlet laws of the rows of a conditional probability table."""
    return dist.Dirichlet(concentration)
