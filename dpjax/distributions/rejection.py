"""Batched rejection sampling, and an envelope for log-concave densities.

In each element of a batch (a lane), proposals are drawn until one is accepted.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array, Bool, Float, PyTree

RandomKey = Array  # typed or legacy: some of NumPyro's handlers make legacy keys
Reals = Float[Array, "..."]
Function = Callable[[Array], Array]
Parameters = PyTree[Array]

_MANY = 1024  # from this number of lanes on, gathering the waiting lanes is faster
_GATHERED = 8  # the last 1/8 of the lanes is gathered
_PASSES, _GROUP = 2, 64  # of `each_until_accepted`


def until_accepted(
    key: RandomKey,
    draw: Callable[[RandomKey, Parameters], tuple[Array, Bool[Array, " lanes"]]],
    parameters: Parameters,
    valid: Bool[Array, " lanes"],
    event_shape: tuple[int, ...] = (),
    *,
    gather: bool = True,
) -> Float[Array, "lanes ..."]:
    """Draw one accepted proposal for every lane, that is, element of a batch.

    When few lanes still wait for acceptance, proposals are drawn only for these lanes.

    Args:
        key: JAX key.
        draw: function of a key and of the parameters of some lanes. It returns a
            proposal for each lane, and whether it is accepted, with probability > 0.
        parameters: arrays with the lanes on the first axis.
        valid: lanes to draw for; the result is NaN in all other lanes.
        event_shape: shape of one proposal.
        gather: whether to select the waiting lanes; False inside another sampler.
    """
    key_all, key_few = jr.split(key)
    lanes = valid.shape[0]
    few = lanes // _GATHERED if gather and lanes >= _MANY else 0
    unset = jnp.full((lanes, *event_shape), jnp.nan)
    value, waiting = _while_more_wait(key_all, draw, parameters, unset, valid, few)
    if not few:
        return value
    (left,) = jnp.nonzero(waiting, size=few, fill_value=lanes)
    gathered = jax.tree.map(lambda leaf: leaf.at[left].get(mode="clip"), parameters)
    drawn, _ = _while_more_wait(key_few, draw, gathered, unset[:few], left < lanes, 0)
    return value.at[left].set(drawn, mode="drop")


def each_until_accepted(
    key: RandomKey,
    draw: Callable[[RandomKey, Parameters], tuple[Array, Bool[Array, " some"]]],
    parameters: Parameters,
    valid: Bool[Array, " lanes"],
) -> Float[Array, " lanes"]:
    """Draw one accepted number for every lane, that is, element of a batch.

    Unlike `until_accepted`, it is fast under `vmap`, for proposals that are mostly
    accepted. A loop under `vmap` runs until the last lane accepts. Therefore, after two
    passes over all lanes, each pass draws for one waiting lane in every group of 64.
    Arguments are those of `until_accepted`.
    """
    lanes = valid.shape[0]

    def pass_over_all(step, state):
        value, waiting = state
        proposal, accepted = draw(jr.fold_in(key, step), parameters)
        return jnp.where(waiting, proposal, value), waiting & ~accepted

    start = jnp.full(lanes, jnp.nan), valid
    value, waiting = lax.fori_loop(0, _PASSES, pass_over_all, start)
    groups = -(-lanes // _GROUP)

    def grouped(leaf):
        return jnp.pad(leaf, (0, -lanes % groups)).reshape(groups, -1)

    in_groups = jax.tree.map(grouped, parameters)
    start = jnp.asarray(_PASSES, jnp.int32), grouped(value), grouped(waiting)
    place = lax.broadcasted_iota(jnp.int32, start[2].shape, 1)

    def pass_over_groups(state):
        step, value, waiting = state
        # The index is past the end if no lane waits: then the proposal is not used.
        first = jnp.where(waiting, place, _GROUP).min(axis=1, keepdims=True)
        take = partial(jnp.take_along_axis, indices=first, axis=1, mode="clip")
        some = jax.tree.map(lambda leaf: take(leaf)[:, 0], in_groups)
        proposal, accepted = draw(jr.fold_in(key, step), some)
        served = (place == first) & accepted[:, None]
        return step + 1, jnp.where(served, proposal[:, None], value), waiting & ~served

    finish = lax.while_loop(lambda x: jnp.any(x[2]), pass_over_groups, start)
    return finish[1].ravel()[:lanes]


def _while_more_wait(
    key: RandomKey,
    draw: Callable,
    parameters: Parameters,
    value: Array,
    waiting: Bool[Array, " lanes"],
    few: int,
) -> tuple[Array, Bool[Array, " lanes"]]:
    """Repeat passes over all lanes until at most `few` lanes wait."""

    def one_pass(state):
        key, value, waiting = state
        key, key_now = jr.split(key)
        proposal, accepted = draw(key_now, parameters)
        fresh = waiting & accepted
        chosen = jnp.expand_dims(fresh, range(1, value.ndim))
        return key, jnp.where(chosen, proposal, value), waiting & ~fresh

    state = lax.while_loop(lambda x: x[2].sum() > few, one_pass, (key, value, waiting))
    return state[1:]


class Hat(NamedTuple):
    """Envelope of a log-concave density whose logarithm has its maximum, 0, at 0.

    The envelope's logarithm is 0 between `left` and `right`, and linear outside, with
    slopes `rise` > 0 and -`fall` < 0, up to the ends of the support.
    """

    left: Reals
    right: Reals
    rise: Reals
    fall: Reals
    spent_left: Reals  # 1 - hat(end): share of an infinite tail inside the support
    spent_right: Reals
    area_left: Reals
    area_right: Reals

    @property
    def area(self) -> Reals:
        """Total area under the envelope."""
        return self.area_left + (self.right - self.left) + self.area_right


def build_hat(
    log_density: Function, slope: Function, low: Reals, high: Reals, width: Reals
) -> Hat:
    """Build the envelope from tangents of the log-density at distance `width` from 0.

    Args:
        log_density: concave function with maximum 0 over [low, high] at 0.
        slope: derivative of `log_density`.
        low: lower end of the support, <= 0.
        high: upper end of the support, >= 0.
        width: distance > 0. More than half of the proposals are accepted if
            `log_density` is about -1 at this distance.

    Reference:
        Devroye (1986), Non-Uniform Random Variate Generation, chapter VII.2.
    """

    def one_side(sign, end):
        def outward(h):
            return log_density(sign * h)

        return _tail(outward, lambda h: sign * slope(sign * h), end, width)

    # `vmap` traces and compiles one side instead of two.
    signs, ends = jnp.asarray([-1, 1], low.dtype), jnp.stack([-low, high])
    leaves, slopes, spent, areas = jax.vmap(one_side)(signs, ends)
    return Hat(-leaves[0], leaves[1], *slopes, *spent, *areas)


def _tail(
    log_density: Function, slope: Function, end: Reals, width: Reals
) -> tuple[Reals, Reals, Reals, Reals]:
    """Where the right tangent meets 0, its slope, and share and mass of the tail."""
    point = jnp.minimum(width, end)
    fall = -slope(point)
    falls = fall > 0
    fall = jnp.where(falls, fall, 1)
    leaves = jnp.clip(point + log_density(point) / fall, 0, end)
    leaves = jnp.where(falls, leaves, end)
    spent = -jnp.expm1(-fall * (end - leaves))
    return leaves, fall, spent, spent / fall


def propose(
    key: RandomKey, lanes: tuple[Any, Hat]
) -> tuple[Float[Array, "*shape"], Bool[Array, "*shape"]]:
    """Draw points uniformly under envelopes of laws; return x, and where it is a draw.

    It is one where the point is not above the law's density at x.
    """
    law, hat = lanes
    shape = hat.left.shape
    piece, place, luck = jr.uniform(key, (3, *shape))  # one call compiles faster
    piece = piece * hat.area
    is_left, is_right = piece < hat.area_left, piece > hat.area - hat.area_right
    spent = jnp.where(is_left, hat.spent_left, hat.spent_right)
    rate = jnp.where(is_left, hat.rise, hat.fall)
    fallen = -jnp.log1p(-place * spent)
    level = hat.left + place * (hat.right - hat.left)
    tail = jnp.where(is_left, hat.left - fallen / rate, hat.right + fallen / rate)
    drawn = jnp.where(is_left | is_right, tail, level)
    log_hat = jnp.where(is_left | is_right, -fallen, 0)
    return drawn, law.log_density(drawn) >= log_hat + jnp.log1p(-luck)
