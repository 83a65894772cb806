"""Audit cases that publish with `dpjax.release` and the system's randomness.

A release is slow and cannot be compiled, so that one call makes many draws. A release
of the counts of k copies of a variable at budget kε is k independent releases at ε. A
release of k samples at budget kε is k independent samples at ε.
"""

__all__ = ["RELEASE_CASES"]

from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np

from dpjax._types import Key
from dpjax.audits.subjects import Subject, cases
from dpjax.data.bayes_net import BayesNet
from dpjax.mechanisms.recipes import PosteriorSample
from dpjax.privacy import ADD_REMOVE, Adjacency, Ledger, budget_of
from dpjax.releases.publish import release

_COPIES = 2000
_TWO = [0, 1]
_COIN = BayesNet.from_parents({"x": _TWO}, {"x": []})
_FEW = 20_000  # draws: sampling is in Python


@cache
def _coins() -> BayesNet:
    names = [f"x{i}" for i in range(_COPIES)]
    return BayesNet.from_parents({name: _TWO for name in names}, {x: [] for x in names})


def _extremes(adjacency: Adjacency) -> tuple[np.ndarray, np.ndarray]:
    """Return two neighbours: no record (add-remove) or a record 0, and a record 1."""
    none = np.zeros((0, 1), np.int32)
    data = none if adjacency == ADD_REMOVE else np.zeros((1, 1), np.int32)
    return data, np.ones((1, 1), np.int32)


def _published(draw: Callable[[np.ndarray], np.ndarray]) -> Callable[..., np.ndarray]:
    """Make a release that returns a batch of draws from several calls."""

    def batch(key: Key, records: np.ndarray, size: int) -> np.ndarray:
        calls = -(-size // _COPIES)  # `key` is not used
        return np.concatenate([draw(records) for _ in range(calls)])[:size]

    return batch


def _counts(epsilon: Fraction, adjacency: Adjacency) -> Subject:
    """Two releases of the same records, which together spend the whole ledger."""

    def draw(records: np.ndarray) -> np.ndarray:
        copies = np.repeat(records, _COPIES, axis=1)
        ledger = Ledger(epsilon * _COPIES, adjacency=adjacency)
        parts = [
            release(
                _coins(),
                copies,
                epsilon=epsilon * _COPIES / 2,
                adjacency=adjacency,
                ledger=ledger,
            )
            for _ in range(2)
        ]
        tables = [np.asarray(part.values).reshape(_COPIES, 2) for part in parts]
        return np.concatenate(tables, axis=1)

    return _subject(draw, epsilon, adjacency)


def _samples(epsilon: Fraction, adjacency: Adjacency) -> Subject:
    def draw(records: np.ndarray) -> np.ndarray:
        released = release(
            _COIN,
            records,
            epsilon=epsilon * _COPIES,
            adjacency=adjacency,
            mechanism=PosteriorSample(samples=_COPIES, omega="1/10", units=40),
        )
        return np.asarray(released.values)

    return _subject(draw, epsilon, adjacency, _FEW)


def _subject(
    draw: Callable[[np.ndarray], np.ndarray],
    epsilon: Fraction,
    adjacency: Adjacency,
    most: int | None = None,
) -> Subject:
    data, neighbour = _extremes(adjacency)
    return Subject(
        budget_of(epsilon, adjacency),
        release=_published(draw),
        data=data,
        neighbour=neighbour,
        batched=True,
        most=most,
    )


RELEASE_CASES = cases("exact", {"release-counts": _counts, "release-samples": _samples})
"""Audit cases for releases by `dpjax.release`."""
