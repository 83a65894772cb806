r"""Integer tables for drawing discrete Gaussian noise, and their privacy certificate.

The distribution is $P(Z = z) \propto e^{-h z^2}$ on the integers, with the variance
parameter $\sigma^2 = 1 / 2h$. A draw is one of the integers from $-E$ to E, by the
alias method with weights that are multiples of $2^{-128}$. The two edges stand for all
integers beyond: each further step away from 0 is taken with a fixed probability, so
that the tails are geometric. They begin at seven σ, where the log-density continues
along its tangent.

Tables are built on the host from an exact rational rate $\rho / \Delta^2$. The
certificate uses only the integers of the finished table and proves in exact arithmetic
that the noise satisfies ρ-zCDP for all integer vectors whose squared L2 norm changes by
at most $\Delta^2$ (`docs/proofs.md`, section 23).
"""

import hashlib
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Int32, UInt32

from dpjax.noise.tables import LIMBS, exp_lower_bound, from_limbs, to_limbs

SHORTEST, LONGEST = Fraction(1, 2**25), Fraction(2)  # certified range of rho / Δ²
BITS = 32 * LIMBS
MARGIN = Fraction(1, 2**20)  # share of the rate that pays for tails and rounding
_DEVIATIONS = 7  # standard deviations at which the tails begin
_ORDER = Fraction(1, 2**21)  # excess of α over 1 above which rounding is bounded
_SCALE = 320  # bits of the densities that weights are compared with
_SHARED = (10, 13, 16)  # bits of the number of columns, to share compiled programs


class Table(NamedTuple):
    """Columns of the alias method, of equal probability, for discrete Gaussian noise.

    The leading bits of a random number of 128 bits choose a column. Its value is the
    column's own, column - `edge`, if the remaining bits are below the threshold, or
    else `alias`.

    Attributes:
        lead: leading limb of each column's threshold, which has the bits that a word
            has beside those of the column.
        rest: the other limbs of the threshold.
        alias: the other value of a column.
        edge: the largest value; it and its negative stand for the tails too.
        onwards: limbs of the probability of one more step in a tail.
    """

    lead: UInt32[Array | np.ndarray, "*batch k"]
    rest: UInt32[Array | np.ndarray, "*batch k _"]
    alias: Int32[Array | np.ndarray, "*batch k"]
    edge: Int32[Array | np.ndarray, "*batch"]
    onwards: UInt32[Array | np.ndarray, "*batch limbs"]


def half_precision(rate: Fraction) -> Fraction:
    """Return h, half the inverse of σ², for a rate; raise if it is out of range."""
    if not SHORTEST <= rate <= LONGEST:
        remedy = "take a smaller `rho`" if rate > LONGEST else "use `WideGaussian`"
        raise ValueError(
            "`rho` over the squared sensitivity must be between 2^-25 and 2 for a "
            f"table, got {float(rate):.3g}: {remedy}."
        )
    return rate * (1 - MARGIN)


def columns_needed(*rates: Fraction) -> int:
    """Return a number of columns that suffices for all `rates`."""
    return 1 << (2 * max(map(_edge, rates))).bit_length()


def columns_shared(rate: Fraction) -> int:
    """Return one of few numbers of columns, so that tables share compiled programs."""
    needed = columns_needed(rate)
    return next(1 << bits for bits in _SHARED if needed <= 1 << bits)


