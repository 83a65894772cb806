r"""Distribution of a row of hidden counts given the row's sum, by convolution.

A row has K cells with hidden counts c_k; their probabilities have a Dirichlet(α) prior.
With the probabilities integrated out, counts with sum m have the Dirichlet-multinomial
distribution, as have independent negative binomial counts NB(α_k, p) given their sum,
for any p. Hence the released numbers s_k with noise of density q have the density

$$P(s | m) = (f_1 * \dots * f_K)(m) / NB(m; Σα, p), \qquad
  f_k(c) = NB(c; α_k, p) \, q(s_k - c).$$

p is chosen so that the numbers neither underflow nor overflow, for any prior. The
counts of a star's hub are a row too, whose weights include the leaves' likelihoods.
"""

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Int32

from dpjax._types import Key
from dpjax.posteriors.exact.convolution import take, valid
from dpjax.posteriors.exact.count_weights import negative_binomial

ByRow = Float[Array, " rows"]
ByCell = Float[Array, "cells rows"]
Totals = Int32[Array, " rows"]
Lowest = Int32[Array, "cells rows"]
Weights = Float[Array, "cells window rows"]


class Rows(eqx.Module):
    """Weights of the hidden counts in table rows that have equal numbers of cells.

    A cell's window is the range of its counts.
    """

    weights: Weights  # f for every cell and count of its window, scaled to at most 1
    lowest: Lowest  # the first count of every cell's window
    scale: ByRow  # log of the product of the cells' scales
    tail: ByCell  # log bound of a weight outside a cell's window, scaled
    alpha: ByCell  # Dirichlet parameters
    guess: ByRow  # estimated total: p = guess / (guess + Σα)

    @classmethod
    def from_logs(
        cls, logs: Weights, lowest: Lowest, tail: ByCell, alpha: ByCell, guess: ByRow
    ) -> "Rows":
        """Make `Rows` from log-weights of counts, which are scaled to be at most 0."""
        most = logs.max(axis=1)
        scaled, scale = jnp.exp(logs - most[:, None]), most.sum(axis=0)
        return cls(scaled, lowest, scale, tail - most, alpha, guess)

    @property
    def window(self) -> int:
        """Number of hidden counts with a weight, for each cell."""
        return self.weights.shape[1]

    @property
    def least(self) -> Totals:
        """Smallest total of each row, the sum of its cells' smallest counts."""
        return self.lowest.sum(axis=0, dtype=jnp.int32)

    def log_norm(self, start: Totals, length: int) -> Float[Array, "length rows"]:
        """Log of the factor by which a convolution of weights exceeds the likelihood.

        The likelihood is that of a row's released numbers given its total m. The factor
        is the negative binomial probability of m over the weights' scale, for `length`
        successive totals m from `start` on.
        """
        whole = self.alpha.sum(axis=0)[None]
        weights = window_weights(start[None], length, whole, self.guess)
        return weights[0] - self.scale[None]

    def omitted(self) -> ByRow:
        """Log of a bound of the part of the cells' convolution that windows omit.

        A window is the range of a cell's counts. A cell with a count outside its window
        contributes at most its tail, one other cell at most its largest weight (1), and
        each remaining cell at most its total weight.
        """
        sums = jnp.logaddexp(jnp.log(self.weights.sum(axis=1)), self.tail)
        rest = sums.sum(axis=0)[None] - sums
        cells = jnp.arange(sums.shape[0])
        apart = cells[:, None] != cells[None]
        largest = jnp.where(apart[..., None], sums[None], -jnp.inf).max(axis=1)
        largest = jnp.where(jnp.isfinite(largest), largest, 0)
        exceeds = jnp.maximum(self.tail, 0).sum(axis=0)[None]
        return logsumexp(self.tail + rest - largest + exceeds, axis=0)


