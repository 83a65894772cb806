"""The tables of a network that a noisy release speaks for: fast, for any size."""

__all__ = ["PointEstimate", "point_estimate", "point_estimate_of"]

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int, Real

from dpjax._checks import positive, typed_key, whole
from dpjax._types import Key, Records, Scalar
from dpjax.data.bayes_net import BayesNet
from dpjax.data.columns import Table
from dpjax.data.schema import as_records
from dpjax.posteriors.estimate.curvature import covariance, deviations, draw
from dpjax.posteriors.estimate.expected_numbers import Moments
from dpjax.posteriors.estimate.fit import Fit, Problem, fit
from dpjax.posteriors.laws import laplace_scale
from dpjax.posteriors.prediction import log_likelihood, predict, sample_records
from dpjax.posteriors.priors import Prior, flat_prior
from dpjax.releases.released import Released
from dpjax.statistics import NetworkCounts
from dpjax.statistics.base import TableStatistic
from dpjax.tables.counts import count
from dpjax.tables.projection import project

_AT_ONCE = 32  # releases of a stack: more of them leave the cache


class PointEstimate(eqx.Module):
    r"""One estimate of all conditional probability tables, with its uncertainty.

    Made by `point_estimate`. Of stacked releases all arrays have leading axes; `mean`
    keeps them, and the other methods go under `equinox.filter_vmap`.

    Args:
        released: the release.
        prior: Dirichlet parameter of every cell, laid out as `net.layout`.
        theta: the estimated tables, laid out alike.
        n: number of records: public, or estimated.
        gradient: how still the search ended: the root mean square of the averaged
            gradient, in posterior standard deviations. Well below 1 after enough steps.
        steps: of the search, for `update`.

    Privacy:
        Post-processing: costs nothing.
    """

    released: Released
    prior: Float[Array, "*batch c"]
    theta: Float[Array, "*batch c"]
    n: Real[Array, "*batch"]
    gradient: Float[Array, "*batch"]
    steps: int = eqx.field(static=True)

    @property
    def net(self) -> BayesNet:
        """The network."""
        return self.released.net

    @property
    def method(self) -> str:
        """What this is."""
        return "point estimate"

    def mean(self) -> dict[str, Array]:
        """The estimate by variable: parents on the first axes, it on the last."""
        return self._by_name(self.theta)

    def sd(self) -> dict[str, Array]:
        """Standard deviation of every entry, from the curvature at the estimate.

        The expected information of all numbers together, with their covariance under
        the network and the noise of the release, plus that of the prior; in logits,
        then linearised. Where the posterior is wide or skewed it is a rough guide.
        """
        return self._by_name(deviations(self.theta, self._covariance(), self.net))

    def sample(self, key: Key) -> dict[str, Array]:
        """One draw of all tables from the normal approximation in logits."""
        typed_key(key=key)
        return self._by_name(self._draw(key))

    def predict_proba(self, rows: Records | Table, target: str) -> Float[Array, "n k"]:
        """The law of `target` in each record, with the estimate plugged in.

        Arguments are those of `PlugInPosterior.predict_proba`.
        """
        index = self.net.index(target)
        records = as_records(rows, self.net.variables, target, ignore="*")
        return predict(self.theta, records, self.net, index)

    def log_likelihood(self, rows: Records | Table) -> Float[Array, " n"]:
        """Log of each record's probability, with the estimate plugged in."""
        return log_likelihood(self.theta, self._encode(rows), self.net)

    def sample_records(self, key: Key, n: int) -> Int[Array, "n d"]:
        """A synthetic data set: one draw of the tables, then n records by ancestry."""
        typed_key(key=key)
        whole(0, n=n)
        key_tables, key_records = jr.split(key)
        return sample_records(key_records, self._draw(key_tables), self.net, n)

    def update(self, rows: Records | Table) -> "PointEstimate":
        """The estimate with more records, which are added to the prior.

        Privacy:
            The new records are not protected: the result is for those who may see them.
        """
        counts = count(self._encode(rows), self.net.layout)
        prior = self.prior + counts.astype(self.prior.dtype)
        return _estimate(self.released, prior, self.steps)

    def _encode(self, rows: Records | Table) -> Array:
        return as_records(rows, self.net.variables, ignore="*")

    def _by_name(self, vector: Array) -> dict[str, Array]:
        return dict(zip(self.net.names, self.net.layout.split(vector), strict=True))

    def _covariance(self) -> Array:
        released = self.released
        return covariance(
            Moments(released.counted),
            self.theta,
            self.prior,
            jnp.broadcast_to(laplace_scale(released), released.values.shape),
            jnp.asarray(self.n, float),
            released.n is not None,
        )

    def _draw(self, key: Key) -> Array:
        return draw(key, self.theta, self._covariance(), self.net)


