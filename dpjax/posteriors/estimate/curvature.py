"""How uncertain an estimate is: expected information in logits, plus the prior's."""

__all__ = ["covariance", "deviations", "draw", "log_density", "quantiles"]

from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.scipy.linalg import cho_factor, cho_solve, solve_triangular
from jax.scipy.special import ndtri
from jaxtyping import Array, Float

from dpjax._types import Key
from dpjax.data.bayes_net import BayesNet
from dpjax.statistics.record_moments import RecordMoments
from dpjax.tables.marginals import expected_tables


@partial(jax.jit, static_argnums=(0, 1, 6))
def covariance(
    moments: RecordMoments,
    net: BayesNet,
    theta: Float[Array, " c"],
    prior: Float[Array, " c"],
    scale: Float[Array, " m"],
    n: Float[Array, ""],
    public_n: bool,
) -> Float[Array, "c c"]:
    """Approximate posterior covariance of all logits.

    The numbers have their covariance under the network, and noise with the information
    of the Laplace law, 1 / scale^2 each.
    """
    rows = jnp.asarray(net.layout.rows)
    together = (rows[:, None] == rows[None]).astype(theta.dtype)

    def numbers(log_theta):
        families = expected_tables(net.layout, log_theta)
        return moments.mean(families)

    log_theta = jnp.log(theta)
    families = expected_tables(net.layout, log_theta)
    mean, slopes = moments.mean(families), jax.jacrev(numbers)(log_theta)
    spread = n * jax.vmap(moments.mean)(slopes)
    moved = n * (slopes - (slopes @ together) * theta[None])
    strength = (prior @ together)[:, None] * together
    within = jnp.diag(jnp.diag(strength) * theta)
    information = within - strength * theta[:, None] * theta[None]
    # Logits of a row are known up to a constant, on which nothing depends.
    information = information + together
    if not public_n:
        spread = spread + n * mean[:, None] * mean[None]
        moved = jnp.concatenate([moved, n * mean[:, None]], axis=1)
        information = jnp.pad(information, (0, 1))
    spread = spread + jnp.diag(scale**2)
    information = information + moved.T @ cho_solve(cho_factor(spread), moved)
    unit = jnp.eye(len(information), dtype=theta.dtype)
    return cho_solve(cho_factor(information), unit)[: theta.size, : theta.size]


@partial(jax.jit, static_argnames="net")
def deviations(
    theta: Float[Array, " c"], logits: Float[Array, "c c"], net: BayesNet
) -> Float[Array, " c"]:
    """Standard deviations of the tables, linearised, from the logits' covariance."""
    rows = jnp.asarray(net.layout.rows)
    together = (rows[:, None] == rows[None]).astype(theta.dtype)
    slopes = jnp.diag(theta) - together * theta[:, None] * theta[None]
    return jnp.sqrt(jnp.maximum(jnp.sum((slopes @ logits) * slopes, axis=1), 0))


@partial(jax.jit, static_argnames="net")
def draw(
    key: Key, theta: Float[Array, " c"], logits: Float[Array, "c c"], net: BayesNet
) -> Float[Array, " c"]:
    """Tables whose logits are normal around those of `theta`."""
    root = jnp.linalg.cholesky(logits)
    moved = jnp.log(theta) + root @ jr.normal(key, theta.shape, theta.dtype)
    powers = jnp.exp(moved - net.layout.row_maxima(moved))
    return powers / net.layout.row_sums(powers)


@partial(jax.jit, static_argnames="net")
def log_density(
    theta: Float[Array, " c"],
    center: Float[Array, " c"],
    logits: Float[Array, "c c"],
    net: BayesNet,
) -> Float[Array, ""]:
    """Log-density of what `draw` draws around `center`, at `theta`.

    The log-ratios to the last cell of each row are normal; the Jacobian of a row is one
    over the product of its probabilities.
    """
    last = np.diff(net.layout.rows, append=-1) != 0
    ratios = np.eye(last.size)[~last]
    ratios[np.arange(len(ratios)), np.flatnonzero(last)[net.layout.rows[~last]]] = -1
    ratios = jnp.asarray(ratios, theta.dtype)
    root = jnp.linalg.cholesky(ratios @ logits @ ratios.T)
    off = solve_triangular(root, ratios @ jnp.log(theta / center), lower=True)
    volume = jnp.log(jnp.diagonal(root)).sum() + jnp.log(theta).sum()
    return -(off @ off) / 2 - len(ratios) / 2 * np.log(2 * np.pi) - volume


@jax.jit
def quantiles(
    theta: Float[Array, "*batch c"], sd: Float[Array, "*batch c"], q: Float[Array, ""]
) -> Float[Array, "*batch c"]:
    """The q-quantile of each probability, its logit taken for normal."""
    rest = 1 - theta
    return jax.nn.sigmoid(jnp.log(theta / rest) + ndtri(q) * sd / (theta * rest))
