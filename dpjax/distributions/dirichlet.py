"""Independent Dirichlet laws, as NumPyro knows them."""

__all__ = ["Dirichlet", "dirichlet_rows"]

from jaxtyping import Array, Float
from numpyro.distributions import Dirichlet


def dirichlet_rows(concentration: Float[Array, "*rows k"]) -> Dirichlet:
    """Independent Dirichlet laws of the rows of a conditional probability table."""
    return Dirichlet(concentration)
