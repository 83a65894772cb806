"""Abstract base classes of mechanisms.

Every mechanism can be used in studies. Only the releases of exact mechanisms can be
published: floats leak data.
"""

import abc
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Real

from dpjax._private import cost_in_words
from dpjax._registry import Registry
from dpjax._types import Described, Key, Scalar
from dpjax.noise import NoiseLaw
from dpjax.noise.discrete_laplace import LARGEST
from dpjax.noise.exact_choice import Bits, system_bits
from dpjax.privacy import Adjacency, Guarantee
from dpjax.privacy.unit import per_row
from dpjax.statistics import FamilyStatistic, Statistic, TableStatistic
from dpjax.statistics.record_moments import RecordMoments
from dpjax.tables.layout import TableLayout

Integers = Int[Array, "..."] | Int[np.ndarray, "..."]
Vector = Real[Array, "*batch m"]


class NormalNumbers(NamedTuple):
    """Linear functions of a release, whose noise is approximately normal."""

    moments: RecordMoments  # of one record's exact numbers
    values: Float[Array, "*batch k"]
    deviation: Float[Array, " k"]  # standard deviation of the noise
    weights: Float[Array, " k"]  # share of the number's information that is its own


class Mechanism(eqx.Module):
    """A random map from an exact statistic to a private release."""

    @property
    @abc.abstractmethod
    def adjacency(self) -> Adjacency:
        """Which data sets are neighbours: "replace-one" or "add-remove"."""

    @abc.abstractmethod
    def sample(self, key: Key, exact: Int[Array, "*shape"]) -> Real[Array, "..."]:
        """Draw one release of `exact`; pure, so that `jit` and `vmap` work.

        Privacy:
            Every call on the same records costs `guarantee()`.

        Raises:
            ValueError: if the key is not typed, or `exact` does not fit the mechanism.
        """

    @abc.abstractmethod
    def guarantee(self) -> Guarantee:
        """Return the privacy cost of one release."""

    def normal_numbers(
        self, values: Real[Array, "*batch m"], n: Scalar | None
    ) -> NormalNumbers | None:
        """Return numbers with approximately normal noise, for inference, or None.

        Args:
            values: the released numbers.
            n: the number of records if it is public, else None.
        """
        return None

    def for_studies(self) -> "Mechanism":
        """Return a mechanism to simulate this one, with every number in an array.

        Those for several budgets can be stacked, and share one compiled program.
        """
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({cost_in_words(self)}, {self.adjacency})"


class MechanismWithJointLaw(Mechanism):
    """A mechanism whose numbers together have a known distribution."""

    @abc.abstractmethod
    def joint_log_prob(self, released: Vector, exact: Vector) -> Float[Array, "*batch"]:
        """Return the log-probability, or log-density, of all numbers together."""

    @abc.abstractmethod
    def noise_scale(self, released: Real[Array, "*batch m"]) -> Float[Array, "..."]:
        """Return the scale of Laplace noise that is about as wide, for each number."""

    def gain(self, released: Vector, exact: Vector, other: Vector) -> Any:
        """Return what `joint_log_prob` gains if numbers are `other`, not `exact`."""
        new = self.joint_log_prob(released, other)
        return new - self.joint_log_prob(released, exact)


class MechanismWithLaw(MechanismWithJointLaw):
    """A mechanism whose releases have a known distribution, given by `log_prob`."""

    @abc.abstractmethod
    def log_prob(
        self, released: Real[Array, "*shape"], exact: Real[Array, "*shape"]
    ) -> Float[Array, "*shape"]:
        """Return the log-probability of each released number, given `exact`."""

    def joint_log_prob(self, released: Vector, exact: Vector) -> Float[Array, "*batch"]:
        """Return the sum of `log_prob`, since the noise is independent."""
        return self.log_prob(released, exact).sum(axis=-1)

    def gain(self, released: Vector, exact: Vector, other: Vector) -> Any:
        """Return the sum of gains, so that equal numbers cancel without rounding."""
        new = self.log_prob(released, other)
        return (new - self.log_prob(released, exact)).sum(axis=-1)

    def noise_scale(self, released: Real[Array, "*batch m"]) -> Float[Array, "..."]:
        """Return the distance over which each number's density falls by a factor e."""
        here = self.log_prob(released, released)
        return 1 / (here - self.log_prob(released, released + 1))

    def noise(self, shape: tuple[int, ...]) -> NoiseLaw | None:
        """Return the distribution of the noise on released numbers of this shape.

        The noise is independent. The result is None unless a release is the exact
        numbers plus noise with a distribution of `dpjax.noise`.
        """
        return None


