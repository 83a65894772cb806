r"""Modes of the posterior of a hidden Markov model, and their weights.

A mode is a region of parameters that chains do not leave, such as one with two of the
true states merged. The weight of mode m is its posterior probability
$Z_m / \sum_j Z_j$, where $Z_m$ is the integral over the mode of
$q(\theta) = p(y \mid \theta) p(\theta)$. The parameters θ are all tables. Hidden paths
are summed out of $p(y \mid \theta)$ by the forward recursion, and so are the rates of
events, whose probabilities are set to their averages over all draws.

Bridge sampling compares draws in the mode with draws of a density g, a product of
Dirichlet densities with the means and variances of the tables in the mode. The estimate
z of $Z_m$ solves

$$\sum_{\theta \sim g} \frac{q(\theta)}{q(\theta) + z g(\theta)}
= \sum_{\theta \sim q} \frac{z g(\theta)}{q(\theta) + z g(\theta)}$$

for equal numbers of draws. All permutations of the states of a parameter have the same
density. Draws of q are permuted to be closest to one draw of the mode, and q is 0 for
other permutations: this leaves the same share of each mode.

The standard error of log z is that of the two sums. If few draws of g are in the mode,
the sums do not show the error, and it is the larger error that follows if log q / g is
normal. Its mean then is D larger for draws of q than for draws of g, its variance is D,
and the square of the error is $2 \sqrt{D / 2 \pi} e^{D/8} / n$ for large D and n draws
of each. It is at most D / 2, since $\log Z_m$ is between the two means (by Jensen's
inequality). D is estimated by medians. A weight and its error are the mean and the
standard deviation of the weights if each log z is normal with its error.

Reference:
    Meng & Wong (Statistica Sinica 1996), for the estimate; Frühwirth-Schnatter
    (Econometrics Journal 2004), for its standard error.
"""

from collections.abc import Sequence
from dataclasses import replace

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from dpjax._later import diagnostics, optimize, special
from dpjax._types import Key
from dpjax.chains import draw_log_gamma, log_normalise
from dpjax.event_logs.chains_by_mode import chains_by_mode
from dpjax.event_logs.noisy_cells import NoisyCells
from dpjax.event_logs.posterior import (
    HiddenMarkovMode,
    HiddenMarkovPosterior,
    largest_r_hat,
)
from dpjax.event_logs.sampler import CellCounts, cell_log_likelihoods

Cells = CellCounts | NoisyCells
Tables = list[np.ndarray]  # log-probabilities, of shape (draws, rows, columns)

_DRAWS = 64  # of the density g, and about as many of the posterior
_LEAST = 1e-30  # probability
_MOST_STEPS, _STEP = 1000, 1e-6  # of the equation's solution
_FARTHEST = 2000.0  # value of D that an error is computed for
_VALUES = 4096  # of log z, for the error of a weight
_TOGETHER = 8  # draws whose likelihoods are computed together


def weigh_modes(
    key: Key, cells: Cells, posterior: HiddenMarkovPosterior
) -> HiddenMarkovPosterior:
    """Group chains into modes of the posterior, and give the modes their weights.

    Two chains are in one mode if their central 80 % intervals overlap, or if other
    chains connect them: those of both statistics of `diagnostics`, and those of the
    agreement with the last draw of each chain. Two draws agree on a pair of cells if
    both or neither have them in one state. If a chain changes its set of states, one
    mode has both sets, and its R-hat is large: use more sweeps. A mode without any
    chain has no weight.

    Args:
        key: typed JAX key.
        cells: counts and model that the chains were run with.
        posterior: result of `sample_hidden_markov`. It is returned as it is if it has
            one chain, or fewer than four draws in each chain.

    Privacy:
        Not private for exact counts. For released counts, post-processing has no cost.
    """
    draws, _, chains, _ = posterior.paths.shape
    if chains == 1 or draws < 4:
        return posterior
    groups = chains_by_mode(posterior)
    weights = _weights(key, cells, posterior, groups)
    trace = np.asarray(posterior.trace, float)
    modes = [
        HiddenMarkovMode(
            tuple(group),
            float(drawn.mean()),
            float(drawn.std()),
            float(trace[:, group].mean()),
            largest_r_hat(posterior, group),
        )
        for group, drawn in zip(groups, weights.T, strict=True)
    ]
    ordered = tuple(sorted(modes, key=lambda mode: -mode.weight))
    return replace(posterior, modes=ordered)


