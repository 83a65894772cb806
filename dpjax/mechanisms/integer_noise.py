"""Base classes of mechanisms that add integers to the numbers of a statistic."""

import abc
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, ClassVar, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Int, UInt32

from dpjax._checks import typed_key
from dpjax._types import Described, Key
from dpjax.mechanisms import base
from dpjax.noise.discrete_laplace import LARGEST
from dpjax.privacy import Guarantee, Sensitivity

_SHORTEST = 4096  # shortest length that a release compiles for: shared by most vectors
_WORDS = 8  # of 32 bits, for the numerator and for the denominator of a budget

Made = TypeVar("Made", bound="IntegerNoise")


class AddedIntegers(base.ExactMechanism):
    """A mechanism that adds a random integer to every number, and clips the sums."""

    additive: ClassVar[bool] = True

    @classmethod
    def from_description(
        cls: Any, described: Described, statistic: Any, cost: Guarantee, n: int | None
    ) -> Any:
        """Make the mechanism again from the statistic and `cost`, the budget."""
        return cls.of(statistic, cost)

    def is_possible_output(self, values: np.ndarray, length: int) -> bool:
        """Return whether `values` are `length` integers from -largest to largest."""
        wide = np.abs(values) > self.largest
        return values.shape == (length,) and not wide.any()


class IntegerNoise(base.MechanismWithLaw, AddedIntegers):
    """A mechanism that adds noise to every number, drawn from an integer table.

    A subclass has a field `fraction`: numerator and denominator of the exact budget,
    from `words_of`.
    """

    @abc.abstractmethod
    def _noisy(self, key: Key, exact: Array) -> Array:
        """Add noise to 32-bit integers, and clip the results to ±2^29."""

    def sample(self, key: Key, exact: Int[Array, "*shape"]) -> Int[Array, "*shape"]:
        """Add noise to `exact`, and clip the noisy numbers to ±2^29.

        Args:
            key: typed JAX key; to publish, a key from `dpjax.noise.keys.release_key`.
            exact: integers that are known to be from -2^29 to 2^29 for all data sets.

        Returns:
            The noisy numbers, int32, of the shape of `exact`.

        Raises:
            ValueError: if the key is not typed, or `exact` is not an array of integers,
                or is an array of NumPy with integers beyond ±2^29.
        """
        typed_key(key=key)
        if not jnp.issubdtype(exact.dtype, jnp.integer):
            raise ValueError(f"`exact` must be integers, got {exact.dtype}.")
        if isinstance(exact, np.ndarray) and exact.size:
            if max(-int(exact.min()), int(exact.max())) > LARGEST:
                raise ValueError("`exact` must be from -2^29 to 2^29: use `draw`.")
        return self._noisy(key, jnp.asarray(exact.astype(jnp.int32)))

    def _exact_budget(self: Any) -> Fraction:
        """Return the exact budget; `ValueError` for a stack of mechanisms."""
        words = np.asarray(self.fraction)
        if words.ndim != 2:
            raise ValueError(
                "`guarantee` must be asked of one mechanism, not of a stack."
            )
        return Fraction(*map(from_words, words))


def suffices(own: Sensitivity, needed: Sensitivity) -> bool:
    """Return whether noise for one sensitivity is enough for another, if it is known.

    A mechanism that is an argument of a compiled function was made outside of it.
    """
    return isinstance(own.value, Tracer) or bool(np.all(needed.value <= own.value))


def stacked(budgets: Sequence[Fraction], make: Callable[[Fraction], Made]) -> Made:
    """Make a mechanism for each budget, stacked on a leading axis for `vmap`."""
    made: dict[Fraction, Any] = {x: make(x) for x in dict.fromkeys(budgets)}
    many = [made[x] for x in budgets]
    return jax.tree.map(lambda *leaves: np.stack(leaves), *many)


def drawn_length(size: int) -> int:
    """Return a length ≥ `size` to draw, which vectors of similar lengths share."""
    block = max(_SHORTEST, 1 << max(size.bit_length() - 4, 0))
    return -(-size // block) * block


def words_of(budget: Fraction) -> UInt32[np.ndarray, "two words"]:
    """Return numerator and denominator as words; `ValueError` if they are too long."""
    return np.stack([_to_words(budget.numerator), _to_words(budget.denominator)])


def _to_words(integer: int) -> np.ndarray:
    if integer >> 32 * _WORDS:
        raise ValueError("`epsilon` must be a fraction of smaller integers.")
    return np.array(
        [(integer >> 32 * i) & 0xFFFFFFFF for i in range(_WORDS)], np.uint32
    )


def from_words(words: np.ndarray) -> int:
    """Return the integer that words stand for, the least significant first."""
    return sum(int(word) << 32 * i for i, word in enumerate(words))
