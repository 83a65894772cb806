"""A multivariate Gaussian distribution truncated to a ball."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, ArrayLike, Float, Real
from numpyro.distributions import Distribution, constraints

from dpjax._products import matmul
from dpjax.distributions.ball_mass import log_inside, moments, saddle
from dpjax.distributions.ball_proposal import (
    BallProposal,
    draw,
    proposal,
    rotate,
)
from dpjax.distributions.constraints import Ball
from dpjax.distributions.rejection import RandomKey, until_accepted
from dpjax.distributions.special import over_batches, positive, refuse

Vector = Float[Array, " d"]
Matrix = Float[Array, "d d"]
Scalar = Float[Array, ""]


class GaussianInBall(Distribution):
    r"""The distribution of $w \sim N(\mu, \Lambda^{-1})$ given that $\|w\|_2 \le r$.

    Draws are exact up to rounding for any mean and precision. Proposals come from the
    Gaussian density times $e^{-t (\|w\|^2 - r^2)}$, with the least $t \ge 0$ at which
    the expected squared norm is at most $r^2$. A proposal inside the ball is accepted
    with probability $e^{t (\|w\|^2 - r^2)}$. If that is rare, one squared coordinate in
    the eigenbasis of $\Lambda$ (or $r^2 - \|w\|^2$) is replaced so that these terms sum
    to $r^2$. In 100 dimensions more than 4 % of proposals are accepted, even where
    fewer than one in 10^30 draws of the Gaussian lie in the ball.

    The normaliser, `mean` and `variance` are inverse Laplace integrals in closed form
    (48 nodes), with relative error below 1e-8 in float64. In float32 `log_prob` is
    within 1e-4, apart from the rounding of value and parameters. There are first
    derivatives in the value and all parameters, also where eigenvalues are equal, and
    second derivatives in the value.

    Args:
        location: the mean $\mu$ before truncation, with d dimensions on the last axis.
        precision_matrix: the matrix $\Lambda$, symmetric and positive definite.
        radius: the radius r > 0. Batch axes of all three parameters broadcast.

    Raises:
        ValueError: if a parameter is outside its range. Under `jit`, the result is NaN.

    Privacy:
        A draw from a regression's posterior of this form is the posterior sample of
        Zhang et al., whose guarantee assumes exact arithmetic. Floating-point draws are
        for studies: do not publish them.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), section 5.2, for its use.
    """

    arg_constraints = {  # noqa: RUF012  (as NumPyro has it)
        "location": constraints.real_vector,
        "precision_matrix": constraints.positive_definite,
        "radius": constraints.positive,
    }

    def __init__(
        self,
        location: Real[ArrayLike, "... d"],
        precision_matrix: Real[ArrayLike, "... d d"],
        radius: Real[ArrayLike, "..."],
        *,
        validate_args: bool | None = None,
    ):
        size = jnp.shape(location)[-1]
        batch = jnp.broadcast_shapes(
            jnp.shape(location)[:-1],
            jnp.shape(precision_matrix)[:-2],
            jnp.shape(radius),
        )
        self.location = _wide(location, (*batch, size))
        self.precision_matrix = _wide(precision_matrix, (*batch, size, size))
        self.radius = _wide(radius, batch)
        if validate_args or (validate_args is None and self._validate_args):
            refuse(~positive(self.radius), "`radius` must be positive and finite.")
            refuse(~jnp.isfinite(self.location), "`location` must be finite.")
            refuse(
                jnp.logical_not(constraints.positive_definite(self.precision_matrix)),
                "`precision_matrix` must be symmetric and positive definite.",
            )
        super().__init__(batch, (size,), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=1)  # pyright: ignore[reportArgumentType]
    def support(self) -> constraints.Constraint:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The vectors of Euclidean norm at most `radius`."""
        return Ball(self.radius)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Array:
        """Draw independent samples of shape `sample_shape + batch_shape + (d,)`."""
        return _sample(key, tuple(sample_shape), *self._parameters())

    def log_prob(self, value: Any, intermediates: Any = None) -> Array:
        """Log-density at `value`; minus infinity outside of the ball."""
        return _log_prob(jnp.asarray(value, float), *self._parameters())

    @property
    def mean(self) -> Array:
        """Expected value of each dimension; not differentiable."""
        return _summaries(*self._parameters())[0]

    @property
    def variance(self) -> Array:
        """Variance of each dimension; not differentiable."""
        return _summaries(*self._parameters())[1]

    def _parameters(self) -> tuple[Array, Array, Array]:
        return self.location, self.precision_matrix, self.radius


def _wide(value: ArrayLike, shape: tuple[int, ...]) -> Array:
    return jnp.broadcast_to(jnp.asarray(value, float), shape)


