r"""Privacy loss of samples of a network's tables, and the choice of ω and T.

By the usual bound, one record changes the likelihood ratio of any two points of a row's
grid by a factor of at most $e^C$, where C is the log-ratio of the largest to the
smallest probability. The loss that an adversary can attain also depends on the number
of records, the prior and the temperature, which are all public.

A smaller ω (smallest probability) or temperature T costs more. If one of the two is
given, the other is derived from the budget. If neither is given, both are chosen
without data for a small expected error.
"""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

from dpjax.mechanisms.tilted_variance import largest_share
from dpjax.noise.exact_choice import log_of_sum
from dpjax.noise.simplex_grid import LOG_BITS, SimplexGrid, log_table
from dpjax.privacy import REPLACE_ONE, Guarantee
from dpjax.privacy.rounding import written
from dpjax.tables.layout import TableLayout

Grids = Sequence[tuple[SimplexGrid, bool]]
"""For each variable, the grid of its table's rows, and whether it has parents."""

_SHARES = [Fraction(9, 10) * Fraction(4, 5) ** i for i in range(40)]  # to 1.5e-4
_GUESS = 1000  # number of records if n is private and no guess is given
_MOST_SPLITS = 16  # largest n for which all splits over two rows are tried
_GRID = 1 << 40  # losses are rounded up to multiples of 2^-40
_STEP = 1000  # temperatures are rounded up to multiples of 1/1000


def lowest_temperature(
    budget: Guarantee, cost: Callable[..., Guarantee], n: int | None
) -> Fraction:
    """Return the lowest temperature T, in thousandths, at which a sample is affordable.

    Args:
        budget: what a sample may cost.
        cost: cost of a sample as a function of T and, by keyword, of the public n. With
            n = None it is the cost in the limit of many records.
        n: the public number of records, or None.
    """
    limit = cost(Fraction(1), n=None)
    high = max(1, int(temperature_for(limit, budget) * _STEP))
    while not cost(Fraction(high, _STEP), n=None).fits(budget):
        high += 1
    low = 0
    while n is not None and high - low > 1:  # T may be lower than in the limit
        middle = (low + high) // 2
        affordable = cost(Fraction(middle, _STEP), n=n).fits(budget)
        low, high = (low, middle) if affordable else (middle, high)
    return Fraction(high, _STEP)


def temperature_for(limit: Guarantee, budget: Guarantee) -> Fraction:
    """Return the temperature at which samples cost `budget`, given the cost at T = 1.

    The range of log-ratios is in proportion to 1 / T. Roots are rounded to 13 digits.
    """
    return limit.choice_epsilon / budget.choice_epsilon


def spent_at(budget: Guarantee, cost: Guarantee) -> Guarantee:
    """Return the cost of samples, rounded up to fit a file, or the budget if less."""
    numbers = {name: written(number) for name, number in cost.numbers.items()}
    return min(budget, replace(cost, **numbers), key=lambda x: x.bound)


def sample_cost(
    rows: Grids,
    temperature: Fraction,
    budget: Guarantee,
    prior: Fraction = Fraction(1),
    n: int | None = None,
) -> Guarantee:
    r"""Return an upper bound of the cost of one sample: composed over the variables.

    A record is in one row of each table. It changes the log-likelihood of a point of
    the grid by a number whose range over the grid is $r_i = 2 C_i / T$ under
    replace-one and half of it under add-remove, where $C_i = \ln(\theta_{max} /
    \theta_{min})$ on the grid `rows[i]` of variable i, and T is the temperature. The
    tables of different variables are independent, so that a sample costs ε = $\sum_i
    r_i$ or ρ = $\sum_i r_i^2 / 8$, for any prior and number of records.

    The ε of a variable of 2 levels under replace-one and a public n is exact to 2^-40:
    it is the loss of the worst data set of n records, in which all records of a row
    agree (`docs/proofs.md`, section 11). Row counts are private, so that the term is
    for a row with all n records. If the variable has parents, a record can move to
    another row, and the term includes the loss in both rows. The ρ of a variable of 2
    levels without parents is a bound for n records: half of the largest variance of the
    change of the log-likelihood, to within about half a percent.

    Args:
        rows: for each variable, the grid of its rows, and whether it has parents.
        temperature: T > 0.
        budget: a guarantee of the kind and the adjacency of the result.
        prior: Dirichlet parameter of every cell.
        n: the public number of records; None: the cost is one for any n.
    """
    replaced, costs = budget.adjacency == REPLACE_ONE, []
    for grid, has_parents in rows:
        width, known = grid.log_range * (2 if replaced else 1) / temperature, ()
        if n is not None and replaced and grid.levels == 2:
            given = temperature, prior, n
            share = None if has_parents else partial(_variable_share, grid, *given)
            known = partial(_variable_loss, grid, has_parents, *given), share
        costs.append(budget.of_choice(width, *known))
    first, *others = costs
    return first.composed(*others)


@functools.lru_cache(maxsize=1024)
def _variable_loss(
    grid: SimplexGrid, has_parents: bool, temperature: Fraction, prior: Fraction, n: int
) -> Fraction:
    power = 1 / temperature
    loss = _replaced(grid, power, prior - 1, n)
    if has_parents:
        loss = max(loss, _moved(grid, power, prior - 1, n))
    limit = 2 * grid.log_range / temperature
    return min(limit, Fraction(math.ceil(loss * _GRID), _GRID))


