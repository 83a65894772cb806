r"""Hidden paths of Markov chains, updated site by site instead of as wholes.

Slower to mix than `draw_paths`, which is the default of the hidden Markov model; the
collapsed form, whose transition tables are summed over, is that of Foulds et al.
Axes are those of `hidden_paths`: times, chains of the sampler, regions.
"""

__all__ = ["collapsed_weights", "update_sites", "update_sites_collapsed"]

import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array, Bool, Float, Int32

from dpjax._types import Key, Scalar
from dpjax.chains.hidden_paths import draw_states, path_counts


def update_sites(
    key: Key,
    paths: Int32[Array, "times chains regions"],
    likelihood: Float[Array, "times chains regions k"],
    initial: Float[Array, "chains k"],
    transition: Float[Array, "chains k k"],
    declared: Bool[Array, "times regions"],
) -> Int32[Array, "times chains regions"]:
    """Every site given its neighbours in time: all even times, then all odd ones.

    Sites of equal parity are independent given the others, so that each half is one
    draw of them all. Arguments are those of `draw_paths`, and the present paths.
    """
    uniforms = jr.uniform(key, paths.shape)
    odd = jnp.arange(paths.shape[0], dtype=jnp.int32)[:, None, None] % 2
    chains = jnp.arange(paths.shape[1], dtype=jnp.int32)[None, :, None]
    arrival = jnp.swapaxes(transition, 1, 2)
    before, after = _neighbours(declared)
    for parity in (0, 1):
        earlier, later = _shift(paths, 1), _shift(paths, -1)
        arrive = jnp.where(
            before[:, None, :, None],
            transition[chains, earlier],
            initial[None, :, None],
        )
        leave = jnp.where(after[:, None, :, None], arrival[chains, later], 1)
        drawn = draw_states(uniforms, likelihood * arrive * leave)
        paths = jnp.where(odd == parity, drawn, paths)
    return paths


def update_sites_collapsed(
    key: Key,
    paths: Int32[Array, "times chains regions"],
    likelihood: Float[Array, "times chains regions k"],
    strength: Scalar,
    declared: Bool[Array, "times regions"],
) -> Int32[Array, "times chains regions"]:
    """Every site given all others, transition tables summed over; one after another.

    Args:
        key: typed.
        paths: the present ones.
        likelihood: of each state at every time, up to a factor; positive.
        strength: Dirichlet parameter of every move, and of every first state.
        declared: when a region's path lives: a range of times.

    Reference:
        Goldwater & Griffiths (ACL 2007), named by Foulds et al. (UAI-16), section 5.
    """
    times, _, regions = paths.shape
    states = likelihood.shape[-1]
    before, after = _neighbours(declared)
    starts, moves = path_counts(paths, states, declared)

    def update(carry, step):
        paths, starts, moves = carry
        time, region, uniforms = step
        alive = declared[time, region]
        links = before[time, region], after[time, region]
        # Out of range only where there is no link, and then not used.
        ends = paths[time - 1, :, region], paths[(time + 1) % times, :, region]
        old = paths[time, :, region]
        starts, moves = _counted(starts, moves, old, ends, alive, links, -1)
        weights = collapsed_weights(starts, moves, ends, links, strength)
        new = draw_states(uniforms, weights * likelihood[time, :, region])
        new = jnp.where(alive, new, old)
        starts, moves = _counted(starts, moves, new, ends, alive, links, 1)
        return (paths.at[time, :, region].set(new), starts, moves), None

    sites = jnp.arange(times * regions, dtype=jnp.int32)
    uniforms = jr.uniform(key, (times * regions, paths.shape[1]))
    steps = sites // regions, sites % regions, uniforms
    (paths, _, _), _ = lax.scan(update, (paths, starts, moves), steps)
    return paths


def collapsed_weights(
    starts: Float[Array, "chains k"],
    moves: Float[Array, "chains k k"],
    ends: tuple[Int32[Array, " chains"], Int32[Array, " chains"]],
    links: tuple[Bool[Array, ""], Bool[Array, ""]],
    strength: Scalar,
) -> Float[Array, "chains k"]:
    """How likely each state of a site is given all other sites, up to a factor.

    Args:
        starts: how often other paths start in each state.
        moves: how often paths move, but for the moves to and from the site.
        ends: states before and after the site.
        links: whether there is one before, and one after.
        strength: Dirichlet parameter of every move, and of every first state.
    """
    states = starts.shape[-1]
    (earlier, later), (before, after) = ends, links
    is_earlier = jax.nn.one_hot(earlier, states, dtype=starts.dtype)
    is_earlier = jnp.where(before, is_earlier, 0)
    is_later = jax.nn.one_hot(later, states, dtype=starts.dtype)
    chains = jnp.arange(starts.shape[0], dtype=jnp.int32)
    arrive = jnp.where(before, moves[chains, earlier], starts) + strength
    # The move to the site counts when the one from it is asked for.
    to_later = moves[chains, :, later] + is_earlier * is_later + strength
    away = moves.sum(axis=-1) + is_earlier + states * strength
    return arrive * jnp.where(after, to_later / away, 1)


def _counted(starts, moves, state, ends, alive, links, sign):
    """Counts with the moves to and from a site added, or taken away."""
    (earlier, later), (before, after) = ends, links
    chains = jnp.arange(state.shape[0], dtype=jnp.int32)

    def number(condition):
        return sign * condition.astype(moves.dtype)

    starts = starts.at[chains, state].add(number(alive & ~before))
    moves = moves.at[chains, earlier, state].add(number(before))
    return starts, moves.at[chains, state, later].add(number(after))


def _neighbours(declared: Array) -> tuple[Array, Array]:
    """Whether a path lives at a time and the one before; at a time and the next."""
    both = declared[1:] & declared[:-1]
    none = jnp.zeros_like(declared[:1])
    return jnp.concatenate([none, both]), jnp.concatenate([both, none])


def _shift(paths: Array, by: int) -> Array:
    return jnp.roll(paths, by, axis=0)
