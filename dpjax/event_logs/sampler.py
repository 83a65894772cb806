r"""Gibbs sampling of a hidden Markov model whose events are counted in cells.

A cell is a region in a month. All events of a cell share its hidden state; each field
of an event is drawn from the state's law of that field (naive Bayes). States move from
month to month by one transition matrix, each region on a path of its own. All laws have
Dirichlet priors. Given the paths all tables are Dirichlet; given the tables the paths
are drawn by forward filtering and backward sampling: two blocks a sweep.
"""

__all__ = [
    "CellCounts",
    "HiddenMarkovState",
    "SweepInfo",
    "begin",
    "cell_log_likelihoods",
    "sweep",
    "table_laws",
]

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jaxtyping import Array, ArrayLike, Bool, Float, Int32, Real

from dpjax._checks import array_of, positive
from dpjax._private import Unpickled, shapes_only
from dpjax._types import Key, Scalar
from dpjax.chains import draw_paths, path_counts, update_sites_collapsed
from dpjax.data.bayes_net import BayesNet
from dpjax.event_logs.events import check_states, declared_cells, log_variables
from dpjax.event_logs.tables import draw_bounded_tables, draw_tables


class CellCounts(Unpickled, eqx.Module):
    """What the sampler is given.

    Args:
        counts: of every level of every field, the fields one after the other, in each
            region and month; real numbers of at least 0.
        declared: which months are on a region's path: a range.
        observed: which cells' counts are used; the states of all others are latent.
        fields: number of levels of each field.
        states: number of hidden states.
        emission: Dirichlet parameter of every level.
        transition: Dirichlet parameter of every move, and of every first state.
        truncation: M, > 1, if a level of a field of K is to have a probability of at
            least 1 / (M K); None: no bound.
        collapsed: whether states are drawn one by one, transition tables summed over,
            instead of a path at a time.
    """

    counts: Float[Array, "regions times levels"]
    declared: Bool[Array, "regions times"]
    observed: Bool[Array, "regions times"]
    fields: tuple[int, ...] = eqx.field(static=True)
    states: int = eqx.field(static=True)
    emission: Float[Array, ""]
    transition: Float[Array, ""]
    truncation: Float[Array, ""] | None = None
    collapsed: bool = eqx.field(static=True, default=False)

    @classmethod
    def of(
        cls,
        net: BayesNet,
        counts: Real[ArrayLike, "regions times levels"],
        states: int,
        *,
        times: Mapping[Any, tuple] | None = None,
        observed: Bool[ArrayLike, "regions times"] | None = None,
        emission: Scalar = 1.0,
        transition: Scalar = 1.0,
        truncation: Scalar | None = None,
        collapsed: bool = False,
    ) -> "CellCounts":
        """What the sampler is given of an event log's counts.

        Args:
            net: of the log; counts are laid out as those of `event_counts`.
            counts: noisy or exact, at least 0.
            states: number of hidden states.
            times: of the regions named, the first and the last time of their paths.
            observed: which cells' counts are used; None: all.
            emission: as in the class, as are the others.
            transition: Dirichlet parameter of every move, and of every first state.
            truncation: M, or None.
            collapsed: whether states are drawn one by one.

        Raises:
            ValueError: if counts or observed have not the log's shape, a parameter is
                not positive, or there are more states than declared cells.
        """
        region, time, fields = log_variables(net)
        sizes = tuple(field.size for field in fields)
        shape = region.size, time.size
        if jnp.shape(counts) != (*shape, sum(sizes)):
            raise ValueError(
                f"`counts` must have shape {(*shape, sum(sizes))}, as those of "
                f"`event_counts`, got {jnp.shape(counts)}."
            )
        if observed is not None and jnp.shape(observed) != shape:
            raise ValueError(
                f"`observed` must have shape {shape}, a truth value for each region "
                f"and time, got {jnp.shape(observed)}."
            )
        positive(emission=emission, transition=transition)
        declared = declared_cells(net, times)
        check_states(states, declared)
        return cls(
            array_of(counts, "counts").astype(float),
            jnp.asarray(declared),
            jnp.ones(shape, bool) if observed is None else jnp.asarray(observed, bool),
            sizes,
            int(states),
            jnp.asarray(emission, float),
            jnp.asarray(transition, float),
            None if truncation is None else jnp.asarray(truncation, float),
            collapsed,
        )