def count_weights(
    counts: Float[Array, "*shape window rows"],
    alpha: Float[Array, "*shape rows"],
    guess: ByRow,
    whole: ByRow,
) -> Float[Array, "*shape window rows"]:
    """Negative binomial log-probabilities of counts; p is guess / (guess + whole)."""
    alpha = alpha[..., None, :]
    broadcast = (1,) * (counts.ndim - 1) + (-1,)
    guess, whole = guess.reshape(broadcast), whole.reshape(broadcast)
    return negative_binomial(counts, alpha, guess, whole)


def window_weights(
    lowest: Lowest, length: int, alpha: ByCell, guess: ByRow
) -> Float[Array, "cells length rows"]:
    """Compute `count_weights` for `length` successive counts from `lowest` on."""
    start, whole = lowest.astype(float), alpha.sum(axis=0)
    first = count_weights(start[:, None], alpha, guess, whole)
    steps = jnp.arange(1, length, dtype=jnp.int32).astype(float)[None, :, None]
    counts = start[:, None] + steps
    p = (guess / (guess + whole))[None, None]
    ratios = (alpha[:, None] + counts - 1) / counts * p
    changes = jnp.cumsum(jnp.log(ratios), axis=1)
    return jnp.concatenate([first, first + changes], axis=1)


def even_tilt(whole: ByRow, guess: ByRow, least: Totals, most: Totals) -> ByRow:
    """Return the guess for which the totals `least` and `most` have equal weights.

    With this parameter of `count_weights`, the weights of all totals in between stay
    within the range of floating-point numbers, unless the prior is very strong.
    """
    ends = jnp.stack([least, most]).astype(float)
    logs = count_weights(ends, whole, guess, whole)
    slope = (logs[1] - logs[0]) / jnp.maximum(ends[1] - ends[0], 1)
    log_p = -jnp.log1p(whole / guess) - slope
    log_p = jnp.minimum(log_p, -whole / (100 * (ends[1] + 1)))
    return whole / jnp.expm1(-log_p)


def others(rows: Rows, start: Totals, length: int) -> Float[Array, "cells met rows"]:
    """Convolve, for each cell, the weights of all other cells of its row.

    The result has the sums of the other cells' counts that meet the cell's window in
    `length` totals from `start` on, in increasing order.
    """
    cells, window, _ = rows.weights.shape
    first, wanted = start - rows.least - (window - 1), length + window - 1
    if cells == 2:
        return jnp.stack([take(x, first, wanted) for x in rows.weights[::-1]])
    earlier, later = _later(rows.weights[::-1])[::-1], _later(rows.weights)
    size = (cells - 1) // 2 * (window - 1) + 1  # of the convolution of fewer cells

    def of(cell):
        pair = jnp.stack([earlier[cell], later[cell]])
        fewer = jnp.where(2 * cell < cells, 0, 1)
        met = take(pair[1 - fewer], first - (size - 1), wanted + size - 1)
        return valid(pair[fewer, :size], met, wanted)

    return lax.map(of, _numbers(cells))


def _later(weights: Weights) -> Float[Array, "cells t rows"]:
    """Convolve, for each cell, the weights of all cells after it."""
    cells, window, width = weights.shape
    none = jnp.zeros(((cells - 1) * (window - 1) + 1, width)).at[0].set(1)
    *_, all_later = lax.scan(_add_cell, none, weights[:0:-1])
    return jnp.concatenate([none[None], all_later])[::-1]


def _numbers(cells: int) -> Int32[Array, " cells"]:
    return jnp.arange(cells, dtype=jnp.int32)


def _add_cell(total: Array, weights: Array) -> tuple[Array, Array]:
    padded = jnp.pad(total, ((weights.shape[0] - 1, 0), (0, 0)))
    total = valid(weights, padded, total.shape[0])
    return total, total


def totals(rows: Rows, other: Array, length: int) -> Float[Array, "length rows"]:
    """Convolve the weights of all cells of a row, at `length` successive totals.

    `other` is the first row of `others`, at the same totals.
    """
    return valid(rows.weights[0], other, length)


