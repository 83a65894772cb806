"""Hidden Markov models of event logs: what chains say of states and emissions."""

__all__ = [
    "HiddenMarkovPosterior",
    "check_run",
    "check_states",
    "fit",
    "sample_hidden_markov",
]

from collections.abc import Mapping
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, ArrayLike, Bool, Float, Int8, Int32, Real
from numpyro.diagnostics import effective_sample_size, split_gelman_rubin

from dpjax._checks import positive, typed_key, whole
from dpjax._types import Key, Scalar
from dpjax.hidden_markov.chains import ChainDraws, Progress, run_chains, run_in_blocks
from dpjax.hidden_markov.events import cell_counts, declared_cells, fields_of
from dpjax.hidden_markov.sampler import CellCounts
from dpjax.released import Released
from dpjax.statistics import FamilyCounts

_MOST_STATES = 127  # paths are kept as bytes


class HiddenMarkovPosterior(eqx.Module):
    """Draws of Gibbs chains for a hidden Markov model of events counted in cells.

    States have no names: each chain numbers them as it likes. What is asked of one
    numbering is answered by the chain with the largest average log-likelihood, its
    states in the order of how many cells they have.

    Args:
        paths: the hidden state of every cell; meaningless where not declared.
        emission: probabilities of the levels of all fields, one after the other.
        initial: law of a path's first state.
        transition: law of the next state, in the rows.
        log_likelihoods: of all observed counts given paths and tables.
        declared: which months are on a region's path.
        fields: number of levels of each field.
    """

    paths: Int8[Array, "draws times chains regions"]
    emission: Float[Array, "draws chains states levels"]
    initial: Float[Array, "draws chains states"]
    transition: Float[Array, "draws chains states states"]
    log_likelihoods: Float[Array, "draws chains"]
    declared: Bool[Array, "regions times"]
    fields: tuple[int, ...] = eqx.field(static=True)

    @property
    def states(self) -> int:
        """Number of hidden states."""
        return self.emission.shape[2]

    def predict_states(self) -> Int32[Array, "regions times"]:
        """The most frequent state of every cell; -1 where none is declared."""
        chain, order = self._numbering()
        paths = self.paths[:, :, chain].astype(jnp.int32)  # (draws, times, regions)
        votes = jax.nn.one_hot(paths, self.states).sum(axis=0)[..., order]
        found = votes.argmax(axis=-1).astype(jnp.int32).T
        return jnp.where(self.declared, found, -1)

    def emissions(self) -> list[Float[Array, "states levels"]]:
        """Expected probabilities of every field's levels in every state."""
        chain, order = self._numbering()
        table = self.emission[:, chain].mean(axis=0)[order]
        return jnp.split(table, np.cumsum(self.fields)[:-1], axis=1)

    def transitions(self) -> Float[Array, "states states"]:
        """Expected probabilities of the next state, in the rows."""
        chain, order = self._numbering()
        return self.transition[:, chain].mean(axis=0)[order][:, order]

    def log_likelihood(
        self, counts: Real[ArrayLike, "regions times levels"]
    ) -> Float[Array, "regions times"]:
        """Log of the likelihood of each cell's counts, averaged over all draws.

        Of cells that were not observed this is a prediction: their states were drawn
        without their counts.

        Args:
            counts: of all levels of all fields, one after the other.

        Privacy:
            Of exact counts it is not private: for evaluation by who may see them.
        """
        return _held_out(self.paths, self.emission, jnp.asarray(counts, float))

    def diagnostics(self) -> dict[str, dict[str, float]]:
        """Split R-hat and effective sample size of what no numbering of states changes.

        Of the log-likelihood, and of the share of cells in the most frequent state; nan
        where no draw differs from another.

        Raises:
            ValueError: if there are fewer than four draws a chain.
        """
        if len(self.log_likelihoods) < 4:
            raise ValueError(
                "`diagnostics` must have at least 4 draws a chain, got "
                f"{len(self.log_likelihoods)}: ask for more sweeps."
            )
        traces = {
            "log_likelihood": self.log_likelihoods,
            "largest_state": _largest_shares(self.paths, self.declared, self.states),
        }
        return {name: _diagnose(np.asarray(x, float).T) for name, x in traces.items()}

    def _numbering(self) -> tuple[int, np.ndarray]:
        """The best chain, and its states by how many cells they have."""
        chain = int(self.log_likelihoods.mean(axis=0).argmax())
        alive = np.asarray(self.declared).T
        paths = np.asarray(self.paths)[:, :, chain][:, alive]
        counts = np.bincount(paths.ravel(), minlength=self.states)
        return chain, np.argsort(-counts, kind="stable").astype(np.int32)