@partial(jax.jit, static_argnums=1)
def _sample(key: RandomKey, sample_shape: tuple[int, ...], *parameters: Array) -> Array:
    batch = parameters[2].shape
    shape = (*sample_shape, *batch)
    basis, laws = over_batches(_proposal, 1, 2, 0)(*parameters)

    def to_lanes(leaf):
        event = leaf.shape[len(batch) :]
        return jnp.broadcast_to(leaf, (*shape, *event)).reshape(-1, *event)

    lanes = jax.tree.map(to_lanes, laws)
    drawn = until_accepted(key, draw, lanes, lanes.valid, lanes.mean.shape[1:])
    drawn = drawn.reshape(*shape, -1)
    return over_batches(_place, 1, 2, 0)(drawn, basis, parameters[2])


def _proposal(
    location: Vector, precision_matrix: Matrix, radius: Scalar
) -> tuple[Matrix, BallProposal]:
    rotated = rotate(location, precision_matrix, radius)
    return rotated.basis, proposal(rotated)


def _place(point: Vector, basis: Matrix, radius: Scalar) -> Vector:
    """Transform back from the eigenbasis, and undo rounding that leaves the ball."""
    turned = matmul(basis, point)
    norm = jnp.sqrt((turned * turned).sum())
    return radius * (turned / jnp.maximum(norm, 1))


@jax.jit
def _log_prob(value: Array, *parameters: Array) -> Array:
    normalisers = over_batches(_normalise, 1, 2, 0)(*parameters)
    density = over_batches(_log_density, 1, 1, 2, 0, 2, 1, 1, 0, 0)
    return density(value, *parameters, *normalisers)


def _normalise(
    location: Vector, precision_matrix: Matrix, radius: Scalar
) -> tuple[Matrix, Vector, Vector, Scalar, Scalar]:
    """Basis, tilted precision and mean, tilt, and log-normaliser (NaN if invalid)."""
    rotated = rotate(location, precision_matrix, radius)
    law = saddle(rotated.precision, rotated.pull)
    log_mass = log_inside(law) - jnp.log(law.precision / (2 * np.pi)).sum() / 2
    log_mass += law.precision.shape[0] * jnp.log(lax.stop_gradient(radius))
    log_mass += _growth(location, precision_matrix, radius)
    log_mass = jnp.where(rotated.valid, log_mass, jnp.nan)
    return rotated.basis, law.precision, law.mean, law.amount, log_mass


def _log_density(
    value: Vector,
    location: Vector,
    precision_matrix: Matrix,
    radius: Scalar,
    basis: Matrix,
    tilted: Vector,
    mean: Vector,
    amount: Scalar,
    log_mass: Scalar,
) -> Scalar:
    """Evaluate in the eigenbasis, without cancellation; `_zero` adds derivatives."""
    inside = Ball(radius)(value)
    value = jnp.where(inside, value, 0)
    point = matmul(basis.T, value) / lax.stop_gradient(radius)
    gap = point - mean
    density = amount * ((point * point).sum() - 1) - (tilted * gap * gap).sum() / 2
    density += _zero(_quadratic(lax.stop_gradient(value), location, precision_matrix))
    return jnp.where(inside | jnp.isnan(log_mass), density - log_mass, -jnp.inf)


def _quadratic(value: Vector, location: Vector, precision_matrix: Matrix) -> Scalar:
    gap = value - location
    return -matmul(gap, matmul(precision_matrix, gap)) / 2


def _zero(x: Scalar) -> Scalar:
    """Zero, with the derivative of x."""
    return x - lax.stop_gradient(x)


@jax.custom_jvp
def _growth(location: Vector, precision_matrix: Matrix, radius: Scalar) -> Scalar:
    """Zero, with the derivative of the log-mass of the density exp(`_quadratic`).

    The derivative is computed as an expectation: a derivative of eigenvectors would
    divide by differences of eigenvalues.
    """
    return jnp.zeros(())


@_growth.defjvp
def _growth_derivative(primals, tangents):
    location, precision_matrix, radius = primals
    d_location, d_precision, d_radius = tangents
    rotated = rotate(location, precision_matrix, radius)
    found = moments(rotated.precision, rotated.pull, rotated.basis, location / radius)
    shift = found.mean * radius - location
    along = matmul(matmul(precision_matrix, d_location), shift)
    across = (found.second * radius * radius * d_precision).sum() / 2
    return jnp.zeros(()), along - across + 2 * found.growth / radius * d_radius


@jax.jit
def _summaries(*parameters: Array) -> tuple[Array, Array]:
    return over_batches(_mean_and_variance, 1, 2, 0)(*parameters)


def _mean_and_variance(
    location: Vector, precision_matrix: Matrix, radius: Scalar
) -> tuple[Vector, Vector]:
    rotated = rotate(location, precision_matrix, radius)
    parameters = rotated.precision, rotated.pull, rotated.basis
    mean = moments(*parameters, jnp.zeros_like(location)).mean
    second = moments(*parameters, mean).second
    results = radius * mean, radius * radius * jnp.diagonal(second)
    mean, variance = (jnp.where(rotated.valid, x, jnp.nan) for x in results)
    return mean, variance