def quotient(
    part: Float[Array, "*shape"], whole: Float[Array, "*shape"]
) -> Float[Array, "*shape"]:
    """Return the ratio of `part` to `whole`, or 0 where `whole` is 0."""
    possible = whole > 0
    return jnp.where(possible, part / jnp.where(possible, whole, 1), 0)


class RowLaws(eqx.Module):
    """Posterior distributions of the hidden counts of rows, given a release."""

    rows: Rows
    others: Float[Array, "cells met rows"]  # from the function `others`
    first: Totals  # the first total of `others`
    start: Totals  # the first total of every row
    # Ratio of the law of the totals (or of several laws) to the convolution.
    ratio: Float[Array, "totals *many rows"]

    def counts(self) -> Float[Array, "cells window *many rows"]:
        """Return probabilities of every cell's hidden counts from `rows.lowest` on."""
        return lax.map(self._count, _numbers(len(self.others)))

    def meeting(self, cell: Int32[Array, ""]) -> Float[Array, "met rows"]:
        """Return the part of `others` that a cell's window meets in the totals."""
        length = self.ratio.shape[0] + self.rows.window - 1
        return take(self.others[cell], self.start - self.first, length)

    def _count(self, cell: Int32[Array, ""]) -> Float[Array, "window *many rows"]:
        rows, ratio = self.rows, self.ratio
        met = self.meeting(cell)
        weights = jnp.expand_dims(rows.weights[cell], range(1, ratio.ndim - 1))
        return weights * valid(ratio[::-1], met, rows.window)[::-1]

    def moments(self) -> tuple[ByCell, ByCell]:
        """Return the posterior mean of every cell's probability, and of its square."""
        rows, ratio = self.rows, self.ratio
        places = _numbers(ratio.shape[0])[:, None]
        totals = (self.start[None] + places).astype(float)
        whole = rows.alpha.sum(axis=0)[None] + totals
        both = jnp.stack([ratio / whole, ratio / (whole * (whole + 1))], axis=1)
        weighted = RowLaws(rows, self.others, self.first, self.start, both)

        def one(cell):
            counts = rows.lowest[cell][None] + _numbers(rows.window)[:, None]
            a = rows.alpha[cell][None] + counts.astype(float)
            laws = weighted._count(cell)
            return (laws[:, 0] * a).sum(axis=0), (laws[:, 1] * a * (a + 1)).sum(axis=0)

        if len(self.others) > 2:
            return lax.map(one, _numbers(len(self.others)))
        first, second = one(jnp.int32(0))  # the probabilities of two cells sum to 1
        rest = 1 - 2 * first + second
        return jnp.stack([first, 1 - first]), jnp.stack([second, rest])


def draw_rows(key: Key, rows: Rows, totals: Totals) -> Lowest:
    """Draw the hidden counts of all cells given the totals of rows, cell by cell."""
    cells, after = len(rows.weights), _later(rows.weights)
    rest, counts = totals, []
    for cell, key_cell in enumerate(jr.split(key, cells)):
        least = rows.lowest[cell:].sum(axis=0, dtype=jnp.int32)
        start = rest - least - (rows.window - 1)
        met = take(after[cell], start, rows.window)[::-1]
        place = draw_place(key_cell, rows.weights[cell] * met)
        counts.append(rows.lowest[cell] + place)
        rest = rest - counts[-1]
    return jnp.stack(counts)


def draw_place(key: Key, weights: Float[Array, "t rows"]) -> Totals:
    """Draw the index of one entry of each row, in proportion to the weights."""
    above = jnp.cumsum(weights, axis=0)
    level = above[-1] * (1 - jr.uniform(key, above[-1].shape))  # never 0
    return (above < level[None]).sum(axis=0, dtype=jnp.int32)
