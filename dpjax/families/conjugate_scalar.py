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
from jax.scipy.stats import norm
from jaxtyping import Array
from scipy import special

from dpjax._checks import positive, typed_key
from dpjax._types import Key
from dpjax.families.bernoulli import Bernoulli
from dpjax.families.categorical import Categorical
from dpjax.families.conjugate_base import (
    ConjugatePosterior,
    HostArray,
    as_arrays,
    host,
    probability,
)
from dpjax.families.conjugate_laws import (
    Bernoulli as BernoulliLaw,
    Beta,
    Categorical as CategoricalLaw,
    Dirichlet,
    Distribution,
    Gamma,
    GammaPoisson,
    Normal,
    lomax,
)
from dpjax.families.exponential import Exponential
from dpjax.families.gaussian_mean import GaussianMean
from dpjax.families.log_densities import dirichlet_log_density, gamma_log_density
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

    def quantile(self, q: float) -> HostArray:
        """Of the probability."""
        probability(q=q)
        return special.betaincinv(*host(*self.parameters), q)

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

    def distribution(self) -> Beta:
        """Beta."""
        return Beta(*self.parameters)

    def predictive(self) -> Distribution:
        """The law of one record more."""
        return BernoulliLaw(self.mean())


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

    def quantile(self, q: float) -> HostArray:
        """Of each probability on its own, which is Beta."""
        probability(q=q)
        (alpha,) = host(self.parameters.concentration)
        return special.betaincinv(alpha, alpha.sum(-1, keepdims=True) - alpha, q)

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

    def distribution(self) -> Dirichlet:
        """Dirichlet."""
        return Dirichlet(self.parameters.concentration)

    def predictive(self) -> Distribution:
        """The law of one record more."""
        return CategoricalLaw(self.mean())


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

    def quantile(self, q: float) -> HostArray:
        """Of the rate."""
        probability(q=q)
        shape, rate = host(*self.parameters)
        return special.gammaincinv(shape, q) / rate

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Array:
        """Rates."""
        typed_key(key=key)
        a, b = self.parameters
        return jr.gamma(key, a, shape + jnp.shape(a)) / b

    def log_prob(self, values: Array) -> Array:
        """Of rates, (…,)."""
        return gamma_log_density(values, *self.parameters)

    def distribution(self) -> Gamma:
        """Gamma."""
        return Gamma(*self.parameters)

    def predictive(self) -> Distribution:
        """The law of one record more, as if nothing were clipped.

        Negative binomial for counts, Lomax for times.
        """
        if isinstance(self.family, Poisson):
            return GammaPoisson(*self.parameters)
        return lomax(*self.parameters)


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

    def quantile(self, q: float) -> HostArray:
        """Of the mean."""
        probability(q=q)
        mean, precision = host(*self.parameters)
        return mean + special.ndtri(q) / np.sqrt(precision)

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Array:
        """Means."""
        typed_key(key=key)
        mean = self.parameters.mean
        return mean + self.sd() * jr.normal(key, shape + jnp.shape(mean))

    def log_prob(self, values: Array) -> Array:
        """Of means, (…,)."""
        return norm.logpdf(values, self.parameters.mean, self.sd())

    def distribution(self) -> Normal:
        """Normal."""
        return Normal(self.parameters.mean, self.sd())

    def predictive(self) -> Normal:
        """The law of one record more, as if nothing were clipped."""
        spread = jnp.sqrt(self.variance() + self.family.variance)
        return Normal(self.parameters.mean, spread)
