"""Draws of a hidden Markov model's probability tables from Dirichlet distributions."""

__all__ = ["draw_bounded_tables", "draw_tables"]

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float

from dpjax._types import Key
from dpjax.chains import draw_log_gamma, log_normalise
from dpjax.distributions import TruncatedBeta, TruncatedDirichlet

Emission = Float[Array, "chains states levels"]
Moves = Float[Array, "chains rows columns"]


def draw_tables(
    key: Key, emission: Emission, moves: Moves, fields: tuple[int, ...]
) -> tuple[Emission, Moves]:
    """Draw log-probabilities of the levels of all fields, and of transitions.

    Args:
        key: random key.
        emission: Dirichlet parameters of the concatenated levels of all fields.
        moves: Dirichlet parameters of the transitions, with rows on the last axis.
        fields: number of levels of each field.
    """
    flat = [x.reshape(x.shape[0], -1) for x in (emission, moves)]
    # One draw compiles faster and needs fewer passes.
    logs = draw_log_gamma(key, jnp.concatenate(flat, axis=1))
    of_levels = logs[:, : flat[0].shape[1]].reshape(emission.shape)
    of_moves = logs[:, flat[0].shape[1] :].reshape(moves.shape)
    parts = jnp.split(of_levels, np.cumsum(fields)[:-1], axis=-1)
    of_fields = [log_normalise(part) for part in parts]
    return jnp.concatenate(of_fields, axis=-1), log_normalise(of_moves)


def draw_bounded_tables(
    key: Key,
    emission: Emission,
    moves: Moves,
    fields: tuple[int, ...],
    truncation: Float[Array, ""],
) -> tuple[Emission, Moves]:
    """`draw_tables` with probabilities >= 1 / (`truncation` K) for K levels."""
    key_moves, key_levels = jr.split(key)
    parts = jnp.split(emission, np.cumsum(fields)[:-1], axis=-1)
    drawn: dict[int, Array] = {}
    # Fields of one size share a call and a compiled program.
    for size in sorted(set(fields)):
        which = [i for i, k in enumerate(fields) if k == size]
        alike = jnp.stack([parts[i] for i in which])
        found = _draw_bounded(jr.fold_in(key_levels, size), alike, truncation)
        drawn |= dict(zip(which, jnp.log(found), strict=True))
    of_moves = log_normalise(draw_log_gamma(key_moves, moves))
    every = [drawn[i] for i in range(len(fields))]
    return jnp.concatenate(every, axis=-1), of_moves


def _draw_bounded(
    key: Key, concentration: Float[Array, "*batch k"], truncation: Float[Array, ""]
) -> Float[Array, "*batch k"]:
    """Draw fields of one size; for two levels, the truncated Beta is faster."""
    size = concentration.shape[-1]
    least = 1 / (truncation * size)
    if size > 2:
        law = TruncatedDirichlet(concentration, least, validate_args=False)
        return law.sample(key)
    of_first, of_second = concentration[..., 0], concentration[..., 1]
    law = TruncatedBeta(of_first, of_second, least, 1 - least, validate_args=False)
    first = law.sample(key)
    return jnp.stack([first, 1 - first], axis=-1)
