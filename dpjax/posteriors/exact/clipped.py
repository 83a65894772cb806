"""Posteriors of one-parameter families, given noisy sums of clipped records."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax.core
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Real

from dpjax._checks import probability, sample_shape
from dpjax._later import special
from dpjax._types import Key
from dpjax.data.records import as_records
from dpjax.data.sources import Table
from dpjax.families.base import Family
from dpjax.families.bounds import ClippedFamily
from dpjax.families.conjugate_base import ConjugatePosterior, FamilyPosterior
from dpjax.posteriors.exact.noisy_sums import NoisySum, log_likelihood
from dpjax.posteriors.laws import family_statistic, laplace_scale, normal_deviation
from dpjax.posteriors.several import Tables, cost_of, differing, tables_of
from dpjax.privacy import Guarantee
from dpjax.releases.released import Released
from dpjax.statistics import FamilyStatistic

_FIRST, _NEXT, _LAST = 1024, 48, 512  # points of the first, the next, the last grid
_TAIL = 1e-13  # prior mass that the first grid leaves out at either end
_DEPTH = 20.0  # a grid ends where the density is e^-20 of the largest
_GRIDS = 8  # most grids before the last one

_Grid = Float[np.ndarray, " j"]


class ClippedPosterior(FamilyPosterior):
    """Posterior of the parameter of records that were clipped before they were summed.

    The parameter is that of the model *without* clipping, such as the rate of
    exponential times of which many exceed the longest time that is counted.

    Args:
        releases: the releases of each table of records.
        prior: the family's conjugate parameters.
        ends: numbers of records at the lower and the upper bound, among the records
            with which the posterior was updated; static.
        points: values of the parameter, in increasing order.
        log_density: posterior log-density at these values.
        masses: posterior probability of each of these values, by the trapezoidal rule.

    Privacy:
        Post-processing of releases has no privacy cost beyond `guarantee()`.
    """

    releases: Tables
    prior: Any
    ends: tuple[int, int] = eqx.field(static=True)
    points: Float[Array, " j"]
    log_density: Float[Array, " j"]
    masses: Float[Array, " j"]

    @property
    def family(self) -> Family:
        """The exponential family of the releases."""
        return check_clipped(self.releases[0][0])[1]

    @property
    def method(self) -> str:
        """Name of the inference method in `dpjax.posteriors.METHODS`."""
        return "exact-clipped"

    def guarantee(self) -> Guarantee:
        """Return the privacy cost of all releases together; see `cost_of`."""
        return cost_of(self.releases)

    def mean(self) -> Array:
        """Return the posterior mean of the parameter."""
        return (self.masses * self.points).sum()

    def variance(self) -> Array:
        """Return the posterior variance of the parameter."""
        return (self.masses * (self.points - self.mean()) ** 2).sum()

    def quantile(self, q: float) -> Array:
        """Return the posterior q-quantile of the parameter."""
        probability(q=q)
        return self._inverse(jnp.asarray(q, float))

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Array:
        """Draw values of the parameter independently, in an array of this shape."""
        shape = sample_shape(key, shape)
        return self._inverse(jr.uniform(key, shape))

    def log_prob(self, values: Real[ArrayLike, "..."]) -> Array:
        """Return the posterior log-density at values of the parameter.

        Beyond `points`, which end where the density is e^-20 of the largest, it goes on
        linearly.
        """
        family = family_statistic(self.releases[0][0]).family
        ((floor, _),) = family.parameters.values()
        x, beyond = jnp.asarray(values, float), "extrapolate"
        found = jnp.interp(x, self.points, self.log_density, beyond, beyond)
        return jnp.where(x > floor, found, -jnp.inf)

    def update(
        self, records: Real[ArrayLike, "n d"] | Table, key: Key | None = None
    ) -> "ClippedPosterior":
        """Return the posterior given further records; `key` is ignored.

        A record at or beyond a bound is treated as clipped to this bound.
        """
        statistic, family = check_clipped(self.releases[0][0])
        encoded = np.asarray(as_records(records, statistic.variables, ignore="*"))
        least, most = family.bounds[0]
        below, _ = _at_the_ends(family, np.asarray(self.points, float))
        low = (encoded[:, 0] <= least) & bool(np.all(below > 0))
        high = encoded[:, 0] >= most
        inside = family.statistics(encoded[~(low | high)])
        prior = family.update(self.prior, inside.sum(axis=0), len(inside))
        ends = self.ends[0] + int(low.sum()), self.ends[1] + int(high.sum())
        return _on_grid(self.releases, prior, ends)

    def _inverse(self, q: Array) -> Array:
        below = jnp.cumsum(self.masses) - self.masses / 2
        return jnp.interp(q, below, self.points)


def clipped_posterior(
    released: Released | Sequence[Released | Sequence[Released]],
    prior: Any = None,
    *,
    disjoint: bool | None = None,
) -> ClippedPosterior:
    """Compute the posterior of a family's only parameter, given clipped records.

    The likelihood of the released sums is computed from the law of a record after
    clipping and rounding, which is given by the family's `cdf`. It is exact up to the
    error of Fourier series and grids, which is about 1e-3 for the least favourable
    releases of very few records. A private number of records has a flat prior on 1, 2,
    and so on, for each table of records.

    Args:
        released: noisy sufficient statistics of exponential times, Poisson counts or
            normal numbers of known variance, with Laplace or normal noise; or a list of
            such releases (see `family_posterior`), whose noise is of one kind.
        prior: the family's conjugate parameters. None means `family.prior()`.
        disjoint: for a list, whether no record is in the tables of two entries. If
            False, all releases are of one table of records.

    Privacy:
        Post-processing has no privacy cost, and may be repeated with other priors. For
        the cost of several releases, see `ClippedPosterior.guarantee`.

    Raises:
        ValueError: if a release is of another family, its noise is of another kind, its
            values are stacked or traced, releases in a list do not fit each other, or
            the prior is of another family or not positive.
    """
    one = isinstance(released, Released)
    tables = ((released,),) if one else tables_of(released, disjoint)
    check_all_clipped(tables)
    _, family = check_clipped(tables[0][0])
    prior = family.prior() if prior is None else prior
    return _on_grid(tables, family.posterior(prior).parameters, (0, 0))


def check_all_clipped(tables: Tables) -> None:
    """Raise `ValueError` unless `clipped_posterior` accepts these releases."""
    together = [one for found in tables for one in found]
    for one in together:
        if check_clipped(one)[0] != together[0].statistic:
            raise differing("statistic, family and `units`")
    if len({normal_deviation(one) is None for one in together}) > 1:
        raise ValueError(
            "`released` must have noise of one kind in all releases, Laplace or "
            "normal: use `family_posterior`."
        )


def check_clipped(released: Released) -> tuple[FamilyStatistic, ClippedFamily]:
    """Return a release's statistic and family, or raise `ValueError`."""
    deviation = normal_deviation(released)
    scale = laplace_scale(released) if deviation is None else deviation
    statistic, values = family_statistic(released), released.values
    family = statistic.family
    if not isinstance(family, ClippedFamily):
        raise ValueError(
            "`released` must be of a family of one parameter whose records may be "
            f"clipped, got {family.name}: use `family_posterior`."
        )
    if any(isinstance(x, jax.core.Tracer) for x in (values, scale)) or values.ndim != 1:
        raise ValueError(
            "`released` must have one vector of values, outside compiled code: use "
            "`family_posterior` with `vmap`."
        )
    return statistic, family


