"""Posterior draws of the states and probability tables of a hidden Markov model."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jaxtyping import Array, ArrayLike, Bool, Float, Int8, Int32, Real

from dpjax._checks import array_of, probability, sample_shape
from dpjax._later import diagnostics
from dpjax._products import einsum
from dpjax._types import Key
from dpjax.data.categorical import Categorical
from dpjax.families.conjugate_base import Axes, Posterior, level_axis

_STATE = "hidden_state"


class HiddenMarkovMode(eqx.Module):
    """Chains in one mode of the posterior, which hold one set of hidden states.

    Args:
        chains: indices of the chains.
        weight: estimated posterior probability of the mode, among the modes found.
        error: standard error of `weight`.
        log_likelihood: average of `HiddenMarkovPosterior.trace` over the chains' draws.
        r_hat: the larger R-hat of the two statistics of `diagnostics`, of these chains.
    """

    chains: tuple[int, ...] = eqx.field(static=True)
    weight: float
    error: float
    log_likelihood: float
    r_hat: float


class HiddenMarkovPosterior(Posterior):
    """Draws of Gibbs chains for a hidden Markov model of the counts of an event log.

    The parameters are, by name: the probabilities of a field's levels in every hidden
    state, under the name of the field; "hidden_state.initial", of a path's first state;
    and "hidden_state.transition", of the next state, in a row for each state. If a
    field's name begins like these, they have underscores at the end of "hidden_state".

    A cell is a pair of a region and a time, and the states of a region form a path. The
    numbering of states is arbitrary in each chain. Results that depend on the numbering
    use only the chain with the largest average log-likelihood in the mode with the
    largest weight (the first chain if `trace` is None), with states in descending order
    of their numbers of cells. Within a chain, the numbering is assumed to be constant.

    Args:
        paths: drawn hidden state of every cell, without meaning outside of the paths.
        emission: drawn probabilities of the levels of all fields in every state; the
            last axis has the levels of one field after the other.
        initial: drawn probabilities of a path's first state.
        transition: drawn probabilities of the next state, in a row for each state.
        declared: whether each cell is on a region's path.
        fields: number of levels of each field.
        trace: log-likelihood of all observed counts given the drawn paths and tables;
            None for draws of `charged_hidden_markov`.
        rates: drawn probabilities of the possible rates of events of a cell; None for
            chains that are not noise-aware.
        modes: modes of the posterior that the chains are in, in descending order of
            their weights, from `weigh_modes`. If there are none, all chains have the
            same weight.
        variables: the region, the time and the fields; without them the fields have the
            names "field_0", "field_1" and so on.
    """

    paths: Int8[Array, "draws times chains regions"]
    emission: Float[Array, "draws chains states levels"]
    initial: Float[Array, "draws chains states"]
    transition: Float[Array, "draws chains states states"]
    declared: Bool[Array, "regions times"]
    fields: tuple[int, ...] = eqx.field(static=True)
    trace: Float[Array, "draws chains"] | None
    rates: Float[Array, "draws chains rates"] | None = None
    modes: tuple[HiddenMarkovMode, ...] = ()
    variables: tuple[Categorical, ...] = eqx.field(static=True, default=())

    @property
    def method(self) -> str:
        """Name of the inference method in `dpjax.posteriors.METHODS`."""
        return "gibbs"

    @property
    def states(self) -> int:
        """Number of hidden states."""
        return self.emission.shape[2]

    @property
    def weights(self) -> Float[np.ndarray, " chains"]:
        """Weight of every chain, of sum 1: the chains of a mode share its weight."""
        chains = self.paths.shape[2]
        found = np.full(chains, 1 / chains)
        for mode in self.modes:
            found[list(mode.chains)] = mode.weight / len(mode.chains)
        return found

    def predict_states(self) -> Int32[Array, "regions times"]:
        """Return each region's most frequent state at each time; -1 outside paths."""
        found = self.state_probabilities().argmax(axis=-1).astype(jnp.int32)
        return jnp.where(self.declared, found, -1)

    def state_probabilities(self) -> Float[Array, "regions times states"]:
        """Return the probability of each state by region and time; NaN outside paths.

        It is the share of the draws that are in this state.
        """
        chain, order = self._numbering()
        paths = self.paths[:, :, chain].astype(jnp.int32)  # (draws, times, regions)
        share = jax.nn.one_hot(paths, self.states).mean(axis=0)[..., order]
        return jnp.where(self.declared[..., None], share.swapaxes(0, 1), jnp.nan)

    def emissions(self) -> list[Float[Array, "states levels"]]:
        """Return, for each field, the expected probabilities of levels by state."""
        return [*self.mean().values()][:-2]

    def transitions(self) -> Float[Array, "states states"]:
        """Return the expected transition matrix, with a row for each hidden state."""
        return [*self.mean().values()][-1]

    def chains(self) -> dict[str, Float[Array, "1 draws *shape"]]:
        """Return the drawn parameters of the chain that results are of, by name."""
        chain, order = self._numbering()
        table = self.emission[:, chain][:, order]
        fields = jnp.split(table, np.cumsum(self.fields)[:-1], axis=2)
        names, initial, transition, _ = self._names()
        drawn = dict(zip(names, fields, strict=True))
        drawn[initial] = self.initial[:, chain][:, order]
        drawn[transition] = self.transition[:, chain][:, order][:, :, order]
        return {name: x[None] for name, x in drawn.items()}

    def mean(self) -> dict[str, Array]:
        """Return the mean of the draws of each parameter, by name."""
        return {name: x[0].mean(axis=0) for name, x in self.chains().items()}

    def sd(self) -> dict[str, Array]:
        """Return the standard deviation of the draws of each parameter, by name."""
        return {name: x[0].std(axis=0) for name, x in self.chains().items()}

    def quantile(self, q: float) -> dict[str, Array]:
        """Return the q-quantile of the draws of each parameter, by name."""
        probability(q=q)
        return {k: jnp.quantile(x[0], q, axis=0) for k, x in self.chains().items()}

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> dict[str, Array]:
        """Choose draws at random, with replacement, in arrays of shape `shape`."""
        shape = sample_shape(key, shape)
        chosen = jr.randint(key, shape, 0, len(self.paths))
        return {name: x[0, chosen] for name, x in self.chains().items()}

    def log_prob(self, values: Any) -> Array:
        """Raise `ValueError`, since draws do not determine a density."""
        raise self._undefined("log_prob", "`log_likelihood` of counts")

    def update(self, records: Any, key: Key | None = None) -> "HiddenMarkovPosterior":
        """Raise `ValueError`, since the chains do not have the released counts."""
        raise self._undefined("update", "`dpjax.event_logs.fit` of another release")

    def axes(self) -> Axes:
        """Name each parameter's axes, and the labels of these, as `Posterior.axes`."""
        names, initial, transition, state = self._names()
        rows = [level_axis(state)]
        dims = {name: [*rows, level_axis(name)] for name in (*names, transition)}
        dims[initial] = [level_axis(initial)]
        levels = [variable.levels for variable in self.variables[2:]]
        labels = dict(zip(names, levels or map(range, self.fields), strict=True))
        labels |= dict.fromkeys((initial, transition, state), range(self.states))
        return dims, {level_axis(name): [*x] for name, x in labels.items()}

    def _names(self) -> tuple[list[str], str, str, str]:
        """Return names of the fields, of other parameters, and of the hidden state."""
        names = [variable.name for variable in self.variables[2:]]
        names, state = names or [f"field_{i}" for i in range(len(self.fields))], _STATE
        while any(name.startswith(state) for name in names):
            state += "_"
        return names, f"{state}.initial", f"{state}.transition", state

    def log_likelihood(
        self, counts: Real[ArrayLike, "regions times levels"]
    ) -> Float[Array, "regions times"]:
        """Average each cell's likelihood of `counts` over all draws; return the logs.

        The draws have the `weights` of their chains.

        A cell is a region at a time. For cells whose counts were not used in the fit,
        the result is a predictive log-likelihood; it is NaN outside of a region's path.
        It has no multinomial coefficients, as the order of events is fixed.

        Args:
            counts: counts of the levels of all fields, as from `event_counts`.

        Raises:
            ValueError: if `counts` does not have the shape of the fitted counts.

        Privacy:
            Not private for exact counts: only for people who may see the records.
        """
        shape = (*self.declared.shape, sum(self.fields))
        if jnp.shape(counts) != shape:
            raise ValueError(
                f"`counts` must have shape {shape}, as from `event_counts`, got "
                f"{jnp.shape(counts)}."
            )
        counts = array_of(counts, "counts").astype(float)
        weights = jnp.asarray(self.weights, float)
        found = _held_out(self.paths, self.emission, counts, weights)
        return jnp.where(self.declared, found, jnp.nan)

    def diagnostics(self) -> dict[str, dict[str, float]]:
        """Compute split R-hat and effective sample size of statistics of the chains.

        The statistics are "log_likelihood" (unless `trace` is None) and
        "largest_state", the share of cells in the most frequent state. Neither depends
        on the numbering of states. Each has a dictionary with the entries "r_hat" and
        "effective_size", which are NaN if all draws are equal.

        Raises:
            ValueError: if a chain has fewer than four draws.
        """
        if len(self.paths) < 4:
            raise ValueError(
                "`diagnostics` must have at least 4 draws in each chain, got "
                f"{len(self.paths)}: use more sweeps."
            )
        return {name: _diagnose(trace) for name, trace in self.traces().items()}

    def traces(self) -> dict[str, Float[np.ndarray, "chains draws"]]:
        """Return the statistics of `diagnostics`, of every draw."""
        shares = _largest_shares(self.paths, self.declared, self.states)
        traces = {"log_likelihood": self.trace, "largest_state": shares}
        return {k: np.asarray(x, float).T for k, x in traces.items() if x is not None}

    def _numbering(self) -> tuple[int, np.ndarray]:
        """Return the chain that results are of, and its states by frequency."""
        chain = 0
        if self.trace is not None:
            logs = np.asarray(self.trace, float).mean(axis=0)
            first = self.modes[0].chains if self.modes else range(len(logs))
            chain = max(first, key=lambda chain: logs[chain])
        alive = np.asarray(self.declared).T
        paths = np.asarray(self.paths)[:, :, chain][:, alive]
        counts = np.bincount(paths.ravel(), minlength=self.states)
        return chain, np.argsort(-counts, kind="stable").astype(np.int32)


