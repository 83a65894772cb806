"""Posterior draws of a hidden Markov model's states and probability tables."""

__all__ = ["HiddenMarkovPosterior"]

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, ArrayLike, Bool, Float, Int8, Int32, Real
from numpyro.diagnostics import effective_sample_size, split_gelman_rubin

from dpjax._checks import array_of


class HiddenMarkovPosterior(eqx.Module):
    """Draws of Gibbs chains for a hidden Markov model of event counts in cells.

    The numbering of states is arbitrary in each chain. Results that depend on the
    numbering are from the chain with the largest average log-likelihood (from the first
    chain if `trace` is None), with states in descending order of their numbers of
    cells. Within a chain, the numbering is assumed to be constant.

    Args:
        paths: hidden state of every cell; meaningless in cells that are not declared.
        emission: probabilities of the concatenated levels of all fields.
        initial: probabilities of a path's first state.
        transition: probabilities of the next state; one row for each state.
        declared: whether each time is on a region's path.
        fields: number of levels of each field.
        trace: log-likelihood of all observed counts given paths and tables; None for
            charged draws from exact counts.
    """

    paths: Int8[Array, "draws times chains regions"]
    emission: Float[Array, "draws chains states levels"]
    initial: Float[Array, "draws chains states"]
    transition: Float[Array, "draws chains states states"]
    declared: Bool[Array, "regions times"]
    fields: tuple[int, ...] = eqx.field(static=True)
    trace: Float[Array, "draws chains"] | None

    @property
    def states(self) -> int:
        """Number of hidden states."""
        return self.emission.shape[2]

    def predict_states(self) -> Int32[Array, "regions times"]:
        """The most frequent state of every cell; -1 in cells that are not declared."""
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
        """Expected probabilities of the next state; one row for each state."""
        chain, order = self._numbering()
        return self.transition[:, chain].mean(axis=0)[order][:, order]

    def log_likelihood(
        self, counts: Real[ArrayLike, "regions times levels"]
    ) -> Float[Array, "regions times"]:
        """Log of the average likelihood of `counts` over all draws, for each cell.

        For cells that were not observed, this is a predictive log-likelihood. The
        result is NaN for cells that are not declared. There are no multinomial
        coefficients, as the order of events is fixed.

        Args:
            counts: counts with axes as from `event_counts`.

        Raises:
            ValueError: if the counts have another shape.

        Privacy:
            Not private for exact counts: only for people who may see the records.
        """
        shape = (*self.declared.shape, sum(self.fields))
        if jnp.shape(counts) != shape:
            raise ValueError(
                f"`counts` must have shape {shape}, as from `event_counts`, got "
                f"{jnp.shape(counts)}."
            )
        found = _held_out(
            self.paths, self.emission, array_of(counts, "counts").astype(float)
        )
        return jnp.where(self.declared, found, jnp.nan)

    def diagnostics(self) -> dict[str, dict[str, float]]:
        """Split R-hat and effective sample size of statistics of the chains.

        The statistics are the log-likelihood, unless `trace` is None, and the share of
        cells in the most frequent state; neither depends on the numbering of states.
        Results are NaN if all draws are equal.

        Raises:
            ValueError: if a chain has fewer than four draws.
        """
        if len(self.paths) < 4:
            raise ValueError(
                "`diagnostics` must have at least 4 draws in each chain, got "
                f"{len(self.paths)}: use more sweeps."
            )
        shares = _largest_shares(self.paths, self.declared, self.states)
        traces = {"log_likelihood": self.trace, "largest_state": shares}
        return {
            name: _diagnose(np.asarray(trace, float).T)
            for name, trace in traces.items()
            if trace is not None
        }

    def _numbering(self) -> tuple[int, np.ndarray]:
        """The chain with the largest mean trace, and its states by frequency."""
        chain = 0 if self.trace is None else int(self.trace.mean(axis=0).argmax())
        alive = np.asarray(self.declared).T
        paths = np.asarray(self.paths)[:, :, chain][:, alive]
        counts = np.bincount(paths.ravel(), minlength=self.states)
        return chain, np.argsort(-counts, kind="stable").astype(np.int32)


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
    """Share of the cells in the most frequent state, for every draw and chain."""
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
