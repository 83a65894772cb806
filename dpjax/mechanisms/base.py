"""What every mechanism must be able to do, in two grades.

Any mechanism can be studied. Only an exact one can be published: floats leak.
"""

__all__ = [
    "ExactMechanism",
    "Mechanism",
    "MechanismWithLaw",
    "ParameterMechanism",
]

import abc

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Int, Real

from dpjax._types import Key
from dpjax.noise import NoiseLaw
from dpjax.privacy import PureDP


class Mechanism(eqx.Module):
    """A random map from an exact statistic to something that is private."""

    @property
    @abc.abstractmethod
    def adjacency(self) -> str:
        """Which data sets are neighbours."""

    @abc.abstractmethod
    def sample(self, key: Key, exact: Int[Array, "*shape"]) -> Real[Array, "..."]:
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

    def noise(self, shape: tuple[int, ...]) -> NoiseLaw | None:
        """The law of independent noise on released numbers of this shape.

        None if the release is not the exact numbers plus independent noise of a law
        that `dpjax.noise` knows.
        """
        return None


class ExactMechanism(Mechanism):
    """A mechanism that keeps its guarantee on a real computer, to the last bit."""

    @abc.abstractmethod
    def draw(self, exact: Int[Array, " m"]) -> Int[Array, "..."]:
        """What is published: integers, with randomness from the operating system.

        Not pure, and not under `jit` or `vmap`.

        Privacy:
            Every call on the same records costs `guarantee()`. The system's randomness
            makes that computational privacy. Time and memory are not covered.
        """

    @abc.abstractmethod
    def describe(self) -> dict[str, object]:
        """What a file says of it, with its `kind`: plain data that rebuild it."""

    @abc.abstractmethod
    def is_possible_output(self, values: np.ndarray, length: int) -> bool:
        """Whether these integers are a possible release of so many exact numbers."""


class ParameterMechanism(ExactMechanism):
    """An exact mechanism that gives out a model's parameters, not noisy statistics."""

    @property
    def parameter_names(self) -> tuple[str, ...] | None:
        """Of what `parameters` has on its last axis; None for a network's tables."""
        return None

    @abc.abstractmethod
    def parameters(self, values: Real[Array, "*batch m"]) -> Float[Array, "*batch m"]:
        """The parameters that the integers of a release stand for."""
