"""Posterior distributions of a family that are represented by released samples."""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dpjax._checks import probability, sample_shape
from dpjax._products import matmul
from dpjax._types import Key
from dpjax.families import Family
from dpjax.families.conjugate_base import FamilyPosterior, host
from dpjax.families.marginal_laws import HostArray, StudentLaw, mixture_quantile
from dpjax.posteriors.priors import updated_prior
from dpjax.posteriors.sampled import NO_DENSITY, NO_UPDATE
from dpjax.posteriors.weighted import (
    reweighted,
    weighted_choice,
    weighted_mean,
    weighted_quantile,
    weighted_variance,
)
from dpjax.statistics import FamilyStatistic, Statistic


class SampledParameters(FamilyPosterior):
    """Empirical distribution of released samples of a model's parameters.

    The model is an exponential family or, without updates, a hidden Markov model.

    `update` weights the samples by the likelihood of further records; with few samples
    the result is coarse. `update` of one sample, and `log_prob`, raise `ValueError`.
    Predictions of a regression are averages over the samples, and their intervals
    include the noise of a target.

    Args:
        names: names of the parameters.
        samples: array with a row for each sample; each parameter has one column or, if
            it has a shape, as many columns as entries.
        statistic: the statistic of which the samples are a release.
        shapes: shape of each parameter; none means that all are numbers.
        log_weights: logarithms of the samples' weights, which sum to 1. None: equal
            weights.

    Privacy:
        Post-processing of a release has no privacy cost.

    Reference:
        Foulds et al. (UAI-16), section 3.1: samples from the exponential mechanism.
    """

    names: tuple[str, ...] = eqx.field(static=True)
    samples: Float[Array, "samples p"]
    statistic: Statistic = eqx.field(static=True)
    shapes: tuple[tuple[int, ...], ...] = eqx.field(static=True, default=())
    log_weights: Float[Array, " samples"] | None = None

    @property
    def method(self) -> str:
        """Name of the inference method in `dpjax.posteriors.METHODS`."""
        return "samples"

    def predict(self, features: Any) -> Array:
        """Return a regression's expected target for each row of `features`."""
        return weighted_mean(self._targets(features), self.log_weights)

    def interval(
        self, features: Any, level: float = 0.95
    ) -> tuple[HostArray, HostArray]:
        """Return lower and upper ends of each target's central prediction interval."""
        probability(level=level)
        targets, noise = host(self._targets(features), self.parameters()["variance"])
        law, weights = StudentLaw(targets, np.sqrt(noise)[:, None], None), None
        if self.log_weights is not None:
            weights = np.exp(np.asarray(self.log_weights, float))[:, None]
        ends = ((1 + x * level) / 2 for x in (-1, 1))
        lower, upper = (mixture_quantile(law, q, weights) for q in ends)
        return lower, upper

    def _targets(self, features: Any) -> Array:
        """Expected target by sample and row."""
        family = self._family
        if family is None or not family.predicts:
            raise self._no_regression()
        statistic: Any = self.statistic
        rows = family.features(statistic.features(features))
        drawn = self.parameters()
        offset = drawn.get("intercept", jnp.zeros(len(self.samples)))
        return offset[:, None] + matmul(drawn["weights"], rows.T)

    def parameters(self) -> dict[str, Array]:
        """Return a dictionary from parameter name to the array of its samples."""
        return self._by_name(self.samples)

    def mean(self) -> dict[str, Array]:
        """Return the mean of the samples of each parameter, by name."""
        return self._by_name(weighted_mean(self.samples, self.log_weights))

    def variance(self) -> dict[str, Array]:
        """Return the variance of the samples of each parameter, by name."""
        return self._by_name(weighted_variance(self.samples, self.log_weights))

    def quantile(self, q: float) -> dict[str, Array]:
        """Return the q-quantile of the samples of each parameter, by name."""
        probability(q=q)
        return self._by_name(weighted_quantile(self.samples, self.log_weights, q))

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> dict[str, Array]:
        """Choose samples at random, with replacement, in arrays of shape `shape`."""
        shape = sample_shape(key, shape)
        drawn = weighted_choice(key, self.samples, self.log_weights, shape)
        return self._by_name(drawn)

    def log_prob(self, values: Any) -> Array:
        """Raise `ValueError`, since samples do not determine a density."""
        raise self._undefined("log_prob", NO_DENSITY)

    def update(self, records: Any, key: Key | None = None) -> "SampledParameters":
        """Return the samples, weighted by the likelihood of further records."""
        family = self._family
        if len(self.samples) == 1 or family is None:
            raise self._undefined("update", NO_UPDATE)
        prior = family.posterior(family.vague_prior())
        updated = updated_prior(self.statistic, prior.parameters, records)
        after = family.posterior(updated)
        values = self.parameters()
        if not isinstance(prior.mean(), dict):
            (values,) = values.values()
        likelihoods = _log_likelihoods(prior, after, values)
        weights = reweighted(self.log_weights, likelihoods)
        return eqx.tree_at(
            lambda x: x.log_weights, self, weights, is_leaf=lambda x: x is None
        )

    @property
    def _family(self) -> Family | None:
        """The exponential family, or None for a hidden Markov model."""
        statistic = self.statistic
        return statistic.family if isinstance(statistic, FamilyStatistic) else None

    def _by_name(self, values: Array) -> dict[str, Array]:
        shapes = self.shapes or ((),) * len(self.names)
        ends = np.cumsum([math.prod(shape) for shape in shapes])
        parts = jnp.split(values, ends[:-1], axis=-1)
        return {
            name: part.reshape(*values.shape[:-1], *shape)
            for name, part, shape in zip(self.names, parts, shapes, strict=True)
        }


@eqx.filter_jit
def _log_likelihoods(
    prior: FamilyPosterior, after: FamilyPosterior, values: Any
) -> Float[Array, " samples"]:
    """Log-likelihood of records at each value, by Bayes' theorem, up to a constant."""

    def likelihood(value):
        return after.log_prob(value) - prior.log_prob(value)

    return jax.vmap(likelihood)(values)
