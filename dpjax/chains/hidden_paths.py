r"""Hidden paths of Markov chains: filtered forward, drawn backward.

Paths have time on the first axis, chains of the sampler on the second, regions on the
third: every step of time handles all chains and regions at once. A region's path lives
where it is `declared`, a range of times; elsewhere its state is meaningless.
"""

__all__ = ["draw_paths", "draw_states", "path_counts"]

import itertools

import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array, Bool, Float, Int32

from dpjax._types import Key

_MOST_UNROLLED = 32  # states, so that programs stay small
_LEAST = 1e-30  # probability of a move


def draw_states(
    uniforms: Float[Array, "*shape"], weights: Float[Array, "*shape k"]
) -> Int32[Array, "*shape"]:
    """One state each, in proportion to its weights, by inversion.

    Args:
        uniforms: in [0, 1).
        weights: at least 0, not all 0.
    """
    if weights.shape[-1] > _MOST_UNROLLED:
        above = jnp.cumsum(weights, axis=-1)
        level = (uniforms[..., None] * above[..., -1:]).astype(above.dtype)
        found = (above <= level).sum(axis=-1, dtype=jnp.int32)
        return jnp.minimum(found, weights.shape[-1] - 1)
    # A third of the time of a cumulative sum along so short an axis.
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
    """A draw of all hidden paths given emissions, by filtering and backward sampling.

    Args:
        key: typed.
        likelihood: of each state at every time, the largest 1; at least 0.
        initial: law of the state at a region's first time.
        transition: law of the next state, in the rows. Chances below 1e-30 count as
            that: else sparse ones might underflow until no state is possible.
        declared: when a region's path lives: a range of times.
    """
    initial, transition = (jnp.maximum(x, _LEAST) for x in (initial, transition))
    filtered = _filter(likelihood, initial, transition, declared)
    uniforms = jr.uniform(key, filtered.shape[:-1])
    last = draw_states(uniforms[-1], filtered[-1])
    chains = jnp.arange(initial.shape[0], dtype=jnp.int32)[:, None]
    arrival = jnp.swapaxes(transition, 1, 2)

    def back(following, step):
        law, uniform, alive = step
        joint = law * arrival[chains, following]
        joint = jnp.where(alive[None, :, None], joint, law)
        states = draw_states(uniform, joint)
        return states, states

    steps = filtered[:-1], uniforms[:-1], declared[1:]
    _, earlier = lax.scan(back, last, steps, reverse=True)
    return jnp.concatenate([earlier, last[None]])


def _filter(likelihood, initial, transition, declared) -> Array:
    """The law of each state given the emissions up to its time."""
    fresh = jnp.broadcast_to(initial[:, None], likelihood.shape[1:])

    def forward(law, step):
        emitted, before, alive = step
        moved = _moved(law, transition)
        law = jnp.where(before[None, :, None], moved, fresh)
        law = jnp.where(alive[None, :, None], law * emitted, fresh)
        law = law / law.sum(axis=-1, keepdims=True)
        return law, law

    before = jnp.concatenate([jnp.zeros_like(declared[:1]), declared[:-1]])
    return lax.scan(forward, fresh, (likelihood, before, declared))[1]


def _moved(law: Array, transition: Array) -> Array:
    """The law a move later: of all chains and regions."""
    states = law.shape[-1]
    if states > _MOST_UNROLLED:
        return jnp.einsum(
            "crj,cjk->crk", law, transition, precision=lax.Precision.HIGHEST
        )
    terms = [law[..., j, None] * transition[:, None, j] for j in range(states)]
    return sum(terms[1:], terms[0])  # sooner than so many small products of matrices


def path_counts(
    paths: Int32[Array, "times chains regions"],
    states: int,
    declared: Bool[Array, "times regions"],
) -> tuple[Float[Array, "chains k"], Float[Array, "chains k k"]]:
    """How often paths start in each state, and move from each to each."""
    both = declared[1:] & declared[:-1]
    before = jnp.concatenate([jnp.zeros_like(declared[:1]), both])
    chains = jnp.arange(paths.shape[1], dtype=jnp.int32)[None, :, None]
    places = chains * states + paths
    starts = _named(places, declared & ~before, paths.shape[1] * states)
    moves = _named(places[:-1] * states + paths[1:], both, paths.shape[1] * states**2)
    return starts.reshape(-1, states), moves.reshape(-1, states, states)


def _named(places: Array, counted: Array, length: int) -> Array:
    """How often each place is named, by all chains, where it is counted."""
    ones = jnp.broadcast_to(counted[:, None], places.shape).astype(float)
    return jnp.zeros(length).at[places].add(ones)
