"""Approximate posterior means of a network's tables, for networks of any size."""

__all__ = ["PointEstimate", "check_estimate", "point_estimate", "point_estimate_of"]

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Real

from dpjax._checks import positive, whole
from dpjax._types import Key, Scalar
from dpjax.data.bayes_net import BayesNet
from dpjax.posteriors.base import ReleasedPosterior
from dpjax.posteriors.estimate.curvature import NormalLogits, covariance
from dpjax.posteriors.estimate.fit import Fit, Problem, fit
from dpjax.posteriors.laws import laplace_scale
from dpjax.posteriors.priors import Prior, flat_prior
from dpjax.releases.released import Released
from dpjax.statistics import TableStatistic
from dpjax.tables.projection import project

_AT_ONCE = 32  # releases of a stack: more exceed the cache


class PointEstimate(ReleasedPosterior):
    r"""One estimate of all conditional probability tables, with its uncertainty.

    Made by `point_estimate`. For stacked releases all arrays have leading axes; `mean`
    keeps these axes, and the other methods need `equinox.filter_vmap`. Predictions use
    the estimated tables.

    The posterior of all logits is approximated by a normal law centred at the estimate.
    Its information matrix is the sum of the information of the prior and of all
    released numbers, from their covariance under the network and the noise. `sample`
    and `log_prob` use this law, `sd` its linearisation, and `quantile` a normal law of
    the logit of every probability. All are inaccurate for wide or skewed posteriors.

    Args:
        released: the release.
        prior: Dirichlet parameter of every cell, laid out as `net.layout`.
        theta: the estimated tables, laid out as `net.layout`.
        n: public or estimated number of records.
        gradient: root mean square of the averaged gradient at the end of the search, in
            posterior standard deviations; much smaller than 1 after enough steps.
        steps: number of steps of the search; `update` repeats the search.

    Privacy:
        Post-processing: costs nothing.
    """

    theta: Float[Array, "*batch c"]
    n: Real[Array, "*batch"]
    gradient: Float[Array, "*batch"]
    steps: int = eqx.field(static=True)

    @property
    def method(self) -> str:
        """Name of the method in `METHODS`."""
        return "point-estimate"

    def _mean(self) -> Array:
        return self.theta

    def _sd(self) -> Array:
        return self._law().sd()

    def _quantile(self, q: float) -> Array:
        return self._law().quantile(jnp.asarray(q, float))

    def _draw(self, key: Key) -> Array:
        return self._law().draw(key)

    def _log_density(self, theta: Array) -> Array:
        return self._law().log_prob(theta)

    def _updated(self, counts: Array, key: Key | None) -> "PointEstimate":
        return _estimate(self.released, self.prior + counts, self.steps)

    def _law(self) -> NormalLogits:
        released, net = self.released, self.net
        moments = released.counted.record_moments()
        scale = jnp.broadcast_to(laplace_scale(released), released.values.shape)
        n, public = jnp.asarray(self.n, float), released.n is not None
        found = covariance(moments, net, self.theta, self.prior, scale, n, public)
        return NormalLogits(net, self.theta, found)


def point_estimate(
    released: Released, prior: Prior = 1.0, *, steps: int = 200
) -> PointEstimate:
    r"""Estimate a network's tables from a noisy release, aware of its noise.

    The estimate is an approximate posterior mean. The law of each released number is
    the law of its exact number given the tables (Poisson for a small count, otherwise
    normal) convolved with the Laplace noise. Independent normal laws of all logits are
    fitted to the prior times these laws (variational inference). From the mean of the
    fit and the joint covariance of the numbers, the exact counts are estimated. The
    result is the Dirichlet posterior mean given these counts; as the noise decreases,
    the result tends to the exact posterior mean.

    There are two approximations. The laws of the numbers are multiplied as if the
    numbers were independent given the tables (a composite likelihood), although they
    count the same records; only the last two steps account for this dependence. The
    variational law is factorised.

    Args:
        released: noisy counts or Fourier coefficients of a network, by
            `DiscreteLaplace`, `SplitLaplace` or `Laplace`; several stacked along
            leading axes are estimated together. An n that is not public is estimated
            too, with a flat prior.
        prior: Dirichlet parameter of every cell, > 0; or a table for each variable.
        steps: number of steps of the search, at least 1.

    Privacy:
        Post-processing: costs nothing, and may be repeated with other priors.

    Raises:
        ValueError: if the release is of another kind or its noise is not Laplace, the
            prior is not positive or has the wrong shape, `steps` is not a positive
            integer, or the network is too densely connected.
    """
    whole(1, steps=steps)
    net = released.net
    check_estimate(released)
    return _estimate(released, flat_prior(net, prior), steps)


