"""What a release loses at most, from the probabilities of all of its outputs."""

__all__ = ["Law", "audit_exactly", "largest_loss", "neighbouring"]

import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from jaxtyping import Int

from dpjax._checks import one_of, whole
from dpjax.audits.verdict import Verdict
from dpjax.privacy import ADJACENCIES, REPLACE_ONE, Epsilon, exact_epsilon

Law = Sequence[Sequence[Any]]
"""Weights of all outputs, part by part: parts of an output that are independent."""

Pair = tuple[Any, Any]


def neighbouring(
    sizes: Sequence[int], n: int, adjacency: str
) -> Iterator[tuple[Int[np.ndarray, "_ d"], Int[np.ndarray, "_ d"]]]:
    """All pairs of neighbouring data sets of a tiny domain, of n records the first.

    Args:
        sizes: number of levels of each variable.
        n: number of records, at least 1; under add-remove, at least 0, and the second
            data set has one more.
        adjacency: "replace-one" or "add-remove".

    Yields:
        Level indices; data sets that differ in the order of records only come once.
    """
    one_of(ADJACENCIES, adjacency=adjacency)
    whole(1 if adjacency == REPLACE_ONE else 0, n=n)
    records = list(itertools.product(*map(range, sizes)))

    def made(data: Sequence[tuple[int, ...]]) -> np.ndarray:
        return np.array(sorted(data), np.int32).reshape(len(data), len(sizes))

    kept = n - 1 if adjacency == REPLACE_ONE else n
    for others in itertools.combinations_with_replacement(records, kept):
        if adjacency == REPLACE_ONE:
            for one, other in itertools.combinations(records, 2):
                yield made([*others, one]), made([*others, other])
        else:
            for record in records:
                yield made(others), made([*others, record])


def largest_loss(
    law: Callable[[Any], Law], pairs: Iterable[Pair]
) -> tuple[float, Pair | None]:
    r"""$\max \lvert \ln p(o \mid D) - \ln p(o \mid D') \rvert$ over outputs and pairs.

    Args:
        law: from a data set to the weights of all outputs, part by part where an output
            is made of independent ones: their losses add up. Weights may be exact
            (integers, fractions) or floats; they need not sum to 1.
        pairs: of neighbours.

    Returns:
        The loss, infinite if an output is impossible under one of the two alone; and
        the pair that has it.

    Privacy:
        None: for invented data sets.

    Raises:
        ValueError: if there is no pair, neighbours have outputs of different kinds, or
            weights are not such.
    """
    worst: tuple[float, Pair | None] = (0.0, None)
    known: dict[tuple[int, int], tuple[float, float]] = {}
    kept = []  # so that no two laws get the same identity
    for pair in pairs:
        laws = [law(data) for data in pair]
        kept.append(laws)
        if len(laws[0]) != len(laws[1]):
            raise ValueError("`law` must have the same parts under neighbours.")
        losses = [0.0, 0.0]
        for one, other in zip(*laws, strict=True):
            if one is other:
                continue
            place = (id(one), id(other))
            if place not in known:
                known[place] = _log_ratios(one, other)
            losses = [a + b for a, b in zip(losses, known[place], strict=True)]
        if max(losses) > worst[0]:
            worst = (max(losses), pair)
    if not kept:
        raise ValueError("`pairs` must hold at least one pair of neighbours, got none.")
    return worst


def audit_exactly(
    law: Callable[[Any], Law], pairs: Iterable[Pair], *, epsilon: Epsilon
) -> Verdict:
    """Whether any output tells any two neighbours apart by more than the claim.

    Args:
        law: as for `largest_loss`.
        pairs: of neighbours, such as `neighbouring` gives.
        epsilon: the claimed loss, > 0.

    Raises:
        ValueError: if an argument is out of range.
    """
    began = time.perf_counter()
    claim, pairs = float(exact_epsilon(epsilon)), list(pairs)
    loss, _ = largest_loss(law, pairs)
    event = f"all outputs, {len(pairs)} pairs of neighbours"
    return Verdict(claim, loss, event, seconds=time.perf_counter() - began)


def _log_ratios(one: Sequence[Any], other: Sequence[Any]) -> tuple[float, float]:
    """The largest log-ratio of normalised weights, and that of the inverse."""
    if len(one) != len(other):
        raise ValueError("`law` must have the same outputs under neighbours.")
    for weights in (one, other):
        if not all(0 <= x < math.inf for x in weights) or not any(weights):
            raise ValueError(
                "`law` must give weights >= 0 and finite, not all of them 0."
            )
    totals = Fraction(sum(one)), Fraction(sum(other))
    inverse = largest = -math.inf
    for p, q in zip(one, other, strict=True):
        if p == q == 0:
            continue
        if p == 0 or q == 0:
            log = math.inf if q == 0 else -math.inf
        else:
            log = _log(Fraction(p) * totals[1] / (Fraction(q) * totals[0]))
        largest, inverse = max(largest, log), max(inverse, -log)
    return largest, inverse


def _log(ratio: Fraction) -> float:
    """Of integers of any size."""
    return math.log(ratio.numerator) - math.log(ratio.denominator)
