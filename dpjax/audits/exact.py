"""The largest privacy loss of a release, from the probabilities of all outputs."""

import itertools
import math
import operator
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from jaxtyping import Int

from dpjax._checks import one_of, whole
from dpjax.audits.verdict import Verdict, claimed
from dpjax.privacy import (
    ADJACENCIES,
    REPLACE_ONE,
    Adjacency,
    Epsilon,
    Guarantee,
    largest_log_ratio,
)

Law = Sequence[Sequence[Any]]
"""Weights of all values of each independent part of an output."""

Pair = tuple[Any, Any]


def neighbouring(
    sizes: Sequence[int], n: int, adjacency: Adjacency
) -> Iterator[tuple[Int[np.ndarray, "_ d"], Int[np.ndarray, "_ d"]]]:
    """Yield all pairs of neighbouring data sets of a tiny discrete domain.

    Args:
        sizes: number of levels of each variable.
        n: number of records, at least 1. Under add-remove, n is at least 0, and the
            second data set has n + 1 records.
        adjacency: "replace-one" or "add-remove".

    Yields:
        Two arrays of level indices, each with one row for each record. Data sets that
        differ only in the order of records occur once.
    """
    one_of(ADJACENCIES, adjacency=adjacency)
    try:
        sizes = tuple(map(operator.index, sizes))
    except TypeError:
        raise ValueError(
            "`sizes` must be a number for each variable, as in (2, 3), got "
            f"{type(sizes).__name__}."
        ) from None
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
    r"""Return $\max \lvert \ln p(o \mid D) - \ln p(o \mid D') \rvert$.

    The maximum is over all outputs o and all pairs of neighbours D, D'.

    Args:
        law: function from a data set to a list that has, for each independent part of
            an output, the weights of all values of the part. The losses of the parts
            add up. Weights are real numbers ≥ 0 that need not sum to 1.
        pairs: pairs of neighbouring data sets.

    Returns:
        The loss, infinite if an output is possible under only one of two neighbours,
        and the pair with this loss, or None if the loss is 0.

    Privacy:
        No guarantee: use invented data sets.

    Raises:
        ValueError: if there is no pair, `law` has different parts or numbers of values
            under two neighbours, or weights are negative, infinite or all 0.
    """
    return _largest(law, pairs, largest_log_ratio)


def audit_exactly(
    law: Callable[[Any], Law],
    pairs: Iterable[Pair],
    *,
    claim: Guarantee | None = None,
    epsilon: Epsilon | None = None,
) -> Verdict:
    """Test whether the largest loss, over all outputs and pairs, is within a claim.

    Args:
        law: function from a data set to the weights of all values of each independent
            part of an output, as for `largest_loss`.
        pairs: pairs of neighbouring data sets, such as from `neighbouring`.
        claim: the claimed guarantee of the release.
        epsilon: ε > 0 of a claim of ε-DP, in place of `claim`.

    Returns:
        The verdict, with the exact loss.

    Raises:
        ValueError: if an argument is out of range.
    """
    began = time.perf_counter()
    claim, pairs = claimed(claim, epsilon), list(pairs)
    loss, _ = _largest(law, pairs, claim.divergence)
    event = f"all outputs, {len(pairs)} pairs of neighbours"
    return Verdict.of(claim, loss, event, seconds=time.perf_counter() - began)


def _largest(
    law: Callable[[Any], Law],
    pairs: Iterable[Pair],
    divergence: Callable[..., float | Fraction],
) -> tuple[float, Pair | None]:
    """Return the largest divergence of all pairs, and the pair with this divergence."""
    worst: tuple[float, Pair | None] = (0.0, None)
    known: dict[tuple[tuple[int, int], ...], float] = {}
    exact: dict[int, Sequence[Fraction]] = {}
    kept = []  # keeps laws alive, so that no two have the same `id`
    for pair in pairs:
        one, other = law(pair[0]), law(pair[1])
        kept.append((one, other))
        if not (_is_law(one) and _is_law(other)):
            raise ValueError(
                "`law` must return a list that has, for each part of an output, a list "
                "of the weights of all its values, as in [[0.9, 0.1]]."
            )
        if len(one) != len(other):
            raise ValueError("`law` must have the same parts under neighbours.")
        parts = [x for x in zip(one, other, strict=True) if x[0] is not x[1]]
        if any(len(p) != len(q) for p, q in parts):
            raise ValueError("`law` must have the same outputs under neighbours.")
        place = tuple(sorted((id(p), id(q)) for p, q in parts))
        if place not in known:
            laws = ([_normalised(x[i], exact) for x in parts] for i in (0, 1))
            known[place] = float(divergence(*laws)) if parts else 0.0
        if known[place] > worst[0]:
            worst = (known[place], pair)
    if not kept:
        raise ValueError("`pairs` must hold at least one pair of neighbours, got none.")
    return worst


def _is_law(law: Any) -> bool:
    """Whether it has parts with lengths; keys of a mapping would be outputs."""
    parts = not isinstance(law, str | Mapping) and hasattr(law, "__len__")
    return parts and all(
        isinstance(part, Sequence) or np.ndim(part) == 1 for part in law
    )


def _normalised(
    weights: Sequence[Any], known: dict[int, Sequence[Fraction]]
) -> Sequence[Fraction]:
    """Return exact probabilities, computed once for each part of a law."""
    if id(weights) not in known:
        if not all(0 <= x < math.inf for x in weights) or not any(weights):
            raise ValueError(
                "`law` must give weights >= 0 and finite, not all of them 0."
            )
        exact = [Fraction(x) for x in weights]
        total = sum(exact, Fraction(0))
        known[id(weights)] = [x / total for x in exact]
    return known[id(weights)]
