"""Discrete Laplace noise with a separate budget for each table."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int, Real

from dpjax._checks import typed_key
from dpjax._types import Described, Key
from dpjax.mechanisms import base
from dpjax.mechanisms.discrete_laplace import DiscreteLaplace
from dpjax.mechanisms.integer_noise import AddedIntegers
from dpjax.noise import LaplaceLaw, tables
from dpjax.noise.discrete_laplace import WIDEST
from dpjax.privacy import (
    Adjacency,
    Epsilon,
    Guarantee,
    PureDP,
    Sensitivity,
    exact_epsilon,
)
from dpjax.statistics import Statistic

_LONGEST_DENOMINATOR = 1024  # bits


@base.MECHANISMS.add
class SplitLaplace(base.MechanismWithLaw, AddedIntegers):
    r"""Release all tables f as one vector, with noise of budget $\epsilon_f$ for each.

    Mechanisms of equal shapes can be stacked on a leading axis, for `vmap`.

    Args:
        stack: a `DiscreteLaplace` mechanism for each table, on a leading axis.
        names: name of each table.
        lengths: number of entries of each table.

    Privacy:
        Exactly $\sum_f \epsilon_f$-DP for the adjacency of the sensitivity, by basic
        composition: neighbours differ by at most $\Delta$ in L1 in each table, and the
        noise of the tables is independent (`docs/proofs.md`, section 7). The conditions
        of `DiscreteLaplace` apply.

    Raises:
        ValueError: unless there is one mechanism, name and length for each table.
    """

    kind: ClassVar[str] = "split-discrete-laplace"
    largest: ClassVar[int] = WIDEST

    stack: DiscreteLaplace
    names: tuple[str, ...] = eqx.field(static=True)
    lengths: tuple[int, ...] = eqx.field(static=True)

    def __check_init__(self):
        if not len(self.names) == len(self.lengths) == self._tables():
            raise ValueError(
                "`stack` must hold one mechanism for each name and length, got "
                f"{self._tables()} for {len(self.names)} and {len(self.lengths)}."
            )

    @classmethod
    def calibrate(
        cls,
        split: Mapping[str, Epsilon],
        lengths: Mapping[str, int],
        sensitivity: Sensitivity,
    ) -> "SplitLaplace":
        """Make the certified mechanism with the budgets of `split`; not under `jit`.

        Args:
            split: privacy loss of each table; a float means its shortest decimal.
            lengths: number of entries of each table, in the order of the vector.
            sensitivity: L1 sensitivity of one table, with its adjacency.

        Raises:
            ValueError: if the tables of `split` are not those of `lengths`, a budget is
                not a finite number > 0, or the ratio of a budget to the sensitivity is
                outside the certified range [2^-23, 30].
        """
        if set(split) != set(lengths):
            raise ValueError(
                "`split` must give a budget to each measured table and to no other: "
                f"{', '.join(lengths)}; got {list(split)!s:.200}."
            )
        budgets = [_budget(name, split[name]) for name in lengths]
        _total(budgets)  # raises before any noise table is built
        stack = DiscreteLaplace.calibrate_many(budgets, sensitivity)
        return cls(stack, tuple(lengths), tuple(lengths.values()))

    @classmethod
    def of_tables(
        cls, split: Mapping[str, Epsilon], statistic: Statistic, adjacency: Adjacency
    ) -> "SplitLaplace":
        """Make the mechanism; `split` maps the name of each table to its ε."""
        one = statistic.part_sensitivity(adjacency)
        return cls.calibrate(split, statistic.parts, one)

    def accepts(self, statistic: Statistic) -> bool:
        """Return whether the statistic's parts have `names` and `lengths`, in order."""
        tables = zip(self.names, self.lengths, strict=True)
        return list(tables) == list(statistic.parts.items())

    @property
    def adjacency(self) -> Adjacency:
        """The adjacency for which the sensitivity holds."""
        return self.stack.adjacency

    @property
    def parts(self) -> dict[str, DiscreteLaplace]:
        """The mechanism of every table by name; `ValueError` for a stack."""
        self._refuse_stacked()
        return {
            name: jax.tree.map(lambda leaf, i=i: leaf[i], self.stack)
            for i, name in enumerate(self.names)
        }

    @property
    def rates(self) -> Float[Array, "*batch m"]:
        """Inverse noise scale (budget ÷ sensitivity) of each released number."""
        tables = np.repeat(np.arange(len(self.lengths), dtype=np.int32), self.lengths)
        return jnp.asarray(self.stack.rho, float)[..., tables]

    def sample(self, key: Key, exact: Int[Array, "*shape"]) -> Int[Array, "*shape"]:
        """Add noise to all tables on the last axis, and clip the results to ±2^29."""
        typed_key(key=key)
        self._refuse_stacked()
        self._refuse_length(exact)
        # Tables are cut into rows of equal length, to compile only one draw of noise.
        # With rows of the mean length, padding at most doubles the numbers.
        width = -(-sum(self.lengths) // len(self.lengths))
        owners, places, back = _rows(self.lengths, width)
        owned = jax.tree.map(lambda leaf: leaf[owners], self.stack)

        def one(part: DiscreteLaplace, key: Key, row: Array) -> Array:
            return part.sample(key, row)

        by_row = jax.vmap(one, in_axes=(0, 0, -2), out_axes=-2)
        noisy = by_row(owned, jr.split(key, len(owners)), exact[..., places])
        return noisy.reshape(*exact.shape[:-1], -1)[..., back]

    def draw(self, exact: base.Integers) -> np.ndarray:
        """Add noise to `exact` from 256 random bits of the system for each table."""
        self._refuse_length(exact)
        counted = np.split(base.on_host(exact), np.cumsum(self.lengths)[:-1])
        parts = zip(self.parts.values(), counted, strict=True)
        return np.concatenate([part.draw(table) for part, table in parts])

    def describe(self) -> dict[str, Any]:
        """Return kind and, for each table, budget, noise scale and fingerprint."""
        parts = []
        for name, part in self.parts.items():
            table = tables.trimmed(part.table)
            alone = eqx.tree_at(lambda x: x.table, part, table).describe()
            alone.pop("kind")
            epsilon = str(part.guarantee().epsilon)
            parts.append({"name": name, "epsilon": epsilon, **alone})
        return {"kind": self.kind, "parts": parts}

    @classmethod
    def from_description(
        cls, described: Described, statistic: Statistic, cost: Guarantee, n: int | None
    ) -> "SplitLaplace":
        """Make the mechanism again from the statistic and the described budgets."""
        split = {part["name"]: part["epsilon"] for part in described["parts"]}
        return cls.of_tables(split, statistic, cost.adjacency)

    def summary(self) -> dict[str, Any]:
        """Each table's budget and sensitivity, and what the certificate proves."""
        parts = self.parts
        return {
            "split": {name: str(x.guarantee().epsilon) for name, x in parts.items()},
            "sensitivity": {
                name: int(x.sensitivity.value) for name, x in parts.items()
            },
            "certificate": "of each table, as of one with its budget alone",
        }

    def is_possible_output(self, values: np.ndarray, length: int) -> bool:
        """Return whether `values` are integers from -2^53 to 2^53 for all tables."""
        fits = length == sum(self.lengths)
        return fits and super().is_possible_output(values, length)

    def log_prob(
        self, released: Real[Array, "*shape"], exact: Real[Array, "*shape"]
    ) -> Float[Array, "*shape"]:
        """Return the log-probability of each released number, ignoring the clip."""
        self._refuse_stacked()
        self._refuse_length(released)
        return self.noise(released.shape).log_prob(released, exact)

    def noise(self, shape: tuple[int, ...]) -> LaplaceLaw:
        """Return the discrete Laplace distribution of the noise, of shape `shape`."""
        return LaplaceLaw(jnp.broadcast_to(self.rates, shape), discrete=True)

    def guarantee(self) -> PureDP:
        """Return ε-DP with ε the exact sum of all budgets; `ValueError` for a stack."""
        costs = [part.guarantee().epsilon for part in self.parts.values()]
        return PureDP(_total(costs), self.adjacency)

    def _tables(self) -> int:
        shape = jnp.shape(self.stack.rho)
        return shape[-1] if shape else 0

    def _refuse_stacked(self) -> None:
        """Refuse a stack of mechanisms, and a single table inside `vmap`."""
        shape = jnp.shape(self.stack.rho)
        if shape != (len(self.names),):
            raise ValueError(
                "`SplitLaplace` must be one mechanism here, of all its tables: several "
                "stacked along a leading axis go under `vmap`."
            )

    def _refuse_length(self, numbers: Real[Array | np.ndarray, "*shape"]) -> None:
        if numbers.shape[-1:] != (sum(self.lengths),):
            raise ValueError(
                f"`exact` and `released` must have the {sum(self.lengths)} numbers of "
                f"all tables on the last axis, got shape {numbers.shape}."
            )


def _total(budgets: Sequence[Fraction]) -> Fraction:
    """The sum of the budgets; `ValueError` for too long a common denominator."""
    common = 1
    for budget in budgets:
        common = math.lcm(common, budget.denominator)
        if common >> _LONGEST_DENOMINATOR:
            raise ValueError(
                "`split` must be of budgets with a common denominator below "
                f"2^{_LONGEST_DENOMINATOR}, such as decimals, whose sum is exact."
            )
    return Fraction(sum(int(budget * common) for budget in budgets), common)


def _budget(name: str, epsilon: Epsilon) -> Fraction:
    try:
        return exact_epsilon(epsilon)
    except ValueError as error:
        raise ValueError(
            f"`split` must give {name!r:.80} a budget, such as '1/4'; {error}"
        ) from None


def _rows(
    lengths: tuple[int, ...], width: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cut tables into rows of `width` numbers.

    If the last row of a table is not full, it is filled with the index of the table's
    last number.

    Returns:
        The table of each row, the indices of each row's numbers, and the place of every
        number of the tables in the concatenated rows.
    """
    ends = np.cumsum(lengths)
    rows = [-(-length // width) for length in lengths]
    owners = np.repeat(np.arange(len(lengths), dtype=np.int32), rows)
    first = [
        np.arange(n) * width + end - size
        for n, end, size in zip(rows, ends, lengths, strict=True)
    ]
    places = np.concatenate(first)[:, None] + np.arange(width)
    inside = places < ends[owners][:, None]
    places = np.minimum(places, ends[owners][:, None] - 1)
    return owners, places.astype(np.int32), np.flatnonzero(inside).astype(np.int32)
