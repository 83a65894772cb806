"""Updates of hidden Markov paths site by site, and counts of their moves.

The axes of paths are times, chains of the sampler, and regions: every time step updates
all chains and regions at once. Each region has one path. The path is valid in the range
of times at which the region is `declared`; at other times its states are meaningless. A
site is one region at one time.

Updates site by site mix more slowly than `draw_paths`, the default of the hidden Markov
model, in `path_draws`. Foulds et al. use the collapsed update, with transition tables
integrated out.
"""

import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array, Bool, Float, Int32

from dpjax._types import Key, Scalar
from dpjax.chains.path_draws import draw_states


def path_counts(
    paths: Int32[Array, "times chains regions"],
    states: int,
    declared: Bool[Array, "times regions"],
) -> tuple[Float[Array, "chains k"], Float[Array, "chains k k"]]:
    """Count the paths that start in each state, and the moves between states.

    Args:
        paths: state of each region's path at every time.
        states: number k of states.
        declared: whether a region's path is valid at a time; other times do not count.
    """
    starts, moves = _integer_counts(paths, states, declared)
    return starts.astype(float), moves.astype(float)


def _integer_counts(
    paths: Array, states: int, declared: Array
) -> tuple[Int32[Array, "chains k"], Int32[Array, "chains k k"]]:
    """Return `path_counts` as integers, which accelerators add in any order at once."""
    before, _ = _neighbours(declared)
    chains = jnp.arange(paths.shape[1], dtype=jnp.int32)[None, :, None]
    places = chains * states + paths
    starts = _named(places, declared & ~before, paths.shape[1] * states)
    moves = _named(
        places[:-1] * states + paths[1:], before[1:], paths.shape[1] * states**2
    )
    return starts.reshape(-1, states), moves.reshape(-1, states, states)


def _named(places: Array, counted: Array, length: int) -> Array:
    """Return how often each place occurs where `counted` is True."""
    ones = jnp.broadcast_to(counted[:, None], places.shape).astype(jnp.int32)
    return jnp.zeros(length, jnp.int32).at[places].add(ones)


def update_sites(
    key: Key,
    paths: Int32[Array, "times chains regions"],
    likelihood: Float[Array, "times chains regions k"],
    initial: Float[Array, "chains k"],
    transition: Float[Array, "chains k k"],
    declared: Bool[Array, "times regions"],
) -> Int32[Array, "times chains regions"]:
    """Update all paths at even times, then at odd times, given the other states.

    States at even times are independent given the states at odd times, and vice versa.
    `paths` are the current paths; `draw_paths` documents the other arguments.
    """
    uniforms = jr.uniform(key, paths.shape)
    odd = jnp.arange(paths.shape[0], dtype=jnp.int32)[:, None, None] % 2
    chains = jnp.arange(paths.shape[1], dtype=jnp.int32)[None, :, None]
    arrival = jnp.swapaxes(transition, 1, 2)
    before, after = _neighbours(declared)
    for parity in (0, 1):
        earlier, later = (jnp.roll(paths, by, axis=0) for by in (1, -1))
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
    """Update each state in turn given all others, with transitions integrated out.

    Args:
        key: typed JAX key.
        paths: the current states of each region's path at every time.
        likelihood: likelihood of each of k states at every time, > 0, up to a factor.
        strength: Dirichlet parameter of every move, and of every first state.
        declared: whether a region's path is valid at a time; valid times are a range.

    Reference:
        Goldwater & Griffiths (ACL 2007), named by Foulds et al. (UAI-16), section 5.
    """
    times, _, regions = paths.shape
    states = likelihood.shape[-1]
    before, after = _neighbours(declared)
    starts, moves = _integer_counts(paths, states, declared)

    def update(carry, step):
        paths, starts, moves = carry
        time, region, uniforms = step
        alive = declared[time, region]
        links = before[time, region], after[time, region]
        # A time is out of range only if there is no link: then its state is not used.
        ends = paths[time - 1, :, region], paths[(time + 1) % times, :, region]
        old = paths[time, :, region]
        starts, moves = _counted(starts, moves, old, ends, alive, links, -1)
        counts = starts.astype(float), moves.astype(float)
        weights = collapsed_weights(*counts, ends, links, strength)
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
    """Return the weight of each state of a site, one region's path at one time.

    The weight is the probability given all other states, up to a factor and without
    emissions, with transition probabilities integrated out.

    Args:
        starts: number of other paths that start in each state.
        moves: number of moves between states, except moves to and from the site.
        ends: states before and after the site.
        links: whether there is a state before the site, and one after the site.
        strength: Dirichlet parameter of every move, and of every first state.
    """
    states = starts.shape[-1]
    (earlier, later), (before, after) = ends, links
    is_earlier = jax.nn.one_hot(earlier, states, dtype=starts.dtype)
    is_earlier = jnp.where(before, is_earlier, 0)
    is_later = jax.nn.one_hot(later, states, dtype=starts.dtype)
    chains = jnp.arange(starts.shape[0], dtype=jnp.int32)
    arrive = jnp.where(before, moves[chains, earlier], starts) + strength
    # The weight of the move from the site includes the move to it.
    to_later = moves[chains, :, later] + is_earlier * is_later + strength
    away = moves.sum(axis=-1) + is_earlier + states * strength
    return arrive * jnp.where(after, to_later / away, 1)


def _counted(starts, moves, state, ends, alive, links, sign):
    """Add the moves to and from a site to the counts, with a sign."""
    (earlier, later), (before, after) = ends, links
    chains = jnp.arange(state.shape[0], dtype=jnp.int32)

    def number(condition):
        return sign * condition.astype(moves.dtype)

    starts = starts.at[chains, state].add(number(alive & ~before))
    moves = moves.at[chains, earlier, state].add(number(before))
    return starts, moves.at[chains, state, later].add(number(after))


def _neighbours(declared: Array) -> tuple[Array, Array]:
    """Return where a path is valid both now and before, and both now and after."""
    both = declared[1:] & declared[:-1]
    none = jnp.zeros_like(declared[:1])
    return jnp.concatenate([none, both]), jnp.concatenate([both, none])
