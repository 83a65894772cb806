"""A public grid of a family's parameters, and the privacy loss of a sample from it.

The log-likelihood of a record is tabulated in integers. The log-likelihood of a data
set is then an integer too, and the change by one record is exact: no number that
privacy depends on is rounded.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial

import numpy as np

from dpjax._checks import whole
from dpjax.families import Family, Truncation
from dpjax.mechanisms.tilted_variance import largest_share
from dpjax.noise.exact_choice import log_of_sum
from dpjax.privacy import REPLACE_ONE, Adjacency, Guarantee

Prior = tuple[tuple[float, ...], float]
"""A pair: mean of the scaled statistics, and how many records the prior is worth."""

TABLE_BITS = 50  # the tables hold integers in units of 2^-50

MOST_POINTS = 1 << 16  # with more, deriving a cost from a file takes too long
_LOCATIONS = ("mean", "prediction")  # parameters that may be far from 0
_LARGEST = 1e100  # magnitude of a limit: its square is still finite
_FARTHEST = 1e4  # distance of a limit from zero or the centre, in widths
_MARGIN = Fraction(1, 10**9)  # far above rounding errors of doubles and tables
SHARES = [0.9 * 0.8**i for i in range(40)]
_ROUNDING = 1 << 40  # losses are rounded up to multiples of 2^-40
_FLOAT_ERROR = Fraction(1, 1 << 20)  # twice the float error of a scaled statistic


@dataclass(frozen=True)
class ParameterGrid:
    """The points of `Family.grid`, such as all combinations of parameters' values.

    Args:
        family: an exponential family whose parameters have a grid.
        limits: name, least and largest value of every parameter.
        points: number of values of each parameter, at least 2.
        units: integer steps from 0 to 1 of a scaled statistic (`Sufficient.units`).
        lowest: smallest integer of a record's first statistic, `Sufficient.lowest`.

    Raises:
        ValueError: if natural parameters of the family cannot be tabulated, the
            truncation leaves its likelihood unbounded, or there are too many points.
    """

    family: Family
    limits: tuple[tuple[str, float, float], ...]
    points: int
    units: int
    lowest: int

    def __post_init__(self):
        whole(2, points=self.points)
        if any(abs(end) > _LARGEST for _, *ends in self.limits for end in ends):
            raise ValueError(f"`truncation` must be within ±{_LARGEST:g}.")
        self._refuse_unbounded()
        sizes = self.family.axes(self.truncation, self.points)
        if not 1 < math.prod(sizes) <= MOST_POINTS:
            raise ValueError(
                f"`points` must make at most {MOST_POINTS} of all parameters, and more "
                f"than one, got {self.points}, which makes {math.prod(sizes)}."
            )
        centre = sum(self.family.bounds[-1]) / 2
        for name, least, most in self.limits:
            from_zero = centre if name in _LOCATIONS else 0.0
            far = max(abs(least - from_zero), abs(most - from_zero))
            width = most - least
            if 0 < width < far / _FARTHEST:  # doubles would cancel in the tables
                raise ValueError(
                    f"`truncation` must be wider for the {name}, got {least} to {most}."
                )

    def _refuse_unbounded(self) -> None:
        """Raise `ValueError` unless the limits of the grid bound the likelihood."""
        family = self.family
        if family.grid_parameters and {*self.truncation} - {*family.grid_parameters}:
            raise ValueError(
                f"`truncation` must name {sorted(family.grid_parameters)} for samples "
                f"of a {family.name}, got {sorted(self.truncation)}."
            )
        family.sampling_sensitivity(REPLACE_ONE, self.truncation)

    @property
    def truncation(self) -> dict[str, tuple[float, float]]:
        """The least and the largest value of each parameter, by name."""
        return {name: (least, most) for name, least, most in self.limits}

    @cached_property
    def places(self) -> np.ndarray:
        """Every point of the grid, one row for each, as `Family.grid` returns them."""
        return self.family.grid(self.truncation, self.points)

    @cached_property
    def axes(self) -> tuple[int, ...]:
        """Number of values on each axis, or of all points if some are left out."""
        sizes = self.family.axes(self.truncation, self.points)
        count = len(self.places)
        return sizes if math.prod(sizes) == count else (count,)

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Names and shapes of the parameters in a row of `parameters`."""
        one = self.family.shown(self.places[:1])
        return {name: values.shape[1:] for name, values in one.items()}

    @cached_property
    def parameters(self) -> np.ndarray:
        """The parameters of every grid point, one row for each point."""
        shown, count = self.family.shown(self.places), len(self.places)
        return np.hstack([values.reshape(count, -1) for values in shown.values()])

    @cached_property
    def _likelihood(self) -> tuple[np.ndarray, np.ndarray]:
        """Natural parameters and log g; `_integers` refuses infinite ones and NaN."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.family.natural(self.places)

    @cached_property
    def tables(self) -> tuple[np.ndarray, np.ndarray]:
        """Natural parameters per unit of each statistic, and log g, at each grid point.

        g is the normaliser of the family's density. The numbers are the terms of the
        log-likelihood for one unit of a statistic and for one record, as Python
        integers in units of 2^-50.
        """
        natural, log_g = self._likelihood
        steps = natural * (np.array(self.family.scales()) / self.units)[None, :]
        return _integers(steps), _integers(log_g)

    def scores(self, totals: Sequence[int], n: int) -> np.ndarray:
        """Return the log-likelihood of n records at each point, in units of 2^-50."""
        steps, records = self.tables
        return steps @ np.array(totals, object) + n * records

    def prior_scores(self, mean: Sequence[float], records: float) -> np.ndarray:
        """Return the log-prior at each point: of `records` records with mean `mean`."""
        natural, log_g = self._likelihood
        scaled = natural * np.array(self.family.scales())[None, :]
        return _integers(records * (scaled @ np.array(mean, float) + log_g))

    def widest(self, adjacency: Adjacency) -> Fraction:
        r"""Return how much one record's log-likelihood change can vary over the grid.

        The result is the largest range of the change, and the cost of one sample at T =
        1, for any number of records. With one statistic it is exact, since the range is
        convex in the statistic. With several statistics it is a bound over real
        records, $2\Delta$ (replace-one) or Δ of `Family.sampling_sensitivity`, plus a
        bound of the effect of rounding.
        """
        steps, _ = self.tables
        if steps.shape[1] == 1:
            return self._widest_of_one(adjacency)
        exact = self.family.sampling_sensitivity(adjacency, self.truncation).value
        moved = 2 if adjacency == REPLACE_ONE else 1
        terms = self.units * steps.shape[1] + 1  # each is rounded by at most a half
        tabled = Fraction(moved * terms, 1 << TABLE_BITS)
        supremum = Fraction(exact) * moved * (1 + _MARGIN) + max(_MARGIN, tabled)
        if self.family.lattice is not None:
            return supremum
        ranges = sum(int(max(column) - min(column)) for column in steps.T)
        rounded = moved * (Fraction(1, 2) + self.units * _FLOAT_ERROR)
        return supremum + Fraction(ranges, 1 << TABLE_BITS) * rounded

    def _widest_of_one(self, adjacency: Adjacency) -> Fraction:
        steps, records = self.tables
        ends = (self.lowest, self.units)
        if adjacency == REPLACE_ONE:
            added = [(ends[1] - ends[0]) * steps[:, 0]]
        else:
            added = [end * steps[:, 0] + records for end in ends]
        widest = max(int(max(change) - min(change)) for change in added)
        return Fraction(widest, 1 << TABLE_BITS)

    def sample_cost(
        self,
        temperature: Fraction,
        budget: Guarantee,
        prior: Prior | None,
        n: int | None,
        tempered: bool = False,
    ) -> Guarantee:
        """Return the cost of a sample, of the kind and the adjacency of `budget`.

        With one parameter and public n, ε is exact, and ρ is a bound for this n that is
        nearly exact. In all other cases the cost is a bound for any n.
        """
        limit = self.widest(budget.adjacency) / temperature
        several = self.tables[0].shape[1] > 1
        if n is None or several or budget.adjacency != REPLACE_ONE:
            return budget.of_choice(limit)
        of = 1 / temperature, prior, n, tempered
        return budget.of_choice(
            limit, lambda: min(limit, self._loss(*of)), partial(self._share, *of)
        )

    def _loss(
        self, power: Fraction, prior: Prior | None, n: int, tempered: bool
    ) -> Fraction:
        """ε of a sample under replace-one, rounded up: all records are at one bound."""
        steps, move = self.tables[0][:, 0], self.units - self.lowest
        losses = []
        for start, moved in ((self.lowest, move), (self.units, -move)):
            gains = [moved * int(step) for step in (min(steps), max(steps))]
            largest = power * Fraction(max(gains), 1 << TABLE_BITS)
            before, after = (
                log_of_sum(
                    *self.posterior_scores(power, prior, [n * start + x], n, tempered)
                )
                for x in (0, moved)
            )
            losses.append(largest - after[0] + before[1])
        return Fraction(math.ceil(max(losses) * _ROUNDING), _ROUNDING)

    def _share(
        self, power: Fraction, prior: Prior | None, n: int, tempered: bool
    ) -> Fraction:
        """Largest variance of the score's change over all sums of records."""
        middle = [n * (self.lowest + self.units) // 2]
        scores, unit = self.posterior_scores(power, prior, middle, n, tempered)
        return largest_share(self.tables[0][:, 0].tolist(), scores, unit.denominator)

    def posterior_scores(
        self,
        power: Fraction,
        prior: Prior | None,
        totals: list[int],
        n: int,
        tempered: bool = False,
    ) -> tuple[list[int], Fraction]:
        """Return each point's integer log-posterior up to a constant, and the unit."""
        scores = power.numerator * self.scores(totals, n)
        if prior is not None:
            weight = power.numerator if tempered else power.denominator
            scores = scores + weight * self.prior_scores(*prior)
        return scores.tolist(), Fraction(1, power.denominator << TABLE_BITS)


def _integers(numbers: np.ndarray) -> np.ndarray:
    """Round numbers to Python integers in units of 2^-50."""
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.rint(np.ldexp(numbers, TABLE_BITS))  # exact except for the rounding
    if not np.isfinite(scaled).all():
        raise ValueError("`truncation` must keep the log-likelihood finite.")
    flat = [int(x) for x in scaled.ravel().tolist()]
    return np.array(flat, object).reshape(numbers.shape)


def refuse_prior(prior: object, family: Family) -> None:
    """Raise `ValueError` unless `prior` is None or a valid `Prior` of the family."""
    if prior is None:
        return
    try:
        mean, records = prior  # pyright: ignore[reportGeneralTypeIssues]  (checked here)
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
    """Return the widest grid from `grid_within` whose `widest` is at most `width`."""
    grids = (grid_within(family.truncation(share)) for share in SHARES[::-1])
    for grid in grids:
        if grid.widest(adjacency) <= width:
            return grid
    raise ValueError(
        "`temperature` must be higher for this budget, whatever the truncation: leave "
        "it out to have it derived."
    )
