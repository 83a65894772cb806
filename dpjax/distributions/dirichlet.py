"""NumPyro's Dirichlet distribution for the rows of probability tables."""

__all__ = ["Dirichlet", "dirichlet_rows"]

from jaxtyping import Array, Float
from numpyro.distributions import Dirichlet


def dirichlet_rows(concentration: Float[Array, "*rows k"]) -> Dirichlet:
    """Independent Dirichlet distributions of a conditional probability table's rows."""
    return Dirichlet(concentration)
