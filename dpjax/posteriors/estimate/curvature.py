"""Distribution of tables near an estimate, from the expected information of logits."""

import abc
from collections.abc import Callable
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.scipy.linalg import solve_triangular
from jax.scipy.special import betainc, betaln, ndtri
from jaxtyping import Array, Float

from dpjax._later import special
from dpjax._products import matmul
from dpjax._types import Key
from dpjax.data.bayes_net import BayesNet
from dpjax.posteriors.base import NetworkPosterior
from dpjax.posteriors.estimate.normal_update import normal_update, posterior_noise
from dpjax.statistics.record_moments import RecordMoments
from dpjax.tables.marginals import expected_tables


@partial(jax.jit, static_argnums=(0, 1, 8))
def covariance(
    moments: RecordMoments,
    net: BayesNet,
    theta: Float[Array, " c"],
    prior: Float[Array, " c"],
    scale: Float[Array, " m"],
    weights: Float[Array, " m"] | None,
    in_table: Float[Array, "t m"],
    n: Float[Array, " t"],
    public_n: bool,
) -> Float[Array, "c c"]:
    """Approximate the posterior covariance of the logits of all probabilities `theta`.

    The covariance of the released numbers is approximated by that of the exact numbers
    under the network, plus the variances of `posterior_noise` on the diagonal. Numbers
    of different tables of records, of which there are t, are independent. The noise is
    that of `Problem`.
    """
    together, log_theta = _together(net, theta), jnp.log(theta)
    tables = partial(expected_tables, net.layout)
    expected = tables(log_theta)
    mean, directions = moments.mean(expected), jax.jacfwd(moments.mean)(expected)
    # Constant weights of many releases at once make programs of jaxlib 0.10 for a CPU
    # compute wrong slopes.
    directions = directions + 0 * theta[None]
    # The Jacobian of the tables is a covariance, hence symmetric: forward mode has no
    # scatter.
    slopes = jax.vmap(lambda x: jax.jvp(tables, (log_theta,), (x,))[1])(directions)
    in_table, sizes = jnp.asarray(in_table, theta.dtype), n[:, None] * in_table
    sums = matmul(in_table.T, sizes)  # for two numbers of one table, its n; else 0
    spread = sums * jax.vmap(moments.mean)(slopes)
    of_number = sizes.sum(axis=0)[:, None]
    moved = of_number * (slopes - matmul(slopes, together) * theta[None])
    strength = matmul(prior, together)[:, None] * together
    within = jnp.diag(jnp.diag(strength) * theta)
    information = within - strength * theta[:, None] * theta[None]
    # Logits of a row are determined up to a constant, on which nothing depends.
    information = information + together
    if not public_n:
        spread = spread + sums * mean[:, None] * mean[None]
        moved = jnp.concatenate([moved, (sizes * mean[None]).T], axis=1)
        information = jnp.pad(information, (0, len(n)))
    if weights is None:
        noise = posterior_noise(information, moved, spread, scale)
    else:
        noise = scale**2 / weights
    found = normal_update(information, moved, spread, noise).covariance
    return found[: theta.size, : theta.size]