def _weights(
    key: Key, cells: Cells, posterior: HiddenMarkovPosterior, groups: Sequence[list]
) -> np.ndarray:
    """Return weights of all modes for many values of log z within its error."""
    if len(groups) == 1:
        return np.ones((1, 1))
    key_errors, *keys = jr.split(key, 1 + len(groups))
    found = [
        _log_evidence(key, cells, posterior, chains)
        for key, chains in zip(keys, groups, strict=True)
    ]
    logs, errors = np.array(found).T
    noise = np.asarray(jr.normal(key_errors, (_VALUES, len(groups))), float)
    return special.softmax(logs + errors * noise, axis=1)


def _log_evidence(
    key: Key, cells: Cells, posterior: HiddenMarkovPosterior, chains: Sequence[int]
) -> tuple[float, float]:
    """Estimate the logarithm of a mode's integral, and its standard error."""
    size = max(4, _DRAWS // len(chains))
    places = np.linspace(0, len(posterior.paths) - 1, 2 * size).astype(int)
    target = np.asarray(posterior.emission, float)[places[-1], chains[0]]
    fitted, drawn = (
        _tables(posterior, places[first::2], chains, target) for first in (0, 1)
    )
    laws = [_dirichlet_of(np.exp(part)) for part in fitted]
    proposed = _draws_of(key, laws, size * len(chains))
    rates = posterior.rates
    rates = jnp.ones(1) if rates is None else rates.mean(axis=(0, 1))
    inside, outside = (
        _log_ratios(cells, rates, laws, tables) for tables in (drawn, proposed)
    )
    shown = np.concatenate(proposed[:-1], axis=-1)
    in_place = _orders(np.exp(shown), target) == np.arange(posterior.states)
    outside = np.where(in_place.all(axis=1), outside, -np.inf)
    return _bridged(inside.reshape(len(chains), size), outside)


def _bridged(inside: np.ndarray, outside: np.ndarray) -> tuple[float, float]:
    """Solve for log z, given log q / g of draws of q, by chain, and of draws of g."""
    log_z = float(np.median(inside))
    for _ in range(_MOST_STEPS):
        above, below = _terms(inside, outside, log_z)
        step = float(special.logsumexp(above)) - float(special.logsumexp(below)) - log_z
        log_z += step
        if abs(step) < _STEP:
            break
    above, below = _terms(inside, outside, log_z)
    terms = np.exp(below - below.max())
    size = float(diagnostics.effective_sample_size(terms))
    size = min(max(size, 1.0), terms.size)
    variance = sum(
        x.var() / x.mean() ** 2 / number
        for x, number in ((np.exp(above - above.max()), above.size), (terms, size))
    )
    apart = np.clip(np.median(inside) - np.median(outside), 0, _FARTHEST)
    normal = 2 * np.sqrt(apart / (2 * np.pi)) * np.exp(apart / 8) / size
    return float(log_z), float(min(np.sqrt(max(variance, normal)), apart / 2))


def _terms(
    inside: np.ndarray, outside: np.ndarray, log_z: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return logarithms of the terms of both sums, the second divided by z."""
    above = outside - np.logaddexp(outside, log_z)
    return above, -np.logaddexp(inside, log_z)


def _tables(
    posterior: HiddenMarkovPosterior,
    places: np.ndarray,
    chains: Sequence[int],
    target: np.ndarray,
) -> Tables:
    """Return drawn tables, chain by chain, with states in the order of `target`."""
    emission, initial, transition = (
        np.swapaxes(np.asarray(x, float)[np.ix_(places, np.array(chains))], 0, 1)
        for x in (posterior.emission, posterior.initial, posterior.transition)
    )
    moves = np.concatenate([initial[:, :, None], transition], axis=2)
    emission, moves = (x.reshape(-1, *x.shape[2:]) for x in (emission, moves))
    orders = _orders(emission, target)
    rows = np.pad(orders + 1, ((0, 0), (1, 0)))
    emission = np.take_along_axis(emission, orders[..., None], axis=1)
    moves = np.take_along_axis(moves, rows[..., None], axis=1)
    moves = np.take_along_axis(moves, orders[:, None], axis=2)
    levels = np.split(emission, np.cumsum(posterior.fields)[:-1], axis=-1)
    return [np.log(np.maximum(part, _LEAST)) for part in (*levels, moves)]


def _orders(emission: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the order of states in which each table is closest to `target`."""
    near = np.matmul(np.sqrt(target), np.sqrt(np.swapaxes(emission, 1, 2)))
    return np.stack([optimize.linear_sum_assignment(-x)[1] for x in near])


def _dirichlet_of(shares: np.ndarray) -> np.ndarray:
    """Return Dirichlet parameters of every row, by its means and total variance."""
    mean, variance = shares.mean(axis=0), shares.var(axis=0, ddof=1)
    spread = (mean * (1 - mean)).sum(axis=-1)
    precision = spread / np.maximum(variance.sum(axis=-1), 1e-12) - 1
    return np.maximum(mean * np.maximum(precision, 1)[..., None], 0.01)


def _draws_of(key: Key, laws: Sequence[np.ndarray], number: int) -> Tables:
    found = [
        log_normalise(draw_log_gamma(key, jnp.asarray(np.stack([law] * number), float)))
        for key, law in zip(jr.split(key, len(laws)), laws, strict=True)
    ]
    return [np.asarray(part, float) for part in found]


def _log_ratios(
    cells: Cells, rates: Array, laws: Sequence[np.ndarray], tables: Tables
) -> np.ndarray:
    """Return log q / g, up to a constant, for tables of log-probabilities."""
    *levels, moves = tables
    given = (np.concatenate(levels, axis=-1), moves)
    given = [jnp.asarray(part, float) for part in given]
    total = np.asarray(_log_likelihoods(cells, rates, *given), float).sum(axis=1)
    model = cells.model if isinstance(cells, NoisyCells) else cells
    priors = [model.emission] * len(levels) + [model.transition]
    for prior, law, part in zip(priors, laws, tables, strict=True):
        constant = special.gammaln(law.sum(axis=-1)) - special.gammaln(law).sum(axis=-1)
        total += ((float(prior) - law) * part).sum(axis=(1, 2)) - constant.sum()
    return total


@jax.jit
def _log_likelihoods(
    cells: Cells, rates: Array, emission: Array, moves: Array
) -> Float[Array, "draws regions"]:
    """Return every region's log-likelihood, with paths and rates summed out."""

    def one(tables):
        emission, moves = tables
        if isinstance(cells, NoisyCells):
            return _forward(_noisy_logs(cells, rates, emission), moves, cells.model)
        logs = cell_log_likelihoods(cells, emission[None])[:, 0]
        return _forward(logs, moves, cells)

    return lax.map(one, (emission, moves), batch_size=_TOGETHER)


def _noisy_logs(
    cells: NoisyCells, rates: Array, emission: Float[Array, "states levels"]
) -> Float[Array, "times regions states"]:
    """Return the log-likelihood of every cell's numbers, with its rate summed out."""
    times, regions, levels = cells.places.shape
    shape = (times, emission.shape[0], regions, levels)
    share = jnp.exp(emission / 2)[None, :, None]

    def add(total, rate):
        root, log = rate
        found = cells.law(jnp.broadcast_to(root * share, shape))[0].sum(axis=-1)
        return jnp.logaddexp(total, found + log), None

    start = jnp.full(shape[:-1], -jnp.inf)
    total, _ = lax.scan(add, start, (cells.roots, jnp.log(rates)))
    return jnp.swapaxes(total, 1, 2)


def _forward(
    logs: Float[Array, "times regions states"], moves: Array, model: CellCounts
) -> Float[Array, " regions"]:
    """Sum over the paths of each region, which may start late or end early."""
    alive = model.declared.T.astype(jnp.int32)
    is_later = jnp.cumsum(alive, axis=0) > alive

    def step(law, inputs):
        logs, is_later = inputs
        moved = jax.nn.logsumexp(law[..., None] + moves[None, 1:], axis=1)
        return jnp.where(is_later[:, None], moved, law) + logs, None

    start = jnp.broadcast_to(moves[:1], logs.shape[1:])
    return jax.nn.logsumexp(lax.scan(step, start, (logs, is_later))[0], axis=-1)
