"""Pure functions that compute `point_estimate`, for `jit` and `vmap`.

Each row of a probability table is the softmax of logits. The fit has three steps:

1. Independent normal distributions are fitted to the posterior of all logits, by
   gradient ascent on the evidence lower bound. Expectations are averages over a
   low-discrepancy sequence. Where the noise is large, the mean of the fit is close to
   the posterior mean, while a posterior mode overfits.
2. Given the mean tables, the exact counts are estimated by linear regression, from
   their covariance under the network and an effective variance of the noise.
3. The tables are the Dirichlet posterior mean given these counts, which is the exact
   posterior mean if there is no noise.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from dpjax._products import matmul
from dpjax.data.bayes_net import BayesNet
from dpjax.posteriors.estimate.descent import descend, multipliers, normal_nodes
from dpjax.posteriors.estimate.number_law import (
    LEAST_NOISE,
    normal_log_prob,
    number_log_prob,
)
from dpjax.posteriors.estimate.row_prior import RowPrior
from dpjax.statistics.record_moments import RecordMoments
from dpjax.tables.marginals import expected_tables

_PAIRS = 4  # number of pairs of opposite nodes in each step
_SWEEPS = 25  # iterations of conjugate gradients
_WIDTH = 0.5  # initial standard deviation of the unknown parameters of a prior
_FAR = 12.0  # limit of logits: probabilities are at least about e^-24


class Problem(NamedTuple):
    """Released numbers of one table of records or of several, their noise and a prior.

    Lengths are t for the tables of records, m for all released numbers, and c for the
    cells of all the network's tables. No record is in two tables.
    """

    moments: RecordMoments  # moments of all numbers, if one table had them all
    in_table: Float[np.ndarray, "t m"]  # 1 where a number is of a table, else 0
    net: BayesNet
    values: Float[Array, " m"]  # the released numbers
    scale: Float[Array, " m"]  # scale of the Laplace noise, or of normal noise
    prior: RowPrior  # of the rows of all tables
    start: Float[Array, " c"]  # initial counts of all node tables
    n: Float[Array, " t"]  # numbers of records, or unbiased estimates of them
    public_n: bool
    weights: Float[Array, " m"] | None = None  # for normal noise: see `NormalNumbers`

    def log_prob(self, values: Array, mean: Array, variance: Array) -> Array:
        """Log-density of released numbers, given moments of the exact ones."""
        if self.weights is not None:
            return normal_log_prob(values, mean, variance, self.scale, self.weights)
        counts = self.moments.counts
        return number_log_prob(values, mean, variance, self.scale, counts)

    def mean_and_variance(self, tables: Array) -> tuple[Array, Array]:
        """Mean and variance of the exact numbers, given all marginal tables."""
        first, second = self.moments.mean(tables), self.moments.second(tables)
        n = self.of_numbers(self.n[:, None])
        return n * first, n * (second - (first * first if self.public_n else 0))

    def of_numbers(self, values: Array) -> Array:
        """Of values (t, m), or (t, 1), those of each number's table."""
        return jnp.sum(jnp.asarray(self.in_table, values.dtype) * values, axis=0)


class Fit(NamedTuple):
    """Estimated tables of a network, counts of their cells, and number of records."""

    theta: Float[Array, " c"]  # estimated tables
    counts: Float[Array, " c"]  # estimated counts of all node tables
    n: Float[Array, " t"]  # those of the problem
    # Root mean square of the evidence bound's gradient at the end, in posterior
    # standard deviations.
    gradient: Float[Array, ""]
    prior: Float[Array, " c"]  # Dirichlet parameter of every cell, given or learned


def fit(problem: Problem, steps: int) -> Fit:
    """Estimate all tables of a network from releases, in `steps` gradient steps."""
    layout = problem.net.layout
    theta, unknown, gradient = _variational(problem, steps)
    counts = _expected_counts(problem, theta).sum(axis=0)

    def updated(alpha: Array) -> Array:
        return (alpha + counts) / layout.row_sums(alpha + counts)

    prior = problem.prior
    theta = prior.average(updated, unknown)
    return Fit(theta, counts, problem.n, gradient, prior.matched(unknown))


def _variational(problem: Problem, steps: int):
    """Mean tables, draws of unknown parameters, and the size of the last gradient."""
    net, prior = problem.net, problem.prior
    center, width = _initial(problem)
    factors = multipliers(net.layout.length + prior.size)

    def place(position, node):
        shift, log_width = position
        move = shift + jnp.exp(log_width) * node
        logits, unknown = jnp.split(move, [net.layout.length])
        return center + width * logits, _WIDTH * unknown

    def objective(position, nodes):
        def at(node):
            return _log_posterior(problem, *place(position, node))

        return -jnp.mean(jax.vmap(at)(nodes)) - jnp.sum(position[1])

    def slope(position, step):
        nodes = normal_nodes(factors, step, _PAIRS)
        return jax.grad(objective)(position, nodes)

    still = jnp.zeros((2, factors.size), center.dtype)
    position, average = descend(slope, still, steps)
    nodes = normal_nodes(factors, jnp.uint32(steps), 4 * _PAIRS)
    logits, unknown = jax.vmap(partial(place, position))(nodes)
    log_theta = jax.vmap(partial(_log_rows, net))(logits)
    theta = jnp.exp(log_theta).mean(axis=0)
    gradient = jnp.sqrt(jnp.mean((average[0] * jnp.exp(position[1])) ** 2))
    return theta, unknown, gradient


