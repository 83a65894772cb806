r"""Gibbs updates of the hidden rates of events of all cells, given tables and paths.

A rate has one of K values, whose probabilities p have a Dirichlet prior of total
concentration 1. Under this prior most cells share few values, which single cells leave
rarely. The values are therefore also updated in pairs. Given $p_i + p_j$, the share
$u = p_i / (p_i + p_j)$ has a Beta prior and, with the rates of the pair's cells summed
out, the likelihood $\prod_c (u L_{ci} + (1 - u) L_{cj})$, where $L_{ci}$ is the
likelihood of cell c with rate i. The new share is one of the present share and several
draws from the prior, with probabilities proportional to the likelihood, which keeps the
posterior distribution. Then each cell of the pair draws one of the two rates.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int32

from dpjax._products import einsum
from dpjax._types import Key
from dpjax.chains import draw_categorical, draw_log_gamma, log_normalise
from dpjax.event_logs.noisy_cells import NoisyCells

Rates = Int32[Array, "times chains regions"]
LawOfRates = Float[Array, "chains rates"]  # log-probabilities
Likelihood = Callable[[Rates], Float[Array, "times chains regions"]]
Chosen = tuple[Rates, Float[Array, "times chains regions"]]  # with log-likelihoods

_DISTANCES = 1, 2, 4  # between the values of a pair, in an update of all pairs
_SHARES = 7  # draws from the prior of a pair's share
_REACHES = 2, 10  # longest steps, among the values, of the proposals for single cells


def draw_rates(
    key: Key, cells: NoisyCells, rates: Rates, log_of: Likelihood
) -> tuple[Rates, LawOfRates]:
    """Update the rates of all cells; return them and log-probabilities of the values.

    Args:
        key: typed JAX key.
        cells: noisy counts and their law.
        rates: index of the rate of every cell.
        log_of: function from rates to each cell's log-likelihood.
    """
    number = len(_DISTANCES) + len(_REACHES)
    key_law, key_draw, *keys = jr.split(key, 2 + number)
    law = _draw_law(key_law, cells, rates)
    chosen = rates, log_of(rates)
    for distance, key_pairs in zip(_DISTANCES, keys, strict=False):
        law, chosen = _draw_pairs(key_pairs, law, chosen, log_of, distance)
    every = jnp.broadcast_to(law[None, :, None], (*rates.shape, law.shape[-1]))
    key_new, key_choice = jr.split(key_draw)
    new = draw_categorical(key_new, every)
    chosen = _choose(key_choice, chosen, new, log_of(new), 0.0)
    for reach, key_step in zip(_REACHES, keys[len(_DISTANCES) :], strict=True):
        key_new, key_choice = jr.split(key_step)
        old = chosen[0]
        step = jr.randint(key_new, old.shape, -reach, reach + 1, jnp.int32)
        new = jnp.clip(old + step, 0, law.shape[-1] - 1)
        inside = new == old + step
        gain = jnp.where(inside, _at(law, new) - _at(law, old), -jnp.inf)
        chosen = _choose(key_choice, chosen, new, log_of(new), gain)
    return chosen[0], law


def _draw_law(key: Key, cells: NoisyCells, rates: Rates) -> LawOfRates:
    size = cells.roots.size
    used = jnp.where(cells.used, jax.nn.one_hot(rates, size), 0)
    number = used.sum(axis=(0, 2)).astype(float)
    return log_normalise(draw_log_gamma(key, number + 1 / size))


def _at(values: Float[Array, "*batch chains rates"], rates: Rates) -> Array:
    """Return each cell's value, that of its rate."""
    chains = jnp.arange(values.shape[-2], dtype=jnp.int32)[None, :, None]
    return values[..., chains, rates]


def _choose(key: Key, old: Chosen, new: Rates, log: Array, gain: Array | float):
    """Accept or reject the new rate of each cell."""
    uniform = jr.uniform(key, log.shape, log.dtype)
    accepted = jnp.log(uniform) < log - old[1] + gain
    return jnp.where(accepted, new, old[0]), jnp.where(accepted, log, old[1])


def _draw_pairs(
    key: Key, law: LawOfRates, chosen: Chosen, log_of: Likelihood, distance: int
) -> tuple[LawOfRates, Chosen]:
    """Update the values in disjoint pairs at a distance, which begin at random."""
    rates, log = chosen
    key_pairs, key_odds, key_share, key_cells = jr.split(key, 4)
    other = _partners(key_pairs, law.shape[-1], distance)
    new = other[rates]
    gain = log_of(new) - log
    # Log-odds of a value in its pair: the present ones, then others from the prior.
    free = jnp.full((_SHARES, *law.shape), 1 / law.shape[-1], law.dtype)
    weights = jnp.concatenate([law[None], draw_log_gamma(key_odds, free)])
    odds = weights - weights[..., other]
    at_cells = _at(odds, rates)
    stay, move = jax.nn.log_sigmoid(at_cells), jax.nn.log_sigmoid(-at_cells)
    member = jax.nn.one_hot(rates, law.shape[-1], dtype=log.dtype)
    sums = einsum("tcrk,ntcr->nck", member, jnp.logaddexp(stay, move + gain[None]))
    noise = jr.gumbel(key_share, sums.shape, sums.dtype)
    pair = jnp.minimum(other, other[other])  # the lower value, for one choice a pair
    which = (sums + sums[..., other] + noise[..., pair]).argmax(axis=0)
    odds = jnp.take_along_axis(odds, which[None], axis=0)[0]
    stay = jax.nn.sigmoid(_at(odds, rates) - gain)
    moved = jr.uniform(key_cells, stay.shape, stay.dtype) >= stay
    chosen = jnp.where(moved, new, rates), jnp.where(moved, log + gain, log)
    return jnp.logaddexp(law, law[:, other]) + jax.nn.log_sigmoid(odds), chosen


def _partners(key: Key, size: int, distance: int) -> Int32[Array, " rates"]:
    """Return the other value of each value's pair; some values are without one."""
    value = jnp.arange(size, dtype=jnp.int32)
    start = jr.randint(key, (), 0, 2 * distance, jnp.int32)
    is_lower = (value + start) // distance % 2 == 0
    other = jnp.where(is_lower, value + distance, value - distance)
    return jnp.where((other >= 0) & (other < size), other, value)
