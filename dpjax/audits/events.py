"""Events that distinguish two neighbours, and lower bounds of the privacy loss.

A guarantee limits the divergence of the probabilities p and q of an event under two
neighbours. The lower bound of the divergence uses a Clopper–Pearson lower bound of p
and upper bound of q, each wrong with half of the allowed probability.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Real

from dpjax._later import special
from dpjax.audits.drawing import Outputs
from dpjax.privacy import Guarantee

Numbers = Real[np.ndarray, "*shape"]

_TAIL = 0.1 ** np.arange(1.5, 4.5, 0.25)
_SHARES = np.sort(np.concatenate([_TAIL, np.arange(0.05, 1, 0.05), 1 - _TAIL]))
_MOST_CUTS = 64
_FOR_CUTS = 1 << 15


class Score(NamedTuple):
    """A function from a draw to a number, whose large or small values are an event.

    Attributes:
        name: description of the function, for reports.
        of: function from outputs to the number of each draw.
        indicator: whether the number is 1 if `name` is true of the draw, and else 0.
    """

    name: str
    of: Callable[[Outputs], np.ndarray]
    indicator: bool = False


class Event(NamedTuple):
    """The set of outputs whose score is at least, or is below, a cut.

    Attributes:
        score: function from draws to numbers.
        cut: the number with which scores are compared.
        above: True for the outputs with scores ≥ `cut`, False for scores < `cut`.
        swapped: whether the event is likelier under the neighbour.
        bound: lower bound of the loss, from the draws by which the event was chosen.
    """

    score: Score
    cut: float
    above: bool
    swapped: bool
    bound: float

    def count(self, outputs: Outputs) -> int:
        """Return how many of the draws are in the event."""
        return int(np.sum((self.score.of(outputs) >= self.cut) == self.above))

    def __str__(self) -> str:
        """Return the event in words."""
        if self.score.indicator:
            return self.score.name if self.above else f"not: {self.score.name}"
        return f"{self.score.name} {'≥' if self.above else '<'} {self.cut:.6g}"


def best_event(
    scores: Sequence[Score],
    outputs: tuple[Outputs, Outputs],
    level: float,
    claim: Guarantee,
) -> Event | None:
    """Return the event with the largest lower bound of the loss, or None.

    All cuts of all scores are compared.

    Args:
        scores: candidate scores.
        outputs: draws under the data set and under its neighbour. A test of the chosen
            event must use other draws, since the same draws would bias it.
        level: probability that a lower bound exceeds the loss.
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
    """Return cuts to try: all values if few, else quantiles that are dense in tails."""
    some = values[:: max(1, len(values) // _FOR_CUTS)]
    distinct = np.unique(some)
    if len(distinct) <= _MOST_CUTS:
        return np.asarray(distinct, float)
    ordered = np.sort(some)
    places = (_SHARES * (len(ordered) - 1)).round().astype(int)
    return np.unique(np.asarray(ordered[places], float))


def _at_least(values: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """Return how many values are at least as large as each cut."""
    below = np.bincount(np.searchsorted(cuts, values, "right"), minlength=len(cuts) + 1)
    return len(values) - np.cumsum(below)[: len(cuts)]


def loss_bounds(
    first: Numbers,
    second: Numbers,
    draws: tuple[int, int],
    level: float,
    claim: Guarantee,
) -> Float64[np.ndarray, "*shape"]:
    """Return lower bounds of the loss, each wrong with probability at most `level`.

    Args:
        first: number of draws in each event under one data set.
        second: number of draws in each event under its neighbour.
        draws: total number of draws under each of the two data sets.
        level: largest probability that a bound exceeds the loss.
        claim: the guarantee whose divergence is the loss.

    Returns:
        A lower bound for each event; -inf if there is no finite bound.

    Reference:
        Clopper & Pearson, Biometrika 26 (1934), for confidence bounds of a proportion.
    """
    least = _below(first, draws[0], level / 2)
    most = 1 - _below(draws[1] - second, draws[1], level / 2)
    return claim.divergence_of_events(least, most)


def _below(seen: Numbers, draws: int, level: float) -> Float64[np.ndarray, "*shape"]:
    """Return the lower Clopper–Pearson bound of a probability."""
    some = np.maximum(seen, 1)
    bound = special.betaincinv(some, draws - some + 1, level)
    return np.where(seen > 0, bound, 0.0)
