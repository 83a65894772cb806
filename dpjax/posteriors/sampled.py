"""Posterior distributions that are represented by samples."""

__all__ = ["DrawnPosterior", "SampledParameters", "SampledPosterior"]

import abc
import math
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float

from dpjax._checks import array_of, typed_key
from dpjax._platforms import Sizes, each
from dpjax._products import matmul
from dpjax._types import Key
from dpjax.data.bayes_net import BayesNet
from dpjax.families.conjugate_base import FamilyPosterior, host, probability
from dpjax.families.marginal_laws import HostArray, StudentLaw, mixture_quantile
from dpjax.posteriors import prediction
from dpjax.posteriors.base import NetworkPosterior
from dpjax.posteriors.queries import log_joint, tables_at_once

_NO_DENSITY = "`mean`, `sd` or `quantile`, or a release of noisy counts"
_NO_UPDATE = (
    '`posterior(…, method="exact")` of a release of noisy counts: samples hold no '
    "counts to which records could be added"
)


class DrawnPosterior(NetworkPosterior):
    """Empirical distribution of draws of all conditional probability tables.

    For a prediction, the joint probability of a record with each level of the target is
    averaged over the draws, and then normalised over the levels.
    """

    @property
    @abc.abstractmethod
    def _draws(self) -> Float[Array, "draws c"]:
        """All draws, one row each, in the order of `net.layout`."""

    def _mean(self) -> Array:
        return self._draws.mean(axis=0)

    def _sd(self) -> Array:
        return _deviations(self._draws)

    def _quantile(self, q: float) -> Array:
        return jnp.quantile(self._draws, q, axis=0)

    def _draw(self, key: Key) -> Array:
        return jr.choice(key, self._draws)

    def _predict(self, records: Array, target: int) -> Array:
        return _predict(self._draws, records, self.net, target)

    def _score(self, records: Array) -> Array:
        return _score(self._draws, records, self.net)

    def _log_joint(self, known: Array, group: tuple[int, ...]) -> Array:
        distinct, place = _distinct(known)
        logs = _log_joint(self._draws, distinct, self.net, group)
        found = jax.nn.logsumexp(logs, axis=0) - jnp.log(float(len(logs)))
        return found[place]


class SampledPosterior(DrawnPosterior):
    """Empirical distribution of released samples of a network's probability tables.

    Args:
        net: the network.
        samples: array with one row for each sample, which has the probabilities of all
            tables in the order of `net.layout`.

    Methods may be compiled by `equinox.filter_jit`. `log_prob` and `update` raise
    `ValueError`.

    Privacy:
        Post-processing of a release has no privacy cost. The ε of one sample does not
        cover further samples, nor averages over them.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Appendix C.2.
    """

    net: BayesNet = eqx.field(static=True)  # pyright: ignore[reportIncompatibleMethodOverride]
    samples: Float[Array, "samples m"]

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

    def _log_density(self, theta: Array) -> Array:
        raise self._undefined("log_prob", _NO_DENSITY)

    def _updated(self, counts: Array, key: Key | None) -> "SampledPosterior":
        raise self._undefined("update", _NO_UPDATE)