class StickBreaking(eqx.Module):
    """Distribution of tables near `theta`, whose logits have about a given covariance.

    `theta` is the vector of all probabilities, in the order of `net.layout`. A row is
    broken like a stick: each level but the last has a beta-distributed share of what
    the levels before it leave. Shares of a row are independent, and normal scores of
    shares of different rows are correlated. The mean of a row is that of `theta`, and
    the deviations of shares follow from the covariance by linearisation. Rows have
    Dirichlet distributions, exactly, if the noise leaves nothing of the data.
    """

    net: BayesNet = eqx.field(static=True)
    theta: Float[Array, " c"]
    covariance: Float[Array, "c c"]  # covariance of all logits

    @jax.jit
    def weight(self) -> Float[Array, " c"]:
        r"""Number s of records that would tell as much of each probability θ.

        It is $\theta (1 - \theta)$ over the variance of θ by linearisation. The
        distribution of θ is approximately Beta(s θ, s (1 - θ)), and exactly so if the
        noise leaves nothing of the data.
        """
        theta = self.theta
        slopes = jnp.diag(theta)
        slopes = slopes - _together(self.net, theta) * theta[:, None] * theta[None]
        variances = jnp.sum(matmul(slopes, self.covariance) * slopes, axis=1)
        most = theta * (1 - theta)
        return most / jnp.maximum(variances, 1e-12 * most)

    def sd(self) -> Float[Array, " c"]:
        """Standard deviations of the probabilities, of beta distributions."""
        return jnp.sqrt(self.theta * (1 - self.theta) / (1 + self.weight()))

    @jax.jit
    def draw(self, key: Key) -> Float[Array, " c"]:
        """Draw all tables once, in the order of `net.layout`."""
        (one, other), root = self._shares()
        scores = matmul(root, jr.normal(key, one.shape, one.dtype))
        shares = _drawn_shares(one, other, scores)
        logs = jnp.log(jnp.maximum(shares, jnp.finfo(shares.dtype).tiny))
        own, following = self._places
        moved = matmul(own.T, logs[0]) + matmul(following.T, logs[1])
        return self.net.layout.normalise(jnp.exp(moved))

    @jax.jit
    def log_prob(self, theta: Float[Array, " c"]) -> Float[Array, ""]:
        """Log-density of the distribution from which `draw` draws.

        The derivative of a share with respect to its probability is one over what the
        levels before it leave.
        """
        (one, other), root = self._shares()
        first, rest = self._split(theta)
        share, left = first / (first + rest), rest / (first + rest)
        below, above = betainc(one, other, share), betainc(other, one, left)
        least = jnp.finfo(theta.dtype).tiny
        below, above = (ndtri(jnp.maximum(x, least)) for x in (below, above))
        scores = jnp.where(share < one / (one + other), below, -above)
        off = solve_triangular(root, scores, lower=True)
        dependence = (scores**2 - off**2).sum() / 2 - jnp.log(jnp.diagonal(root)).sum()
        density = (one - 1) * jnp.log(share) + (other - 1) * jnp.log(left)
        return dependence + (density - betaln(one, other) - jnp.log(first + rest)).sum()

    @property
    def _places(self) -> Float[Array, "2 s c"]:
        """For each share, 1 for its own cell, and for those that follow in its row."""
        rows = np.asarray(self.net.layout.rows)
        following = np.triu(rows[:, None] == rows[None], 1)
        kept = following.any(axis=1)
        places = np.stack([np.eye(rows.size)[kept], following[kept]])
        return jnp.asarray(places, self.theta.dtype)

    def _split(self, theta: Array) -> Float[Array, "2 s"]:
        """Probabilities of the cells of all shares, and of those that follow."""
        return jax.vmap(lambda x: matmul(x, theta))(self._places)

    def _shares(self) -> tuple[tuple[Array, Array], Array]:
        """Parameters of the beta distributions, and a root of the scores' covariance.

        The covariance of the logits of shares is found by linearisation. Scores are
        these logits, transformed to be independent in a row.
        """
        own, following = self._places
        first, rest = self._split(self.theta)
        slopes = own - following * self.theta[None] / rest[:, None]
        spread = matmul(matmul(slopes, self.covariance), slopes.T)
        rows = matmul(own, jnp.asarray(self.net.layout.rows, own.dtype))
        alike = (rows[:, None] == rows[None]).astype(own.dtype)
        within, root = jnp.linalg.cholesky(jnp.stack([spread * alike, spread]))
        mean, left = first / (first + rest), rest / (first + rest)
        weight = 1 / (mean * left * jnp.diagonal(spread))
        scores = solve_triangular(within, root, lower=True)
        return (weight * mean, weight * left), scores

    def quantile(self, q: Float[Array, ""]) -> Float[Array, " c"]:
        """The q-quantile of each probability, of a beta distribution."""
        weight = self.weight()
        return _quantiles(weight * self.theta, weight * (1 - self.theta), q)


class NormalEstimate(NetworkPosterior):
    """Estimate of a network's tables, with a covariance of all their logits.

    Args:
        theta: all estimated probabilities, in the order of `net.layout`.
    """

    theta: Float[Array, "*batch c"]

    @property
    def method(self) -> str:
        """Name of the inference method in `dpjax.posteriors.METHODS`."""
        return "point-estimate"

    @abc.abstractmethod
    def _law(self) -> StickBreaking:
        """Distribution of the logits of all tables."""

    def _mean(self) -> Array:
        return self.theta

    def _sd(self) -> Array:
        return self._law().sd()

    def _quantile(self, q: float) -> Array:
        return self._law().quantile(jnp.asarray(q, float))

    def _draw(self, key: Key) -> Array:
        return self._law().draw(key)

    def _log_density(self, theta: Array) -> Array:
        return self._law().log_prob(theta)


def _quantiles(one: Array, other: Array, q: Array) -> Array:
    """Quantiles of beta distributions, which JAX does not have."""
    q = jnp.broadcast_to(q, one.shape)
    return _on_host(special.betaincinv, one.shape, one, other, q)


def _drawn_shares(one: Array, other: Array, scores: Array) -> Float[Array, "2 s"]:
    """Beta-distributed numbers with given normal scores, and one minus each."""

    def found(one, other, scores):
        share = special.betaincinv(one, other, special.ndtr(scores))
        left = special.betaincinv(other, one, special.ndtr(-scores))
        return np.stack([share, left], axis=-2)

    return _on_host(found, (2, *scores.shape), one, other, scores)


def _on_host(
    function: Callable[..., np.ndarray], shape: tuple[int, ...], *given: Array
) -> Array:
    """Call a function of SciPy in double precision."""
    like = jax.ShapeDtypeStruct(shape, given[0].dtype)

    def found(*given: Array | np.ndarray) -> np.ndarray:
        return function(*(np.asarray(x, float) for x in given)).astype(like.dtype)

    return jax.pure_callback(found, like, *given, vmap_method="broadcast_all")


def _together(net: BayesNet, theta: Array) -> Float[Array, "c c"]:
    """1 where two cells are in the same row, else 0."""
    rows = jnp.asarray(net.layout.rows)
    return (rows[:, None] == rows[None]).astype(theta.dtype)
