"""The distribution of a release's numbers, for NumPyro models."""

from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float
from numpyro import distributions as dist


class NoisyNumbers(dist.Distribution):
    """NumPyro distribution of numbers with noise, given the exact numbers.

    `dpjax.posteriors.release_law` makes it for a release.

    Args:
        law: a mechanism whose numbers have a known joint distribution: an object with
            the methods `joint_log_prob` and `sample` of `MechanismWithJointLaw`.
        exact: the exact numbers, which may be real.
    """

    arg_constraints: dict[str, Any] = {}  # noqa: RUF012  (NumPyro's own)
    pytree_data_fields = ("law", "exact")

    def __init__(self, law: Any, exact: Float[Array, "*batch m"]) -> None:
        self.law, self.exact = law, exact
        *batch, length = exact.shape
        super().__init__(tuple(batch), (length,))

    @property
    def support(self) -> Any:
        """Any real vector; exact releases are of integers."""
        return dist.constraints.real_vector

    def log_prob(self, value: Any, intermediates: Any = None) -> Float[Array, "*batch"]:
        """Return the log-probability, or log-density, of noisy numbers."""
        return self.law.joint_log_prob(jnp.asarray(value, float), self.exact)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Array:
        """Simulate noisy numbers of the exact numbers, which are rounded to integers.

        Args:
            key: a typed JAX key or, as NumPyro gives it, a raw one.
            sample_shape: shape of independent draws.
        """
        exact = jnp.round(self.exact).astype(jnp.int32)
        wide = jnp.broadcast_to(exact, (*sample_shape, *exact.shape))
        flat = wide.reshape(-1, *self.event_shape)
        typed = jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
        keys = jr.split(key if typed else jr.wrap_key_data(key), len(flat))
        return jax.vmap(self.law.sample)(keys, flat).reshape(wide.shape)
