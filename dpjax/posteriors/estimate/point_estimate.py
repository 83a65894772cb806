"""Approximate posterior means of a network's tables, for networks of any size."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Real

from dpjax._checks import positive, whole
from dpjax._platforms import each
from dpjax._types import Key, Scalar
from dpjax.data.bayes_net import BayesNet
from dpjax.posteriors.base import ReleasedPosterior
from dpjax.posteriors.estimate.curvature import (
    NormalEstimate,
    StickBreaking,
    covariance,
)
from dpjax.posteriors.estimate.fit import Fit, Problem, fit
from dpjax.posteriors.estimate.row_prior import FixedPrior, LogLinearPrior
from dpjax.posteriors.laws import laplace_scale, normal_deviation, refuse_wide
from dpjax.posteriors.priors import Prior, flat_prior, is_hierarchical
from dpjax.releases.released import Released
from dpjax.statistics import TableStatistic
from dpjax.statistics.record_moments import RecordMoments
from dpjax.tables.marginals import JunctionTree
from dpjax.tables.projection import project

Numbers = tuple[RecordMoments, Array, Array, Array | None]
"""Moments of exact numbers, the released numbers, the scale of their noise, and the
weights of numbers with normal noise, or None for Laplace noise."""

_MOST_CELLS = 1 << 12  # of all cliques, which take about 5 seconds


class PointEstimate(NormalEstimate, ReleasedPosterior):
    r"""Estimate of a network's probability tables, with its approximate uncertainty.

    The function `point_estimate` makes this object. For stacked releases, all arrays
    have leading axes; `mean` keeps the leading axes, and the other methods
    need `equinox.filter_vmap`. Predictions use the estimated tables.

    The covariance of the logits of all tables is approximated by the inverse of the sum
    of the prior's information matrix and of the expected information matrix of the
    released numbers. `sd` and `quantile` take each probability to have a beta
    distribution, whose mean is the estimate and whose weight follows from the
    covariance; they are exact where the noise leaves nothing of the data and the prior
    is known. With a hierarchical prior, they are too small. `sample` and `log_prob` use
    a joint distribution with these means, and for two levels these distributions;
    `sample` and `quantile` call SciPy on the host, and so cannot be exported.

    Args:
        released: the release.
        prior: Dirichlet parameter of every cell, in the order of `net.layout`.
        theta: all estimated probabilities, in the order of `net.layout`.
        n: public or estimated number of records.
        gradient: root mean square of the averaged gradient after the last step, in
            posterior standard deviations. It is much smaller than 1 after enough steps.
        steps: number of gradient steps, which `update` makes again.

    Privacy:
        Post-processing of a release has no privacy cost.
    """

    n: Real[Array, "*batch"]
    gradient: Float[Array, "*batch"]
    steps: int = eqx.field(static=True)

    def _updated(self, counts: Array, key: Key | None) -> "PointEstimate":
        return _estimate(self.released, self.prior + counts, self.steps)

    def _law(self) -> StickBreaking:
        released, net = self.released, self.net
        moments, _, scale, weights = numbers_of(released)
        n, public = jnp.asarray(self.n, float)[None], released.n is not None
        every = jnp.ones((1, scale.size))
        given = self.theta, self.prior, scale, weights
        found = covariance(moments, net, *given, every, n, public)
        return StickBreaking(net, self.theta, found)


def point_estimate(
    released: Released, prior: Prior | str = 1.0, *, steps: int = 200
) -> PointEstimate:
    r"""Compute an approximate posterior mean of a network's tables, given a release.

    Each released number is modelled as an exact number, which is Poisson for a small
    count and otherwise normal given the tables, plus Laplace noise. Independent normal
    distributions of the logits of all probabilities are fitted to the prior times the
    likelihoods of all released numbers (variational inference). From the mean of the
    fit and the joint covariance of the numbers, the exact counts are estimated. The
    result is the Dirichlet posterior mean given the estimated counts. As the noise
    decreases, the result tends to the exact posterior mean. K-norm noise is modelled as
    normal noise of each cell, beyond the mean of a row whose total another table gives.

    There are two approximations. The likelihoods are multiplied as if the numbers were
    independent given the tables (a composite likelihood), although the numbers count
    the same records; only the last two steps account for this dependence. The
    variational distribution treats the logits as independent.

    Args:
        released: noisy counts or Fourier coefficients of a network, by
            `DiscreteLaplace`, `SplitLaplace`, `Laplace` or `KNorm`. Releases stacked
            along leading axes are estimated together. If the number of records is
            private, the totals of the tables estimate it by least squares.
        prior: Dirichlet parameter of all cells, > 0; or a dictionary from variable name
            to a table of parameters; or "hierarchical": the rows of each variable with
            parents are near a row that is log-linear in the parents' levels, whose
            effects, and how near the rows are, the release itself makes likely. Then
            the `prior` of the result, with which `update` goes on, has the parameters
            of Dirichlet rows with the same means and variances.
        steps: number of gradient steps, at least 1.

    Privacy:
        Post-processing has no privacy cost, and may be repeated with other priors. A
        hierarchical prior is learned from the release alone.

    Raises:
        ValueError: if the release is not of a network's counts or coefficients, its
            noise is not Laplace, the prior is not positive or has the wrong shape,
            `steps` is not a positive integer, or the network is too densely connected.
    """
    whole(1, steps=steps)
    net = released.net
    check_estimate(released)
    learned = is_hierarchical(prior)
    given = flat_prior(net, 0.5 if learned else prior)
    return _estimate(released, given, steps, learned)


def check_estimate(released: Released) -> None:
    """Raise `ValueError` unless `point_estimate` accepts the release."""
    numbers_of(released)
    _network(released.counted)


def numbers_of(released: Released) -> Numbers:
    """Return the numbers from which tables are estimated, with the law of their noise.

    Raises:
        ValueError: unless the noise is Laplace or approximately normal.
    """
    values = jnp.asarray(released.values, float)
    found = released.mechanism.normal_numbers(values, released.n)
    if found is not None:
        refuse_wide(released)
        return found
    moments = released.counted.record_moments()
    deviation = normal_deviation(released)
    if deviation is not None:
        return moments, values, deviation, jnp.ones_like(deviation)
    scale = jnp.broadcast_to(laplace_scale(released), values.shape)
    return moments, values, scale, None


def is_slow(released: Released) -> bool:
    """Return whether the cliques of the network's junction tree have too many cells."""
    layout = released.net.layout
    try:
        return JunctionTree.of(layout).cells > _MOST_CELLS
    except ValueError:
        return True


