"""Hidden Markov models of event logs: what chains say of states and emissions."""

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
    """Draws of Gibbs chains for a hidden Markov model of events counted in cells.

    States have no names: each chain numbers them as it likes. What is asked of one
    numbering is answered by the chain with the largest average log-likelihood, or the
    first where that is not known, its states in the order of how many cells they have;
    within a chain they are taken to keep their numbers.

    Args:
        paths: the hidden state of every cell; meaningless where not declared.
        emission: probabilities of the levels of all fields, one after the other.
        initial: law of a path's first state.
        transition: law of the next state, in the rows.
        declared: which months are on a region's path.
        fields: number of levels of each field.
        trace: log-likelihood of all observed counts given paths and tables; None where
            it would be a noiseless function of records.
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
        without their counts. NaN where no cell is declared. Events come in an order:
        no multinomial coefficients.

        Args:
            counts: of all levels of all fields, one after the other: `event_counts`.

        Raises:
            ValueError: if the counts are of another shape.

        Privacy:
            Of exact counts it is not private: for evaluation by who may see them.
        """
        shape = (*self.declared.shape, sum(self.fields))
        if jnp.shape(counts) != shape:
            raise ValueError(
                f"`counts` must have shape {shape}, as those of `event_counts`, got "
                f"{jnp.shape(counts)}."
            )
        found = _held_out(
            self.paths, self.emission, array_of(counts, "counts").astype(float)
        )
        return jnp.where(self.declared, found, jnp.nan)

    def diagnostics(self) -> dict[str, dict[str, float]]:
        """Split R-hat and effective sample size of what no numbering of states changes.

        Of the log-likelihood, if its trace is known, and of the share of cells in the
        most frequent state; nan where no draw differs from another.

        Raises:
            ValueError: if there are fewer than four draws a chain.
        """
        if len(self.paths) < 4:
            raise ValueError(
                "`diagnostics` must have at least 4 draws a chain, got "
                f"{len(self.paths)}: ask for more sweeps."
            )
        shares = _largest_shares(self.paths, self.declared, self.states)
        traces = {"log_likelihood": self.trace, "largest_state": shares}
        return {
            name: _diagnose(np.asarray(trace, float).T)
            for name, trace in traces.items()
            if trace is not None
        }

    def _numbering(self) -> tuple[int, np.ndarray]:
        """The best chain, and its states by how many cells they have."""
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
