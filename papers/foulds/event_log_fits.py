"""Hidden Markov models of event logs, fitted to noisy, exact or tempered counts."""

__all__ = ["cells_of", "fit_chains", "noisy_counts", "one", "tempered_counts"]

from collections.abc import Sequence
from fractions import Fraction
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int32, Key as Keys

from dpjax._types import Key
from dpjax.chains import price_of, table_width
from dpjax.event_logs import CellCounts, HiddenMarkovPosterior, sample_hidden_markov
from dpjax.mechanisms import DiscreteLaplace
from dpjax.privacy import REPLACE_ONE, Sensitivity

Counts = Float[Array, "fits regions months levels"]


def noisy_counts(
    key: Key,
    counts: Int32[ArrayLike, "logs regions months levels"],
    epsilon: str,
    fields: Sequence[int],
) -> Counts:
    """Counts with noise at ε in all, evenly over the fields; negative ones are 0."""
    noise = DiscreteLaplace.calibrate(
        epsilon, Sensitivity(2 * len(fields), REPLACE_ONE)
    )
    return _with_noise(key, noise, jnp.asarray(counts))


@jax.jit
def _with_noise(key: Key, noise: DiscreteLaplace, counts: Array) -> Array:
    return jnp.maximum(noise.sample(key, counts), 0).astype(float)


def tempered_counts(
    counts: Int32[ArrayLike, "logs regions months levels"],
    epsilon: str,
    fields: Sequence[int],
    truncation: int,
) -> Counts:
    """Counts over the temperature at which one posterior sample costs ε."""
    least = [f"1/{truncation * size}" for size in fields]
    width = sum(map(table_width, fields, least), Fraction(0))
    heat = price_of(width, epsilon, REPLACE_ONE).temperature
    return jnp.asarray(counts).astype(float) / jnp.asarray(heat, float)


@partial(jax.jit, static_argnums=(3, 4, 5, 6))
@partial(jax.vmap, in_axes=(0, 0, None, None, None, None, None))
def fit_chains(
    key: Keys[Array, ""],
    counts: Float[Array, "regions months levels"],
    truncation: Float[Array, ""] | None,
    fields: tuple[int, ...],
    states: int,
    sweeps: int,
    burn_in: int,
) -> HiddenMarkovPosterior:
    """One chain on all cells, of every log of a stack."""
    everywhere = jnp.ones(counts.shape[:2], bool)
    cells = cells_of(counts, everywhere, fields, states, truncation)
    return sample_hidden_markov(key, cells, chains=1, sweeps=sweeps, burn_in=burn_in)


def cells_of(
    counts: Float[Array, "regions months levels"],
    observed: Bool[Array, "regions months"],
    fields: tuple[int, ...],
    states: int,
    truncation: Float[Array, ""] | None,
) -> CellCounts:
    """All cells declared, uniform priors."""
    unit = jnp.asarray(1.0)
    return CellCounts(
        counts,
        jnp.ones_like(observed),
        observed,
        fields,
        states,
        unit,
        unit,
        truncation,
    )


def one(posteriors: HiddenMarkovPosterior, place: int) -> HiddenMarkovPosterior:
    """That of one log of a stack, on the host."""
    return jax.tree.map(lambda leaf: np.asarray(leaf)[place], posteriors)
