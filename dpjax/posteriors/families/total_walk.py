"""A Metropolis walk over the exact statistics behind a release.

Its target is p(total) p(release | total), the parameters integrated out; given a total
these are conjugate. It needs no more of the mechanism than `log_prob`.
"""

__all__ = ["Walk", "walk"]

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int

from dpjax._types import Key, Scalar
from dpjax.mechanisms import MechanismWithLaw
from dpjax.posteriors.families.total_moves import TotalMoves, nearest
from dpjax.posteriors.families.totals import log_total

_WANTED = 0.44  # of one-dimensional steps that are accepted
_Exact = Float[Array, " m"]
_Scalar = Float[Array, ""]


class Walk(NamedTuple):
    """What a walk has seen, draws on the first axis.

    Args:
        totals: of the statistic, in natural units.
        n: numbers of records.
        accepted: by kind of step, the share that was accepted.
    """

    totals: Float[Array, "draws m"]
    n: Float[Array, " draws"]
    accepted: Float[Array, " kinds"]


class _State(NamedTuple):
    exact: _Exact
    log_density: _Scalar
    lengths: Float[Array, " kinds"]


class _Target(eqx.Module):
    """The law of the exact statistic, given the release."""

    noisy: _Exact
    mechanism: MechanismWithLaw
    n: Scalar | None
    prior: Any
    moves: TotalMoves = eqx.field(static=True)

    def decode(self, exact: _Exact) -> tuple[Float[Array, " k"], _Scalar]:
        return self.moves.statistic.decode(exact, self.n)

    def log_density(self, exact: _Exact) -> _Scalar:
        statistic = self.moves.statistic
        total, n = self.decode(exact)
        in_units = exact / statistic.steps
        slack = 1 + 4 * float(jnp.finfo(exact.dtype).eps)
        possible = jnp.all(jnp.abs(in_units) <= n * slack) & (n >= self.moves.fewest)
        law = log_total(statistic.family, self.prior, total, n)
        noise = self.mechanism.log_prob(self.noisy, exact).sum()
        return jnp.where(possible, law + noise, -jnp.inf)

    def noise_scale(self) -> _Exact:
        """Of each number's noise: how far until it is e times less likely."""
        here = self.mechanism.log_prob(self.noisy, self.noisy)
        return 1 / (here - self.mechanism.log_prob(self.noisy, self.noisy + 1))


def walk(
    key: Key,
    noisy: _Exact,
    mechanism: MechanismWithLaw,
    n: Scalar | None,
    prior: Any,
    share: _Scalar,
    *,
    moves: TotalMoves,
    warmup: int,
    draws: int,
) -> Walk:
    """One chain; step lengths are fitted in the warm-up, then fixed.

    A sweep tries every kind of step once, in a fixed order.

    Args:
        key: typed.
        noisy: what was released, as floats.
        mechanism: with a law for its output.
        n: number of records, where it is public.
        prior: conjugate parameters, arrays.
        share: between 0 and 1: how far to start from the release.
        moves: the kinds of steps; static.
        warmup: sweeps that are thrown away, at least 1.
        draws: sweeps that are kept.
    """
    target = _Target(noisy, mechanism, n, prior, moves)
    start = moves.start(noisy, n, share)
    state = _State(start, target.log_density(start), _first_lengths(target))

    def sweep(carried, gain):
        key, state = carried
        key, key_now = jr.split(key)
        state, (accepted, is_walk) = _sweep(key_now, target, state)
        change = jnp.where(is_walk, gain * (accepted - _WANTED), 0)
        state = state._replace(lengths=state.lengths * jnp.exp(change))
        return (key, state), (*target.decode(state.exact), accepted)

    # One scan, so that there is one program: no gain once the warm-up is over
    index = jnp.arange(warmup + draws).astype(float)
    gains = jnp.where(index < warmup, (1 + index / 10) ** -0.6, 0)
    _, seen = jax.lax.scan(sweep, (key, state), gains)
    totals, counts, accepted = (x[warmup:] for x in seen)
    return Walk(totals, counts, accepted.mean(axis=0))


