"""Posterior samples of the parameters of an exponential family."""

__all__ = ["SampledParameters"]

import equinox as eqx
import jax.random as jr
from jaxtyping import Array, Float

from dpjax._checks import typed_key
from dpjax._types import Key


class SampledParameters(eqx.Module):
    """The empirical law of m samples of all parameters.

    Args:
        names: of the parameters.
        samples: a row a sample, a column a parameter.

    Privacy:
        Post-processing of a release: costs nothing.

    Reference:
        Foulds et al. (UAI-16), section 3.1: what the exponential mechanism releases.
    """

    names: tuple[str, ...] = eqx.field(static=True)
    samples: Float[Array, "samples p"]

    def parameters(self) -> dict[str, Array]:
        """The samples by name."""
        return {name: self.samples[:, i] for i, name in enumerate(self.names)}

    def mean(self) -> dict[str, Array]:
        """Average of the samples, by name."""
        return {name: values.mean() for name, values in self.parameters().items()}

    def sample(self, key: Key) -> dict[str, Array]:
        """One of the samples, at random."""
        typed_key(key=key)
        drawn = jr.choice(key, self.samples)
        return {name: drawn[i] for i, name in enumerate(self.names)}
