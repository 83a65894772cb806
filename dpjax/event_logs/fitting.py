"""Hidden Markov models fitted to counts of events, by Gibbs chains."""

__all__ = ["check_run", "fit", "sample_hidden_markov"]

from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import ArrayLike, Bool

from dpjax._checks import typed_key, whole
from dpjax._types import Key, Scalar
from dpjax.event_logs.chains import ChainDraws, Progress, run_chains, run_in_blocks
from dpjax.event_logs.events import cell_counts, check_states, log_variables
from dpjax.event_logs.posterior import HiddenMarkovPosterior
from dpjax.event_logs.sampler import CellCounts
from dpjax.releases.released import Released
from dpjax.statistics import NetworkCounts


def fit(
    key: Key,
    released: Released,
    states: int,
    *,
    times: Mapping[Any, tuple] | None = None,
    observed: Bool[ArrayLike, "regions times"] | None = None,
    emission: Scalar = 1.0,
    transition: Scalar = 1.0,
    chains: int = 8,
    sweeps: int = 200,
    burn_in: int | None = None,
    collapsed: bool = False,
    progress: Progress | None = None,
) -> HiddenMarkovPosterior:
    """Hidden states of an event log, from released counts, taken at their word.

    Negative counts are taken for 0. The chains are post-processing, whether they
    converge or not. With one state this is naive Bayes.

    Args:
        key: typed.
        released: noisy family counts of an `event_network`.
        states: how many.
        times: of the regions named, the first and the last time of their paths, such as
            `{"north": (0, 9)}`; public facts. Other cells are ignored.
        observed: which cells' counts are used; the states of all others are predicted
            from their neighbours'. None: all.
        emission: Dirichlet parameter of every level.
        transition: Dirichlet parameter of every move, and of every first state.
        chains: how many, from random starts.
        sweeps: of each chain.
        burn_in: how many of these are left out; None: half.
        collapsed: whether states are drawn one by one, transition tables summed over,
            as in the paper; slower, and mixes worse, than a path at a time.
        progress: wraps the blocks of sweeps that are worked through, as `tqdm` does; it
            changes no draw. None: all sweeps are one program.

    Privacy:
        Post-processing: costs nothing, and may be repeated with other states or priors.

    Raises:
        ValueError: if the release is of something else, a number is out of range, times
            are not the regions' own, or there are more states than declared cells.

    Reference:
        Foulds et al. (UAI-16), sections 4.2 and 5; there with transitions collapsed.
    """
    if not isinstance(released, Released):
        raise ValueError(
            "`released` must be a release, from `dpjax.release` or `dpjax.load`, got "
            f"{type(released).__name__}."
        )
    statistic = released.counted  # not samples of its tables
    if not isinstance(statistic, NetworkCounts):
        raise ValueError(
            "`released` must be of family counts of an event log, made by "
            "`event_network` or `dpjax release --model hmm`, got "
            f"{statistic.describe()['kind']}."
        )
    log_variables(statistic.net, "released")
    cells = CellCounts.of(
        statistic.net,
        jnp.maximum(cell_counts(statistic, released.values), 0),
        states,
        times=times,
        observed=observed,
        emission=emission,
        transition=transition,
        collapsed=collapsed,
    )
    return sample_hidden_markov(
        key, cells, chains=chains, sweeps=sweeps, burn_in=burn_in, progress=progress
    )


def sample_hidden_markov(
    key: Key,
    cells: CellCounts,
    *,
    chains: int = 8,
    sweeps: int = 200,
    burn_in: int | None = None,
    progress: Progress | None = None,
) -> HiddenMarkovPosterior:
    """Gibbs chains on counts, noisy or exact; pure, for `jit` and `vmap`.

    Without privacy: on `CellCounts.of(net, event_counts(net, records), states)`.
    Arguments are those of `fit`; `progress` is for neither `jit` nor `vmap`.

    Privacy:
        None of its own: on exact counts every draw depends on every record, and no
        budget pays for that. On released ones it costs nothing.
    """
    typed_key(key=key)
    burn_in = check_run(chains, sweeps, burn_in)
    check_states(cells.states, cells.declared)
    if progress is None:
        return _sample(key, cells, chains, sweeps, burn_in)
    every = run_in_blocks(key, cells, chains, sweeps, progress)
    return _posterior_of(every, cells, burn_in)


def check_run(chains: int, sweeps: int, burn_in: int | None) -> int:
    """The burn-in, half of the sweeps if it is None.

    Raises:
        ValueError: if there are fewer chains or sweeps than one, or no sweep is left.
    """
    whole(1, chains=chains, sweeps=sweeps)
    if burn_in is None:
        return sweeps // 2
    whole(0, burn_in=burn_in)
    if burn_in >= sweeps:
        raise ValueError(f"`burn_in` must be below `sweeps`, {sweeps}, got {burn_in}.")
    return burn_in


@partial(jax.jit, static_argnums=(2, 3, 4))
def _sample(
    key: Key, cells: CellCounts, chains: int, sweeps: int, burn_in: int
) -> HiddenMarkovPosterior:
    return _posterior_of(run_chains(key, cells, chains, sweeps), cells, burn_in)


@partial(jax.jit, static_argnums=2)
def _posterior_of(
    every: ChainDraws, cells: CellCounts, burn_in: int
) -> HiddenMarkovPosterior:
    drawn, info = jax.tree.map(lambda x: x[burn_in:], every)
    return HiddenMarkovPosterior(
        drawn.paths,
        jnp.exp(drawn.emission),
        jnp.exp(drawn.initial),
        jnp.exp(drawn.transition),
        cells.declared,
        cells.fields,
        info.log_likelihood,
    )
