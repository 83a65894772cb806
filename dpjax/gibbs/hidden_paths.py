r"""Hidden paths of Markov chains: filtered forward, drawn backward.

Paths have time on the first axis, chains of the sampler on the second, regions on the
third: every step of time handles all chains and regions at once. A region's path lives
where it is `declared`, a range of times; elsewhere its state is meaningless.
"""

__all__ = ["draw_paths", "draw_states", "path_counts"]

import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array, Bool, Float, Int32

from dpjax._types import Key


def draw_states(
    uniforms: Float[Array, "*shape"], weights: Float[Array, "*shape k"]
) -> Int32[Array, "*shape"]:
    """One state each, in proportion to its weights, by inversion.

    Args:
        uniforms: in [0, 1).
        weights: at least 0, not all 0.
    """
    above = jnp.cumsum(weights, axis=-1)
    level = (uniforms[..., None] * above[..., -1:]).astype(above.dtype)
    found = (above <= level).sum(axis=-1, dtype=jnp.int32)
    return jnp.minimum(found, weights.shape[-1] - 1)


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
        likelihood: of each state at every time, up to a factor; positive.
        initial: law of the state at a region's first time.
        transition: law of the next state, in the rows.
        declared: when a region's path lives: a range of times.
    """
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
        moved = jnp.einsum(
            "crj,cjk->crk", law, transition, precision=lax.Precision.HIGHEST
        )
        law = jnp.where(before[None, :, None], moved, fresh)
        law = jnp.where(alive[None, :, None], law * emitted, fresh)
        law = law / law.sum(axis=-1, keepdims=True)
        return law, law

    before = jnp.concatenate([jnp.zeros_like(declared[:1]), declared[:-1]])
    return lax.scan(forward, fresh, (likelihood, before, declared))[1]


def path_counts(
    paths: Int32[Array, "times chains regions"],
    states: int,
    declared: Bool[Array, "times regions"],
) -> tuple[
    Float[Array, "times chains regions k"],
    Float[Array, "chains k"],
    Float[Array, "chains k k"],
]:
    """Which state each path is in, and how often paths start in and move to states.

    The first is an indicator, 0 for all states where a path does not live.
    """
    alive = declared[:, None, :, None].astype(float)
    indicators = jax.nn.one_hot(paths, states, dtype=float) * alive
    both = (declared[1:] & declared[:-1])[:, None]
    chains = jnp.arange(paths.shape[1], dtype=jnp.int32)[None, :, None]
    pairs = (chains * states + paths[:-1]) * states + paths[1:]
    moves = jnp.zeros(paths.shape[1] * states**2)
    moves = moves.at[pairs].add(jnp.broadcast_to(both, pairs.shape).astype(float))
    start = declared & ~jnp.concatenate([jnp.zeros_like(declared[:1]), declared[:-1]])
    starts = jnp.einsum("tcrk,tr->ck", indicators, start.astype(float))
    return indicators, starts, moves.reshape(-1, states, states)
