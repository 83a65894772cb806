"""Posterior distributions that are represented by samples."""

import abc
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import xlogy
from jaxtyping import Array, Float

from dpjax._platforms import Sizes, each
from dpjax._types import Key
from dpjax.data import probabilities
from dpjax.data.bayes_net import BayesNet
from dpjax.posteriors.base import NetworkPosterior
from dpjax.posteriors.queries import log_joint, tables_at_once
from dpjax.posteriors.weighted import (
    reweighted,
    weighted_choice,
    weighted_log_mean,
    weighted_mean,
    weighted_quantile,
    weighted_variance,
)

NO_DENSITY = "`mean`, `sd` or `quantile`, or a release of noisy counts"
NO_UPDATE = "a release of several samples, or of noisy counts or sums"


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
        return weighted_mean(self._draws, self._log_weights)

    def _sd(self) -> Array:
        return jnp.sqrt(weighted_variance(self._draws, self._log_weights))

    def _quantile(self, q: float) -> Array:
        return weighted_quantile(self._draws, self._log_weights, q)

    def _draw(self, key: Key) -> Array:
        return weighted_choice(key, self._draws, self._log_weights)

    def _predict(self, records: Array, target: int) -> Array:
        return _predict(self._draws, self._log_weights, records, self.net, target)

    def _score(self, records: Array) -> Array:
        return _score(self._draws, self._log_weights, records, self.net)

    def _log_joint(self, known: Array, group: tuple[int, ...]) -> Array:
        distinct, place = _distinct(known)
        logs = _log_joint(self._draws, distinct, self.net, group)
        return weighted_log_mean(logs, self._log_weights)[place]


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
        raise self._undefined("log_prob", NO_DENSITY)

    def _updated(self, counts: Array, key: Key | None) -> "SampledPosterior":
        if len(self.samples) == 1:
            raise self._undefined("update", NO_UPDATE)
        likelihood = xlogy(counts[None], self.samples).sum(axis=1)
        weights = reweighted(self.log_weights, likelihood)
        return SampledPosterior(self.net, self.samples, weights)


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
        return probabilities.joint(theta, records, net, target)

    return jax.nn.softmax(
        weighted_log_mean(jax.lax.map(joint, draws), log_weights), axis=-1
    )


@partial(jax.jit, static_argnames="net")
def _score(
    draws: Array, log_weights: Array | None, records: Array, net: BayesNet
) -> Array:
    def score(theta):
        return probabilities.log_likelihood(theta, records, net)

    return weighted_log_mean(jax.lax.map(score, draws), log_weights)
