"""What every mechanism must be able to do."""

__all__ = ["Mechanism", "MechanismWithLaw"]

import abc

import equinox as eqx
from jaxtyping import Array, Float, Int, Real

from dpjax._types import Key
from dpjax.privacy import PureDP


class Mechanism(eqx.Module):
    """A random map from an exact statistic to something that is private."""

    @property
    @abc.abstractmethod
    def adjacency(self) -> str:
        """Which data sets are neighbours."""

    @abc.abstractmethod
    def sample(self, key: Key, exact: Int[Array, "*shape"]) -> Real[Array, "*shape"]:
        """Draw one release. Pure: `jit`, `vmap` and shard it freely.

        Privacy:
            Every call on the same records costs `guarantee()`.
        """

    @abc.abstractmethod
    def guarantee(self) -> PureDP:
        """The privacy cost of one sample, as plain data."""


class MechanismWithLaw(Mechanism):
    """A mechanism whose output has a known law given the exact statistic."""

    @abc.abstractmethod
    def log_prob(
        self, released: Real[Array, "*shape"], exact: Real[Array, "*shape"]
    ) -> Float[Array, "*shape"]:
        """Log-probability of each released number; their sum is that of all."""
