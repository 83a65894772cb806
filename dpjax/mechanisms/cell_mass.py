"""Tables near the posterior mode, by the exponential mechanism on a public grid.

The score is the posterior mass of a cell, whose sensitivity is bounded; the sensitivity
of a posterior density is not.
"""

from fractions import Fraction
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Float64, Int, Int64, Real

from dpjax._checks import typed_key
from dpjax._products import matmul
from dpjax._types import Described, Key
from dpjax.mechanisms import base
from dpjax.mechanisms.cell_grid import SCORE_BITS, CellGrid, largest_rate
from dpjax.noise.exact_choice import Bounds, choose, softmax, system_bits
from dpjax.privacy import (
    REPLACE_ONE,
    Adjacency,
    Epsilon,
    Guarantee,
    budget_of,
    exact_epsilon,
)
from dpjax.privacy.unit import per_row
from dpjax.statistics import Statistic
from dpjax.tables.layout import TableLayout

_OPTIONS = ("omega", "temperature", "prior", "units")


@base.MECHANISMS.add
class CellMass(base.ParameterMechanism):
    r"""Release tables θ of a grid with $P(\theta) \propto \xi(\theta) e^{s u(\theta)}$.

    A cell θ is one joint value of all rows on the grid. ξ is a Dirichlet prior, u(θ) is
    the posterior mass of the cell at temperature T, and `of` derives the factor s from
    the budget. As $\epsilon \to \infty$, the release tends to the cell of largest mass,
    the MAP. All cells are enumerated, so that the tables must have few rows. If there
    are many cells, all masses are small, and only a large ε distinguishes them.

    Args:
        grid: all cells and their prior weights.
        promise: the privacy guarantee of one release.
        temperature: T; the likelihood is taken to the power 1 / T.
        rate: $s / 2^{31}$, the factor of a mass in units of $2^{-31}$.

    Privacy:
        Exactly ε-DP, or ρ-zCDP. Let $C_i$ be the range of a log-probability of variable
        i on the grid, and $w = 2 \sum_i C_i / T$ (replace-one) or half of that
        (add-remove). One record changes a mass by at most $\Delta = \tanh(w / 4)$. Then
        $(s \Delta)^2 \le 2 \rho$ is sufficient for ρ-zCDP, and
        $s \Delta (1 + \pi) \le \epsilon$ for ε-DP, with

        $$\pi = \frac{\max \xi\, e^s - \min \xi}{1 + \max \xi\, (e^s - 1)}.$$

        This s is at least $\epsilon / (2 \Delta)$, as in Algorithm 3, and at most twice
        that. `of` takes the largest s that is proved for scores rounded to integers
        (`docs/proofs.md`, section 13). Draws have no rounding error. Timing and memory
        are not covered.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Algorithm 3. Its score is a density,
        whose sensitivity is not bounded: see `docs/proofs.md`.
    """

    kind: ClassVar[str] = "cell-mass"

    grid: CellGrid = eqx.field(static=True)
    promise: Guarantee = eqx.field(static=True)
    temperature: Fraction = eqx.field(static=True)
    rate: Fraction = eqx.field(static=True)

    @classmethod
    def calibrate(
        cls,
        layout: TableLayout,
        epsilon: Epsilon,
        adjacency: Adjacency,
        **options: Any,
    ) -> "CellMass":
        """Make the mechanism with the largest factor s proved to cost at most ε."""
        return cls.of(layout, budget_of(epsilon, adjacency), **options)

    @classmethod
    def of(
        cls,
        layout: TableLayout,
        budget: Guarantee,
        *,
        omega: Epsilon,
        temperature: Epsilon = 1,
        prior: Epsilon = 1,
        units: int = 16,
    ) -> "CellMass":
        r"""Make the mechanism with the largest s that is proved to cost ≤ `budget`.

        Args:
            layout: one conditional table for each variable, such as `net.layout`.
            budget: a guarantee for one row, of kind pure-dp or zcdp.
            omega: smallest probability, > 0 and below 1 / (largest number of levels). A
                float, here and in `temperature` and `prior`, means its shortest
                decimal.
            temperature: T > 0; a larger T lowers the sensitivity of the masses.
            prior: Dirichlet parameter of every level, > 0.
            units: probabilities are multiples of 1 / units.

        Raises:
            ValueError: if an argument is outside its range, or there are > 2^22 cells.
        """
        promise = per_row(budget, "budget")
        exact = exact_epsilon(temperature, "temperature")
        truncation = exact_epsilon(omega, "omega")
        grid = CellGrid(layout, truncation, units, exact_epsilon(prior, "prior"))
        moved = 2 if budget.adjacency == REPLACE_ONE else 1
        rate = largest_rate(budget, moved * grid.log_range / exact, grid.prior_ranges)
        return cls(grid, promise, exact, rate)

    @property
    def adjacency(self) -> Adjacency:
        """The adjacency of the guarantee."""
        return self.promise.adjacency

    @property
    def sharpness(self) -> float:
        """The factor s of a posterior mass in the exponential mechanism."""
        return float(self.rate * (1 << SCORE_BITS))

    def guarantee(self) -> Guarantee:
        """Return the guarantee for which the mechanism was calibrated."""
        return self.promise

    def accepts(self, statistic: Statistic) -> bool:
        """Return whether the statistic is the counts of all tables of the grid."""
        return base.tables_of(statistic) == self.grid.layout

    def describe(self) -> dict[str, Any]:
        """Return kind, grid, prior, temperature and rate as plain data."""
        return {
            "kind": self.kind,
            "omega": str(self.grid.omega),
            "units": self.grid.units,
            "prior": str(self.grid.prior),
            "temperature": str(self.temperature),
            "rate": str(self.rate),
        }

    @classmethod
    def from_description(
        cls, described: Described, statistic: Statistic, cost: Guarantee, n: int | None
    ) -> "CellMass":
        """Make the mechanism again from the statistic, described options and `cost`."""
        options = {name: described[name] for name in _OPTIONS}
        return cls.of(base.all_tables(statistic), cost, **options)

    def is_possible_output(self, values: np.ndarray, length: int) -> bool:
        """Return whether every row of the tables `values` is a point of its grid."""
        return length == self.grid.layout.length and self.grid.holds(values)

    def parameters(self, values: Real[Array, "*batch m"]) -> Float[Array, "*batch m"]:
        """Return conditional probability tables in the order of the exact counts."""
        return values.astype(float) / self.grid.units

    def sample(self, key: Key, exact: Int[Array, " m"]) -> Int[Array, " m"]:
        """Draw the tables of one cell, times `grid.units`, in floats for studies."""
        typed_key(key=key)
        self._check(exact)
        mass, log_prior = jnp.ones(1), jnp.zeros(1)
        for row, counts in self.grid.by_row(exact):
            logs = jnp.asarray(np.log(row.points / self.grid.units), float)
            prior = jnp.asarray(np.log(row.prior), float)
            fit = matmul(logs, counts.astype(float)) / float(self.temperature)
            mass = jnp.outer(mass, jax.nn.softmax(fit + prior)).ravel()
            log_prior = jnp.add.outer(log_prior, prior).ravel()
        cell = jr.categorical(key, self.sharpness * mass + log_prior)
        rows = self.grid.rows
        places = jnp.unravel_index(cell, [len(row.points) for row in rows])
        chosen = zip(rows, places, strict=True)
        return jnp.concatenate(
            [jnp.asarray(row.points)[place] for row, place in chosen]
        )

    def draw(self, exact: base.Integers) -> Int[Array, " m"]:
        """Draw the tables of one cell, times `grid.units`, from the system's bits."""
        scores, prior = self.scores(jnp.asarray(exact)), self.grid.prior_weights
        order = np.argsort(scores)
        values, starts = np.unique(scores[order], return_index=True)
        sums = np.add.reduceat(prior[order], starts)  # draw a score, then a cell
        place = softmax(values.tolist(), self.rate, system_bits, sums.tolist())[0]
        tied = np.flatnonzero(scores == values[place])
        weights = prior[tied].astype(object)
        cell = tied[choose(lambda precision: Bounds(weights, weights), system_bits)]
        return jnp.asarray(self.grid.tables(cell))

    def scores(self, exact: Int[Array, " m"]) -> Int64[np.ndarray, " k"]:
        """Return the posterior mass of every cell, in units of $2^{-31}$.

        Privacy:
            No guarantee: the masses are exact.

        Raises:
            ValueError: if `exact` is not one integer count for each entry of the
                tables, or inside `jit` or `vmap`.
        """
        self._check(exact)
        return self.grid.scores(base.on_host(exact), self.temperature)

    def law(self, exact: Int[Array, " m"]) -> Float64[np.ndarray, " k"]:
        """Return the probability with which `draw` returns each cell, as floats.

        Privacy:
            No guarantee: the result is for tests and studies only.

        Raises:
            ValueError: as for `scores`.
        """
        logits = self.scores(exact) * float(self.rate) + np.log(self.grid.prior_weights)
        weights = np.exp(logits - logits.max())
        return weights / weights.sum()

    def _check(self, exact: Array) -> None:
        length = self.grid.layout.length
        if exact.shape != (length,) or not jnp.issubdtype(exact.dtype, jnp.integer):
            raise ValueError(
                f"`exact` must be {length} integers, a count for each cell of the "
                f"tables, got {exact.dtype} of shape {exact.shape}."
            )
