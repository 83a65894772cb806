"""What released numbers say about the sums of a random field's features, linearly."""

from functools import partial

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float

from dpjax._products import matmul
from dpjax.posteriors.random_fields.field import RandomField
from dpjax.statistics.record_moments import RecordMoments
from dpjax.tables.fourier_basis import denominators, from_coefficients


def noise_of(scale: Array, weights: Array | None) -> Array:
    """Variances of the noise of released numbers: see `FieldProblem`."""
    return 2 * scale**2 if weights is None else scale**2 / weights


@partial(jax.jit, static_argnames=("field", "moments"))
def estimate_of_number(
    field: RandomField, moments: RecordMoments, values: Array, noise: Array
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Return the unbiased estimate of n of least variance, and its deviation.

    It is linear in the noisy numbers: that of weighted least squares for n and the sums
    of all features, whatever the sums are.
    """
    deviations = jnp.sqrt(noise)
    whitened = numbers_of_features(field, moments, noise.dtype) / deviations[:, None]
    orthogonal, root = jnp.linalg.qr(whitened)
    sums = jnp.zeros(len(root), noise.dtype)
    for _ in range(2):  # the second solution corrects the rounding errors of the first
        left = values / deviations - matmul(whitened, sums)
        sums = sums + solve_triangular(root, matmul(orthogonal.T, left))
    first = jnp.zeros_like(sums).at[0].set(1)
    inverse = solve_triangular(root, first, trans=1)
    return sums[0], jnp.linalg.norm(inverse)


def numbers_of_features(field: RandomField, moments: RecordMoments, dtype) -> Array:
    """Matrix from the number of records and the sums of features to exact numbers."""
    layout, size = field.layout, len(field.closure)
    cells = jnp.asarray(denominators(layout), dtype)

    def numbers(sums):
        coefficients = sums[field.closure.places(layout)]
        return moments.mean(from_coefficients(layout, coefficients) / cells)

    return jax.vmap(numbers)(jnp.eye(size, dtype=dtype)).T
