"""The gamma posterior of the rate of Poisson counts or of exponential times."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dpjax._checks import sample_shape
from dpjax._later import dist, special
from dpjax._private import shapes_only
from dpjax._types import Key
from dpjax.distributions.gamma_draws import draw_gamma
from dpjax.families.conjugate_base import ConjugatePosterior, host
from dpjax.families.log_densities import gamma_log_density
from dpjax.families.marginal_laws import Law, gamma_law


class GammaParameters(NamedTuple):
    """Shape and rate, both > 0, of a gamma distribution with mean shape / rate."""

    shape: Any
    rate: Any
    __repr__ = shapes_only


class GammaPosterior(ConjugatePosterior):
    """Gamma posterior of the rate of a Poisson or exponential distribution."""

    _positive = ("shape", "rate")

    def mean(self) -> Array:
        """Posterior mean of the rate."""
        return self.parameters.shape / self.parameters.rate

    def variance(self) -> Array:
        """Posterior variance of the rate."""
        return self.parameters.shape / self.parameters.rate**2

    def marginals(self) -> dict[str, Law]:
        """Return a dictionary from "" to the gamma distribution of the rate."""
        return {"": gamma_law(*host(*self.parameters))}

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Array:
        """Draw rates; the shape is `shape + rate.shape`."""
        shape = sample_shape(key, shape)
        a, b = self.parameters
        return draw_gamma(key, (a, b), shape + jnp.shape(a))

    def log_prob(self, values: Array) -> Array:
        """Log-density of the posterior at each of `values`, which are rates."""
        return gamma_log_density(values, *self.parameters)

    def log_kernel(self, values: Float[np.ndarray, " j"]) -> Float[np.ndarray, " j"]:
        """Log-density at rates, up to a constant; in double precision, on the host."""
        shape, rate = host(*self.parameters)
        return special.xlogy(shape - 1, values) - rate * values

    def distribution(self) -> "dist.Gamma":
        """Return NumPyro's gamma distribution of the rate."""
        return dist.Gamma(*self.parameters)

    def predictive(self) -> "dist.Distribution":
        """Return NumPyro's predictive distribution of a new record, before clipping."""
        return self.family.predictive(self.parameters)