def fit(
    key: Key,
    released: Released,
    states: int,
    *,
    times: Mapping[Any, tuple] | None = None,
    emission: Scalar = 1.0,
    transition: Scalar = 1.0,
    chains: int = 8,
    sweeps: int = 200,
    burn_in: int = 100,
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
        emission: Dirichlet parameter of every level.
        transition: Dirichlet parameter of every move, and of every first state.
        chains: how many, from random starts.
        sweeps: of each chain.
        burn_in: how many of these are left out.
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
    statistic = released.counted  # not samples of its tables
    if not isinstance(statistic, FamilyCounts):
        raise ValueError(
            "`released` must be of family counts of an event log, got "
            f"{statistic.describe()['kind']}."
        )
    fields = tuple(statistic.net.sizes[i] for i in fields_of(statistic.net))
    counts = jnp.maximum(cell_counts(statistic, released.values).astype(float), 0)
    declared = jnp.asarray(declared_cells(statistic.net, times))
    positive(emission=emission, transition=transition)
    priors = jnp.asarray(emission, float), jnp.asarray(transition, float)
    every = jnp.ones_like(declared)
    cells = CellCounts(
        counts, declared, every, fields, states, *priors, collapsed=collapsed
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
    burn_in: int = 100,
    progress: Progress | None = None,
) -> HiddenMarkovPosterior:
    """Gibbs chains on counts, noisy or exact; pure, for `jit` and `vmap`.

    Arguments are those of `fit`; `progress` is for neither.

    Privacy:
        None of its own: on exact counts every draw depends on every record, and no
        budget pays for that. On released ones it costs nothing.
    """
    typed_key(key=key)
    check_run(chains, sweeps, burn_in)
    check_states(cells.states, cells.declared)
    if progress is None:
        return _sample(key, cells, chains, sweeps, burn_in)
    every = run_in_blocks(key, cells, chains, sweeps, progress)
    return _posterior_of(every, cells, burn_in)


def check_run(chains: int, sweeps: int, burn_in: int) -> None:
    """Refuse fewer chains or sweeps than one, or none after the burn-in.

    Raises:
        ValueError: as said.
    """
    whole(1, chains=chains, sweeps=sweeps)
    whole(0, burn_in=burn_in)
    if burn_in >= sweeps:
        raise ValueError(f"`burn_in` must be below `sweeps`, {sweeps}, got {burn_in}.")


def check_states(states: int, declared: Bool[ArrayLike, "regions times"]) -> None:
    """Refuse fewer states than one, or more than there are declared cells.

    Raises:
        ValueError: as said.
    """
    whole(1, states=states)
    try:
        most = int(np.asarray(declared).sum())
    except jax.errors.TracerArrayConversionError:  # not known here: all of them
        most = int(np.prod(np.shape(declared)))
    if states > min(most, _MOST_STATES):
        raise ValueError(
            f"`states` must be at most the number of cells, {most}, and "
            f"{_MOST_STATES}, got {states}."
        )


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
        info.log_likelihood,
        cells.declared,
        cells.fields,
    )


@jax.jit
def _held_out(paths: Array, emission: Array, counts: Array) -> Array:
    logs = jnp.log(jnp.maximum(emission, jnp.finfo(emission.dtype).tiny))

    def add(total, draw):
        states, table = draw  # (times, chains, regions), (chains, states, levels)
        every = jnp.einsum(
            "rtl,ckl->tcrk", counts, table, precision=lax.Precision.HIGHEST
        )
        chosen = states.astype(jnp.int32)[..., None]
        cell = jnp.take_along_axis(every, chosen, axis=-1)[..., 0]
        return jnp.logaddexp(total, jax.nn.logsumexp(cell, axis=1)), None

    start = jnp.full((counts.shape[1], counts.shape[0]), -jnp.inf)
    total, _ = lax.scan(add, start, (paths, logs))
    return total.T - jnp.log(paths.shape[0] * paths.shape[2])


@partial(jax.jit, static_argnums=2)
def _largest_shares(paths: Array, declared: Array, states: int) -> Array:
    """Share of the cells in the state with most of them, of every draw and chain."""
    alive = declared.T[None, :, None]

    def count(state):
        return ((paths == state) & alive).sum(axis=(1, 3), dtype=jnp.int32)

    counts = lax.map(count, jnp.arange(states, dtype=jnp.int8))
    return counts.max(axis=0).astype(float) / alive.astype(float).sum()


def _diagnose(draws: np.ndarray) -> dict[str, float]:
    with np.errstate(invalid="ignore", divide="ignore"):
        return {
            "r_hat": float(split_gelman_rubin(draws)),
            "effective_size": float(effective_sample_size(draws)),
        }
