"""Normal approximation of a posterior, from the expected information about logits."""

__all__ = ["NormalEstimate", "NormalLogits", "covariance"]

import abc
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float

from dpjax._later import special
from dpjax._products import matmul
from dpjax._types import Key
from dpjax.data.bayes_net import BayesNet
from dpjax.posteriors.base import NetworkPosterior
from dpjax.posteriors.estimate.descent import multipliers, normal_nodes
from dpjax.posteriors.estimate.normal_update import normal_update, posterior_noise
from dpjax.statistics.record_moments import RecordMoments
from dpjax.tables.marginals import expected_tables

_PAIRS, _STEPS = 1024, 30  # of opposite nodes; of the iteration
_LEAST = 1e-12  # of the variance of a cell of one record, where it is a divisor


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


class NormalLogits(eqx.Module):
    """Distribution of tables whose logits are normal, and whose mean is `theta`.

    `theta` is the vector of all probabilities, in the order of `net.layout`. The
    standard deviations and quantiles of one probability are those of a beta
    distribution. The logits have the given covariance, times the square of a factor for
    each row, and a mean, with which a row of drawn probabilities has the mean `theta`
    and, on average, these variances. Logits with those of `theta` as mean would have
    another mean of probabilities: larger ones for rare levels.
    """

    net: BayesNet = eqx.field(static=True)
    theta: Float[Array, " c"]
    covariance: Float[Array, "c c"]  # covariance of all logits, before the factors

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
        center, root = self._matched()
        noise = jr.normal(key, self.theta.shape, self.theta.dtype)
        return self._rows(center + matmul(root, noise))

    @jax.jit
    def log_prob(self, theta: Float[Array, " c"]) -> Float[Array, ""]:
        r"""Log-density of the distribution from which `draw` draws.

        The logs of the ratios of probabilities to the last one in their row are normal.
        The Jacobian of a row of probabilities $\theta_k$ is $1 / \prod_k \theta_k$.
        """
        rows, (center, root) = self.net.layout.rows, self._matched()
        last = np.diff(rows, append=-1) != 0
        ratios = np.eye(last.size)[~last]
        ratios[np.arange(len(ratios)), np.flatnonzero(last)[rows[~last]]] = -1
        ratios = jnp.asarray(ratios, theta.dtype)
        spread = matmul(ratios, root)
        root = jnp.linalg.cholesky(matmul(spread, spread.T))
        moved = matmul(ratios, jnp.log(theta) - center)
        off = solve_triangular(root, moved, lower=True)
        volume = jnp.log(jnp.diagonal(root)).sum() + jnp.log(theta).sum()
        return -matmul(off, off) / 2 - len(ratios) / 2 * np.log(2 * np.pi) - volume

    def _matched(self) -> tuple[Float[Array, " c"], Float[Array, "c c"]]:
        """Mean of the logits of draws, and a root of their covariance.

        Both are found by fixed-point iteration, in which the moments of a row are
        averages over nodes of a low-discrepancy sequence.
        """
        layout = self.net.layout
        rows, theta = np.asarray(layout.rows), self.theta
        places = np.arange(rows.size) - np.searchsorted(rows, rows)
        factors = multipliers(max(self.net.sizes))[places]
        nodes, weights = self._wide(normal_nodes(factors, jnp.uint32(0), _PAIRS))
        own = jnp.linalg.cholesky(self.covariance * _together(self.net, theta))
        off = matmul(nodes, self._centered(own).T)
        most, tiny = theta * (1 - theta), jnp.finfo(theta.dtype).tiny

        def spread(shares):
            """Variance of the logit, as for a log-normal variable, of a row's cells."""
            return jnp.log1p(layout.row_sums(shares) / layout.row_sums(most))

        wanted = spread(1 / (1 + self.weight()))

        def improve(_, state):
            center, factor = state
            drawn = jax.vmap(self._rows)(center[None] + factor[None] * off)
            mean = jnp.maximum((weights * drawn).sum(axis=0), tiny)
            variances = (weights * (drawn - mean[None]) ** 2).sum(axis=0)
            shares = variances * most / jnp.maximum(mean * (1 - mean), _LEAST) ** 2
            center = center + jnp.log(theta) - jnp.log(mean)
            found = jnp.maximum(spread(shares), tiny)
            return center, factor * (wanted / found) ** 0.25

        start = jnp.log(theta), jnp.ones_like(theta)
        center, factor = lax.fori_loop(0, _STEPS, improve, start)
        root = self._centered(jnp.linalg.cholesky(self.covariance))
        return center, factor[:, None] * root

    def _wide(self, nodes: Array) -> tuple[Array, Array]:
        """Nodes of a wider law, and their weights: tails decide about rare levels."""
        sums = jax.vmap(self.net.layout.row_sums)
        more = 2 / sums(jnp.ones_like(nodes))
        weights = jnp.exp(-more / 2 * sums(nodes**2))
        return nodes * jnp.sqrt(1 + more), weights / weights.sum(axis=0)[None]

    def _centered(self, root: Array) -> Array:
        """Subtract the mean of the logits of a row, on which nothing depends."""
        together = _together(self.net, root)
        return root - matmul(together, root) / together.sum(axis=1)[:, None]

    def _rows(self, logits: Array) -> Array:
        layout = self.net.layout
        powers = jnp.exp(logits - layout.row_maxima(logits))
        return powers / layout.row_sums(powers)

    def quantile(self, q: Float[Array, ""]) -> Float[Array, " c"]:
        """The q-quantile of each probability, of a beta distribution."""
        weight = self.weight()
        return _quantiles(weight * self.theta, weight * (1 - self.theta), q)


class NormalEstimate(NetworkPosterior):
    """Estimate of a network's tables, whose logits have a normal approximation.

    Args:
        theta: all estimated probabilities, in the order of `net.layout`.
    """

    theta: Float[Array, "*batch c"]

    @property
    def method(self) -> str:
        """Name of the inference method in `dpjax.posteriors.METHODS`."""
        return "point-estimate"

    @abc.abstractmethod
    def _law(self) -> NormalLogits:
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
    """Quantiles of beta distributions, which JAX does not have, on the host."""

    def found(*given: Array | np.ndarray) -> np.ndarray:
        return special.betaincinv(*map(np.asarray, given)).astype(like.dtype)

    like = jax.ShapeDtypeStruct(one.shape, one.dtype)
    given = one, other, jnp.broadcast_to(q, one.shape)
    return jax.pure_callback(found, like, *given, vmap_method="broadcast_all")


def _together(net: BayesNet, theta: Array) -> Float[Array, "c c"]:
    """1 where two cells are in the same row, else 0."""
    rows = jnp.asarray(net.layout.rows)
    return (rows[:, None] == rows[None]).astype(theta.dtype)
