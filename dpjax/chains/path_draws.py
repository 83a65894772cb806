"""Draws of hidden Markov paths by forward filtering and backward sampling.

The axes of paths are times, chains of the sampler, and regions, as in `hidden_paths`.
On a CPU the times follow each other. An accelerator would wait for the launch of a few
kernels at each time, and therefore joins spans of time, twice as long in each step.
"""

import functools
import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array, Bool, Float, Int32

from dpjax._platforms import Sizes, by_platform
from dpjax._products import einsum
from dpjax._types import Key

_MOST_UNROLLED = 32  # states, so that programs stay small
_LEAST = 1e-30  # probability of a move


def draw_states(
    uniforms: Float[Array, "*shape"], weights: Float[Array, "*shape k"]
) -> Int32[Array, "*shape"]:
    """Draw states ∝ `weights`, of sum > 0, by inversion of uniforms in [0, 1)."""
    if weights.shape[-1] > _MOST_UNROLLED:
        above = jnp.cumsum(weights, axis=-1)
        level = (uniforms[..., None] * above[..., -1:]).astype(above.dtype)
        found = (above <= level).sum(axis=-1, dtype=jnp.int32)
        return jnp.minimum(found, weights.shape[-1] - 1)
    # This takes a third of the time of a cumulative sum along a short axis.
    *above, whole = itertools.accumulate(jnp.moveaxis(weights, -1, 0))
    level = (uniforms * whole).astype(whole.dtype)
    found = [(partial <= level).astype(jnp.int32) for partial in above]
    return sum(found, jnp.zeros(level.shape, jnp.int32))


def draw_paths(
    key: Key,
    likelihood: Float[Array, "times chains regions k"],
    initial: Float[Array, "chains k"],
    transition: Float[Array, "chains k k"],
    declared: Bool[Array, "times regions"],
) -> Int32[Array, "times chains regions"]:
    """Draw all hidden paths given emissions, by filtering and backward sampling.

    The chains are independent chains of the sampler. Each region has one path.

    Args:
        key: typed JAX key.
        likelihood: likelihood of each of k states at every time, ≥ 0, with maximum 1.
        initial: probabilities of the state at a region's first valid time.
        transition: probabilities of the next state, in the row of the current state.
            Probabilities below 1e-30 are set to 1e-30, to avoid underflow.
        declared: whether a region's path is valid at a time; valid times are a range.

    Returns:
        The state of each path at every time, from 0 to k - 1.
    """
    initial, transition = (jnp.maximum(x, _LEAST) for x in (initial, transition))
    uniforms = jr.uniform(key, likelihood.shape[:-1])
    given = likelihood, initial, transition, declared
    return by_platform(_paths_in, uniforms, *given)


def _paths_in(
    sizes: Sizes,
    uniforms: Array,
    likelihood: Array,
    initial: Array,
    transition: Array,
    declared: Array,
) -> Array:
    """Draw the paths time by time, or by doubling where kernels wait to be launched."""
    states = likelihood.shape[-1]
    few = likelihood.size * states**2 <= sizes.numbers
    ahead, back = (
        (_filter_by_doubling, _back_by_doubling)
        if sizes.whole and few
        else (_filter, _back)
    )
    filtered = ahead(likelihood, initial, transition, declared)
    last = draw_states(uniforms[-1], filtered[-1])
    steps = filtered[:-1], uniforms[:-1], declared[1:]
    earlier = back(*steps, last, jnp.swapaxes(transition, 1, 2))
    return jnp.concatenate([earlier, last[None]])


def _back(filtered, uniforms, alive, last, arrival) -> Array:
    """Draw the states before the last ones, from last to first."""
    chains = jnp.arange(arrival.shape[0], dtype=jnp.int32)[:, None]

    def back(following, step):
        law, uniform, alive = step
        joint = law * arrival[chains, following]
        joint = jnp.where(alive[None, :, None], joint, law)
        states = draw_states(uniform, joint)
        return states, states

    return lax.scan(back, last, (filtered, uniforms, alive), reverse=True)[1]


