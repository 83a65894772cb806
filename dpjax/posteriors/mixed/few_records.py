r"""Rows of numeric leaves that may have no record, or a single one.

The sums of z and z² of two records or more have a density, which Markov chains draw
from. The sums of one record lie on a curve, and those of no record are 0. So the
posterior is a mixture of three parts, whose weights are the probabilities of the noisy
numbers: for no record directly, for one record by a sum over a grid of z, and for more
by importance sampling, from a t-distribution with the moments of the chains.
"""

from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.scipy.special import gammaln, logsumexp
from jaxtyping import Array, Float

from dpjax._products import matmul
from dpjax._types import Key
from dpjax.families.gaussian import NormalInverseGammaParameters
from dpjax.posteriors.hidden_totals.hidden_total import HiddenTotal

_GRID = np.linspace(-1, 1, 2001)  # of the value of a single record
_PROPOSED = 2000  # for the probability of two records or more
_DEGREES, _WIDER = 5, 1.2  # of the t-distribution; relative to deviations of the chains


def with_few_records(
    key: Key,
    hidden: HiddenTotal,
    drawn: NormalInverseGammaParameters,
    totals: Float[Array, "chains draws 2"],
    n: Float[Array, "chains draws"],
) -> NormalInverseGammaParameters:
    """Replace a share of the drawn parameters by those of no record and of one.

    The number of records has a flat prior, 1 for 0 and for 1 as for a unit from 2 on.

    Args:
        key: typed JAX key.
        hidden: the hidden sums of one row, with values scaled to [-1, 1].
        drawn: conjugate parameters of all draws of the chains.
        totals: sums of z and z² of all draws.
        n: numbers of records of all draws, from 2 on.
    """
    key_more, key_one, key_part = jr.split(key, 3)
    at_one = _log_at_one(hidden)
    none = _log_noise(hidden, jnp.zeros(2), jnp.zeros(()))
    more = _log_at_more(key_more, hidden, totals, n)
    more = jnp.where(jnp.isfinite(more), more, 1e30)  # no estimate: keep the chains
    logs = jnp.stack([none, logsumexp(at_one), more])
    part = _systematic(key_part, jax.nn.softmax(logs), n.size).reshape(n.shape)
    place = _systematic(key_one, jax.nn.softmax(at_one), n.size).reshape(n.shape)
    z = jnp.asarray(_GRID, n.dtype)[place]
    sums = jnp.stack([z, z * z], axis=-1)
    single = jax.vmap(jax.vmap(_of_one(hidden)))(sums)

    def chosen(none: Array, one: Array, more: Array) -> Array:
        return jnp.where(part == 0, none[None, None], jnp.where(part == 1, one, more))

    return jax.tree.map(chosen, hidden.prior, single, drawn)


def _of_one(hidden: HiddenTotal) -> Any:
    return lambda sums: hidden.family.update(hidden.prior, sums, jnp.ones(()))


def _log_noise(hidden: HiddenTotal, sums: Array, n: Array) -> Float[Array, ""]:
    """Log-density of the noisy numbers, given the sums and the number of records."""
    ((one,),) = hidden.releases
    exact = hidden.encode(sums[None], n[None])
    return one.mechanism.joint_log_prob(one.values, exact)


def _log_at_one(hidden: HiddenTotal) -> Float[Array, " z"]:
    """Logarithms of probabilities of the noisy numbers and of z, for one record."""
    p, z = hidden.prior, jnp.asarray(_GRID, float)
    spread = jnp.sqrt(p.scale * (1 + 1 / p.strength) / p.shape)
    law = jax.scipy.stats.t.logpdf(z, 2 * p.shape, p.mean, spread)
    sums, one = jnp.stack([z, z * z], axis=1), jnp.ones(())
    noise = jax.vmap(lambda x: _log_noise(hidden, x, one))(sums)
    return law + noise + np.log(_GRID[1] - _GRID[0])


def _log_at_more(
    key: Key, hidden: HiddenTotal, totals: Array, n: Array
) -> Float[Array, ""]:
    """Log-probability of the noisy numbers, for two records or more."""
    scaled, sizes = totals.reshape(-1, 2), n.ravel()
    of_total = jax.vmap(hidden.family.coordinates)(scaled, sizes)
    of_n = jnp.log(sizes - hidden.family.fewest)
    points = jnp.column_stack([of_total, of_n])
    # Rounding leaves sums of nearly equal values, and n near 2, without coordinates.
    usable, k = jnp.isfinite(points).all(axis=1, keepdims=True), points.shape[1]
    number = jnp.maximum(usable.sum(), 1).astype(points.dtype)
    middle = jnp.where(usable, points, 0).sum(axis=0) / number
    off = jnp.where(usable, points - middle[None], 0)
    covariance = _WIDER**2 * matmul(off.T, off) / number + 1e-6 * jnp.eye(k)
    root = jnp.linalg.cholesky(covariance)
    key_normal, key_scale = jr.split(key)
    normal = jr.normal(key_normal, (_PROPOSED, k))
    others = jr.normal(key_scale, (_PROPOSED, _DEGREES))  # their squares sum to a χ²
    z = normal / jnp.sqrt((others**2).mean(axis=1, keepdims=True))
    distance = jnp.log1p((z**2).sum(axis=1) / _DEGREES)
    top = gammaln((_DEGREES + k) / 2) - gammaln(_DEGREES / 2)
    top = top - k / 2 * np.log(_DEGREES * np.pi)
    proposal = top - jnp.log(jnp.diagonal(root)).sum() - (_DEGREES + k) / 2 * distance
    found = jax.vmap(hidden.log_density_at)(middle[None] + matmul(z, root.T))
    gains = jnp.nan_to_num(found - proposal, nan=-jnp.inf, neginf=-jnp.inf)
    p = hidden.prior  # what `log_total` of the Gaussian family leaves out
    constant = jnp.log(p.strength / np.pi) / 2 - gammaln(p.shape)
    constant = constant + p.shape * jnp.log(2 * p.scale)
    return logsumexp(gains) - np.log(_PROPOSED) + constant


def _systematic(key: Key, shares: Float[Array, " k"], number: int) -> Array:
    """Draw indices in numbers that are proportional to `shares`, in a random order."""
    places = (jr.permutation(key, number).astype(shares.dtype) + 0.5) / number
    found = jnp.searchsorted(jnp.cumsum(shares), places)
    return jnp.minimum(found, len(shares) - 1)