def point_estimate(
    released: Released, prior: Prior = 1.0, *, steps: int = 200
) -> PointEstimate:
    r"""Estimate a network's tables from a noisy release, aware of its noise.

    A posterior mean, approximately. Each released number s has the law of its exact
    number given the tables (Poisson where that is a small count, else normal) convolved
    with the Laplace noise. The logits of all rows get independent normal laws that fit
    the prior times these laws best (variational inference); from their mean the exact
    counts are estimated, with their joint covariance; the result is the Dirichlet
    posterior mean given these counts. With little noise it tends to the exact one.

    Approximations: the laws of the numbers are multiplied as if they were independent
    given the tables, though they count the same records (a composite likelihood: where
    sampling, not noise, is the larger error, only the last two steps weigh it rightly);
    and the variational family is factorised.

    Args:
        released: noisy family counts or Fourier coefficients of a network, by
            `DiscreteLaplace`, `SplitLaplace` or `Laplace`; several stacked along
            leading axes are estimated together.
        prior: Dirichlet parameter of every cell, > 0; or, by variable, of each.
        steps: of the search, at least 1.

    Where n is not public it is one more unknown, with a flat prior.

    Privacy:
        Post-processing: costs nothing, and may be repeated with other priors.

    Raises:
        ValueError: if the release is of something else or of a mechanism without a law
            for its output, the prior is not positive or has the wrong shape, `steps` is
            not a positive integer, or the network is too densely connected.
    """
    whole(1, steps=steps)
    net = released.net
    laplace_scale(released)
    Moments(released.counted)
    cells = jnp.broadcast_to(flat_prior(net, prior), (net.layout.length,))
    return _estimate(released, cells, steps)


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
        statistic: family counts or Fourier coefficients of a network; static.
        values: the released numbers.
        scale: of the Laplace noise of each number; of a discrete law 1 / rho.
        n: the number of records, or None where it is not public.
        prior: Dirichlet parameter of every cell, or one for all.
        steps: of the search; static.

    Privacy:
        Post-processing: costs nothing.

    Raises:
        ValueError: if the statistic is of another kind, or a concrete `scale` or
            `prior` is not positive.
    """
    positive(scale=scale, prior=prior)
    moments, net = Moments(statistic), statistic.network
    assert net is not None
    values = jnp.asarray(values, float)
    scale = jnp.broadcast_to(jnp.asarray(scale, float), values.shape)
    start = _consistent(statistic, values, scale, n)
    if n is None:
        number = jnp.maximum(start[: net.layout.offsets[1]].sum(), 1)
    else:
        number = jnp.maximum(jnp.asarray(n, float), 1e-3)
    prior = jnp.broadcast_to(jnp.asarray(prior, float), (net.layout.length,))
    problem = Problem(values, scale, prior, start, number)
    return fit(moments, problem, n is not None, steps)


def _consistent(statistic, values, scale, n):
    """Counts of every family, by least squares without negative cells."""
    if not isinstance(statistic, NetworkCounts):
        return project(statistic.layout, statistic.tables(values, n), n)
    layout = statistic.measured
    firsts = np.asarray(layout.offsets[:-1])
    precision = scale[firsts] ** -2
    tables = project(layout, values, n, precision=precision)
    return statistic.tables(tables)


def _estimate(released: Released, prior: Array, steps: int) -> PointEstimate:
    values = jnp.asarray(released.values, float)
    batch, length = values.shape[:-1], prior.shape[-1]
    scale = jnp.broadcast_to(laplace_scale(released), values.shape)
    prior = jnp.broadcast_to(prior, (*batch, length))
    n = None
    if released.n is not None:
        n = jnp.broadcast_to(jnp.asarray(released.n, float), batch)
    found = _fit_all(released.counted, values, scale, n, prior, steps)
    return PointEstimate(released, prior, found.theta, found.n, found.gradient, steps)


@partial(jax.jit, static_argnames=("statistic", "steps"))
def _fit_all(statistic, values, scale, n, prior, steps) -> Fit:
    """One release, or all of a stack, a bounded number at a time."""

    def one(arguments):
        values, scale, n, prior = arguments
        return point_estimate_of(statistic, values, scale, n, prior, steps=steps)

    batch = values.shape[:-1]
    if not batch:
        return one((values, scale, n, prior))
    flat = jax.tree.map(
        lambda x: x.reshape(-1, *x.shape[len(batch) :]), (values, scale, n, prior)
    )
    found = lax.map(one, flat, batch_size=_AT_ONCE)
    return jax.tree.map(lambda x: x.reshape(*batch, *x.shape[1:]), found)
