"""Secret random samples of the records of a table, for a lower privacy cost.

The random numbers are 64-bit words of the operating system. A rate is rounded down to a
multiple of 2^-64, which can only lower the privacy cost.
"""

import os
from collections.abc import Iterable
from fractions import Fraction

import numpy as np
from jaxtyping import Real, UInt64

Rows = Real[np.ndarray, "_ d"]


def poisson_sample(batches: Iterable[Rows], rate: Fraction) -> Rows:
    """Keep each row independently with probability `rate`, rounded down to k / 2^64.

    Args:
        batches: encoded records, at least one batch.
        rate: probability > 0 and < 1.

    Privacy:
        Not private: the rows are those of records.
    """
    below = np.uint64(int(rate * 2**64))
    return np.concatenate([rows[random_words(len(rows)) < below] for rows in batches])


def sample_of_fixed_size(rows: Rows, size: int) -> Rows:
    """Keep `size` rows; all sets of rows of this size have the same probability.

    The rows with the smallest of random words are kept. If two words are equal, all are
    drawn again, so that their order is exactly uniform.

    Privacy:
        Not private: the rows are those of records.
    """
    words = random_words(len(rows))
    while len(np.unique(words)) < len(rows):
        words = random_words(len(rows))
    return rows[np.sort(np.argsort(words)[:size])]


def random_words(many: int) -> UInt64[np.ndarray, " many"]:
    """Return secret random integers of 64 bits."""
    return np.frombuffer(os.urandom(8 * many), np.uint64)