class HiddenMarkovState(NamedTuple):
    """Of all chains: hidden paths, and logs of the tables.

    Attributes:
        paths: the hidden state of every cell.
        emission: log-probability of every level, in every state.
        initial: log-probability of a path's first state.
        transition: log-probability of the next state, in the rows.
    """

    paths: Int32[Array, "times chains regions"]
    emission: Float[Array, "chains states levels"]
    initial: Float[Array, "chains states"]
    transition: Float[Array, "chains states states"]
    __repr__ = shapes_only


class SweepInfo(NamedTuple):
    """What a sweep says of itself, the same however states are numbered.

    Attributes:
        log_likelihood: of all observed counts given paths and tables: a function of the
            counts without noise of its own.
    """

    log_likelihood: Float[Array, " chains"]
    __repr__ = shapes_only


def begin(key: Key, cells: CellCounts, chains: int) -> HiddenMarkovState:
    """Every cell in a state at random, which no data enter; tables are uniform."""
    regions, times, levels = cells.counts.shape
    states = cells.states
    paths = jr.randint(key, (times, chains, regions), 0, states, jnp.int32)
    sizes = np.repeat(cells.fields, cells.fields)
    emission = jnp.broadcast_to(-jnp.log(sizes.astype(float)), (chains, states, levels))
    even = jnp.full((chains, states, states), -math.log(states))
    return HiddenMarkovState(paths, emission, even[:, 0], even)


def sweep(
    key: Key, cells: CellCounts, state: HiddenMarkovState
) -> tuple[HiddenMarkovState, SweepInfo]:
    """New tables given the paths, then new paths given the tables."""
    key_tables, key_paths = jr.split(key)
    state = _draw_tables(key_tables, cells, state.paths)
    logs = cell_log_likelihoods(cells, state.emission)
    scaled = jnp.exp(logs - logs.max(axis=-1, keepdims=True))
    paths = _draw_paths(key_paths, cells, state, scaled)
    drawn = jnp.take_along_axis(logs, paths[..., None], axis=-1)[..., 0]
    info = SweepInfo(drawn.sum(axis=(0, 2)))
    return state._replace(paths=paths), info


def _draw_paths(
    key: Key, cells: CellCounts, state: HiddenMarkovState, likelihood: Array
) -> Array:
    """All paths given the tables, or all states given each other."""
    alive = cells.declared.T
    if cells.collapsed:
        return update_sites_collapsed(
            key, state.paths, likelihood, cells.transition, alive
        )
    tables = jnp.exp(state.initial), jnp.exp(state.transition)
    return draw_paths(key, likelihood, *tables, alive)


def _draw_tables(key: Key, cells: CellCounts, paths: Array) -> HiddenMarkovState:
    """All tables given the paths."""
    laws = table_laws(cells, paths)
    if cells.truncation is None:
        emission, moved = draw_tables(key, *laws, cells.fields)
    else:
        emission, moved = draw_bounded_tables(
            key, *laws, cells.fields, cells.truncation
        )
    return HiddenMarkovState(paths, emission, moved[:, 0], moved[:, 1:])


def table_laws(
    cells: CellCounts, paths: Int32[Array, "times chains regions"]
) -> tuple[Float[Array, "chains states levels"], Float[Array, "chains rows states"]]:
    """Dirichlet parameters given paths: of levels; of first states, then of moves."""
    starts, moves = path_counts(paths, cells.states, cells.declared.T)
    every = jnp.concatenate([starts[:, None], moves], axis=1)
    return cells.emission + _totals(cells, paths), cells.transition + every


def _totals(cells: CellCounts, paths: Array) -> Array:
    """Counts of all cells in each state: (chains, states, levels)."""
    flat = jnp.moveaxis(paths, 1, 0).reshape(paths.shape[1], -1)
    states = jnp.arange(cells.states, dtype=jnp.int32)
    # Laid out for one product of matrices.
    member = (flat[:, None] == states[None, :, None]).astype(float)
    counts = jnp.swapaxes(_used(cells), 0, 1).reshape(flat.shape[1], -1)
    return jnp.einsum("ckn,nl->ckl", member, counts, precision=lax.Precision.HIGHEST)


def _used(cells: CellCounts) -> Array:
    used = cells.observed & cells.declared
    return jnp.where(used[..., None], cells.counts, 0)


def cell_log_likelihoods(
    cells: CellCounts, emission: Float[Array, "chains states levels"]
) -> Float[Array, "times chains regions states"]:
    """Of every cell's counts in every state, given logs of the tables."""
    return jnp.einsum(
        "rtl,ckl->tcrk", _used(cells), emission, precision=lax.Precision.HIGHEST
    )
