"""The base class of mechanisms with K-norm noise on integers."""

import abc
import hashlib
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from dpjax._checks import typed_key
from dpjax._types import Key
from dpjax.mechanisms import base
from dpjax.mechanisms.continuous_k_norm import ContinuousNoise, refuse_length
from dpjax.mechanisms.integer_noise import AddedIntegers
from dpjax.noise.discrete_laplace import WIDEST
from dpjax.noise.exact_choice import Bits, system_bits
from dpjax.noise.norm_law import NormLaw
from dpjax.privacy import Adjacency


class NormMechanism(AddedIntegers):
    """Add K-norm noise to a statistic, independently for each of several groups.

    A subclass has a field `statistic`, and says what the groups are by `laws`.

    Privacy:
        That of `guarantee`. Draws use no floating point. Side channels in time and
        memory are not covered.
    """

    format_version: ClassVar[int] = 2
    largest: ClassVar[int] = WIDEST

    statistic: eqx.AbstractVar[Any]

    @cached_property
    @abc.abstractmethod
    def laws(self) -> tuple[NormLaw, ...]:
        """The distribution of the noise of each group of numbers."""

    @abc.abstractmethod
    def for_studies(self) -> ContinuousNoise:
        """Return the mechanism in real arithmetic."""

    @property
    def adjacency(self) -> Adjacency:
        """The adjacency of the statistic."""
        return self.statistic.adjacency

    def accepts(self, statistic: Any) -> bool:
        """Return whether it is the statistic that the mechanism was made for."""
        return statistic == self.statistic

    def sample(self, key: Key, exact: Int[Array, "*shape"]) -> Int[Array, "*shape"]:
        """Add noise to `exact` for a study, by floating point; pure.

        The noise is that of `for_studies`, rounded to whole numbers. To publish, use
        `draw`.

        Privacy:
            The guarantee holds for real numbers, and not for floats.
        """
        typed_key(key=key)
        noise = self.for_studies().noise(key, exact.shape)
        return exact + jnp.round(noise).astype(exact.dtype)

    def draw(self, exact: base.Integers) -> Int[np.ndarray, " m"]:
        """Add noise to `exact` with random bits from the operating system.

        The results are clipped to ±2^53.
        """
        refuse_length(exact.shape, self.statistic)
        counts = base.on_host(exact).astype(np.int64)
        return np.clip(counts + self.draw_noise(system_bits), -WIDEST, WIDEST)

    def draw_noise(self, bits: Bits) -> Int[np.ndarray, " m"]:
        """Draw the noise from given random bits."""
        noise = np.zeros(self.statistic.length, np.int64)
        for law in self.laws:
            for place, value in law.draw(bits):
                noise[place] = value
        return noise

    def probability(self, noise: Sequence[int]) -> Fraction:
        """Return the probability of one vector of noise, exactly."""
        each = (law.probability(noise) for law in self.laws)
        return math.prod(each, start=Fraction(1))


def digest(law: NormLaw) -> str:
    """Return a hash of the numbers of points, for release files."""
    return hashlib.sha256(",".join(map(str, law.newton)).encode()).hexdigest()
