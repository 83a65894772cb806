"""Rejection sampling of a Gaussian distribution truncated to a ball."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float

from dpjax._products import matmul
from dpjax.distributions.ball_mass import to_fill
from dpjax.distributions.rejection import RandomKey
from dpjax.distributions.special import positive

Vector = Float[Array, " d"]
Matrix = Float[Array, "d d"]
Scalar = Float[Array, ""]


class Rotated(NamedTuple):
    """A Gaussian in the eigenbasis of its precision, in units of the ball's radius."""

    basis: Matrix  # columns
    precision: Vector
    pull: Vector  # precision matrix times mean
    valid: Bool[Array, ""]


def rotate(location: Vector, precision_matrix: Matrix, radius: Scalar) -> Rotated:
    """Transform a Gaussian to its precision's eigenbasis; not differentiable."""
    fixed = lax.stop_gradient((location, precision_matrix, radius))
    location, precision_matrix, radius = fixed
    values, basis = jnp.linalg.eigh(precision_matrix)
    precision = values * radius * radius
    valid = positive(radius) & positive(values).all() & jnp.isfinite(location).all()
    pull = precision * (matmul(basis.T, location) / radius)
    return Rotated(basis, precision, pull, valid)


class BallProposal(NamedTuple):
    """A tilted Gaussian to propose points of the unit ball from.

    A proposal draws all coordinates and a remainder, and then replaces one of these so
    that the squared coordinates and the remainder sum to 1, the squared radius.
    """

    mean: Vector
    spread: Vector
    tilt: Scalar
    alone: Bool[Array, ""]  # whether only the remainder is ever replaced
    replaced: Float[Array, " d+1"]  # cumulative probabilities; the remainder is last
    log_top: Vector  # upper bound of `_log_weighted`
    valid: Bool[Array, ""]


def proposal(rotated: Rotated) -> BallProposal:
    """Choose between two proposals the one that is accepted more often.

    One replaces only the remainder, the other any coordinate or the remainder. The
    second is accepted tilt / (sum of its unnormalised weights) times as often.
    """
    law = to_fill(rotated.precision, rotated.pull)
    spread = 1 / jnp.sqrt(law.precision)
    signal = jnp.abs(law.mean) / spread
    # Close to the maximum of a function whose second derivative is at most -1.
    point = (signal + jnp.sqrt(signal * signal + 4)) / 2
    shrunk = jnp.exp(-2 * signal * point)
    slope = 2 * signal * shrunk / (1 + shrunk)
    log_top = _log_weighted(point, signal) + slope * slope / 2
    weights = jnp.append(jnp.exp(log_top), jnp.asarray(np.exp(-1), float))
    replaced = jnp.cumsum(weights)
    alone = law.amount <= replaced[-1]
    return BallProposal(
        law.mean, spread, law.amount, alone, replaced, log_top, rotated.valid
    )


def _log_weighted(point: Array, signal: Array) -> Array:
    """Log of u times the density of u = w^2 at |w| = `point`, w ~ N(`signal`, 1)."""
    gap = point - signal
    folded = jnp.log1p(jnp.exp(-2 * signal * point)) - np.log(2 * np.sqrt(2 * np.pi))
    return jnp.log(point) - gap * gap / 2 + folded


def draw(
    key: RandomKey, laws: BallProposal
) -> tuple[Float[Array, "lanes d"], Bool[Array, " lanes"]]:
    """Draw a point for each entry of the first axis of `laws`; accept or reject it."""
    key_point, key_missing, key_entry, key_sign, key_luck = jr.split(key, 5)
    lanes, size = laws.mean.shape
    point = laws.mean + laws.spread * jr.normal(key_point, (lanes, size))
    missing = jr.exponential(key_missing, (lanes,)) / laws.tilt
    entry = _entry(key_entry, laws)
    whole = entry == size
    chosen = jnp.arange(size)[None, :] == entry[:, None]
    others = jnp.where(chosen, 0, point * point).sum(1)
    rest = 1 - others - jnp.where(whole, 0, missing)
    fits = rest > 0
    rest = jnp.where(fits, rest, 1)
    length = jnp.sqrt(rest)[:, None]
    point = jnp.where(chosen, _sign(key_sign, laws, length) * length, point)
    luck = jnp.log1p(-jr.uniform(key_luck, (lanes,)))
    return point, fits & (luck <= _log_chance(laws, rest, chosen, whole))


def _entry(key: RandomKey, laws: BallProposal) -> Array:
    """Draw the coordinate to replace in each lane; index d is the remainder."""
    lanes, size = laws.mean.shape
    pick = jr.uniform(key, (lanes,)) * laws.replaced[:, -1]
    entry = (laws.replaced <= pick[:, None]).sum(1)
    return jnp.where(laws.alone, size, jnp.minimum(entry, size))


def _sign(
    key: RandomKey, laws: BallProposal, length: Float[Array, "lanes 1"]
) -> Float[Array, "lanes d"]:
    lanes, _ = laws.mean.shape
    away = jax.nn.sigmoid(-2 * jnp.abs(laws.mean) / laws.spread**2 * length)
    is_away = jr.uniform(key, (lanes, 1)) < away
    return jnp.where(is_away == (laws.mean < 0), 1.0, -1.0)


def _log_chance(
    laws: BallProposal,
    rest: Float[Array, " lanes"],
    chosen: Bool[Array, "lanes d"],
    whole: Bool[Array, " lanes"],
) -> Float[Array, " lanes"]:
    """Log-probability of acceptance if `rest` replaces the chosen square."""
    signal = jnp.abs(laws.mean) / laws.spread
    gain = _log_weighted(jnp.sqrt(rest)[:, None] / laws.spread, signal) - laws.log_top
    decay = laws.tilt * rest
    missing = jnp.where(laws.alone, -decay, jnp.log(decay) + 1 - decay)
    return jnp.where(whole, missing, jnp.where(chosen, gain, 0).sum(1))
