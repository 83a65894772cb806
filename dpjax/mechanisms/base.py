"""Abstract base classes of mechanisms.

Every mechanism can be used in studies. Only the releases of exact mechanisms can be
published: floats leak data.
"""

__all__ = [
    "MECHANISMS",
    "ExactMechanism",
    "Mechanism",
    "MechanismWithLaw",
    "ParameterMechanism",
    "PosteriorSampler",
    "all_tables",
    "exact_or_none",
    "on_host",
    "tables_of",
]

import abc
from fractions import Fraction
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Real

from dpjax._registry import Registry
from dpjax._types import Described, Key
from dpjax.noise import NoiseLaw
from dpjax.noise.exact_choice import Bits, system_bits
from dpjax.privacy import Adjacency, Epsilon, Guarantee, exact_epsilon
from dpjax.statistics import Statistic, TableStatistic
from dpjax.tables.layout import TableLayout


class Mechanism(eqx.Module):
    """A random map from an exact statistic to a private release."""

    @property
    @abc.abstractmethod
    def adjacency(self) -> Adjacency:
        """Which data sets are neighbours."""

    @abc.abstractmethod
    def sample(self, key: Key, exact: Int[Array, "*shape"]) -> Real[Array, "..."]:
        """Draw one release. The method is pure, for `jit`, `vmap` and sharding.

        Privacy:
            Every call on the same records costs `guarantee()`.

        Raises:
            ValueError: if the key is not typed, or `exact` does not fit the mechanism.
        """

    @abc.abstractmethod
    def guarantee(self) -> Guarantee:
        """The privacy cost of one release."""


class MechanismWithLaw(Mechanism):
    """A mechanism whose output has a known law given the exact statistic."""

    @abc.abstractmethod
    def log_prob(
        self, released: Real[Array, "*shape"], exact: Real[Array, "*shape"]
    ) -> Float[Array, "*shape"]:
        """Log-probability of each released number; the sum is that of the release."""

    def noise(self, shape: tuple[int, ...]) -> NoiseLaw | None:
        """The law of the independent noise on released numbers of this shape.

        None unless a release is the exact numbers plus noise with a law of
        `dpjax.noise`.
        """
        return None


class ExactMechanism(Mechanism):
    """A mechanism whose guarantee holds exactly on a real computer.

    To add a mechanism, write a subclass with a `kind` and add it to `MECHANISMS`, so
    that its releases can be saved, loaded and verified.
    """

    kind: ClassVar[str]
    """Name of the mechanism in files."""

    additive: ClassVar[bool] = False
    """Whether a release has one integer for each exact integer."""

    @abc.abstractmethod
    def accepts(self, statistic: Statistic) -> bool:
        """Whether the guarantee holds for this statistic."""

    @abc.abstractmethod
    def draw(self, exact: Int[Array, " m"]) -> Int[Array, "..."]:
        """Draw the integers to publish, with randomness from the operating system.

        The method is not pure, and fails under `jit` and `vmap`.

        Privacy:
            Every call on the same records costs `guarantee()`. The system's randomness
            makes the privacy computational. Time and memory are not covered.
        """

    @abc.abstractmethod
    def describe(self) -> dict[str, Any]:
        """Plain data for files, with the `kind`, for `from_description`."""

    @classmethod
    @abc.abstractmethod
    def from_description(
        cls, described: Described, statistic: Statistic, cost: Guarantee, n: int | None
    ) -> "ExactMechanism":
        """Make the mechanism from its description and public facts, checking its cost.

        Args:
            described: the result of `describe`.
            statistic: the measured statistic.
            cost: the claimed guarantee.
            n: the number of records if it is public, else None.

        Raises:
            ValueError: if the mechanism exceeds `cost`, or `described` is invalid.
        """

    @abc.abstractmethod
    def is_possible_output(self, values: np.ndarray, length: int) -> bool:
        """Whether `values` can be a release of `length` exact numbers."""

    def derived_facts(self) -> dict[str, Any]:
        """Entries that a file repeats for its readers: they follow from the others."""
        return {}

    def summary(self) -> dict[str, Any]:
        """Facts that the command line prints."""
        return self.describe()


MECHANISMS: Registry[ExactMechanism] = Registry("mechanism")
"""Kinds of exact mechanisms, by the name that files use."""


class ParameterMechanism(ExactMechanism):
    """An exact mechanism that releases parameters of a model, not noisy statistics."""

    @property
    def parameter_names(self) -> tuple[str, ...] | None:
        """Names on the last axis of `parameters`; None for a network's tables."""
        return None

    @abc.abstractmethod
    def parameters(self, values: Real[Array, "*batch m"]) -> Float[Array, "*batch m"]:
        """The parameters that the integers of a release represent."""


class PosteriorSampler(ParameterMechanism):
    """A mechanism that draws from a tempered posterior on a grid.

    A subclass has the fields `temperature` and `cost`, and a property `loss`: the cost
    of all draws, derived from public facts alone. `loss` must not exceed `cost`.
    """

    def __check_init__(self: Any):
        if self.loss > self.cost.epsilon:
            raise ValueError(
                "`temperature` must be at least what epsilon allows for this truncation"
                f" and number of samples: got {float(self.temperature):g}, which costs "
                f"{float(self.loss):.6g} instead of {float(self.cost.epsilon):.6g}."
            )

    @property
    def adjacency(self: Any) -> Adjacency:
        """Which data sets are neighbours."""
        return self.cost.adjacency

    def guarantee(self: Any) -> Guarantee:
        """The cost of all samples together."""
        return self.cost

    def draw(self, exact: Int[Array, " m"]) -> Int[Array, "samples _"]:
        """Draw all samples, one row for each, from the system's random bits."""
        return jnp.asarray(self.draw_with(system_bits, exact), jnp.int32)

    @abc.abstractmethod
    def draw_with(self, bits: Bits, exact: Int[Array, " m"]) -> np.ndarray:
        """Draw the rows of `draw` from given random bits, without rounding."""


def exact_or_none(value: Epsilon | None, name: str) -> Fraction | None:
    """Return the exact fraction of an optional argument; None stays None."""
    return None if value is None else exact_epsilon(value, name)


def on_host(exact: Int[Array, " m"]) -> Int[np.ndarray, " m"]:
    """Return the statistic as a NumPy array; `ValueError` inside `jit` or `vmap`."""
    try:
        return np.asarray(exact)
    except jax.errors.TracerArrayConversionError:
        raise ValueError(
            "`draw` must be called outside of `jit` and `vmap`: studies draw with "
            "`sample(key, exact)` there."
        ) from None


def tables_of(statistic: Statistic) -> TableLayout | None:
    """The layout of a network's tables if the statistic counts all of them, or None."""
    if isinstance(statistic, TableStatistic) and statistic.measured == statistic.layout:
        return statistic.layout
    return None


def all_tables(statistic: Statistic) -> TableLayout:
    """Return `tables_of(statistic)`; `ValueError` if it is None."""
    layout = tables_of(statistic)
    if layout is None:
        raise ValueError(
            "`mechanism` must be one for what was measured, such as 'laplace': this "
            f"one is for counts of all tables of a network, got {statistic.kind}."
        )
    return layout