@jax.jit
def _held_out(paths: Array, emission: Array, counts: Array, weights: Array) -> Array:
    logs = jnp.log(jnp.maximum(emission, jnp.finfo(emission.dtype).tiny))

    def add(total, draw):
        states, table = draw  # (times, chains, regions), (chains, states, levels)
        every = einsum("rtl,ckl->tcrk", counts, table)
        chosen = states.astype(jnp.int32)[..., None]
        cell = jnp.take_along_axis(every, chosen, axis=-1)[..., 0]
        mean = jax.nn.logsumexp(cell, axis=1, b=weights[None, :, None])
        return jnp.logaddexp(total, mean), None

    start = jnp.full((counts.shape[1], counts.shape[0]), -jnp.inf)
    total, _ = lax.scan(add, start, (paths, logs))
    return total.T - jnp.log(paths.shape[0])


@partial(jax.jit, static_argnums=2)
def _largest_shares(paths: Array, declared: Array, states: int) -> Array:
    alive = declared.T[None, :, None]

    def count(state):
        return ((paths == state) & alive).sum(axis=(1, 3), dtype=jnp.int32)

    counts = lax.map(count, jnp.arange(states, dtype=jnp.int8))
    return counts.max(axis=0).astype(float) / alive.astype(float).sum()


def _diagnose(draws: np.ndarray) -> dict[str, float]:
    with np.errstate(invalid="ignore", divide="ignore"):
        return {
            "r_hat": float(diagnostics.split_gelman_rubin(draws)),
            "effective_size": float(diagnostics.effective_sample_size(draws)),
        }


def largest_r_hat(posterior: HiddenMarkovPosterior, chains: Sequence[int]) -> float:
    """Return the larger R-hat of the two statistics, of some of the chains."""
    found = [
        _diagnose(trace[list(chains)])["r_hat"] for trace in posterior.traces().values()
    ]
    return float(np.nan_to_num(found, nan=1.0, posinf=np.inf).max())