def check_estimate(released: Released) -> None:
    """Check that `point_estimate` suits a release.

    Raises:
        ValueError: if it does not, with the reason.
    """
    laplace_scale(released)
    _network(released.counted)


def point_estimate_of(
    statistic: TableStatistic,
    values: Float[Array, " m"],
    scale: Float[Array, "#m"],
    n: Scalar | None,
    prior: Float[Array, "..."],
    *,
    steps: int = 200,
) -> Fit:
    """`point_estimate` as a pure function of arrays, for `jit` and `vmap`.

    Args:
        statistic: counts or Fourier coefficients of a network; static.
        values: the released numbers.
        scale: scale of the Laplace noise of each number; 1 / rho for a discrete law.
        n: the number of records; None if it is not public.
        prior: Dirichlet parameter of every cell, or one for all.
        steps: number of steps of the search; static.

    Privacy:
        Post-processing: costs nothing.

    Raises:
        ValueError: if the statistic is of another kind, or a concrete `scale` or
            `prior` is not positive.
    """
    positive(scale=scale, prior=prior)
    net = _network(statistic)
    values = jnp.asarray(values, float)
    scale = jnp.broadcast_to(jnp.asarray(scale, float), values.shape)
    start = _consistent(statistic, values, scale, n)
    if n is None:
        number = jnp.maximum(start[: net.layout.offsets[1]].sum(), 1)
    else:
        number = jnp.maximum(jnp.asarray(n, float), 1e-3)
    prior = jnp.broadcast_to(jnp.asarray(prior, float), (net.layout.length,))
    given = values, scale, prior, start, number
    return fit(Problem(statistic.record_moments(), net, *given, n is not None), steps)


def _network(statistic: TableStatistic) -> BayesNet:
    net = statistic.network
    if net is None:
        raise ValueError(
            "`released` must be of counts or Fourier coefficients of a "
            f"network, got {statistic.describe()['kind']}: release one of them."
        )
    return net


def _consistent(statistic, values, scale, n):
    """Counts of every node table, by non-negative least squares."""
    layout = statistic.measured
    if layout is None:
        return project(statistic.layout, statistic.tables(values, n), n)
    precision = scale[np.asarray(layout.offsets[:-1])] ** -2
    return statistic.tables(project(layout, values, n, precision=precision))


def _estimate(released: Released, prior: Array, steps: int) -> PointEstimate:
    values, n = jnp.asarray(released.values, float), released.n
    batch = values.shape[:-1]
    scale = jnp.broadcast_to(laplace_scale(released), values.shape)
    prior = jnp.broadcast_to(prior, (*batch, prior.shape[-1]))
    if n is not None:
        n = jnp.broadcast_to(jnp.asarray(n, float), batch)
    found = _fit_all(released.counted, values, scale, n, prior, steps)
    return PointEstimate(released, prior, found.theta, found.n, found.gradient, steps)


@partial(jax.jit, static_argnames=("statistic", "steps"))
def _fit_all(statistic, values, scale, n, prior, steps) -> Fit:
    """Fit one release, or all releases of a stack in batches."""
    given, batch = (values, scale, n, prior), values.shape[:-1]

    def one(given):
        return point_estimate_of(statistic, *given, steps=steps)

    if not batch:
        return one(given)
    flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[len(batch) :]), given)
    found = lax.map(one, flat, batch_size=_AT_ONCE)
    return jax.tree.map(lambda x: x.reshape(*batch, *x.shape[1:]), found)
