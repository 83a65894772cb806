"""What every conjugate posterior can be asked."""

__all__ = [
    "ConjugatePosterior",
    "HostArray",
    "Values",
    "as_arrays",
    "host",
    "probability",
]

import abc
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Real

from dpjax._private import Unpickled
from dpjax._types import Key
from dpjax.families.base import Family
from dpjax.families.conjugate_laws import Distribution

Values = Array | dict[str, Array]
"""One number or vector of a law with one parameter; by name of one with several."""


HostArray = np.ndarray | np.float64
"""Of SciPy, in double precision."""


class ConjugatePosterior(Unpickled, eqx.Module):
    """The law of a family's parameters, given data or a release.

    Arrays may be stacked along leading axes, for `vmap` over posteriors. Quantiles are
    of SciPy, on the host and in double precision; all else may be compiled. NumPyro's
    distributions need JAX's default promotion of types and ranks.

    Privacy:
        Post-processing of whatever statistics it is made from: free for a release. It
        may have been made from exact ones, and cannot be pickled.

    Reference:
        Foulds, Geumlek, Welling & Chaudhuri (UAI-16), equation 11.
    """

    family: eqx.AbstractVar[Any]
    parameters: eqx.AbstractVar[Any]

    @abc.abstractmethod
    def mean(self) -> Values:
        """Expected parameters."""

    @abc.abstractmethod
    def variance(self) -> Values:
        """Variance of every parameter on its own."""

    def sd(self) -> Any:
        """Standard deviation of every parameter."""
        return jax.tree.map(jnp.sqrt, self.variance())

    @abc.abstractmethod
    def quantile(self, q: float) -> HostArray | dict[str, HostArray]:
        """The q-quantile of every parameter on its own, for q between 0 and 1."""

    @abc.abstractmethod
    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Values:
        """Draws of the parameters, `shape` on the first axes."""

    @abc.abstractmethod
    def log_prob(self, values: Any) -> Array:
        """Joint log-density of parameters, as `mean` and `sample` return them."""

    @abc.abstractmethod
    def distribution(self) -> Distribution | dict[str, Distribution]:
        """As NumPyro's; of several parameters, the marginal law of each by name."""

    def update(self, records: Real[ArrayLike, "n d"]) -> "ConjugatePosterior":
        """This posterior as the prior for more records.

        Privacy:
            What is already here costs nothing more. The new records are not protected:
            the result is for those who may see them.
        """
        family: Family = self.family
        total = family.statistics(records).sum(axis=0)
        parameters = family.update(self.parameters, total, jnp.shape(records)[0])
        return type(self)(family, parameters)


def as_arrays(parameters: Any) -> Any:
    """The same parameters, each an array of floats."""
    return type(parameters)(*(jnp.asarray(x, float) for x in parameters))


def host(*arrays: Any) -> list[np.ndarray]:
    """Arrays in double precision."""
    return [np.asarray(array, np.float64) for array in arrays]


def probability(**values: float) -> None:
    """Raise `ValueError` unless every value is between 0 and 1."""
    for name, value in values.items():
        if not 0 < value < 1:
            raise ValueError(f"`{name}` must be between 0 and 1, got {value}.")
