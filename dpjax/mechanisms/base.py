"""Abstract base classes of mechanisms.

Every mechanism can be studied. Only an exact one can be published: floats leak.
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
    """A random map from an exact statistic to something that is private."""

    @property
    @abc.abstractmethod
    def adjacency(self) -> Adjacency:
        """Which data sets are neighbours."""

    @abc.abstractmethod
    def sample(self, key: Key, exact: Int[Array, "*shape"]) -> Real[Array, "..."]:
        """Draw one release. Pure: `jit`, `vmap` and shard it freely.

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
        """Log-probability of each released number; their sum is that of the release."""

    def noise(self, shape: tuple[int, ...]) -> NoiseLaw | None:
        """The law of independent noise on released numbers of this shape.

        None if the release is not the exact numbers plus noise of a law of
        `dpjax.noise`.
        """
        return None


class ExactMechanism(Mechanism):
    """A mechanism that keeps its guarantee on a real computer, to the last bit.

    A new one is a subclass with a `kind`, added to `MECHANISMS`, so that its releases
    are saved, loaded and verified.
    """

    kind: ClassVar[str]
    """Its name in files."""

    additive: ClassVar[bool] = False
    """Whether it releases one integer for each exact one."""

    @abc.abstractmethod
    def accepts(self, statistic: Statistic) -> bool:
        """Whether the guarantee holds for this statistic."""

    @abc.abstractmethod
    def draw(self, exact: Int[Array, " m"]) -> Int[Array, "..."]:
        """Draw what is published: integers, with randomness from the operating system.

        Not pure, and not under `jit` or `vmap`.

        Privacy:
            Every call on the same records costs `guarantee()`. The system's randomness
            makes that computational privacy. Time and memory are not covered.
        """

    @abc.abstractmethod
    def describe(self) -> dict[str, Any]:
        """Plain data for files, with its `kind`, that rebuild the mechanism."""

    @classmethod
    @abc.abstractmethod
    def from_description(
        cls, described: Described, statistic: Statistic, cost: Guarantee, n: int | None
    ) -> "ExactMechanism":
        """Make the mechanism from its description and public facts, checking its cost.

        Args:
            described: the result of `describe`.
            statistic: what is measured.
            cost: the guarantee that is claimed.
            n: the number of records, where it is public.

        Raises:
            ValueError: if it cannot keep `cost`, or the description is not well formed.
        """

    @abc.abstractmethod
    def is_possible_output(self, values: np.ndarray, length: int) -> bool:
        """Whether these integers may be a release of so many exact numbers."""

    def derived_facts(self) -> dict[str, Any]:
        """Entries of a file that follow from the others, for its readers."""
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
    """Draws from a tempered posterior on a grid.

    A subclass has the fields `temperature` and `cost`, and derives `loss`, the cost of
    all draws, from public facts alone; it is refused unless `cost` covers that.
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
        """Draw all samples, one row each, from the system's random bits."""
        return jnp.asarray(self.draw_with(system_bits, exact), jnp.int32)

    @abc.abstractmethod
    def draw_with(self, bits: Bits, exact: Int[Array, " m"]) -> np.ndarray:
        """Draw all samples, one row each, from given random bits, without rounding."""


def exact_or_none(value: Epsilon | None, name: str) -> Fraction | None:
    """The exact number of an option that may be left out."""
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
    """Return the layout as `tables_of` does; `ValueError` in place of None."""
    layout = tables_of(statistic)
    if layout is None:
        raise ValueError(
            "`mechanism` must be one for what was measured, such as 'laplace': this "
            f"one is for counts of all tables of a network, got {statistic.kind}."
        )
    return layout
