"""Hamiltonian Monte Carlo over hidden totals that have coordinates without limits.

A proposal follows the gradient of the log-density for a number of steps, so that chains
over hundreds of numbers that depend on each other need few sweeps.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int

from dpjax._types import Key
from dpjax.posteriors.hidden_totals.hidden_total import HiddenTotal

_USUAL = 32, 0.8  # average number of steps of a proposal, accepted share of proposals
_JOINT = 64, 0.65  # where the slope of the noise jumps from number to number
_PerChain = Float[Array, " chains"]
_Points = Float[Array, "chains k"]


class _Fit(NamedTuple):
    """What the warm-up fits, from all chains together.

    `means` and `variances` have a row for the points and one for the slopes.
    """

    log_length: Float[Array, ""]
    means: Float[Array, "2 k"]
    variances: Float[Array, "2 k"]

    def steps(self) -> Float[Array, " k"]:
        """Return the length of a step in every coordinate.

        For a normal density with independent coordinates, the ratio of the variances of
        points and slopes is the fourth power of the standard deviation. Both variances
        are wrong by the same factor while chains have moved over a part of the density.
        """
        points, slopes = self.variances
        return jnp.exp(self.log_length) * (points / slopes) ** 0.25


def moment_walks(
    key: Key, hidden: HiddenTotal, chains: int, warmup: int, draws: int
) -> tuple[Array, Array, Array, Array]:
    """Run chains; return totals, numbers of records, hyperparameters, accepted shares.

    The first two axes are chains and draws, but for the shares chains and 1. Totals and
    numbers of records have an axis for the tables of records.
    """
    steps, wanted = _USUAL if hidden.independent else _JOINT
    shares = hidden.noise_share() * jnp.linspace(0.02, 0.3, chains)
    points = jax.vmap(hidden.point)(shares)

    def sweep(carried, now):
        key, points, fit = carried
        turn, gain = now
        key, key_now = jr.split(key)
        points, slopes, chances, accepted = _moved(key_now, hidden, points, fit, turn)
        gained = gain * (chances.mean() - wanted)
        fit = _fitted(fit, points, slopes, gained, gain)
        return (key, points, fit), (points, accepted)

    index = np.arange(warmup + draws)
    # Shares of a sequence that fills the unit interval evenly
    turns = 1 + np.floor(2 * steps * (index * (5**0.5 - 1) / 2 % 1)).astype(int)
    gains = np.where(index < warmup, (1 + index / 10) ** -0.6, 0)
    start = key, points, _first_fit(hidden, points)
    each = jnp.asarray(turns), jnp.asarray(gains, float)
    _, (points, accepted) = jax.lax.scan(sweep, start, each)
    kept = jnp.swapaxes(points[warmup:], 0, 1)
    exact, hyper, _ = jax.vmap(jax.vmap(hidden.at))(kept)
    total, n = jax.vmap(jax.vmap(hidden.decode))(exact)
    return total, n, hyper, accepted[warmup:].mean(axis=0)[:, None]


def _first_fit(hidden: HiddenTotal, points: _Points) -> _Fit:
    """Coordinates have the scale of the noise, hyperparameters the scale 1."""
    is_hyper = np.arange(points.shape[1]) >= points.shape[1] - hidden.hyperparameters
    variances = jnp.where(is_hyper, 1, hidden.noise_share() ** 2)
    middle = points.mean(axis=0)
    return _Fit(
        jnp.log(jnp.asarray(0.1)),
        jnp.stack([middle, jnp.zeros_like(middle)]),
        jnp.stack([variances, 1 / variances]),
    )


def _moved(
    key: Key, hidden: HiddenTotal, points: _Points, fit: _Fit, turn: Int[Array, ""]
) -> tuple[_Points, _Points, _PerChain, _PerChain]:
    """Propose points after `turn` steps; return those kept, and their slopes."""
    key_speed, key_length, key_choice = jr.split(key, 3)
    steps = fit.steps() * jr.uniform(key_length, (), minval=0.8, maxval=1.2)
    steps = jnp.broadcast_to(steps, points.shape)
    speeds = jr.normal(key_speed, points.shape)
    density_and_slope = jax.vmap(jax.value_and_grad(hidden.log_density_at))

    def step(i, state):
        at, speeds, _, first = state
        now = density_and_slope(at)
        share = jnp.where((i == 0) | (i == turn), 0.5, 1)  # of a change of speed
        speeds = speeds + share * steps * jnp.nan_to_num(now[1])
        first = jax.tree.map(lambda x, y: jnp.where(i == 0, x, y), now, first)
        return at + jnp.where(i < turn, steps, 0) * speeds, speeds, now, first

    # The program of the density is compiled once, as it is evaluated at one place
    none = jnp.zeros_like(points[:, 0]), jnp.zeros_like(points)
    state = points, speeds, none, none
    ends, last_speeds, last, first = jax.lax.fori_loop(0, turn + 1, step, state)
    energy = ((last_speeds**2).sum(axis=1) - (speeds**2).sum(axis=1)) / 2
    gain = last[0] - first[0] - energy
    chances = jnp.exp(jnp.minimum(jnp.where(jnp.isnan(gain), -jnp.inf, gain), 0))
    accepted = jr.uniform(key_choice, chances.shape) < chances

    def kept(new, old):
        return jnp.where(accepted[:, None], new, old)

    slopes = jnp.nan_to_num(kept(last[1], first[1]))
    return kept(ends, points), slopes, chances, accepted.astype(float)


def _fitted(
    fit: _Fit,
    points: _Points,
    slopes: _Points,
    longer: Float[Array, ""],
    gain: Float[Array, ""],
) -> _Fit:
    """Return the fit after a sweep; `gain` is 0 after the warm-up."""
    log_length = fit.log_length + longer
    weight = jnp.minimum(gain ** (5 / 3), 1) / 3
    off = jnp.stack([points, slopes]) - fit.means[:, None, :]
    means = fit.means + weight * off.mean(axis=1)
    again = off + (fit.means - means)[:, None, :]
    squares = (off * again).mean(axis=1)
    variances = fit.variances + weight * (squares - fit.variances)
    return _Fit(log_length, means, variances)
