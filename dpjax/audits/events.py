"""Sets of outputs by which an attacker tells neighbours apart, and the best of many."""

__all__ = ["Event", "Score", "best_event", "cuts_of"]

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

from dpjax.audits.confidence import loss_bounds
from dpjax.audits.drawing import Outputs
from dpjax.privacy import Guarantee

_TAIL = 0.1 ** np.arange(1.5, 4.5, 0.25)
_SHARES = np.sort(np.concatenate([_TAIL, np.arange(0.05, 1, 0.05), 1 - _TAIL]))
_MOST_CUTS = 64
_FOR_CUTS = 1 << 15


class Score(NamedTuple):
    """A number of every draw; an event is that it is large, or that it is small.

    Attributes:
        name: in words.
        of: the numbers.
        indicator: whether they say yes or no, 1 or 0, to what the name says.
    """

    name: str
    of: Callable[[Outputs], np.ndarray]
    indicator: bool = False


class Event(NamedTuple):
    """A set of outputs.

    Attributes:
        score: of which it is the large values, or the small ones.
        cut: the least of the large ones.
        above: whether it is the large ones.
        swapped: whether it is likelier under the neighbour.
        bound: the loss that the draws suggest by which it was chosen.
    """

    score: Score
    cut: float
    above: bool
    swapped: bool
    bound: float

    def count(self, outputs: Outputs) -> int:
        """How many draws are in it."""
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
    """Of all thresholds of all scores, what would show the largest loss.

    Args:
        scores: candidates.
        outputs: of the data set and of its neighbour: used up, for what they show of
            the event chosen by them is too much.
        level: of the bounds that are compared.
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
    """All values if they are few; else some quantiles, the tails' among them."""
    some = values[:: max(1, len(values) // _FOR_CUTS)]
    distinct = np.unique(some)
    if len(distinct) <= _MOST_CUTS:
        return np.asarray(distinct, float)
    ordered = np.sort(some)
    places = (_SHARES * (len(ordered) - 1)).round().astype(int)
    return np.unique(np.asarray(ordered[places], float))


def _at_least(values: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """How many values are at least as large as each cut."""
    below = np.bincount(np.searchsorted(cuts, values, "right"), minlength=len(cuts) + 1)
    return len(values) - np.cumsum(below)[: len(cuts)]
