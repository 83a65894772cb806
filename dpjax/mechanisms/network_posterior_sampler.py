"""Publishable samples from a network's truncated, tempered posterior on a public grid.

Likelihoods on the grid are exact rationals and draws have no rounding error, so that
the privacy guarantee holds on a real computer.
"""

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int, Real

from dpjax._checks import whole
from dpjax._types import Described, Key
from dpjax.mechanisms import base, sampling_loss
from dpjax.mechanisms.posterior_sample import PosteriorSample
from dpjax.noise.exact_choice import Bits
from dpjax.noise.simplex_grid import SimplexGrid
from dpjax.privacy import (
    REPLACE_ONE,
    Adjacency,
    Epsilon,
    Guarantee,
    budget_of,
    exact_epsilon,
)
from dpjax.privacy.rounding import exact_or_none
from dpjax.statistics import Statistic
from dpjax.tables.layout import TableLayout

_MAP = "map-on-grid"


@partial(base.MECHANISMS.add_as, _MAP)
@base.MECHANISMS.add
class NetworkPosteriorSampler(base.PosteriorSampler):
    r"""Draw all tables θ from $\propto \prod \theta^{\alpha - 1 + N/T}$ on a grid.

    The product is over all cells, with counts N, Dirichlet prior α and temperature T.
    Entries are multiples of 1/units and at least ω. `of` makes it, or, for an ε,
    `posterior` and `map`.

    Privacy:
        All draws together have exactly the guarantee `cost`. Let $r_i = 2 C_i / T$
        under replace-one and half of that under add-remove, where $C_i$ is the
        log-ratio of the largest to the smallest entry of a row of variable i. One
        sample costs at most ε = $\sum_i r_i$, or ρ = $\sum_i r_i^2 / 8$ in
        zero-concentrated privacy; m samples cost m times as much. If n is public, ε is
        the largest loss for n records.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Theorem 4, part 1, and Appendix C.2;
        Foulds et al. (UAI-16), Theorem 2 and equation 6; Cesar & Rogers (ALT 2021), for
        ρ.
    """

    kind: ClassVar[str] = "posterior-on-grid"

    layout: TableLayout = eqx.field(static=True)
    grids: sampling_loss.Grids = eqx.field(static=True)
    temperature: Fraction = eqx.field(static=True)
    prior: Fraction = eqx.field(static=True)
    samples: int = eqx.field(static=True)
    tempered_prior: bool = eqx.field(static=True)
    n: int | None = eqx.field(static=True)
    cost: Guarantee = eqx.field(static=True)

    @classmethod
    def of(
        cls,
        layout: TableLayout,
        budget: Guarantee,
        *,
        n: int | None = None,
        omega: Epsilon | None = None,
        temperature: Epsilon | None = None,
        samples: int = 1,
        prior: Epsilon = 1,
        units: int = 1000,
        tempered_prior: bool = False,
    ) -> "NetworkPosteriorSampler":
        """Make the sampler whose m samples together cost at most `budget`.

        Args:
            layout: table layout (`BayesNet.layout`); a variable's own levels are the
                last axis of its table.
            budget: a guarantee for one row, of kind pure-dp or zcdp. If ω and T are
                both given, less may be spent.
            n: number of records. Under replace-one it is public, and a small n allows a
                lower T; under add-remove it is a public guess, used only to choose ω.
            omega: ω, the smallest probability. None: derived from T; if T is None too,
                the fraction of 1 / (number of levels) with the least expected error.
            temperature: T > 0. None: the lowest T that budget and ω allow, but at
                least 1.
            samples: number m of samples.
            prior: Dirichlet parameter α of every cell, > 0.
            units: all probabilities are multiples of 1 / units.
            tempered_prior: whether the prior is also taken to the power 1/T, as in
                `map`; then a derived T may be below 1.

        Raises:
            ValueError: if an argument is outside its range, ω is not below 1 / (largest
                number of levels), or ω, T and m together cost more than `budget`.
        """
        whole(1, samples=samples, units=units)
        units, samples = int(units), int(samples)
        alpha = exact_epsilon(prior, "prior")
        given = exact_or_none(temperature, "temperature")
        each = budget.share(Fraction(1, samples))
        if omega is None:
            share = sampling_loss.choose_share(layout, units, each, n, given)
            grids = sampling_loss.grids_of_share(layout, share, units)
        else:
            least = exact_epsilon(omega, "omega")
            grids = sampling_loss.grids_of_omega(layout, least, units)
        public = budget.adjacency == REPLACE_ONE and not tempered_prior
        n = n if public else None
        cost = partial(sampling_loss.sample_cost, grids, budget=each, prior=alpha)
        lowest = given or sampling_loss.lowest_temperature(each, cost, n)
        derived = given is None and (tempered_prior or lowest > 1)
        used = lowest if derived else given or Fraction(1)
        # At a given temperature, less than the whole budget may be enough.
        spent = (
            budget
            if derived
            else sampling_loss.spent_at(budget, cost(used, n=n).repeated(samples))
        )
        return cls(layout, grids, used, alpha, samples, tempered_prior, n, spent)

    @classmethod
    def posterior(
        cls, layout: TableLayout, epsilon: Epsilon, adjacency: Adjacency, **options: Any
    ) -> "NetworkPosteriorSampler":
        """Make the sampler whose samples together cost at most ε, as `of` does."""
        return cls.of(layout, budget_of(epsilon, adjacency), **options)

    @classmethod
    def map(
        cls, layout: TableLayout, epsilon: Epsilon, adjacency: Adjacency, **options: Any
    ) -> "NetworkPosteriorSampler":
        r"""Make the exponential mechanism whose score is the log joint probability.

        The score is u = log(prior × likelihood), of sensitivity Δ on the grid. The law
        $\propto \exp(\epsilon u / 2\Delta)$ of the tables is the posterior at $T =
        2\Delta / \epsilon$, with the prior tempered too. It factorises over the rows,
        and tends to the MAP as ε grows. `of` documents the options. The score of
        `CellMass` is a posterior mass, since a density has no bounded sensitivity.
        """
        return cls.posterior(layout, epsilon, adjacency, tempered_prior=True, **options)

    @classmethod
    def from_description(
        cls, described: Described, statistic: Statistic, cost: Guarantee, n: int | None
    ) -> "NetworkPosteriorSampler":
        """Make the sampler again from the statistic and the described choices."""
        layout = base.all_tables(statistic)
        sizes = [layout.shape(group) for group in layout.groups]
        grids = tuple(
            (SimplexGrid(shape[-1], described["units"], least), len(shape) > 1)
            for shape, least in zip(sizes, described["least"], strict=True)
        )
        tempered_prior = described["kind"] == _MAP
        if len(set(grids)) > len({(grid.levels, x) for grid, x in grids}):
            # A cost is derived for each different grid.
            raise ValueError("`least` must be the same for all with as many levels.")
        whole(1, samples=described["samples"])
        return cls(
            layout,
            grids,
            exact_epsilon(described["temperature"], "temperature"),
            exact_epsilon(described["prior"], "prior"),
            described["samples"],
            tempered_prior,
            None if tempered_prior else n,
            cost,
        )

    @property
    def loss(self) -> Fraction:
        """The ε or ρ of all samples together, computed from public choices alone."""
        known = None if self.tempered_prior else self.n
        one = sampling_loss.sample_cost(
            self.grids, self.temperature, self.cost, self.prior, known
        )
        return one.repeated(self.samples).bound

    def omegas(self) -> list[Fraction]:
        """Return the smallest probability of a level for each variable."""
        return [Fraction(grid.least, grid.units) for grid, _ in self.grids]

    def draw_with(self, bits: Bits, exact: base.Integers) -> np.ndarray:
        """Draw tables as multiples of 1 / units, one row for each sample.

        Raises:
            ValueError: if `exact` cannot be the counts of the public n records.
        """
        drawn = np.empty((self.samples, self.layout.length), np.int64)
        for grid, row, exponents in self._rows(jnp.asarray(exact)):
            drawn[:, row] = grid.draw(exponents, bits, self.samples)
        return drawn

    def law(self, exact: Int[Array, " m"]) -> list[list[int]]:
        """Return exact weights of each row's grid points, for audits; not private."""
        return [grid.weights(exponents) for grid, _, exponents in self._rows(exact)]

    def _rows(
        self, exact: Int[Array, " m"]
    ) -> Iterator[tuple[SimplexGrid, slice, list[Fraction]]]:
        """Yield the grid of every row, its slice of `exact`, and its exponents of θ."""
        counts, offsets = self._checked(exact), self.layout.offsets
        ends = itertools.pairwise(offsets)
        for (grid, _), (start, stop) in zip(self.grids, ends, strict=True):
            for first in range(start, stop, grid.levels):
                row = slice(first, first + grid.levels)
                yield grid, row, [self._exponent(count) for count in counts[row]]

    def sample(self, key: Key, exact: Int[Array, " m"]) -> Float[Array, "samples m"]:
        """Draw one row of tables times `units` for each sample, for studies."""
        draw = jax.vmap(self.in_reals().sample, in_axes=(0, None))
        return draw(jr.split(key, self.samples), exact) * self.units

    def in_reals(self) -> PosteriorSample:
        """Return the mechanism for one sample in real arithmetic, for studies."""
        omegas = self._by_cell([float(omega) for omega in self.omegas()])
        temperature = jnp.asarray(float(self.temperature))
        least, prior = jnp.asarray(omegas, float), float(self._exponent(0)) + 1
        adjacency, prior = self.adjacency, jnp.asarray(prior)
        return PosteriorSample(self.layout, temperature, least, adjacency, prior)

    def accepts(self, statistic: Statistic) -> bool:
        """Return whether the statistic is the counts of all tables of `layout`."""
        return base.tables_of(statistic) == self.layout

    def describe(self) -> dict[str, Any]:
        """Return the kind and all public choices as plain data, for files."""
        return {
            "kind": _MAP if self.tempered_prior else self.kind,
            "temperature": str(self.temperature),
            "prior": str(self.prior),
            "samples": self.samples,
            "units": self.units,
            "least": [grid.least for grid, _ in self.grids],
        }

    def is_possible_output(self, values: np.ndarray, length: int) -> bool:
        """Return whether `values` are all tables of each sample, with rows on grids."""
        if values.shape != (self.samples, length) or length != self.layout.length:
            return False
        least = self._by_cell([grid.least for grid, _ in self.grids])
        starts = np.flatnonzero(np.diff(self.layout.rows, prepend=-1))
        sums = np.add.reduceat(values, starts, axis=1)
        return bool(np.all(values >= least) and np.all(sums == self.units))

    def parameters(self, values: Real[Array, "*batch m"]) -> Float[Array, "*batch m"]:
        """Return conditional probability tables, as vectors laid out by `layout`."""
        return values.astype(float) / self.units

    @property
    def units(self) -> int:
        """Denominator of all probabilities on the grid."""
        return self.grids[0][0].units

    def _exponent(self, count: int) -> Fraction:
        if self.tempered_prior:
            return (self.prior - 1 + count) / self.temperature
        return self.prior - 1 + count / self.temperature

    def _by_cell(self, numbers: Sequence[float] | Sequence[int]) -> np.ndarray:
        return np.repeat(numbers, np.diff(self.layout.offsets))

    def _checked(self, exact: Int[Array, " m"]) -> list[int]:
        counts = base.on_host(exact).tolist()
        length = self.layout.length
        if len(counts) != length or min(counts) < 0:
            raise ValueError(f"`exact` must be the {length} counts of all tables.")
        most = sum(counts[: self.layout.offsets[1]])
        if self.n is not None and most != self.n:
            raise ValueError("`n` must be the number of records, it is another one.")
        return counts