class ExactMechanism(Mechanism):
    """A mechanism whose guarantee holds exactly on a real computer.

    To add a mechanism, write a subclass with a `kind` and add it to `MECHANISMS`, so
    that its releases can be saved, loaded and verified.
    """

    kind: ClassVar[str]
    """Name of the mechanism in release files."""

    format_version: ClassVar[int] = 1
    """First version of the format of release files that knows the mechanism."""

    additive: ClassVar[bool] = False
    """Whether a release is one noisy integer for each integer of the statistic."""

    largest: ClassVar[int] = LARGEST
    """Largest integer that `draw` accepts, in an array of 32 bits if it is 2^29."""

    @abc.abstractmethod
    def accepts(self, statistic: Statistic) -> bool:
        """Return whether the guarantee holds for releases of this statistic."""

    @abc.abstractmethod
    def draw(self, exact: Integers) -> Integers:
        """Draw the integers to publish, with randomness from the operating system.

        The method is not pure, and fails under `jit` and `vmap`.

        Privacy:
            Every call on the same records costs `guarantee()`. The system's randomness
            makes the privacy computational. Time and memory are not covered.
        """

    @abc.abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return plain data with the `kind`, for files and `from_description`."""

    @classmethod
    @abc.abstractmethod
    def from_description(
        cls, described: Described, statistic: Statistic, cost: Guarantee, n: int | None
    ) -> "ExactMechanism":
        """Make the mechanism from its description; raise if it costs more than `cost`.

        Args:
            described: the result of `describe`.
            statistic: the statistic that the mechanism releases.
            cost: the privacy guarantee that the file claims.
            n: the number of records if it is public, else None.

        Raises:
            ValueError: if the mechanism exceeds `cost`, or `described` is invalid.
        """

    @abc.abstractmethod
    def is_possible_output(self, values: np.ndarray, length: int) -> bool:
        """Return whether `values` can be a release of `length` exact numbers."""

    def derived_facts(self) -> dict[str, Any]:
        """Return facts that a file states although its other entries determine them."""
        return {}

    def summary(self) -> dict[str, Any]:
        """Return the facts about the mechanism that the command line prints."""
        return self.describe()


MECHANISMS: Registry[ExactMechanism] = Registry(ExactMechanism, "mechanism")
"""Classes of exact mechanisms, by their `kind`."""


class ParameterMechanism(ExactMechanism):
    """An exact mechanism that releases parameters of a model, not noisy statistics."""

    first_families: ClassVar[tuple[str, ...]] = ()  # in format 1 of release files

    @property
    def parameter_shapes(self) -> dict[str, tuple[int, ...]] | None:
        """Names and shapes on the last axis of `parameters`, or None for tables."""
        return None

    @abc.abstractmethod
    def parameters(self, values: Real[Array, "*batch m"]) -> Float[Array, "*batch m"]:
        """Return the model's parameters that the integers of a release represent."""


class PosteriorSampler(ParameterMechanism):
    """A mechanism that draws from a tempered posterior on a grid.

    A subclass has fields `temperature` and `cost`, a guarantee, and a property `loss`,
    the ε or ρ of all draws from public facts, which `cost` must allow.
    """

    def __check_init__(self: Any):
        if self.loss > per_row(self.cost, "budget").bound:
            raise ValueError(
                "`temperature` must be at least what the budget allows, got "
                f"{float(self.temperature):g} at {float(self.loss):g} for {self.cost}."
            )

    @property
    def adjacency(self: Any) -> Adjacency:
        """Which data sets are neighbours: "replace-one" or "add-remove"."""
        return self.cost.adjacency

    def guarantee(self: Any) -> Guarantee:
        """Return the privacy cost of all samples of one release together."""
        return self.cost

    def draw(self, exact: Integers) -> Int[Array, "samples _"]:
        """Draw all samples from the system's random bits, one row for each sample."""
        return jnp.asarray(self.draw_with(system_bits, exact), jnp.int32)

    @abc.abstractmethod
    def draw_with(self, bits: Bits, exact: Integers) -> np.ndarray:
        """Draw one row for each sample from given random bits, without rounding."""


def on_host(exact: Integers) -> Int[np.ndarray, " m"]:
    """Return the statistic as a NumPy array; `ValueError` inside `jit` or `vmap`."""
    try:
        return np.asarray(exact)
    except jax.errors.TracerArrayConversionError:
        raise ValueError(
            "`draw` must be called outside of `jit` and `vmap`: studies draw with "
            "`sample(key, exact)` there."
        ) from None


def tables_of(statistic: Statistic) -> TableLayout | None:
    """Return the layout if it counts all tables, or a family's levels, or None."""
    if isinstance(statistic, TableStatistic) and statistic.measured == statistic.layout:
        return statistic.layout
    if isinstance(statistic, FamilyStatistic) and statistic.counts_levels:
        return TableLayout((statistic.length,), ((0,),))
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
