"""Cases of the audit suite: each has a mechanism, two neighbours and a claim."""

__all__ = ["IN_REALS", "Case", "Maker", "Subject", "cases", "drawn", "rows_of_noise"]

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import jax.numpy as jnp

from dpjax.audits.drawing import Release
from dpjax.audits.exact import Law
from dpjax.audits.monte_carlo import LogProb
from dpjax.audits.scores import FAMILIES
from dpjax.mechanisms import DiscreteLaplace, Mechanism
from dpjax.noise import tables
from dpjax.privacy import ADJACENCIES, Adjacency, Guarantee

IN_REALS = ("value", "likelihood")  # scores that ignore the lowest bits of floats

_REACH = 24  # outputs are clipped to ±24, so that all of them can be listed


@dataclass(frozen=True)
class Subject:
    """A mechanism to be audited: by the law of its outputs, by draws, or by both.

    Args:
        claim: guarantee of the mechanism; if it exceeds the budget, that is audited.
        law: law of all outputs, as for `audit_exactly`.
        pairs: pairs of neighbours, for the law.
        release: release for draws, as for `audit`.
        data: data set for draws: a worst case.
        neighbour: neighbour of `data`.
        log_prob: log-probability of draws, if known.
        scores: kinds of scores for draws.
        batched: whether the release is not compiled and returns many draws at once.
        most: largest number of draws, for a slow release.
    """

    claim: Guarantee
    law: Callable[[Any], Law] | None = None
    pairs: Iterable[tuple[Any, Any]] = ()
    release: Release | None = None
    data: Any = None
    neighbour: Any = None
    log_prob: LogProb | None = None
    scores: tuple[str, ...] = FAMILIES
    batched: bool = False
    most: int | None = None


Maker = Callable[[Fraction, Adjacency], Subject]
"""Function from ε and the adjacency to a subject."""


class Case(NamedTuple):
    """A case of the suite, with one or two results: by law and by draws.

    Attributes:
        name: name of the mechanism.
        adjacency: "replace-one" or "add-remove".
        grade: "exact": can be published; "real": a guarantee in real arithmetic,
            audited without floats' lowest bits; or "simulation": not for publishing.
        make: function from ε and the adjacency to the subject.
    """

    name: str
    adjacency: Adjacency
    grade: str
    make: Maker


def cases(grade: str, makers: Mapping[str, Maker]) -> tuple[Case, ...]:
    """The cases of these mechanisms, by name, under both adjacencies."""
    return tuple(
        Case(name, adjacency, grade, make)
        for name, make in makers.items()
        for adjacency in ADJACENCIES
    )


def drawn(mechanism: Mechanism, pair: tuple[Any, Any], **options: Any) -> Subject:
    """The subject for draws of a mechanism from the statistics of two neighbours."""
    data, neighbour = map(jnp.asarray, pair)
    claim, release = mechanism.guarantee(), mechanism.sample
    return Subject(claim, release=release, data=data, neighbour=neighbour, **options)


def rows_of_noise(
    mechanism: DiscreteLaplace, reach: int = _REACH
) -> Callable[[int], list[Fraction]]:
    """The law of a released integer, clipped to ±reach, from the noise table."""
    noise = functools.cache(lambda z: tables.probability(mechanism.table, abs(z)))

    @functools.cache
    def row(exact: int) -> list[Fraction]:
        inside = [noise(y - exact) for y in range(-reach + 1, reach)]
        middle = sum(
            (noise(z) for z in range(-reach - exact + 1, reach + exact)), Fraction(0)
        )
        below = (1 - middle) / 2
        return [below, *inside, 1 - below - sum(inside)]

    return row
