"""Posterior distributions that are represented by samples."""

__all__ = ["DrawnPosterior", "SampledParameters", "SampledPosterior"]

import abc
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.scipy.special import xlogy
from jaxtyping import Array, Float

from dpjax._checks import typed_key
from dpjax._platforms import Sizes, each
from dpjax._types import Key, Scalar
from dpjax.data.bayes_net import BayesNet
from dpjax.families.conjugate_base import FamilyPosterior, probability
from dpjax.posteriors import prediction
from dpjax.posteriors.base import NetworkPosterior
from dpjax.posteriors.priors import updated_prior
from dpjax.posteriors.queries import log_joint, tables_at_once
from dpjax.statistics import FamilyStatistic

_NO_DENSITY = "`mean`, `sd` or `quantile`, or a release of noisy counts"
_NO_UPDATE = "a release of several samples, or of noisy counts or sums"


class DrawnPosterior(NetworkPosterior):
    """Empirical distribution of draws of all conditional probability tables.

    For a prediction, the joint probability of a record with each level of the target is
    averaged over the draws, and then normalised over the levels.
    """

    @property
    def _log_weights(self) -> Float[Array, " draws"] | None:
        """Logarithms of the draws' weights, which sum to 1; None if they are equal."""
        return None

    @property
    @abc.abstractmethod
    def _draws(self) -> Float[Array, "draws c"]:
        """All draws, one row each, in the order of `net.layout`."""

    def _mean(self) -> Array:
        return _mean(self._draws, self._log_weights)

    def _sd(self) -> Array:
        return jnp.sqrt(_variance(self._draws, self._log_weights))

    def _quantile(self, q: float) -> Array:
        return _quantile(self._draws, self._log_weights, q)

    def _draw(self, key: Key) -> Array:
        return _choice(key, self._draws, self._log_weights)

    def _predict(self, records: Array, target: int) -> Array:
        return _predict(self._draws, self._log_weights, records, self.net, target)

    def _score(self, records: Array) -> Array:
        return _score(self._draws, self._log_weights, records, self.net)

    def _log_joint(self, known: Array, group: tuple[int, ...]) -> Array:
        distinct, place = _distinct(known)
        logs = _log_joint(self._draws, distinct, self.net, group)
        return _log_mean(logs, self._log_weights)[place]


class SampledPosterior(DrawnPosterior):
    """Empirical distribution of released samples of a network's probability tables.

    Args:
        net: the network.
        samples: array with one row for each sample, which has the probabilities of all
            tables in the order of `net.layout`.
        log_weights: logarithms of the samples' weights, which sum to 1. None: equal
            weights.

    Methods may be compiled by `equinox.filter_jit`. `update` weights the samples by the
    likelihood of further records; with few samples the result is coarse. `update` of
    one sample, and `log_prob`, raise `ValueError`.

    Privacy:
        Post-processing of a release has no privacy cost. The ε of one sample does not
        cover further samples, nor averages over them.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Appendix C.2.
    """

    net: BayesNet = eqx.field(static=True)  # pyright: ignore[reportIncompatibleMethodOverride]
    samples: Float[Array, "samples m"]
    log_weights: Float[Array, " samples"] | None = None

    @property
    def method(self) -> str:
        """Name of the inference method in `dpjax.posteriors.METHODS`."""
        return "samples"

    def tables(self) -> dict[str, Array]:
        """Return the sampled tables by variable name, with the samples on axis 0."""
        return self._by_name(self.samples)

    @property
    def _draws(self) -> Array:
        return self.samples

    @property
    def _log_weights(self) -> Array | None:
        return self.log_weights

    def _log_density(self, theta: Array) -> Array:
        raise self._undefined("log_prob", _NO_DENSITY)

    def _updated(self, counts: Array, key: Key | None) -> "SampledPosterior":
        if len(self.samples) == 1:
            raise self._undefined("update", _NO_UPDATE)
        likelihood = xlogy(counts[None], self.samples).sum(axis=1)
        weights = _reweighted(self.log_weights, likelihood)
        return SampledPosterior(self.net, self.samples, weights)