def _initial(problem: Problem) -> tuple[Array, Array]:
    layout = problem.net.layout
    scale = jnp.median(problem.scale)
    centre = problem.prior.centre
    smooth = centre + 0.5 * jnp.minimum(scale, problem.n.sum()) + problem.start
    information = problem.start**2 / (problem.start + scale**2)
    logits = jnp.log(smooth)
    size = layout.row_sums(jnp.ones_like(logits))
    centered = logits - layout.row_sums(logits) / size
    return centered, 1 / jnp.sqrt(centre + information)


def _log_posterior(problem: Problem, logits: Array, unknown: Array) -> Array:
    """Composite log-posterior density of all coordinates, up to a constant."""
    net = problem.net
    log_theta = _log_rows(net, logits)
    mean, variance = problem.mean_and_variance(_expected(net, log_theta))
    law = problem.log_prob(problem.values, mean, variance)
    # Logits of a row are determined up to a constant: `loose` keeps it near 0.
    size = net.layout.row_sums(jnp.ones_like(logits))
    loose = (net.layout.row_sums(logits) / size) ** 2 / size
    prior = problem.prior.log_prob(log_theta, unknown)
    return law.sum() + prior - 0.5 * loose.sum()


def _log_rows(net: BayesNet, logits: Array) -> Array:
    shifted = logits - net.layout.row_maxima(logits)
    shifted = jnp.maximum(shifted, -2 * _FAR)
    return shifted - jnp.log(net.layout.row_sums(jnp.exp(shifted)))


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _expected(net: BayesNet, log_theta: Array) -> Array:
    return expected_tables(net.layout, log_theta)


def _expected_forward(net, log_theta):
    return jax.linearize(partial(expected_tables, net.layout), log_theta)


def _expected_backward(net, covariance, direction):
    # The Jacobian is a covariance, hence symmetric: forward mode needs no scatter.
    return (covariance(direction),)


_expected.defvjp(_expected_forward, _expected_backward)


def _expected_counts(problem: Problem, theta: Array) -> Array:
    """Estimated counts of all node tables, (t, c), given releases and probabilities.

    The estimate is linear in the residuals, with the covariance of the numbers under
    the network and the variances from `_effective_noise`. Numbers of different tables
    of records are independent.
    """
    net, n, observe = problem.net, problem.n, problem.moments.mean
    log_theta = jnp.log(theta)
    tables, covariance = _expected_forward(net, log_theta)
    mean, variance = problem.mean_and_variance(tables)
    noise = _effective_noise(problem, mean, variance)

    def spread_one(vector, n):
        (direction,) = jax.linear_transpose(observe, tables)(vector)
        moved = n * covariance(direction)
        if problem.public_n:
            return moved
        return moved + n * tables * matmul(tables, direction)

    def spread(vector):
        apart = jnp.asarray(problem.in_table, vector.dtype) * vector[None]
        return jax.vmap(spread_one)(apart, n)

    def image(counts):
        return problem.of_numbers(jax.vmap(observe)(counts))

    residual = problem.values - mean
    moved = _conjugate_gradients(spread, image, noise, residual, variance + noise)
    return jnp.maximum(n[:, None] * tables[None] + moved, 0)


def _effective_noise(problem: Problem, mean: Array, variance: Array) -> Array:
    """Variance of normal noise that gives the same posterior means of the numbers."""
    if problem.weights is not None:
        return problem.scale**2 / problem.weights
    off = problem.values - mean
    least = 0.05 * (problem.scale + jnp.sqrt(jnp.maximum(variance, 0)))
    off = jnp.where(off < 0, jnp.minimum(off, -least), jnp.maximum(off, least))

    def law(shift):
        return problem.log_prob(mean + off, mean + shift, variance).sum()

    drawn = variance * jax.grad(law)(jnp.zeros_like(mean)) / off  # Tweedie's formula
    drawn = jnp.clip(drawn, 1e-6, 1 - 1e-6)
    # `law` raises the noise scale to `least`; the factor extra^2 corrects for this.
    least = LEAST_NOISE * jnp.sqrt(jnp.maximum(variance, problem.scale**2))
    extra = jnp.minimum(problem.scale / least, 1)
    return jnp.maximum(variance, 1e-6) * (1 / drawn - 1) * extra**2 + 1e-4


def _conjugate_gradients(spread, observe, noise, residual, diagonal):
    """Compute the shift of the counts, spread (observe spread + noise)⁻¹ residual.

    The shift is accumulated during the iterations, so that `spread` is compiled once.
    """
    like = jax.eval_shape(spread, residual)
    still = jnp.zeros(like.shape, like.dtype)
    scaled = residual / diagonal
    tiny = jnp.finfo(residual.dtype).tiny

    def improve(_, state):
        moved, left, ahead, size = state
        move = spread(ahead)
        image = observe(move) + noise * ahead
        step = size / jnp.maximum(matmul(ahead, image), tiny)
        left = left - step * image
        scaled = left / diagonal
        following = matmul(left, scaled)
        ahead = scaled + following / jnp.maximum(size, tiny) * ahead
        return moved + step * move, left, ahead, following

    state = still, residual, scaled, matmul(residual, scaled)
    return lax.fori_loop(0, _SWEEPS, improve, state)[0]
