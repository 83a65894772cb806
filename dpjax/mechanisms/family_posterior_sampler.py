"""Publishable samples from the truncated, tempered posterior of an exponential family.

The samples are on a public grid of the parameters, and drawn without rounding.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int, Real

from dpjax._checks import typed_key, whole
from dpjax._products import matmul
from dpjax._types import Described, Key
from dpjax.families import Family, Truncation
from dpjax.mechanisms import base
from dpjax.mechanisms.parameter_grid import (
    TABLE_BITS,
    ParameterGrid,
    Prior,
    refuse_prior,
    widest_grid,
)
from dpjax.mechanisms.sampling_loss import lowest_temperature, spent_at
from dpjax.mechanisms.truncation_choice import choose_truncation, most_points
from dpjax.noise.exact_choice import Bits, softmax
from dpjax.privacy import (
    REPLACE_ONE,
    Adjacency,
    Epsilon,
    Guarantee,
    budget_of,
    exact_epsilon,
)
from dpjax.privacy.rounding import exact_or_none
from dpjax.statistics import FamilyStatistic, Statistic

_MAP = "family-map-on-grid"


@partial(base.MECHANISMS.add_as, _MAP)
@base.MECHANISMS.add
class FamilyPosteriorSampler(base.PosteriorSampler):
    r"""Draw parameters θ from $\propto \xi(\theta) \, p(X | \theta)^{1/T}$ on a grid.

    ξ is the prior, X the records and T a temperature. `calibrate` makes the sampler,
    and, with the prior to the power 1/T too, the exponential mechanism for the mode. A
    release consists of indices on the axes of the grid, one row for each sample.

    Privacy:
        All draws together have exactly the guarantee `cost`. One sample costs
        $2\Delta / T$ under replace-one and $\Delta / T$ under add-remove, where Δ is
        `Family.sampling_sensitivity`, computed from the integers of the grid; m samples
        cost m times as much. With one parameter and a public n, a sample costs the
        largest loss at that n. This loss is attained if all records are at one bound
        and one record moves to the other bound, since the mean of $e^{\theta / T}$ is
        monotone in the statistic. In zero-concentrated privacy, a sample of cost ε in
        the limit of many records costs $\rho = \epsilon^2 / 8$ or, with one parameter
        and a public n, half of the largest variance of the change of log-likelihood.

    Reference:
        Foulds et al. (UAI-16), Theorem 2 and equations 13 and 14; Geumlek, Song &
        Chaudhuri (NeurIPS 2017), for ρ.
    """

    kind: ClassVar[str] = "family-posterior-on-grid"
    first_families: ClassVar[tuple[str, ...]] = (
        *("bernoulli", "exponential", "gaussian", "gaussian-mean", "poisson"),
    )

    grid: ParameterGrid = eqx.field(static=True)
    temperature: Fraction = eqx.field(static=True)
    prior: Prior | None = eqx.field(static=True)
    samples: int = eqx.field(static=True)
    n: int | None = eqx.field(static=True)
    cost: Guarantee = eqx.field(static=True)
    tempered_prior: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        refuse_prior(self.prior, self.grid.family)

    @classmethod
    def calibrate(
        cls,
        family: Family,
        units: int,
        lowest: int,
        epsilon: Epsilon,
        adjacency: Adjacency,
        **options: Any,
    ) -> "FamilyPosteriorSampler":
        """Make the sampler whose samples together cost at most ε, as `of` does."""
        budget = budget_of(epsilon, adjacency)
        return cls.of(family, units, lowest, budget, **options)

    @classmethod
    def of(
        cls,
        family: Family,
        units: int,
        lowest: int,
        budget: Guarantee,
        *,
        n: int | None = None,
        truncation: Truncation | None = None,
        temperature: Epsilon | None = None,
        samples: int = 1,
        prior: Prior | None = None,
        points: int | None = None,
        tempered_prior: bool = False,
    ) -> "FamilyPosteriorSampler":
        r"""Make the sampler whose m samples together cost at most `budget`.

        With `tempered_prior`, the law is $\propto \exp(\epsilon u / 2\Delta)$ for the
        score u = log(prior × likelihood), and tends to the mode as ε grows.

        Args:
            family: a family whose parameters have a grid.
            units: integer steps from 0 to 1 of a scaled statistic (`Sufficient.units`).
            lowest: smallest integer of a record's first statistic, `Sufficient.lowest`.
            budget: a guarantee for one row, of kind pure-dp or zcdp. If truncation and
                T are both given, less may be spent.
            n: number of records if it is public, else None.
            truncation: least and largest value of each parameter, by name. None: the
                widest `family.truncation` that T allows or, if T is not given, the one
                of least expected error (`choose_truncation`). No data are used.
            temperature: T > 0. None: the lowest T that the budget allows, but at least
                1.
            samples: number m of samples.
            prior: mean of the scaled statistics, and the number of records that the
                prior is worth. None: uniform on the grid.
            points: number of grid values of each parameter. None: as many as make at
                most 10,000 points of one or two parameters, and 65,536 of more.
            tempered_prior: whether the prior is also taken to the power 1/T; then a
                derived T may be below 1.

        Raises:
            ValueError: if an argument is outside its range, the truncation leaves the
                likelihood unbounded, or truncation, T and m cost more than `budget`.
        """
        whole(1, samples=samples)
        refuse_prior(prior, family)
        each = budget.share(Fraction(1, int(samples)))
        width = each.choice_epsilon  # largest range of log-ratios of one sample
        given = exact_or_none(temperature, "temperature")

        def grid_within(limits: Truncation) -> ParameterGrid:
            bounds = tuple(
                (name, float(least), float(most))
                for name, (least, most) in sorted(limits.items())
            )
            size = int(points or most_points(family, limits))
            return ParameterGrid(family, bounds, size, units, lowest)

        if truncation is not None:
            grid = grid_within(truncation)
        elif given is None:
            lowest_used = 0 if tempered_prior else 1
            chosen = choose_truncation(family, width, budget.adjacency, n, lowest_used)
            grid = grid_within(chosen)
        else:
            grid = widest_grid(family, grid_within, width * given, budget.adjacency)
        n = n if budget.adjacency == REPLACE_ONE else None
        cost = partial(
            grid.sample_cost, budget=each, prior=prior, tempered=tempered_prior
        )
        least = given or lowest_temperature(each, cost, n)
        derived = given is None and (tempered_prior or least >= 1)
        used = least if derived else given or Fraction(1)
        spent = (
            budget if derived else spent_at(budget, cost(used, n=n).repeated(samples))
        )
        return cls(grid, used, prior, int(samples), n, spent, tempered_prior)

    @property
    def loss(self) -> Fraction:
        """The ε or ρ of all samples together, computed from public choices alone."""
        one = self.grid.sample_cost(
            self.temperature, self.cost, self.prior, self.n, self.tempered_prior
        )
        return one.repeated(self.samples).bound

    def draw_with(self, bits: Bits, exact: base.Integers) -> np.ndarray:
        """Draw indices on the axes of the grid, one row for each sample."""
        scores, unit = self.scores(base.on_host(exact).tolist())
        drawn = softmax(scores, unit, bits, draws=self.samples)
        return np.stack(np.unravel_index(drawn, self.grid.axes), axis=1)

    def scores(self, vector: Sequence[int]) -> tuple[list[int], Fraction]:
        """Return all points' integer log-posteriors up to a constant, and their unit.

        Raises:
            ValueError: if `vector` cannot be the exact statistic of n records.
        """
        family, units = self.grid.family, self.grid.units
        size, carrier = family.dimension, family.complement
        totals, n = list(vector[:size]), self.n
        if self.adjacency != REPLACE_ONE:
            n = vector[carrier] + vector[-1] if carrier is not None else sum(totals)
            n //= units
        if n is None or any(abs(total) > n * units for total in totals):
            raise ValueError(
                f"`exact` must be {size} rounded sums over the public n records."
            )
        power = 1 / self.temperature
        return self.grid.posterior_scores(
            power, self.prior, totals, n, self.tempered_prior
        )

    def sample(self, key: Key, exact: Int[Array, " m"]) -> Float[Array, "samples p"]:
        """Draw grid indices in real arithmetic, one row for each sample."""
        typed_key(key=key)
        family, units = self.grid.family, float(self.grid.units)
        steps, records = (
            np.asarray(x, float) / (1 << TABLE_BITS) for x in self.grid.tables
        )
        vector = exact.astype(float)
        n = jnp.asarray(self.n or 0, float)
        if self.adjacency != REPLACE_ONE:
            carrier = family.complement
            n = vector.sum() if carrier is None else vector[carrier] + vector[-1]
            n = n / units
        logs = matmul(jnp.asarray(steps, float), vector[: family.dimension])
        logs = (logs + n * jnp.asarray(records, float)) / float(self.temperature)
        if self.prior is not None:
            prior = np.asarray(self.grid.prior_scores(*self.prior), float)
            prior = prior / float(self.temperature if self.tempered_prior else 1)
            logs = logs + jnp.asarray(prior / (1 << TABLE_BITS), float)
        drawn = jr.categorical(key, logs, shape=(self.samples,))
        places = jnp.unravel_index(drawn, self.grid.axes)
        return jnp.stack(places, axis=1).astype(float)

    def is_possible_output(self, values: np.ndarray, length: int) -> bool:
        """Return whether `values` are indices on the grid, one row for each sample."""
        axes = self.grid.axes
        inside = (values >= 0) & (values < axes)
        return values.shape == (self.samples, len(axes)) and bool(inside.all())

    @property
    def parameter_shapes(self) -> dict[str, tuple[int, ...]]:
        """Names and shapes of the family's parameters, as a posterior has them."""
        return self.grid.shapes

    def parameters(self, values: Real[Array, "*batch a"]) -> Float[Array, "*batch p"]:
        """Return the parameters at grid indices, in the order of `parameter_shapes`."""
        axes = self.grid.axes
        weights = np.cumprod([1, *axes[:0:-1]])[::-1]
        places = matmul(values.astype(int), jnp.asarray(weights, int))
        return jnp.asarray(self.grid.parameters, float)[places]

    def accepts(self, statistic: Statistic) -> bool:
        """Return whether `statistic` is sufficient for the grid's family."""
        family = isinstance(statistic, FamilyStatistic) and statistic.family
        return family == self.grid.family

    def describe(self) -> dict[str, Any]:
        """Return the kind and all public choices as plain data, for files."""
        return {
            "kind": _MAP if self.tempered_prior else self.kind,
            "temperature": str(self.temperature),
            "truncation": {
                name: [least, most] for name, least, most in self.grid.limits
            },
            "points": self.grid.points,
            "prior": self.prior and [list(self.prior[0]), self.prior[1]],
            "samples": self.samples,
        }

    @classmethod
    def from_description(
        cls, described: Described, statistic: Statistic, cost: Guarantee, n: int | None
    ) -> "FamilyPosteriorSampler":
        """Make the sampler again from the statistic and the described choices."""
        truncation = sorted(described["truncation"].items())
        if any(type(end) not in (int, float) for _, ends in truncation for end in ends):
            raise ValueError("`truncation` must be of numbers.")
        limits: Any = tuple((x, *map(float, ends)) for x, ends in truncation)
        if not isinstance(statistic, FamilyStatistic):
            raise ValueError("`mechanism` must be one for what was measured.")
        family, units, lowest = statistic.family, statistic.steps, statistic.lowest
        grid = ParameterGrid(family, limits, described["points"], units, lowest)
        temperature = exact_epsilon(described["temperature"], "temperature")
        prior = described["prior"]
        if prior is not None:
            prior = tuple(map(float, prior[0])), float(prior[1])
        whole(1, samples=described["samples"])
        tempered = described["kind"] == _MAP
        return cls(grid, temperature, prior, described["samples"], n, cost, tempered)
