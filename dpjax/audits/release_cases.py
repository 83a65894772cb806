"""Audit cases that publish with `dpjax.release` and the system's randomness.

In "release-persons" the neighbours differ by all rows of a person, who has two that
count. Under add-remove the table has a third row of this person, which is cut off.

A release is slow and cannot be compiled, so that one call makes many draws. A release
of the counts of k copies of a variable at budget kε is k independent releases at ε. A
release of k samples at budget kε is k independent samples at ε.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np

from dpjax._types import Key
from dpjax.audits.subjects import Subject, cases
from dpjax.data.bayes_net import BayesNet
from dpjax.mechanisms.recipes import PosteriorSample
from dpjax.privacy import ADD_REMOVE, Adjacency, Ledger, budget_of
from dpjax.releases.publish import release

_COPIES, _ROWS = 2000, 2
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


def _persons(epsilon: Fraction, adjacency: Adjacency) -> Subject:
    """Releases of tables that differ by a person, who has two rows that count."""

    def draw(records: np.ndarray) -> np.ndarray:
        names = _coins().names
        table: dict[str, np.ndarray] = dict.fromkeys(names, records[:, 0])
        named = adjacency == ADD_REMOVE
        if named:
            table["person"] = records[:, 1]
        released = release(
            _coins(),
            table,
            epsilon=epsilon * _COPIES,
            adjacency=adjacency,
            contributions=_ROWS,
            id="person" if named else None,
        )
        return np.asarray(released.values).reshape(_COPIES, 2)

    rows = _ROWS + 1 if adjacency == ADD_REMOVE else _ROWS
    data, neighbour = (
        np.stack([np.repeat(x[:, 0], rows), np.zeros(rows * len(x), np.int32)], axis=1)
        for x in _extremes(adjacency)
    )
    claim = budget_of(epsilon, adjacency, contributions=_ROWS)
    return replace(
        _subject(draw, epsilon, adjacency), claim=claim, data=data, neighbour=neighbour
    )


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


_MAKERS = {
    "release-counts": _counts,
    "release-persons": _persons,
    "release-samples": _samples,
}
RELEASE_CASES = cases("exact", _MAKERS)
"""Audit cases for releases by `dpjax.release`."""
