"""Truncations ω and temperatures T that spend a budget, from public facts alone.

A small ω and a small T cost more. Given one of them, the other follows from ε; given
neither, both are chosen to make the expected error small, without a look at data.
"""

__all__ = [
    "Grids",
    "Wanted",
    "choose_share",
    "chosen",
    "grids_of_omega",
    "grids_of_share",
    "temperature",
    "wanted",
]

import math
from fractions import Fraction
from typing import NamedTuple

from dpjax._checks import one_of, whole
from dpjax.mechanisms.sampling_loss import limit_loss, sample_loss
from dpjax.noise.simplex_grid import SimplexGrid
from dpjax.privacy import (
    ADJACENCIES,
    REPLACE_ONE,
    Adjacency,
    Epsilon,
    PureDP,
    exact_epsilon,
)
from dpjax.tables.layout import TableLayout

Grids = tuple[tuple[SimplexGrid, bool], ...]

_STEP = 1000  # temperatures are multiples of 1/1000, rounded up
_SHARES = [Fraction(9, 10) * Fraction(4, 5) ** i for i in range(40)]  # to 1.5e-4
_GUESS = 1000  # records, where n is private and no guess is given


class Wanted(NamedTuple):
    """What is asked of samples; None: to be chosen.

    Attributes:
        layout: of the network's tables.
        epsilon: the budget of all samples.
        adjacency: "replace-one" or "add-remove".
        n: number of records, or a public guess of it.
        omega: smallest probability of a level.
        temperature: T.
        prior: Dirichlet parameter of every cell.
        units: of the grid.
        samples: how many.
        tempered_prior: whether the prior is taken to the power 1/T too.
    """

    layout: TableLayout
    epsilon: Fraction
    adjacency: Adjacency
    n: int | None
    omega: Fraction | None
    temperature: Fraction | None
    prior: Fraction
    units: int
    samples: int = 1
    tempered_prior: bool = False


def wanted(
    layout: TableLayout,
    epsilon: Epsilon,
    adjacency: Adjacency,
    n: int | None,
    omega: Epsilon | None,
    temperature: Epsilon | None,
    prior: Epsilon,
    units: int,
    samples: int = 1,
    tempered_prior: bool = False,
) -> Wanted:
    """What a user asks, in exact numbers.

    Raises:
        ValueError: if a number is outside its range.
    """
    whole(1, samples=samples, units=units)
    one_of(ADJACENCIES, adjacency=adjacency)
    return Wanted(
        layout,
        exact_epsilon(epsilon),
        adjacency,
        n,
        None if omega is None else exact_epsilon(omega, "omega"),
        None if temperature is None else exact_epsilon(temperature, "temperature"),
        exact_epsilon(prior, "prior"),
        int(units),
        int(samples),
        tempered_prior,
    )


def chosen(asked: Wanted) -> tuple[Grids, Fraction, int | None, PureDP]:
    """Grids, temperature, the n that the cost is for, and the cost of all samples.

    Raises:
        ValueError: if ω is out of range, or no truncation is enough for ε at T.
    """
    layout, heat, prior = asked.layout, asked.temperature, asked.prior
    adjacency, each = asked.adjacency, asked.epsilon / asked.samples
    if asked.omega is None:
        share = choose_share(layout, asked.units, each, adjacency, asked.n, heat)
        grids = grids_of_share(layout, share, asked.units)
    else:
        grids = grids_of_omega(layout, asked.omega, asked.units)
    public = adjacency == REPLACE_ONE and not asked.tempered_prior
    n = asked.n if public else None
    lowest = heat or temperature(grids, each, adjacency, prior, n)
    derived = heat is None and (asked.tempered_prior or lowest > 1)
    heat = lowest if derived else heat or Fraction(1)
    spent = asked.epsilon
    if not derived:  # less than the whole budget may be enough
        loss = asked.samples * sample_loss(grids, heat, adjacency, prior, n)
        spent = min(spent, loss)
    return grids, heat, n, PureDP(spent, adjacency)