class SampledParameters(FamilyPosterior):
    """Empirical distribution of released samples of an exponential family's parameters.

    `update` weights the samples by the likelihood of further records; with few samples
    the result is coarse. `update` of one sample, and `log_prob`, raise `ValueError`.

    Args:
        names: names of the parameters.
        samples: array with a row for each sample and a column for each parameter.
        statistic: the sufficient statistic of the exponential family.
        log_weights: logarithms of the samples' weights, which sum to 1. None: equal
            weights.

    Privacy:
        Post-processing of a release has no privacy cost.

    Reference:
        Foulds et al. (UAI-16), section 3.1: samples from the exponential mechanism.
    """

    names: tuple[str, ...] = eqx.field(static=True)
    samples: Float[Array, "samples p"]
    statistic: FamilyStatistic = eqx.field(static=True)
    log_weights: Float[Array, " samples"] | None = None

    @property
    def method(self) -> str:
        """Name of the inference method in `dpjax.posteriors.METHODS`."""
        return "samples"

    def parameters(self) -> dict[str, Array]:
        """Return a dictionary from parameter name to the array of its samples."""
        return self._by_name(self.samples)

    def mean(self) -> dict[str, Array]:
        """Return the mean of the samples of each parameter, by name."""
        return self._by_name(_mean(self.samples, self.log_weights))

    def variance(self) -> dict[str, Array]:
        """Return the variance of the samples of each parameter, by name."""
        return self._by_name(_variance(self.samples, self.log_weights))

    def quantile(self, q: float) -> dict[str, Array]:
        """Return the q-quantile of the samples of each parameter, by name."""
        probability(q=q)
        return self._by_name(_quantile(self.samples, self.log_weights, q))

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> dict[str, Array]:
        """Choose samples at random, with replacement, in arrays of shape `shape`."""
        typed_key(key=key)
        return self._by_name(_choice(key, self.samples, self.log_weights, shape))

    def log_prob(self, values: Any) -> Array:
        """Raise `ValueError`, since samples do not determine a density."""
        raise self._undefined("log_prob", _NO_DENSITY)

    def update(self, records: Any, key: Key | None = None) -> "SampledParameters":
        """Return the samples, weighted by the likelihood of further records."""
        if len(self.samples) == 1:
            raise self._undefined("update", _NO_UPDATE)
        family = self.statistic.family
        prior = family.posterior(family.vague_prior())
        updated = updated_prior(self.statistic, prior.parameters, records)
        after = family.posterior(updated)
        values = self.parameters()
        if not isinstance(prior.mean(), dict):
            (values,) = values.values()

        def likelihood(value):  # by Bayes' theorem, up to a constant
            return after.log_prob(value) - prior.log_prob(value)

        weights = _reweighted(self.log_weights, jax.vmap(likelihood)(values))
        return SampledParameters(self.names, self.samples, self.statistic, weights)

    def _by_name(self, values: Array) -> dict[str, Array]:
        return {name: values[..., i] for i, name in enumerate(self.names)}


def _distinct(known: Array) -> tuple[Array, Array]:
    """Different rows, some of them repeated, and the place of each row among them."""
    try:
        rows, place = np.unique(np.asarray(known), axis=0, return_inverse=True)
    except jax.errors.TracerArrayConversionError:
        return known, jnp.arange(len(known))
    if not len(rows):
        return known, jnp.asarray(place)
    length = 1 << (len(rows) - 1).bit_length()  # few lengths are compiled
    rows = np.pad(rows, ((0, length - len(rows)), (0, 0)), mode="edge")
    return jnp.asarray(rows), jnp.asarray(place.ravel())


@jax.jit
def _mean(draws: Array, log_weights: Array | None) -> Array:
    weights = None if log_weights is None else jnp.exp(log_weights)
    return jnp.average(draws, axis=0, weights=weights)


@jax.jit
def _variance(draws: Array, log_weights: Array | None) -> Array:
    off = draws - _mean(draws, log_weights)[None]
    return _mean(off**2, log_weights)


@jax.jit
def _quantile(draws: Array, log_weights: Array | None, q: Scalar) -> Array:
    """Quantiles of columns; with weights, of a line through the midpoints of steps."""
    if log_weights is None:
        return jnp.quantile(draws, q, axis=0)
    order = jnp.argsort(draws, axis=0)
    weights = jnp.exp(log_weights)[order]
    middles = jnp.cumsum(weights, axis=0) - weights / 2
    values = jnp.take_along_axis(draws, order, axis=0)
    return jax.vmap(partial(jnp.interp, q), 1)(middles, values)


def _choice(key: Key, draws: Array, log_weights: Array | None, shape=()) -> Array:
    weights = None if log_weights is None else jnp.exp(log_weights)
    return jr.choice(key, draws, shape, p=weights)


def _reweighted(log_weights: Array | None, likelihood: Array) -> Array:
    """Logarithms of weights, given the log-likelihood of records at every sample."""
    before = jnp.zeros_like(likelihood) if log_weights is None else log_weights
    found = jax.nn.log_softmax(before + likelihood)
    try:
        impossible = np.isnan(np.asarray(found)).any()
    except jax.errors.TracerArrayConversionError:
        return found
    if impossible:
        raise ValueError(
            "`records` must be possible under one of the samples: leave out the others."
        )
    return found


def _log_mean(logs: Array, log_weights: Array | None) -> Array:
    """Logarithm of the average over axis 0 of numbers, given their logarithms."""
    if log_weights is None:
        total = jax.nn.logsumexp(logs, axis=0)
        return total - jnp.log(jnp.asarray(len(logs), logs.dtype))
    weights = log_weights.reshape(-1, *(1 for _ in logs.shape[1:]))
    return jax.nn.logsumexp(logs + weights, axis=0)


@partial(jax.jit, static_argnames=("net", "group"))
def _log_joint(
    draws: Array, known: Array, net: BayesNet, group: tuple[int, ...]
) -> Array:
    def at_once(sizes: Sizes) -> int:
        return max(1, tables_at_once(net, group)(sizes) // len(known))

    return each(lambda theta: log_joint(theta, known, net, group), draws, at_once)


@partial(jax.jit, static_argnames=("net", "target"))
def _predict(
    draws: Array, log_weights: Array | None, records: Array, net: BayesNet, target: int
) -> Array:
    def joint(theta):
        return prediction.joint(theta, records, net, target)

    return jax.nn.softmax(_log_mean(jax.lax.map(joint, draws), log_weights), axis=-1)


@partial(jax.jit, static_argnames="net")
def _score(
    draws: Array, log_weights: Array | None, records: Array, net: BayesNet
) -> Array:
    def score(theta):
        return prediction.log_likelihood(theta, records, net)

    return _log_mean(jax.lax.map(score, draws), log_weights)