def point_estimate_of(
    statistic: TableStatistic,
    values: Float[Array, " m"],
    scale: Float[Array, "#m"],
    n: Scalar | None,
    prior: Float[Array, "..."],
    *,
    steps: int = 200,
) -> Fit:
    r"""Compute `point_estimate` as a pure function of arrays, for `jit` and `vmap`.

    Args:
        statistic: statistic of counts or Fourier coefficients of a network; static.
        values: the released numbers.
        scale: scale b of the Laplace noise of each number; discrete noise z has
            probabilities proportional to $e^{-|z| / b}$.
        n: the number of records; None if it is private.
        prior: Dirichlet parameter of all cells, or one for each cell in the order of
            the network's layout.
        steps: number of gradient steps; static.

    Returns:
        The estimated tables, counts and number of records, and the final gradient.

    Privacy:
        Post-processing of a release has no privacy cost.

    Raises:
        ValueError: if the statistic is not of a network, or a concrete `scale` or
            `prior` is not positive.
    """
    positive(scale=scale, prior=prior)
    values = jnp.asarray(values, float)
    scale = jnp.broadcast_to(jnp.asarray(scale, float), values.shape)
    numbers = statistic.record_moments(), values, scale, None
    return _fit(statistic, numbers, values, n, prior, steps, False)


def _fit(
    statistic, numbers: Numbers, vector, n, prior, steps: int, learned: bool
) -> Fit:
    """Fit tables to the numbers that were computed from a released vector."""
    net = _network(statistic)
    moments, values, scale, weights = numbers
    start = consistent_counts(statistic, vector, scale, n)
    number, every = number_of(net, start, n)[None], np.ones((1, scale.size))
    centre = jnp.broadcast_to(jnp.asarray(prior, float), (net.layout.length,))
    rows = LogLinearPrior(net, centre) if learned else FixedPrior(centre)
    given = values, scale, rows, start, number
    found = fit(Problem(moments, every, net, *given, n is not None, weights), steps)
    return found._replace(n=found.n[0])


def number_of(net: BayesNet, start: Array, n: Scalar | None) -> Float[Array, ""]:
    """Return the public number of records, or its unbiased estimate, at least 1."""
    if n is None:
        return jnp.maximum(start[: net.layout.offsets[1]].sum(), 1)
    return jnp.maximum(jnp.asarray(n, float), 1e-3)


def _network(statistic: TableStatistic) -> BayesNet:
    net = statistic.network
    if net is None:
        raise ValueError(
            "`released` must be of counts or Fourier coefficients of a "
            f"network, got {statistic.describe()['kind']}: release one of them."
        )
    return net


def consistent_counts(
    statistic: TableStatistic,
    values: Array,
    scale: Array,
    n: Scalar | None,
    nonnegative: bool = True,
) -> Float[Array, " c"]:
    """Return consistent counts of the tables of a statistic, to start a fit."""
    layout, found = statistic.measured, partial(project, nonnegative=nonnegative)
    if layout is None:
        return found(statistic.layout, statistic.tables(values, n), n)
    precision = scale[np.asarray(layout.offsets[:-1])] ** -2
    return statistic.tables(found(layout, values, n, precision=precision))


def _estimate(
    released: Released, prior: Array, steps: int, learned: bool = False
) -> PointEstimate:
    moments, *numbers = numbers_of(released)
    vector, n = jnp.asarray(released.values, float), released.n
    batch = vector.shape[:-1]
    prior = jnp.broadcast_to(prior, (*batch, prior.shape[-1]))
    if n is not None:
        n = jnp.broadcast_to(jnp.asarray(n, float), batch)
    given = (*_over(batch, numbers), vector, n, prior)
    found = _fit_all(released.counted, moments, given, steps, learned)
    result = found.theta, found.n, found.gradient
    return PointEstimate(released, found.prior, *result, steps)


def _over(batch: tuple[int, ...], numbers: list) -> list:
    """Repeat the numbers' law for each release."""
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (*batch, x.shape[-1])), numbers)


@partial(jax.jit, static_argnames=("statistic", "moments", "steps", "learned"))
def _fit_all(statistic, moments, given, steps, learned) -> Fit:
    batch = given[-1].shape[:-1]

    def one(given):
        *numbers, vector, n, prior = given
        numbers = moments, *numbers
        return _fit(statistic, numbers, vector, n, prior, steps, learned)

    if not batch:
        return one(given)
    flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[len(batch) :]), given)
    found = each(one, flat, lambda sizes: sizes.estimates)
    return jax.tree.map(lambda x: x.reshape(*batch, *x.shape[1:]), found)