@functools.lru_cache(maxsize=1024)
def _variable_share(
    grid: SimplexGrid, temperature: Fraction, prior: Fraction, n: int
) -> Fraction:
    """Largest variance of log-odds, of n records in a row, as in `largest_share`."""
    logs = log_table(grid.units)
    pairs = [(logs[g], logs[grid.units - g]) for g in range(grid.least, grid.most + 1)]
    power = prior - 1 + n / temperature / 2  # of θ (1 - θ) for as many ones as zeros
    scores = [power.numerator * (one + zero) for one, zero in pairs]
    odds = [one - zero for one, zero in pairs]
    return largest_share(odds, scores, power.denominator << LOG_BITS)


def _replaced(grid: SimplexGrid, power: Fraction, prior: Fraction, n: int) -> Fraction:
    """Loss if one of n zeros becomes a one or, by symmetry, one of n ones a zero."""
    before = _log_sum(grid, prior, prior + power * n)
    after = _log_sum(grid, prior + power, prior + power * (n - 1))
    return power * grid.log_range - after[0] + before[1]


def _moved(grid: SimplexGrid, power: Fraction, prior: Fraction, n: int) -> Fraction:
    """Loss if a record moves to another row, for any split of the other n - 1 records.

    It grows with the records of a row. For large n, n - 1 in each row gives a bound.
    """
    splits = range(n) if n <= _MOST_SPLITS else [None]
    return max(
        _added(grid, power, prior, n - 1 if split is None else split)
        + _added(grid, power, prior, n - 1 if split is None else n - 1 - split)
        for split in splits
    )


@functools.lru_cache(maxsize=1024)
def _added(grid: SimplexGrid, power: Fraction, prior: Fraction, n: int) -> Fraction:
    """Loss of adding a one to n zeros or to n ones, whichever is larger."""
    largest, least = (
        power * Fraction(log_table(grid.units)[g], 1 << LOG_BITS)
        for g in (grid.most, grid.least)
    )
    zeros = _log_sum(grid, prior, prior + power * n)
    ones = _log_sum(grid, prior + power * n, prior)
    after_zeros = _log_sum(grid, prior + power, prior + power * n)
    after_ones = _log_sum(grid, prior + power * (n + 1), prior)
    gain = largest - after_zeros[0] + zeros[1]
    return max(gain, after_ones[1] - ones[0] - least)


@functools.lru_cache(maxsize=4096)
def _log_sum(
    grid: SimplexGrid, one: Fraction, zero: Fraction
) -> tuple[Fraction, Fraction]:
    """Bounds of the log of the sum of θ^one (1 - θ)^zero over a row's grid."""
    logs, common = log_table(grid.units), math.lcm(one.denominator, zero.denominator)
    powers = int(one * common), int(zero * common)
    scores = [
        powers[0] * logs[g] + powers[1] * logs[grid.units - g]
        for g in range(grid.least, grid.most + 1)
    ]
    return log_of_sum(scores, Fraction(1, common << LOG_BITS))


def grids_of_omega(layout: TableLayout, omega: Fraction, units: int) -> Grids:
    """Return each variable's grid with entries ≥ ω > 0, rounded up to 1 / units."""
    if not omega > 0:
        raise ValueError(f"`omega` must be above 0, got {float(omega):g}.")
    least = math.ceil(omega * units)
    return tuple(
        (SimplexGrid(levels, units, least), rows > 1) for levels, rows in _sizes(layout)
    )


def grids_of_share(layout: TableLayout, share: Fraction, units: int) -> Grids:
    """Return each variable's grid with entries ≥ share / levels, rounded down."""
    return tuple(
        (SimplexGrid(levels, units, max(1, int(share * units / levels))), rows > 1)
        for levels, rows in _sizes(layout)
    )


def choose_share(
    layout: TableLayout,
    units: int,
    budget: Guarantee,
    n: int | None,
    at: Fraction | None = None,
) -> Fraction:
    """Choose the share, the smallest probability times the number of levels.

    The share has the least expected error or, if T is given, is the smallest possible.

    Args:
        layout: layout of the network's tables.
        units: denominator of all probabilities.
        budget: what one sample may cost.
        n: number of records or a public guess of it; None: 1000.
        at: temperature T. None: for each share the lowest T ≥ 1 that is affordable.

    Raises:
        ValueError: if every share costs more than the budget at temperature `at`.
    """
    risks = []
    for share in _SHARES:
        grids = grids_of_share(layout, share, units)
        needed = temperature_for(sample_cost(grids, Fraction(1), budget), budget)
        if at is None or sample_cost(grids, at, budget).fits(budget):
            risks.append((_risk(layout, grids, max(needed, at or 1), n), share))
    if not risks:
        raise ValueError(
            "`temperature` must be higher for this budget, whatever the truncation, "
            f"got {float(at or 0):g}: leave it out to have it derived."
        )
    return min(risks)[1] if at is None else risks[-1][1]


def _risk(
    layout: TableLayout, grids: Grids, temperature: Fraction | int, n: int | None
) -> float:
    """Expected squared error of a sample's tables, if all tables were equally likely.

    A tempered posterior acts like one of n/T records. The terms are its shrinkage to
    the prior's mean, the sampling error of the data, its variance, and the truncation.
    """
    total = 0.0
    for (levels, rows), (grid, _) in zip(_sizes(layout), grids, strict=True):
        records = (n or _GUESS) / rows
        shown = records / float(temperature)
        weight = shown / (shown + levels)
        between = (levels - 1) / (levels * (levels + 1))
        within = (levels - 1) / (levels + 1)
        omega = grid.least / grid.units
        cut = levels * (levels - 1) * omega**3 / 3
        total += (1 - weight) ** 2 * between + weight**2 * within / records
        total += within / (shown + levels + 1) + cut
    return total


def _sizes(layout: TableLayout) -> list[tuple[int, int]]:
    """Return the number of levels of each variable and of rows of its table."""
    shapes = [layout.shape(group) for group in layout.groups]
    return [(shape[-1], math.prod(shape[:-1])) for shape in shapes]