def grids_of_omega(layout: TableLayout, omega: Fraction, units: int) -> Grids:
    """Every entry at least ω, rounded up to the grid.

    Raises:
        ValueError: if ω is not above 0, or not below 1 over some number of levels.
    """
    if not omega > 0:
        raise ValueError(f"`omega` must be above 0, got {float(omega):g}.")
    least = math.ceil(omega * units)
    return tuple(
        (SimplexGrid(levels, units, least), rows > 1) for levels, rows in _sizes(layout)
    )


def grids_of_share(layout: TableLayout, share: Fraction, units: int) -> Grids:
    """Every entry at least a share of 1 over its variable's number of levels.

    Raises:
        ValueError: if there are more than half as many levels as units.
    """
    return tuple(
        (SimplexGrid(levels, units, max(1, int(share * units / levels))), rows > 1)
        for levels, rows in _sizes(layout)
    )


def temperature(
    grids: Grids,
    epsilon: Fraction,
    adjacency: Adjacency,
    prior: Fraction,
    n: int | None,
) -> Fraction:
    """The lowest temperature, in thousandths, at which a sample costs at most ε."""
    limit = limit_loss(grids, Fraction(1), adjacency) / epsilon
    high = math.ceil(limit * _STEP)
    low = 0 if n is None else high // 4  # at finite n, T may be lower than in the limit
    while n is not None and high - low > 1:
        middle = (low + high) // 2
        affordable = middle > 0 and (
            sample_loss(grids, Fraction(middle, _STEP), adjacency, prior, n) <= epsilon
        )
        low, high = (low, middle) if affordable else (middle, high)
    return Fraction(high, _STEP)


def choose_share(
    layout: TableLayout,
    units: int,
    epsilon: Fraction,
    adjacency: Adjacency,
    n: int | None,
    at: Fraction | None = None,
) -> Fraction:
    """The truncation, as a share, with the smallest risk; or the smallest one at T.

    Args:
        layout: of the network's tables.
        units: of the grid.
        epsilon: of one sample.
        adjacency: "replace-one" or "add-remove".
        n: number of records, or a public guess of it.
        at: a given temperature; None: the lowest one that ε allows, but at least 1.

    Raises:
        ValueError: if no truncation brings the cost at that temperature down to ε.
    """
    risks = []
    for share in _SHARES:
        grids = grids_of_share(layout, share, units)
        needed = limit_loss(grids, Fraction(1), adjacency) / epsilon
        if at is None or needed <= at:
            risks.append((_risk(layout, grids, max(needed, at or 1), n), share))
    if not risks:
        raise ValueError(
            "`temperature` must be higher for this epsilon, whatever the truncation, "
            f"got {float(at or 0):g}: leave it out to have it derived."
        )
    return min(risks)[1] if at is None else risks[-1][1]


def _risk(
    layout: TableLayout, grids: Grids, heat: Fraction | int, n: int | None
) -> float:
    r"""Expected squared error of a sample's tables, if all tables were equally likely.

    A tempered posterior has n/T records: it shrinks towards the prior's mean, follows
    the chance in the data, and is spread. Entries below ω are moved there.
    """
    total = 0.0
    for (levels, rows), (grid, _) in zip(_sizes(layout), grids, strict=True):
        records = (n or _GUESS) / rows
        shown = records / float(heat)
        weight = shown / (shown + levels)
        between = (levels - 1) / (levels * (levels + 1))
        within = (levels - 1) / (levels + 1)
        omega = grid.least / grid.units
        cut = levels * (levels - 1) * omega**3 / 3
        total += (1 - weight) ** 2 * between + weight**2 * within / records
        total += within / (shown + levels + 1) + cut
    return total


def _sizes(layout: TableLayout) -> list[tuple[int, int]]:
    """For each variable its number of levels and of rows of its table."""
    shapes = [layout.shape(group) for group in layout.groups]
    return [(shape[-1], math.prod(shape[:-1])) for shape in shapes]