class SampledParameters(FamilyPosterior):
    """Empirical distribution of released samples of an exponential family's parameters.

    `log_prob` and `update` raise `ValueError`. Predictions of a regression are averages
    over the samples, and their intervals include the noise of a target.

    Args:
        names: names of the parameters.
        samples: array with a row for each sample; each parameter has one column or, if
            it has a shape, as many columns as entries.
        shapes: shape of each parameter; none means that all are numbers.
        family: the exponential family, or None.

    Privacy:
        Post-processing of a release has no privacy cost.

    Reference:
        Foulds et al. (UAI-16), section 3.1: samples from the exponential mechanism.
    """

    names: tuple[str, ...] = eqx.field(static=True)
    samples: Float[Array, "samples p"]
    shapes: tuple[tuple[int, ...], ...] = eqx.field(static=True, default=())
    family: Any = eqx.field(static=True, default=None)

    @property
    def method(self) -> str:
        """Name of the inference method in `dpjax.posteriors.METHODS`."""
        return "samples"

    def predict(self, features: Any) -> Array:
        """Return a regression's expected target for each row of `features`."""
        return self._targets(features).mean(axis=0)

    def interval(
        self, features: Any, level: float = 0.95
    ) -> tuple[HostArray, HostArray]:
        """Return lower and upper ends of each target's central prediction interval."""
        probability(level=level)
        targets, noise = host(self._targets(features), self.parameters()["variance"])
        law = StudentLaw(targets, np.sqrt(noise)[:, None], None)
        lower, upper = (mixture_quantile(law, (1 + x * level) / 2) for x in (-1, 1))
        return lower, upper

    def _targets(self, features: Any) -> Array:
        """Expected target by sample and row."""
        if self.family is None or not self.family.predicts:
            raise self._no_regression()
        rows, drawn = array_of(features, "features").astype(float), self.parameters()
        offset = drawn.get("intercept", jnp.zeros(len(self.samples)))
        return offset[:, None] + matmul(drawn["weights"], rows.T)

    def parameters(self) -> dict[str, Array]:
        """Return a dictionary from parameter name to the array of its samples."""
        return self._by_name(self.samples)

    def mean(self) -> dict[str, Array]:
        """Return the mean of the samples of each parameter, by name."""
        return self._by_name(self.samples.mean(axis=0))

    def variance(self) -> dict[str, Array]:
        """Return the variance of the samples of each parameter, by name."""
        return self._by_name(self.samples.var(axis=0))

    def quantile(self, q: float) -> dict[str, Array]:
        """Return the q-quantile of the samples of each parameter, by name."""
        probability(q=q)
        return self._by_name(jnp.quantile(self.samples, q, axis=0))

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> dict[str, Array]:
        """Choose samples at random, with replacement, in arrays of shape `shape`."""
        typed_key(key=key)
        return self._by_name(jr.choice(key, self.samples, shape))

    def log_prob(self, values: Any) -> Array:
        """Raise `ValueError`, since samples do not determine a density."""
        raise self._undefined("log_prob", _NO_DENSITY)

    def update(self, records: Any, key: Key | None = None) -> "SampledParameters":
        """Raise `ValueError`, since the prior of released samples cannot be changed."""
        raise self._undefined("update", _NO_UPDATE)

    def _by_name(self, values: Array) -> dict[str, Array]:
        shapes = self.shapes or ((),) * len(self.names)
        ends = np.cumsum([math.prod(shape) for shape in shapes])
        parts = jnp.split(values, ends[:-1], axis=-1)
        return {
            name: part.reshape(*values.shape[:-1], *shape)
            for name, part, shape in zip(self.names, parts, shapes, strict=True)
        }


def _distinct(known: Array) -> tuple[Array, Array]:
    """Different rows, some of them repeated, and the place of each row among them."""
    try:
        rows, place = np.unique(np.asarray(known), axis=0, return_inverse=True)
    except jax.errors.TracerArrayConversionError:
        return known, jnp.arange(len(known))
    if not len(rows):
        return known, jnp.asarray(place)
    length = 1 << max(len(rows) - 1, 0).bit_length()  # few lengths are compiled
    rows = np.pad(rows, ((0, length - len(rows)), (0, 0)), mode="edge")
    return jnp.asarray(rows), jnp.asarray(place.ravel())


@jax.jit
def _deviations(draws: Array) -> Array:
    return draws.std(axis=0)


@partial(jax.jit, static_argnames=("net", "group"))
def _log_joint(
    draws: Array, known: Array, net: BayesNet, group: tuple[int, ...]
) -> Array:
    def at_once(sizes: Sizes) -> int:
        return max(1, tables_at_once(net, group)(sizes) // len(known))

    return each(lambda theta: log_joint(theta, known, net, group), draws, at_once)


@partial(jax.jit, static_argnames=("net", "target"))
def _predict(draws: Array, records: Array, net: BayesNet, target: int) -> Array:
    def joint(theta):
        return prediction.joint(theta, records, net, target)

    return jax.nn.softmax(jax.nn.logsumexp(jax.lax.map(joint, draws), axis=0), axis=-1)


@partial(jax.jit, static_argnames="net")
def _score(draws: Array, records: Array, net: BayesNet) -> Array:
    def score(theta):
        return prediction.log_likelihood(theta, records, net)

    logs = jax.nn.logsumexp(jax.lax.map(score, draws), axis=0)
    return logs - jnp.log(jnp.asarray(len(draws), float))