def _first_lengths(target: _Target) -> Float[Array, " kinds"]:
    """Noise scales; of maps of columns, relative to what a column adds up to."""
    moves, scale = target.moves, target.noise_scale()
    n = moves.statistic.decode(target.noisy, target.n)[1]
    whole = moves.statistic.steps * jnp.maximum(n, 1)
    maps = jnp.minimum(4 * scale.max() / whole, 1)
    return jnp.concatenate(
        [scale, jnp.full(moves.number - len(scale), maps, scale.dtype)]
    )


def _sweep(key: Key, target: _Target, state: _State) -> tuple[_State, Any]:
    """Every kind of step once."""
    moves = target.moves
    # One draw site, for each is a second of compilation; the last row is for `shift`
    uniforms = jr.uniform(key, (moves.number + 1, 3), minval=1e-7)
    partners = max(moves.statistic.length - 1, 1)
    shift = 1 + jnp.floor(uniforms[-1, 0] * partners).astype(int)
    scale = target.noise_scale()

    def step(state, kind_and_uniforms):
        kind, uniform = kind_and_uniforms
        length = state.lengths[kind]
        exact, correction, is_walk = _propose(
            target, scale, state.exact, kind, length, shift, uniform
        )
        log_density = target.log_density(exact)
        gain = log_density - state.log_density + correction
        accepted = jnp.log(uniform[1]) < gain
        exact = jnp.where(accepted, exact, state.exact)
        log_density = jnp.where(accepted, log_density, state.log_density)
        state = state._replace(exact=exact, log_density=log_density)
        return state, (accepted.astype(float), is_walk)

    return jax.lax.scan(step, state, (jnp.arange(moves.number), uniforms[:-1]))


def _propose(
    target: _Target,
    scale: _Exact,
    exact: _Exact,
    kind: Int[Array, ""],
    length: _Scalar,
    shift: Int[Array, ""],
    uniform: Float[Array, "3"],
) -> tuple[_Exact, _Scalar, Array]:
    """Another statistic, what to add to the log-ratio, and whether it is a step.

    Half of the numbers are not steps, but the release plus fresh noise: where the prior
    is weak that is nearly a draw from the posterior.
    """
    moves = target.moves
    half = uniform[0] - 0.5
    variate = -jnp.sign(half) * jnp.log1p(-2 * jnp.abs(half))
    is_number = kind < len(exact)
    place = jnp.minimum(kind, len(exact) - 1)
    spacing = jnp.asarray(moves.spacing)[place]
    along = moves.along(place, shift)
    stepped = exact + nearest(length * variate, spacing) * along
    if moves.paired:
        return stepped, jnp.zeros(()), jnp.asarray(True)
    middle = nearest(target.noisy[place], spacing)
    fresh = middle + nearest(scale[place] * variate, spacing)
    correction = _log_fresh(exact[place] - middle, scale[place], spacing)
    correction = correction - _log_fresh(fresh - middle, scale[place], spacing)
    refreshed = exact + (fresh - exact[place]) * along
    is_walk = (uniform[2] < 0.5) | ~is_number
    proposed = jnp.where(is_walk, stepped, refreshed)
    if moves.has_products:
        n = target.decode(exact)[1]
        mapped, volume = moves.mapped(kind, length * variate, exact, n)
        proposed = jnp.where(is_number, proposed, mapped)
        correction = jnp.where(is_walk, jnp.where(is_number, 0, volume), correction)
    else:
        correction = jnp.where(is_walk, 0, correction)
    return proposed, correction, is_walk


def _log_fresh(noise: _Scalar, scale: _Scalar, spacing: _Scalar) -> _Scalar:
    """Log-probability of Laplace noise, rounded to the spacing; up to a constant."""
    half = spacing / (2 * scale)
    none = jnp.log(-jnp.expm1(-half))
    some = -jnp.abs(noise) / scale + half + jnp.log(-jnp.expm1(-2 * half)) - np.log(2)
    rounded = jnp.where(noise == 0, none, some)
    return jnp.where(spacing > 0, rounded, -jnp.abs(noise) / scale)
