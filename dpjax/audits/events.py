"""Events that tell two neighbours apart, and lower bounds of the loss that they show.

A guarantee bounds how far apart the probabilities p and q of an event under two
neighbours are. What p and q show is bounded with Clopper–Pearson bounds of p from below
and of q from above, each at half of the level.
"""

__all__ = ["Event", "Score", "best_event", "cuts_of", "loss_bounds"]

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Real
from scipy import special

from dpjax.audits.drawing import Outputs
from dpjax.privacy import Guarantee

Numbers = Real[np.ndarray, "*shape"]

_TAIL = 0.1 ** np.arange(1.5, 4.5, 0.25)
_SHARES = np.sort(np.concatenate([_TAIL, np.arange(0.05, 1, 0.05), 1 - _TAIL]))
_MOST_CUTS = 64
_FOR_CUTS = 1 << 15


class Score(NamedTuple):
    """A number of every draw; an event is that it is large, or that it is small.

    Attributes:
        name: in words.
        of: the numbers of many draws.
        indicator: whether they are 1 or 0 for whether the name holds.
    """

    name: str
    of: Callable[[Outputs], np.ndarray]
    indicator: bool = False


class Event(NamedTuple):
    """A set of outputs.

    Attributes:
        score: the number whose large or small values it contains.
        cut: the least of the large values.
        above: whether it contains the large ones.
        swapped: whether it is likelier under the neighbour.
        bound: the loss that the draws suggest by which it was chosen.
    """

    score: Score
    cut: float
    above: bool
    swapped: bool
    bound: float

    def count(self, outputs: Outputs) -> int:
        """The number of draws in the event."""
        return int(np.sum((self.score.of(outputs) >= self.cut) == self.above))

    def __str__(self) -> str:
        """In words."""
        if self.score.indicator:
            return self.score.name if self.above else f"not: {self.score.name}"
        return f"{self.score.name} {'≥' if self.above else '<'} {self.cut:.6g}"


def best_event(
    scores: Sequence[Score],
    outputs: tuple[Outputs, Outputs],
    level: float,
    claim: Guarantee,
) -> Event | None:
    """The event with the largest bound of the loss, over all cuts of all scores.

    Args:
        scores: candidates.
        outputs: of the data set and of its neighbour. They must not be used again: what
            they show of the event chosen by them is too much.
        level: probability of error of the bounds that are compared.
        claim: the guarantee whose divergence is the loss.
    """
    candidates = (_best_cut(score, outputs, level, claim) for score in scores)
    found = [event for event in candidates if event.bound > -math.inf]
    return max(found, key=lambda event: event.bound, default=None)


def _best_cut(
    score: Score, outputs: tuple[Outputs, Outputs], level: float, claim: Guarantee
) -> Event:
    values = tuple(score.of(x) for x in outputs)
    cuts = cuts_of(np.concatenate(values))
    draws, swapped = (len(values[0]), len(values[1])), (len(values[1]), len(values[0]))
    first, second = (_at_least(x, cuts) for x in values)
    bounds = np.stack(
        [
            loss_bounds(first, second, draws, level, claim),
            loss_bounds(second, first, swapped, level, claim),
            loss_bounds(draws[0] - first, draws[1] - second, draws, level, claim),
            loss_bounds(draws[1] - second, draws[0] - first, draws, level, claim),
        ]
    )
    case, place = np.unravel_index(np.argmax(bounds), bounds.shape)
    return Event(
        score, float(cuts[place]), bool(case < 2), bool(case % 2), bounds.max().item()
    )


def cuts_of(values: np.ndarray) -> Float64[np.ndarray, " cuts"]:
    """All values if they are few; else quantiles, dense in the tails."""
    some = values[:: max(1, len(values) // _FOR_CUTS)]
    distinct = np.unique(some)
    if len(distinct) <= _MOST_CUTS:
        return np.asarray(distinct, float)
    ordered = np.sort(some)
    places = (_SHARES * (len(ordered) - 1)).round().astype(int)
    return np.unique(np.asarray(ordered[places], float))


def _at_least(values: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """The number of values that are at least as large as each cut."""
    below = np.bincount(np.searchsorted(cuts, values, "right"), minlength=len(cuts) + 1)
    return len(values) - np.cumsum(below)[: len(cuts)]


def loss_bounds(
    first: Numbers,
    second: Numbers,
    draws: tuple[int, int],
    level: float,
    claim: Guarantee,
) -> Float64[np.ndarray, "*shape"]:
    """Lower bounds of the loss, each wrong with a probability of at most `level`.

    Args:
        first: how often events were observed under one data set.
        second: how often under its neighbour.
        draws: numbers of draws of the first and of the second.
        level: the probability of error.
        claim: the guarantee whose divergence is the loss.

    Returns:
        -inf where nothing is shown.

    Reference:
        Clopper & Pearson, Biometrika 26 (1934), for the bounds of a proportion.
    """
    least = _below(first, draws[0], level / 2)
    most = 1 - _below(draws[1] - second, draws[1], level / 2)
    return claim.divergence_of_events(least, most)


def _below(seen: Numbers, draws: int, level: float) -> Float64[np.ndarray, "*shape"]:
    """The lower Clopper–Pearson bound of a probability."""
    some = np.maximum(seen, 1)
    bound = special.betaincinv(some, draws - some + 1, level)
    return np.where(seen > 0, bound, 0.0)
