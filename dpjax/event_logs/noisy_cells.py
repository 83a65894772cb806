r"""The law of an event log's noisy counts, given hidden states and rates of events.

A cell is a region at a time. It has a hidden rate λ of events. The number of its events
with a level of a field is Poisson with mean m = λ p, where p is the probability of the
level in the cell's hidden state. These exact counts are summed out. With discrete
Laplace noise of inverse scale a, a released number y ≥ 0 has the probability

$$\tanh(a/2) (A_y + B_y), \quad A_y = \sum_{x \le y} P(x; m) e^{-a(y-x)},
\quad B_y = \sum_{x > y} P(x; m) e^{-a(x-y)},$$

where P is the Poisson distribution. The sums follow from
$A_y = e^{-a} A_{y-1} + P(y; m)$ and $B_y = e^{-a} (B_{y+1} + P(y+1; m))$. A number
y < 0 has the probability of 0 times $e^{ay}$. With Gaussian noise, the probability is a
sum over x for every number y. Logarithms of these probabilities are tabulated on a grid
of √m, in which their curvature is bounded, and interpolated.
"""

import math
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import gammaln, logsumexp, xlogy
from jaxtyping import Array, Bool, Float, Int, Int32

from dpjax._private import Unpickled
from dpjax.event_logs.events import cell_counts
from dpjax.event_logs.sampler import CellCounts
from dpjax.noise import GaussianLaw
from dpjax.posteriors.laws import law_of
from dpjax.releases.released import Released

_RATES = 48  # possible rates of a cell, equally spaced in their square roots
_STEP = 0.125  # of the grid of √m
_ROWS, _COLUMNS = 256, 64  # their numbers in the table are multiples of these
_MOST_ENTRIES = 1 << 26  # of the table
_REACH = 8.0  # standard deviations, within which rates and counts are possible


class NoisyCells(Unpickled, eqx.Module):
    """Released counts of an event log, the law of their noise, and the model.

    Args:
        model: settings of the hidden Markov model, with the noisy counts.
        places: index in `table` of each number's first entry.
        table: log-probabilities of numbers, up to a constant, on the grid of √m.
        rate: inverse scale of Laplace noise of equal variance, for each level.
        roots: square roots of the possible rates of events of a cell.
        first_rates: index of a likely rate of each cell, with which chains start.
        average: log-probabilities of all levels, with which chains start.
    """

    model: CellCounts
    places: Int32[Array, "times regions levels"]
    table: Float[Array, " entries"]
    rate: Float[Array, " levels"]
    roots: Float[Array, " rates"]
    first_rates: Int32[Array, "times regions"]
    average: Float[Array, " levels"]

    @classmethod
    def of(cls, released: Released, model: CellCounts) -> "NoisyCells":
        """Tabulate the law of the noisy counts of a release of an event log.

        Args:
            released: release of the event log's counts.
            model: settings of the model, with the released counts, negative or not.

        Raises:
            ValueError: if the noise is not discrete Laplace or Gaussian noise, or the
                counts are so large that the table is.
        """
        rate, normal = _inverse_scales(released)
        used = np.asarray(model.used)
        counts = np.where(used[..., None], np.asarray(model.counts, float), 0)
        totals, error = _noisy_totals(counts, rate, model.fields)
        largest = max(totals.max(), 1.0)
        largest += _REACH * math.sqrt(largest + error**2)
        roots = np.linspace(0, math.sqrt(largest), _RATES)
        likely = np.sqrt(np.maximum(totals, 0))[..., None] - roots
        places, table = _tabulated(counts, rate, largest, normal)
        return cls(
            model,
            jnp.asarray(np.swapaxes(places, 0, 1), jnp.int32),
            table,
            jnp.asarray(rate, float),
            jnp.asarray(roots, float),
            jnp.asarray(np.abs(likely).argmin(axis=-1).T, jnp.int32),
            jnp.asarray(_average(counts, model.fields), float),
        )

    @property
    def used(self) -> Bool[Array, "times 1 regions 1"]:
        """Whether the counts of each cell are used."""
        return self.model.used.T[:, None, :, None]

    def law(
        self, root: Float[Array, "times chains regions levels"]
    ) -> tuple[
        Float[Array, "times chains regions levels"],
        Float[Array, "times chains regions levels"],
    ]:
        """Return each number's log-probability, and its derivative, at √m = `root`.

        Both are 0 for cells that are not used.
        """
        scaled = root / _STEP
        low = jnp.floor(scaled)
        place = self.places[:, None] + low.astype(jnp.int32)
        below = jnp.where(self.used, self.table[place], 0)
        slope = jnp.where(self.used, self.table[place + 1], 0) - below
        return below + slope * (scaled - low), slope / _STEP