def _on_grid(releases: Tables, prior: Any, ends: tuple[int, int]) -> ClippedPosterior:
    """Compute the posterior on a grid that covers little more than its mass."""
    statistic, family = check_clipped(releases[0][0])
    sums = [NoisySum.of(found, statistic) for found in releases]
    law: Any = family.posterior(prior)  # has `log_kernel`, see `ClippedFamily`

    def log_density(points: _Grid, rough: bool = False) -> _Grid:
        value = law.log_kernel(points)
        for noisy in sums:
            value = value + log_likelihood(family, noisy, points, rough)
        for count, mass in zip(ends, _at_the_ends(family, points), strict=True):
            value += special.xlogy(count, mass)
        return value

    grid, points_of = _first_grid(family, law)
    for turn in range(_GRIDS):
        density = log_density(points_of(grid), rough=turn == 0)
        top, outside = density.argmax(), density < density.max() - _DEPTH
        start = max((i for i in range(top) if outside[i]), default=0)
        end = next((i for i in range(top, len(grid)) if outside[i]), len(grid) - 1)
        narrow = 4 * (end - start) > len(grid)
        grid = np.linspace(grid[start], grid[end], _LAST if narrow else _NEXT)
        if narrow:
            break
    points = points_of(grid)
    density = log_density(points)
    density -= density.max()
    widths = np.diff(points, prepend=points[0]) + np.diff(points, append=points[-1])
    masses = np.exp(density) * widths / 2
    density -= np.log(masses.sum())
    arrays = [jnp.asarray(x, float) for x in (points, density, masses / masses.sum())]
    return ClippedPosterior(releases, prior, ends, *arrays)


def _first_grid(
    family: ClippedFamily, law: ConjugatePosterior
) -> tuple[_Grid, Callable[[_Grid], _Grid]]:
    """Return a grid over all plausible parameters, and its map to parameters.

    The grid covers what is plausible under the prior or by the bounds. It is a grid of
    logarithms if the parameter is positive.
    """
    ((name, (floor, _)),) = family.parameters.items()
    marginal = law.marginals()[""]
    usual = family.truncation(_TAIL)[name]
    ends = [*usual, float(marginal.ppf(_TAIL)), float(marginal.ppf(1 - _TAIL))]
    first, last = min(ends), max(ends)
    if floor == 0:
        first, last = np.log(max(first, 1e-300)), np.log(last)
    return np.linspace(first, last, _FIRST), np.exp if floor == 0 else np.asarray


def _at_the_ends(family: ClippedFamily, points: _Grid) -> tuple[_Grid, _Grid]:
    """Return the probabilities that a record is at or beyond either bound.

    The first is for the lower bound, and the second is for the upper bound.
    """
    half = 0 if family.lattice is None else 1 / (2 * family.lattice)
    least = family.span[0] / family.span[1]
    cdf = family.cdf(np.array([least, 1 - half]), points)
    return cdf[:, 0], 1 - cdf[:, 1]