def _back_by_doubling(filtered, uniforms, alive, last, arrival) -> Array:
    """Draw the same states: a map from each next state to this one, then compose."""
    joint = filtered[..., None, :] * arrival[None, :, None]
    joint = jnp.where(alive[:, None, :, None, None], joint, filtered[..., None, :])
    maps = jax.vmap(draw_states, (None, -2), -1)(uniforms, joint)
    ends = jnp.broadcast_to(last[None, ..., None], (1, *maps.shape[1:]))
    states = jnp.arange(maps.shape[-1], dtype=jnp.int32)
    states = jnp.expand_dims(states, range(maps.ndim))

    def after(later, earlier):
        chosen = later[..., None] == states
        return jnp.where(chosen, earlier[..., None, :], 0).sum(-1, dtype=jnp.int32)

    maps = jnp.concatenate([maps, ends])[::-1]
    return _running(after, maps)[:0:-1, ..., 0]


def _filter(likelihood, initial, transition, declared) -> Array:
    """Return the law of each state given the emissions up to its time."""
    fresh = jnp.broadcast_to(initial[:, None], likelihood.shape[1:])

    def forward(law, step):
        emitted, before, alive = step
        moved = _moved(law, transition)
        law = jnp.where(before[None, :, None], moved, fresh)
        law = jnp.where(alive[None, :, None], law * emitted, fresh)
        law = law / law.sum(axis=-1, keepdims=True)
        return law, law

    steps = likelihood, _after_first(declared), declared
    return lax.scan(forward, fresh, steps)[1]


def _filter_by_doubling(likelihood, initial, transition, declared) -> Array:
    """Return the same laws, from those of spans of time given the state before a span.

    A span has a law of its last state, and the logarithm of the likelihood of its
    emissions up to a constant, in a row for each state before it.
    """
    start = initial[None, :, None, None]
    before = _after_first(declared)[:, None, :, None, None]
    moved = jnp.where(before, transition[None, :, None], start)
    alive = declared[:, None, :, None, None]

    def scaled(rows, logs):
        whole = rows.sum(axis=-1)
        logs = logs + jnp.log(whole)
        return rows / whole[..., None], logs - logs.max(axis=-1, keepdims=True)

    def join(earlier, later):
        (first, logs), (second, after) = earlier, later
        joint = jnp.log(first) + after[..., None, :]
        most = joint.max(axis=-1)
        weights = jnp.exp(joint - most[..., None])
        rows = (weights[..., None] * second[..., None, :, :]).sum(axis=-2)
        return scaled(rows, logs + most)

    steps = scaled(jnp.where(alive, moved * likelihood[..., None, :], start), 0)
    return _running(join, steps)[0][..., 0, :]  # the first span begins anew


def _running(combine: Callable[[Any, Any], Any], items: Any) -> Any:
    """Combine each item with all before it, in one step for each bit of their number.

    `combine` is associative, and combines arrays of items at once.
    """
    number = len(jax.tree.leaves(items)[0])
    places = jnp.arange(number, dtype=jnp.int32)

    def step(items, reach):
        earlier = jax.tree.map(lambda x: x[jnp.maximum(places - reach, 0)], items)

        def where_any(new, old):
            some = jnp.expand_dims(places >= reach, range(1, old.ndim))
            return jnp.where(some, new, old)

        return jax.tree.map(where_any, combine(earlier, items), items)

    reaches = [1 << i for i in range((number - 1).bit_length())]
    return functools.reduce(step, reaches, items)


def _after_first(declared: Array) -> Array:
    """Whether the region's path was valid at the time before."""
    return jnp.concatenate([jnp.zeros_like(declared[:1]), declared[:-1]])


def _moved(law: Array, transition: Array) -> Array:
    """Return the law of the state after a move, for all chains and regions."""
    states = law.shape[-1]
    if states > _MOST_UNROLLED:
        return einsum("crj,cjk->crk", law, transition)
    terms = [law[..., j, None] * transition[:, None, j] for j in range(states)]
    return sum(terms[1:], terms[0])  # faster than many small matrix products
