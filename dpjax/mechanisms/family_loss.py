"""Privacy loss of a posterior sample of an exponential family on a grid."""

__all__ = [
    "Prior",
    "posterior_scores",
    "refuse_prior",
    "sample_loss",
    "widest_grid",
]

import math
from collections.abc import Callable
from fractions import Fraction

from dpjax.families import Family, Truncation
from dpjax.mechanisms.parameter_grid import TABLE_BITS, ParameterGrid
from dpjax.noise.exact_choice import log_of_sum
from dpjax.privacy import Adjacency

Prior = tuple[tuple[float, ...], float]
"""Mean of the scaled statistics, and the number of records that it is worth."""

_SHARES = [0.9 * 0.8**i for i in range(40)]
_ROUNDING = 1 << 40  # losses are rounded up to multiples of 2^-40


def refuse_prior(prior: object, family: Family) -> None:
    """Raise unless the prior is a mean of the scaled statistics, and a weight > 0."""
    if prior is None:
        return
    try:
        mean, records = prior  # pyright: ignore[reportGeneralTypeIssues]  (that is the question)
        numbers = [float(x) for x in (*mean, records)]
        valid = len(numbers) == family.dimension + 1 and all(
            map(math.isfinite, numbers)
        )
    except (TypeError, ValueError):
        valid, numbers = False, [0.0]
    if not valid or numbers[-1] <= 0 or max(map(abs, numbers[:-1])) > 1:
        raise ValueError(
            f"`prior` must be the mean of {family.dimension} scaled statistics, from "
            "-1 to 1, and how many records it is worth, as in ((0.5,), 2.0)."
        )


def widest_grid(
    family: Family,
    grid_within: Callable[[Truncation], ParameterGrid],
    width: Fraction,
    adjacency: Adjacency,
) -> ParameterGrid:
    """The grid of the family's widest truncation whose range is at most `width`."""
    grids = (grid_within(family.truncation(share)) for share in _SHARES[::-1])
    for grid in grids:
        if grid.widest(adjacency) <= width:
            return grid
    raise ValueError(
        "`temperature` must be higher for this epsilon, whatever the truncation: leave "
        "it out to have it derived."
    )


def sample_loss(
    grid: ParameterGrid,
    temperature: Fraction,
    adjacency: Adjacency,
    prior: Prior | None,
    n: int | None,
) -> Fraction:
    """Loss of one sample: exact with one parameter and a public n, else its limit."""
    limit = grid.widest(adjacency) / temperature
    if n is None or grid.tables[0].shape[1] > 1:
        return limit
    steps, power = grid.tables[0][:, 0], 1 / temperature
    move = grid.units - grid.lowest
    losses = []
    for start, moved in ((grid.lowest, move), (grid.units, -move)):
        gains = [moved * int(step) for step in (min(steps), max(steps))]
        largest = power * Fraction(max(gains), 1 << TABLE_BITS)
        before, after = (
            log_of_sum(*posterior_scores(grid, power, prior, [n * start + change], n))
            for change in (0, moved)
        )
        losses.append(largest - after[0] + before[1])
    return min(limit, Fraction(math.ceil(max(losses) * _ROUNDING), _ROUNDING))


def posterior_scores(
    grid: ParameterGrid,
    power: Fraction,
    prior: Prior | None,
    totals: list[int],
    n: int,
) -> tuple[list[int], Fraction]:
    """Log-posterior of every point up to a constant: integers, and their unit."""
    scores = power.numerator * grid.scores(totals, n)
    if prior is not None:
        scores = scores + power.denominator * grid.prior_scores(*prior)
    return scores.tolist(), Fraction(1, power.denominator << TABLE_BITS)