@partial(jax.jit, static_argnums=(1, 2, 3))
def law_table(
    rate: Float[Array, ""], columns: int, most: int, reach: int
) -> Float[Array, "numbers columns"]:
    """Return log-probabilities of the released numbers 0 to `most`, for each √m.

    Args:
        rate: inverse scale of the noise.
        columns: number of values of √m, from 0 in equal steps.
        most: largest released number.
        reach: largest exact count that is summed over.
    """
    exact = _exact_law(columns, reach)

    def from_below(log, one):
        log = jnp.logaddexp(log - rate, one)
        return log, log

    def from_above(log, one):
        return jnp.logaddexp(log, one) - rate, log

    none = jnp.full(columns, -jnp.inf)
    _, below = lax.scan(from_below, none, exact)
    _, above = lax.scan(from_above, none, exact, reverse=True)
    both = jnp.logaddexp(below, above)[: most + 1]
    return both + jnp.log(jnp.tanh(rate / 2))


@partial(jax.jit, static_argnums=(1, 2, 3))
def normal_table(
    rate: Float[Array, ""], columns: int, span: int, reach: int, least: Int[Array, ""]
) -> Float[Array, "numbers columns"]:
    """Return what `law_table` does for Gaussian noise, for the numbers from `least` on.

    Args:
        rate: inverse scale of Laplace noise of equal variance.
        columns: number of values of √m, from 0 in equal steps.
        span: the largest released number minus the least.
        reach: largest exact count that is summed over.
        least: the smallest released number.
    """
    exact, law = _exact_law(columns, reach), GaussianLaw(rate**2 / 4)
    counts = jnp.arange(reach + 1)

    def of_number(number):
        noise = law.log_prob(jnp.broadcast_to(number, counts.shape), counts)
        return logsumexp(exact + noise[:, None], axis=0)

    return lax.map(of_number, least + jnp.arange(span + 1))


def _exact_law(columns: int, reach: int) -> Float[Array, "counts columns"]:
    """Return log-probabilities of the exact counts from 0 to `reach`, for each √m."""
    mean = (_STEP * jnp.arange(columns, dtype=float)) ** 2
    count = jnp.arange(reach + 1, dtype=float)[:, None]
    return xlogy(count, mean[None]) - mean[None] - gammaln(count + 1)


def _tabulated(
    counts: np.ndarray, rate: np.ndarray, largest: float, normal: bool
) -> tuple[np.ndarray, Float[Array, " entries"]]:
    """Return the place of each count's first entry in a table, and the table."""
    # Numbers below 0 have the probability of 0 and a factor, with Laplace noise.
    least = int(counts.min(initial=0)) if normal else 0
    # Few different sizes, so that compiled programs are used again.
    most = _ROWS * math.ceil((counts.max(initial=0) - least + 1) / _ROWS) - 1
    columns = _COLUMNS * math.ceil((math.sqrt(largest) / _STEP + 2) / _COLUMNS)
    scales, scale = np.unique(rate, return_inverse=True)
    if scales.size * (most + 1) * columns > _MOST_ENTRIES:
        raise ValueError(
            "`released` must have fewer events in a region at a time for noise-aware "
            "chains: use noise_aware=False, or release shorter times."
        )
    mean = (columns * _STEP) ** 2
    reach = most + math.ceil(mean + _REACH * (math.sqrt(mean) + 1 / scales.min()))
    sizes, below = (columns, most, reach), jnp.asarray(least, int)
    tables = [
        normal_table(a, *sizes, below) if normal else law_table(a, *sizes)
        for a in jnp.asarray(scales, float)
    ]
    rows = scale[None, None] * (most + 1) + np.maximum(counts - least, 0).astype(int)
    return rows * columns, jnp.concatenate(tables).reshape(-1)


def _inverse_scales(released: Released) -> tuple[np.ndarray, bool]:
    """Return the levels' inverse scales of noise, and whether it is Gaussian noise."""
    noise = law_of(released).noise(jnp.shape(released.values))
    normal = None if noise is None else noise.normal_deviation()
    law = None if noise is None else noise.as_laplace()
    if normal is None and (law is None or not law.discrete):
        raise ValueError(
            "`released` must have discrete Laplace or Gaussian noise for noise-aware "
            f"chains, got {type(released.mechanism).__name__}: use noise_aware=False."
        )
    rate: Any = law.rate if law else np.sqrt(2) / normal
    rates = jnp.broadcast_to(jnp.asarray(rate, float), jnp.shape(released.values))
    # The noise of a field is the same in all cells.
    cells = np.asarray(cell_counts(released.counted, rates), float)
    return cells[0, 0], law is None


def _noisy_totals(
    counts: np.ndarray, rate: np.ndarray, fields: tuple[int, ...]
) -> tuple[np.ndarray, float]:
    """Estimate each cell's number of events from all fields; return the error's sd."""
    ends = np.cumsum(fields)[:-1]
    totals = np.stack([x.sum(-1) for x in np.split(counts, ends, axis=-1)], axis=-1)
    precision = np.array([1 / (2 / a**2).sum() for a in np.split(rate, ends)])
    return np.dot(totals, precision) / precision.sum(), precision.sum() ** -0.5


def _average(counts: np.ndarray, fields: tuple[int, ...]) -> np.ndarray:
    """Return log-probabilities of levels from noisy counts of all cells."""
    sums = np.maximum(counts.sum(axis=(0, 1)), 0) + 1
    parts = np.split(sums, np.cumsum(fields)[:-1])
    return np.log(np.concatenate([x / x.sum() for x in parts]))
