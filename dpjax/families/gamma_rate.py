"""The gamma law of the rate of Poisson counts or of exponential times."""

__all__ = ["GammaParameters", "GammaPosterior"]

from typing import Any, NamedTuple

import jax.numpy as jnp
import jax.random as jr
import numpyro.distributions as dist
from jaxtyping import Array

from dpjax._checks import typed_key
from dpjax._private import shapes_only
from dpjax._types import Key
from dpjax.families.conjugate_base import ConjugatePosterior, host
from dpjax.families.log_densities import gamma_log_density
from dpjax.families.marginal_laws import Law, gamma_law


class GammaParameters(NamedTuple):
    """Shape and rate of the gamma law, both > 0; the mean is shape / rate."""

    shape: Any
    rate: Any
    __repr__ = shapes_only


class GammaPosterior(ConjugatePosterior):
    """Gamma law of the rate of a Poisson or exponential law."""

    _positive = ("shape", "rate")

    def mean(self) -> Array:
        """Expected rate."""
        return self.parameters.shape / self.parameters.rate

    def variance(self) -> Array:
        """Variance of the rate."""
        return self.parameters.shape / self.parameters.rate**2

    def marginals(self) -> dict[str, Law]:
        """The gamma law of the rate."""
        return {"": gamma_law(*host(*self.parameters))}

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Array:
        """Draw rates."""
        typed_key(key=key)
        a, b = self.parameters
        return jr.gamma(key, a, shape + jnp.shape(a)) / b

    def log_prob(self, values: Array) -> Array:
        """Log-density of rates of shape (…,)."""
        return gamma_log_density(values, *self.parameters)

    def distribution(self) -> dist.Gamma:
        """The gamma distribution of the rate."""
        return dist.Gamma(*self.parameters)

    def predictive(self) -> dist.Distribution:
        """The predictive distribution of one more record, without clipping."""
        return self.family.predictive(self.parameters)
