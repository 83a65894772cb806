r"""Public candidates for the parameters of a hidden Markov model, and likelihoods.

A cell is a region at a time. The likelihood of an event log is the sum over the paths
of hidden states of each region, of products of probabilities, which are multiples of
1 / units. An event multiplies every term of the sum by one factor for each field, from
the table of one state. The log-likelihood of a candidate is hence changed by a number
between the least and the largest log of such a factor over all states.

The sum is computed by the forward recursion in decimal numbers of 60 digits. Python
rounds each product, sum, exponential and logarithm correctly, and all terms are
positive. With K operations the relative error is below K / 10^58, and the logarithm,
which is above -10^13 for up to 2^29 events, has an error below 10^-30 for fewer than
10^18 operations. The score is this logarithm, rounded to a multiple of 2^-40, and so it
is within 2^-40 of the exact log-likelihood (`docs/proofs.md`, section 22).
"""

import decimal
import hashlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Int

from dpjax._checks import whole
from dpjax.noise.simplex_grid import LOG_BITS, log_table
from dpjax.privacy import REPLACE_ONE, Adjacency

_DIGITS = 60
_ROUNDED = 4  # units of 2^-40: four scores are each within one of their exact values
_MOST_STATES, _MOST_UNITS, _MOST_NUMBERS = 127, 10_000, 1 << 22
_DECIMALS: Any = np.frompyfunc(decimal.Decimal, 1, 1)
_EXP = np.frompyfunc(lambda x: x.exp(), 1, 1)  # of decimals, correctly rounded


@dataclass(frozen=True)
class Candidates:
    """Parameters of a hidden Markov model, drawn from their prior with a public seed.

    The prior is uniform: for the levels of each field in each state, on distributions
    with entries of at least `omega`; for first states and moves, on all distributions.
    A draw of K entries is made of the gaps between K - 1 sorted integers, from the
    bytes of SHAKE-256 of the seed, so that every computer makes the same candidates.

    Args:
        fields: number of levels of each field.
        states: number of hidden states.
        number: number of candidates, at least 2.
        omega: smallest probability of a level, > 0.
        units: denominator of all probabilities.
        seed: public integer.

    Raises:
        ValueError: if an argument is out of range.
    """

    fields: tuple[int, ...]
    states: int
    number: int
    omega: Fraction
    units: int
    seed: int

    def __post_init__(self):
        whole(0, seed=self.seed)
        whole(1, states=self.states)
        whole(2, points=self.number, units=self.units)
        if not 0 < self.least * max(self.fields) <= self.units <= _MOST_UNITS:
            raise ValueError(
                f"`omega` must be above 0, and at most 1 / {max(self.fields)} in steps "
                f"of 1 / `units`, which are at most {_MOST_UNITS}, got {self.omega}."
            )
        size = self.number * self.states * (sum(self.fields) + self.states + 1)
        if self.states > _MOST_STATES or size > _MOST_NUMBERS:
            raise ValueError(
                f"`points` must make at most {_MOST_NUMBERS} numbers, and `states` be "
                f"at most {_MOST_STATES}, got {self.number} and {self.states}."
            )

    @property
    def least(self) -> int:
        """Smallest probability of a level, in units, rounded up."""
        return -(-self.omega * self.units // 1)

    @cached_property
    def tables(self) -> tuple[np.ndarray, ...]:
        """Integers of the levels' tables, of first states, and of moves, in units.

        The axes are candidates, states (but for first states) and entries. The last
        axis of the first array has the levels of one field after the other.
        """
        draw, s = _integers(self.seed), self.states
        levels = [self._drawn(draw, s, size, self.least) for size in self.fields]
        first, moves = self._drawn(draw, 1, s, 0)[:, 0], self._drawn(draw, s, s, 0)
        return np.concatenate(levels, axis=2), first, moves

    def _drawn(
        self, draw: Iterator[int], rows: int, size: int, least: int
    ) -> Int[np.ndarray, "candidates rows size"]:
        spread = self.units - size * least
        count = self.number * rows * (size - 1)
        inner = [x % (spread + 1) for x in itertools.islice(draw, count)]
        ends = np.sort(np.reshape(inner, (self.number, rows, size - 1)), axis=2)
        return least + np.diff(ends.astype(int), axis=2, prepend=0, append=spread)

    @cached_property
    def _logs(self) -> np.ndarray:
        """Logarithms of the levels' probabilities, in units of 2^-40."""
        return np.array(log_table(self.units), object)[self.tables[0]]

    def widest(self, adjacency: Adjacency) -> Fraction:
        r"""Return how much one event's change of the score can vary over candidates.

        An added event's log-factors have a range of at most W, the sum over fields of
        the largest log-ratio of two entries for the same level. Under replace-one it is
        2 W. To this, the error of four scores is added.
        """
        logs = self._logs
        ranges = logs.max(axis=(0, 1)) - logs.min(axis=(0, 1))
        ends = [*itertools.accumulate(self.fields, initial=0)]
        width = sum(max(ranges[a:b]) for a, b in itertools.pairwise(ends))
        moved = 2 if adjacency == REPLACE_ONE else 1
        return Fraction(moved * int(width) + _ROUNDED, 1 << LOG_BITS)

    def scores(self, counts: Int[np.ndarray, "regions times levels"]) -> list[int]:
        """Return log-likelihoods of exact counts up to a constant, as in the module.

        Privacy:
            Not private. One event more changes the scores by numbers whose range over
            the candidates is at most `widest("add-remove")`, in units of 2^-40; another
            event in its place, by at most `widest("replace-one")`.
        """
        exact = np.array(counts.tolist(), object)
        context = decimal.Context(
            prec=_DIGITS, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX,
            traps=[decimal.Underflow, decimal.Overflow, decimal.InvalidOperation],
        )  # fmt: skip
        tables: Any = [_DECIMALS(table) for table in self.tables[1:]]
        first, moves = tables
        with decimal.localcontext(context):
            unit = decimal.Decimal(1) / (1 << LOG_BITS)
            total: Any = decimal.Decimal(1)
            for region in exact:
                alpha = first
                for time, cell in enumerate(region):
                    if time:
                        alpha = (alpha[:, :, None] * moves).sum(axis=1)
                    alpha = alpha * _EXP(_DECIMALS(self._logs @ cell) * unit)
                total = total * alpha.sum(axis=1)
            return [round(x.ln() * (1 << LOG_BITS)) for x in total]


def _integers(seed: int) -> Iterator[int]:
    """Yield integers of 64 uniform bits, which SHAKE-256 makes of a seed."""
    for block in itertools.count():
        data = hashlib.shake_256(f"dpjax {seed} {block}".encode()).digest(1 << 13)
        yield from (int(x) for x in np.frombuffer(data, ">u8"))
