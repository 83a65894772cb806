"""Posteriors of probabilities, rates and means: Beta, Dirichlet, Gamma, normal."""

__all__ = [
    "BetaPosterior",
    "DirichletPosterior",
    "GammaPosterior",
    "NormalPosterior",
]

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import numpyro.distributions as dist
from jax.scipy.stats import norm
from jaxtyping import Array

from dpjax._checks import positive, typed_key
from dpjax._types import Key
from dpjax.families.bernoulli import Bernoulli
from dpjax.families.categorical import Categorical
from dpjax.families.conjugate_base import ConjugatePosterior, as_arrays, host
from dpjax.families.exponential import Exponential
from dpjax.families.gaussian_mean import GaussianMean
from dpjax.families.log_densities import dirichlet_log_density, gamma_log_density
from dpjax.families.marginal_laws import BetaLaw, GammaLaw, Law, StudentLaw
from dpjax.families.parameters import (
    BetaParameters,
    DirichletParameters,
    GammaParameters,
    NormalParameters,
)
from dpjax.families.poisson import Poisson


class BetaPosterior(ConjugatePosterior):
    """Of the probability of 1."""

    family: Bernoulli = eqx.field(static=True)
    parameters: BetaParameters = eqx.field(converter=as_arrays)

    def __check_init__(self):
        positive(**self.parameters._asdict())

    def mean(self) -> Array:
        """Also the predictive probability of 1."""
        a, b = self.parameters
        return a / (a + b)

    def variance(self) -> Array:
        """Of the probability."""
        a, b = self.parameters
        return a * b / ((a + b) ** 2 * (a + b + 1))

    def marginals(self) -> dict[str, Law]:
        """Beta."""
        return {"": BetaLaw(*host(*self.parameters))}

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Array:
        """Probabilities."""
        typed_key(key=key)
        a, b = self.parameters
        return jr.beta(key, a, b, shape + jnp.shape(a))

    def log_prob(self, values: Array) -> Array:
        """Of probabilities, (…,)."""
        parts = jnp.stack([values, 1 - values], axis=-1)
        both = jnp.stack(jnp.broadcast_arrays(*self.parameters), axis=-1)
        return dirichlet_log_density(parts, jnp.broadcast_to(both, parts.shape))

    def distribution(self) -> dist.Beta:
        """Beta."""
        return dist.Beta(*self.parameters)

    def predictive(self) -> dist.Distribution:
        """The law of one record more."""
        return dist.BernoulliProbs(self.mean())


class DirichletPosterior(ConjugatePosterior):
    """Of the probabilities of all levels, on the last axis."""

    family: Categorical = eqx.field(static=True)
    parameters: DirichletParameters = eqx.field(converter=as_arrays)

    def __check_init__(self):
        positive(**self.parameters._asdict())

    def mean(self) -> Array:
        """Also the predictive probabilities."""
        alpha = self.parameters.concentration
        return alpha / alpha.sum(axis=-1, keepdims=True)

    def variance(self) -> Array:
        """Of each probability."""
        whole = self.parameters.concentration.sum(axis=-1, keepdims=True)
        mean = self.mean()
        return mean * (1 - mean) / (whole + 1)

    def marginals(self) -> dict[str, Law]:
        """Each probability on its own is Beta."""
        (alpha,) = host(self.parameters.concentration)
        return {"": BetaLaw(alpha, alpha.sum(-1, keepdims=True) - alpha)}

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Array:
        """Probabilities, from gammas in logs: small parameters do not underflow."""
        typed_key(key=key)
        alpha = self.parameters.concentration
        logs = jr.loggamma(key, alpha, shape + jnp.shape(alpha))
        gammas = jnp.exp(logs - logs.max(axis=-1, keepdims=True))
        return gammas / gammas.sum(axis=-1, keepdims=True)

    def log_prob(self, values: Array) -> Array:
        """Of probabilities, (…, k), that sum to 1."""
        alpha = jnp.broadcast_to(self.parameters.concentration, values.shape)
        return dirichlet_log_density(values, alpha)

    def distribution(self) -> dist.Dirichlet:
        """Dirichlet."""
        return dist.Dirichlet(self.parameters.concentration)

    def predictive(self) -> dist.Distribution:
        """The law of one record more."""
        return dist.CategoricalProbs(self.mean())


class GammaPosterior(ConjugatePosterior):
    """Of the rate of a Poisson or exponential law."""

    family: Poisson | Exponential = eqx.field(static=True)
    parameters: GammaParameters = eqx.field(converter=as_arrays)

    def __check_init__(self):
        positive(**self.parameters._asdict())

    def mean(self) -> Array:
        """Of the rate."""
        return self.parameters.shape / self.parameters.rate

    def variance(self) -> Array:
        """Of the rate."""
        return self.parameters.shape / self.parameters.rate**2

    def marginals(self) -> dict[str, Law]:
        """Gamma."""
        return {"": GammaLaw(*host(*self.parameters))}

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Array:
        """Rates."""
        typed_key(key=key)
        a, b = self.parameters
        return jr.gamma(key, a, shape + jnp.shape(a)) / b

    def log_prob(self, values: Array) -> Array:
        """Of rates, (…,)."""
        return gamma_log_density(values, *self.parameters)

    def distribution(self) -> dist.Gamma:
        """Gamma."""
        return dist.Gamma(*self.parameters)

    def predictive(self) -> dist.Distribution:
        """The law of one record more, as if nothing were clipped.

        Negative binomial for counts, Lomax for times.
        """
        if isinstance(self.family, Poisson):
            return dist.GammaPoisson(*self.parameters)
        shape, rate = self.parameters
        shift = dist.transforms.AffineTransform(-rate, 1.0)
        return dist.TransformedDistribution(dist.Pareto(rate, shape), shift)


class NormalPosterior(ConjugatePosterior):
    """Of the mean of a normal law of known variance."""

    family: GaussianMean = eqx.field(static=True)
    parameters: NormalParameters = eqx.field(converter=as_arrays)

    def __check_init__(self):
        positive(precision=self.parameters.precision)

    def mean(self) -> Array:
        """Of the mean."""
        return self.parameters.mean

    def variance(self) -> Array:
        """Of the mean."""
        return 1 / self.parameters.precision

    def marginals(self) -> dict[str, Law]:
        """Normal."""
        mean, precision = host(*self.parameters)
        return {"": StudentLaw(mean, 1 / np.sqrt(precision), None)}

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Array:
        """Means."""
        typed_key(key=key)
        mean = self.parameters.mean
        return mean + self.sd() * jr.normal(key, shape + jnp.shape(mean))

    def log_prob(self, values: Array) -> Array:
        """Of means, (…,)."""
        return norm.logpdf(values, self.parameters.mean, self.sd())

    def distribution(self) -> dist.Normal:
        """Normal."""
        return dist.Normal(self.parameters.mean, self.sd())

    def predictive(self) -> dist.Normal:
        """The law of one record more, as if nothing were clipped."""
        spread = jnp.sqrt(self.variance() + self.family.variance)
        return dist.Normal(self.parameters.mean, spread)
