"""Scores, functions of an output: values, likelihood ratios, and lowest bits."""

import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

from dpjax.audits.drawing import Outputs
from dpjax.audits.events import Score, cuts_of

FAMILIES = ("value", "likelihood", "bits")
Pair = tuple[Outputs, Outputs]
Coder = tuple[Callable[[Outputs], np.ndarray], int]  # cells of draws, number of cells

_MOST_COLUMNS = 64
_PAIRED = 8  # columns whose sums and differences are scores too
_FOR_ORDER = 1 << 12  # draws by which columns are compared
_BINS = 32
_PER_CELL = 16  # draws for each cell of a joint histogram, on average
_LOW_BITS = (1, 2, 3)


class Column(NamedTuple):
    """The position of one number in every output of a release.

    Attributes:
        name: the position in Python notation, such as "output[0]".
        leaf: index of the array in `Outputs.leaves`.
        place: index of the number in the flattened array.
    """

    name: str
    leaf: int
    place: int

    def raw(self, outputs: Outputs) -> np.ndarray:
        """Return the number of every draw, with its own type."""
        return outputs.leaves[self.leaf][:, self.place]

    def values(self, outputs: Outputs) -> Float64[np.ndarray, " draws"]:
        """Return the number of every draw as a double; NaN becomes infinity."""
        values = self.raw(outputs).astype(float)
        return np.where(np.isnan(values), np.inf, values)


def by_value(pair: Pair) -> list[Score]:
    """Return scores: each number of an output, and sums and differences of two."""
    columns = telling_columns(pair)
    scores = [Score(column.name, column.values) for column in columns]
    for one, other in itertools.combinations(columns[:_PAIRED], 2):
        scores += [_combined(one, other, 1), _combined(one, other, -1)]
    return scores


def by_likelihood(
    fit: Pair, log_ratio: Callable[[Outputs], np.ndarray] | None
) -> list[Score]:
    """Return the scores that are log-likelihood ratios of an output under neighbours.

    Args:
        fit: outputs under both data sets, for histograms only.
        log_ratio: function from outputs to log-ratios, if known. None: the log-ratio is
            estimated as if numbers were independent and, given enough draws, jointly.
    """
    if log_ratio is not None:
        return [Score("log-likelihood ratio", log_ratio)]
    columns = telling_columns(fit)
    separate = [_coder(fit, column, _BINS) for column in columns]
    scores = [_estimated("estimated log-likelihood ratio", fit, separate)]
    bins = int((fit[0].draws / _PER_CELL) ** (1 / len(columns)))
    if bins >= 3:
        fine = [_coder(fit, column, min(bins, 4 * _BINS)) for column in columns]
        name = "estimated joint log-likelihood ratio"
        scores.append(_estimated(name, fit, [_joint(fine)]))
    return scores


def by_bits(pair: Pair) -> list[Score]:
    """Return scores of each number's lowest bits, which reveal impossible floats."""
    columns = telling_columns(pair)
    return [score for column in columns for score in _bits_of(column, pair)]


def telling_columns(pair: Pair) -> list[Column]:
    """Return the columns (numbers of an output) that differ most between neighbours."""
    columns = list(_columns(pair[0]))
    some = tuple(x.select(slice(0, _FOR_ORDER)) for x in pair)
    distances = [_distance(*(column.values(x) for x in some)) for column in columns]
    order = np.argsort(-np.array(distances), kind="stable")
    return [columns[i] for i in order[:_MOST_COLUMNS]]


def _columns(outputs: Outputs) -> Iterator[Column]:
    for leaf, (path, shape) in enumerate(outputs.shapes):
        for place, index in enumerate(np.ndindex(shape)):
            inside = f"[{', '.join(map(str, index))}]" if index else ""
            yield Column(f"output{path}{inside}", leaf, place)


def _distance(one: np.ndarray, other: np.ndarray) -> float:
    """Return the Kolmogorov–Smirnov distance of two samples."""
    everywhere = np.concatenate([one, other])
    shares = [
        np.searchsorted(np.sort(x), everywhere, "right") / len(x) for x in (one, other)
    ]
    return float(np.max(np.abs(shares[0] - shares[1])))


def _combined(one: Column, other: Column, sign: int) -> Score:
    def values(outputs: Outputs) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            sums = one.values(outputs) + sign * other.values(outputs)
        return np.where(np.isnan(sums), np.inf, sums)

    return Score(f"{one.name} {'+' if sign > 0 else '-'} {other.name}", values)


def _coder(fit: Pair, column: Column, bins: int) -> Coder:
    """Divide the values of a column into at most `bins` cells."""
    cuts = cuts_of(np.concatenate([column.values(x) for x in fit]))
    if len(cuts) >= bins:
        cuts = cuts[np.linspace(0, len(cuts) - 1, bins - 1).round().astype(int)]
    return lambda x: np.searchsorted(cuts, column.values(x), "right"), len(cuts) + 1


def _joint(coders: list[Coder]) -> Coder:
    """Divide the draws into the joint cells of several columns."""
    codes, sizes = zip(*coders, strict=True)

    def cells(outputs: Outputs) -> np.ndarray:
        places = tuple(code(outputs) for code in codes)
        return np.asarray(np.ravel_multi_index(places, sizes))

    return cells, int(np.prod(sizes))


def _estimated(name: str, fit: Pair, coders: list[Coder]) -> Score:
    """Make the score that adds up log-ratios of the histograms of all coders."""
    logs = [
        [np.log(np.bincount(code(x), minlength=cells) + 0.5) for x in fit]
        for code, cells in coders
    ]
    tables = [first - second for first, second in logs]

    def values(outputs: Outputs) -> np.ndarray:
        coded = zip(tables, coders, strict=True)
        parts = (table[code(outputs)] for table, (code, _) in coded)
        return sum(parts, np.zeros(outputs.draws))

    return Score(name, values)


def _bits_of(column: Column, pair: Pair) -> Iterator[Score]:
    dtype = column.raw(pair[0]).dtype
    whole = np.issubdtype(dtype, np.integer)
    bits = np.dtype(f"u{dtype.itemsize}")
    for width in _LOW_BITS:
        for pattern in range(1 << width):

            def has(outputs: Outputs, mask=(1 << width) - 1, pattern=pattern):
                raw = np.ascontiguousarray(column.raw(outputs)).view(bits)
                return (raw & mask) == pattern

            name = f"low {width} bit{'s' * (width > 1)} of {column.name} = {pattern}"
            yield Score(name, has, indicator=True)
    if not whole:
        yield Score(
            f"log2 of the lowest bit of {column.name}",
            lambda outputs: _lowest_bit(column.raw(outputs)),
        )
        yield Score(
            f"{column.name} is not finite",
            lambda outputs: ~np.isfinite(column.raw(outputs)),
            indicator=True,
        )


def _lowest_bit(values: np.ndarray) -> Float64[np.ndarray, " draws"]:
    """Return the base-2 logarithm of the largest power of 2 that divides each float."""
    fractions, exponents = np.frexp(np.where(np.isfinite(values), values, 0.0))
    digits = np.ldexp(fractions.astype(float), 53).astype(np.int64)
    lowest = np.frexp((digits & -digits).astype(float))[1] - 1
    return np.where(digits == 0, np.inf, lowest + exponents - 53.0)
