"""Building blocks of the audit suite: a mechanism, its neighbours and its claim."""

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
from dpjax.data.levels import Variable
from dpjax.event_logs import event_network
from dpjax.mechanisms import DiscreteGaussian, DiscreteLaplace, Mechanism
from dpjax.privacy import ADJACENCIES, Adjacency, Guarantee

IN_REALS = ("value", "likelihood")  # scores that ignore the lowest bits of floats

_REACH = 24  # outputs are clipped to ±24, so that all of them can be listed
EVENTS = event_network(
    [
        Variable("place", ("here", "there")),
        Variable("month", (1, 2)),
        Variable("kind", ("a", "b")),
    ],
    "place",
    "month",
)


@dataclass(frozen=True)
class Subject:
    """A mechanism to audit, by `law` (all output probabilities), by draws, or by both.

    Args:
        claim: guarantee of the mechanism. A claim beyond the budget is an error; the
            suite then audits the budget instead.
        law: function from a data set to weights of all outputs (see `audit_exactly`).
        pairs: pairs of neighbouring data sets for `law`.
        release: function from a key and a data set to a draw, as for `audit`.
        data: data set for `release`, a worst case.
        neighbour: neighbour of `data`.
        log_prob: log-probability of a draw, as for `audit`, if known.
        scores: scores for draws, as for `audit`.
        batched: whether `release` is not compiled and returns many draws at once.
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
"""Function from ε and the adjacency to a `Subject`."""


class Case(NamedTuple):
    """A mechanism of the audit suite, under one adjacency.

    Attributes:
        name: name of the mechanism.
        adjacency: "replace-one" or "add-remove".
        grade: "exact" if releases can be published; "real" if the guarantee holds in
            real arithmetic, so that the lowest bits of floats are not audited;
            "simulation" if releases violate the claim and are not for publishing.
        make: function from ε and the adjacency to the `Subject`.
    """

    name: str
    adjacency: Adjacency
    grade: str
    make: Maker


def cases(grade: str, makers: Mapping[str, Maker]) -> tuple[Case, ...]:
    """Make the case of each mechanism in `makers` under both adjacencies."""
    return tuple(
        Case(name, adjacency, grade, make)
        for name, make in makers.items()
        for adjacency in ADJACENCIES
    )


def drawn(mechanism: Mechanism, pair: tuple[Any, Any], **options: Any) -> Subject:
    """Make the subject for draws of a mechanism, given two neighbours' statistics."""
    data, neighbour = map(jnp.asarray, pair)
    claim, release = mechanism.guarantee(), mechanism.sample
    return Subject(claim, release=release, data=data, neighbour=neighbour, **options)


def rows_of_noise(
    mechanism: DiscreteLaplace | DiscreteGaussian, reach: int = _REACH
) -> Callable[[int], list[Fraction]]:
    """Make the function from an integer to the law of its clipped noisy value."""
    noise = functools.cache(lambda z: mechanism.probability(abs(z)))

    @functools.cache
    def row(exact: int) -> list[Fraction]:
        inside = [noise(y - exact) for y in range(-reach + 1, reach)]
        middle = sum(
            (noise(z) for z in range(-reach - exact + 1, reach + exact)), Fraction(0)
        )
        below = (1 - middle) / 2
        return [below, *inside, 1 - below - sum(inside)]

    return row