def build(rate: Fraction, columns: int | None = None) -> Table:
    """Build and certify the table for a rate ρ / Δ².

    `columns` is a power of two from `columns_needed`; None: that for `rate`. Raises
    `ValueError` if `rate` is not between 2^-25 and 2.
    """
    columns = columns or columns_needed(rate)
    h, edge = half_precision(rate), _edge(rate)
    densities = [low for low, _ in _densities(h, edge)]
    _, onwards = _bounds(2 * h * (edge - 1))
    steps = -(-onwards >> (_SCALE - BITS))  # rounded up
    tail = (densities[-1] << BITS) // ((1 << BITS) - steps)
    whole = densities[0] + 2 * (sum(densities[1:-1]) + tail)
    half = [((x << BITS) + whole // 2) // whole for x in [*densities[1:-1], tail]]
    weights = [*reversed(half), (1 << BITS) - 2 * sum(half), *half]
    thresholds, aliases = _columns(weights, columns)
    limbs = to_limbs(thresholds)
    table = Table(
        lead=limbs[:, 0],
        rest=limbs[:, 1:],
        alias=np.array(aliases, np.int32) - edge,
        edge=np.asarray(edge, np.int32),
        onwards=to_limbs([steps])[0],
    )
    certify(table, rate)
    return table


def certify(table: Table, rate: Fraction) -> Fraction:
    r"""Prove the privacy of the noise from the integers of the table.

    Returns:
        A bound of $D_\alpha / \alpha \lVert d \rVert^2$, exact: of the Rényi divergence
        of every order α > 1 of the noise and of the noise shifted by any integer vector
        d ≠ 0. It is at most `rate`.

    Raises:
        ValueError: if the bound exceeds `rate`, or the table is malformed.
    """
    try:
        bound = _bound(table, half_precision(rate))
    except (ArithmeticError, IndexError, ValueError):
        bound = None
    if bound is None or bound > rate:
        raise ValueError(
            "the noise table must keep Rényi divergences within the rate of its "
            "guarantee."
        )
    return bound


def probability(table: Table, z: int) -> Fraction:
    """Return the exact probability that a draw with `table` is `z`, if not clipped."""
    edge = int(table.edge)
    found, onwards = _weights(table), from_limbs(table.onwards[None])[0]
    own = Fraction(found[edge + max(-edge, min(z, edge))], 1 << BITS)
    if abs(z) < edge:
        return own
    more = Fraction(onwards, 1 << BITS)
    return own * (1 - more) * more ** (abs(z) - edge)


def fingerprint(table: Table) -> str:
    """Return the SHA-256 digest of the table's law, equal for all numbers of columns.

    It is that of the probabilities of -E, ..., E and of one more step, in units of
    2^-128, as numbers of 16 bytes with the most significant first.
    """
    (onwards,) = from_limbs(table.onwards[None])
    numbers = (*_weights(table), onwards)
    together = b"".join(x.to_bytes(BITS // 8, "big") for x in numbers)
    return hashlib.sha256(together).hexdigest()


def _edge(rate: Fraction) -> int:
    """Return E, one more than seven standard deviations, rounded up."""
    squared = _DEVIATIONS**2 / (2 * half_precision(rate))
    least = math.isqrt(math.floor(squared))
    return least + (least**2 < squared) + 1


def _bound(table: Table, h: Fraction) -> Fraction:
    """Bound D_α / (α ‖d‖²) over all orders and shifts; see `docs/proofs.md`."""
    edge, pairs = int(table.edge), list(_densities(h, int(table.edge)))
    (onwards,) = from_limbs(table.onwards[None])
    if 2 * h * (edge - 1) ** 2 < _DEVIATIONS**2 or not 0 < onwards < 1 << BITS:
        raise ValueError("tails begin too early, or do not end")
    slope = 2 * h * (edge - 1)
    low, high = _bounds(slope)
    if onwards << _SCALE < high << BITS:
        raise ValueError("tails fall faster than the tangent")
    flatter = Fraction((onwards << _SCALE) - (low << BITS), low << BITS)
    if 2 * flatter > slope:
        raise ValueError("tails are too flat")
    off = _largest_error(_weights(table), pairs, onwards)
    if 2 * off > 1:
        raise ValueError("weights are not those of the densities")
    rounding = off / (1 - off)  # bounds the logarithm
    # The lattice sum of the ideal density, at a shift over that at 0.
    unit = 1 << _SCALE
    whole = Fraction(2 * sum(x for x, _ in pairs[:-1]) - pairs[0][0], unit)
    start = Fraction(pairs[-2][1], unit)
    curved = start * (2 * slope**2 + 3 * slope)
    kinked = 2 * start * flatter * (2 + 3 / (slope - flatter))
    lattice = (curved + kinked) / whole
    return (1 + _ORDER) * (h + lattice + 2 * rounding / _ORDER)


def _largest_error(
    weights: list[int], pairs: list[tuple[int, int]], onwards: int
) -> Fraction:
    """Bound the relative error of all weights over that of 0, given the densities."""
    edge, most = len(weights) // 2, 1 << BITS
    peak, last = weights[edge], pairs[-2]
    ends = [Fraction(x * (most - onwards), most) for x in (weights[0], weights[-1])]
    sides = [*weights[edge:-1], *weights[edge:0:-1]]
    inner = zip(sides, [*pairs[:-1]] * 2, strict=True)
    beyond = last[0] * onwards >> BITS, -(-last[1] * onwards >> BITS)
    return max(
        *(_error(weight, peak, *pair) for weight, pair in inner),
        *(_error(end, peak, *beyond) for end in ends),
    )


def _error(weight: int | Fraction, peak: int, low: int, high: int) -> Fraction:
    """Relative error of weight / peak, given that the density is in [low, high]."""
    scaled, least, most = weight * (1 << _SCALE), peak * low, peak * high
    return max(abs(scaled - least), abs(scaled - most)) / Fraction(least)


def _densities(h: Fraction, edge: int) -> Iterator[tuple[int, int]]:
    """Yield bounds of e^(-h z²) for z = 0, ..., E - 1, then of the tail's first step.

    They are multiples of 2^-320. The last is the density at E on the tangent at E - 1.
    """
    low = high = 1 << _SCALE
    step_low, step_high = _bounds(h)
    next_low, next_high = _bounds(2 * h)
    for _ in range(edge):
        yield low, high
        low, high = low * step_low >> _SCALE, -(-high * step_high >> _SCALE)
        step_low = step_low * next_low >> _SCALE
        step_high = -(-step_high * next_high >> _SCALE)
    tail_low, tail_high = _bounds(h * (edge - 1) * (edge + 1))
    yield tail_low, tail_high


def _bounds(x: Fraction) -> tuple[int, int]:
    """Return integers between which e^-x 2^320 is, for x ≥ 0."""
    low = exp_lower_bound(-x) * (1 << _SCALE)
    high = (1 << _SCALE) / exp_lower_bound(x)
    return math.floor(low), math.ceil(high)


def _columns(weights: list[int], columns: int) -> tuple[list[int], list[int]]:
    """Return thresholds and aliases of columns, exact for weights with sum 2^128.

    Reference:
        Vose (IEEE Transactions on Software Engineering 17:9, 1991).
    """
    each = (1 << BITS) // columns
    left = weights + [0] * (columns - len(weights))
    aliases = list(range(columns))
    small = [i for i, x in enumerate(left) if x < each]
    large = [i for i, x in enumerate(left) if x > each]
    thresholds = [each] * columns
    while small:
        short, long = small.pop(), large[-1]
        thresholds[short], aliases[short] = left[short], long
        left[long] -= each - left[short]
        if left[long] <= each:
            large.pop()
            if left[long] < each:
                small.append(long)
    # A threshold of all bits does not fit, but the alias is the column's own value.
    return [0 if x == each else x for x in thresholds], aliases


def _weights(table: Table) -> list[int]:
    """Return the probabilities of -E, ..., E in units of 2^-128."""
    columns, edge = len(table.alias), int(table.edge)
    limbs = np.concatenate([np.asarray(table.lead)[:, None], table.rest], axis=1)
    each = (1 << BITS) // columns
    weights = [0] * max(columns, 2 * edge + 1)
    aliases = (np.asarray(table.alias) + edge).tolist()
    for i, threshold in enumerate(from_limbs(limbs)):
        if aliases[i] < 0 or threshold > each:
            raise ValueError("a column is malformed")
        weights[i] += threshold
        weights[aliases[i]] += each - threshold
    if any(weights[2 * edge + 1 :]):
        raise ValueError("a column has a value beyond the edges")
    return weights[: 2 * edge + 1]
