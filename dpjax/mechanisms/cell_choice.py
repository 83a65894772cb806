"""The choice of the cells of `CellMass`, from public facts alone."""

import contextlib
import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from dpjax.mechanisms.cell_grid import SCORE_BITS, CellGrid
from dpjax.mechanisms.cell_mass import CellMass
from dpjax.privacy import Epsilon, Guarantee, exact_epsilon
from dpjax.tables.layout import TableLayout

_GUESS = 1000  # number of records if n is private
_MOST_UNITS, _MOST_CELLS = 16, 1 << 12  # of the grids that are tried
_TEMPERATURES = (1, 3, 10, 30, 100)
_STEPS = 8  # true probabilities are (2 i + 1) / 16, and products of these


def choose_cells(
    layout: TableLayout,
    cost: Guarantee,
    n: int | None,
    prior: Epsilon = 1,
    *,
    omega: Epsilon | None = None,
    units: int | None = None,
    temperature: Epsilon | None = None,
) -> CellMass:
    """Return the mechanism with cells and temperature of least expected error.

    With many cells all masses are small, so that the draw is nearly uniform; few cells
    represent tables badly. The error is the expected KL(true ‖ drawn) of a row, in
    nats, averaged over rows and over true tables with equal rows. Data are assumed to
    be the expected counts, so that neither data nor random numbers are used.

    Args:
        layout: one conditional table for each variable.
        cost: the guarantee of a draw.
        n: number of records, or a public guess of it; None: 1000.
        prior: Dirichlet parameter of every level.
        omega: smallest probability of a level; None: chosen.
        units: denominator of all probabilities; None: chosen.
        temperature: temperature of the masses; None: chosen.

    Raises:
        ValueError: if an argument is out of range, or no grid has at most 4,096 cells.
    """
    alpha = exact_epsilon(prior, "prior")
    heat = None if temperature is None else exact_epsilon(temperature, "temperature")
    lowest = None if omega is None else exact_epsilon(omega, "omega")
    risks = {}
    for grid in _grids(layout, alpha, lowest, units):
        for t in _TEMPERATURES if heat is None else (heat,):
            made = CellMass.of(
                layout, cost,
                omega=grid.omega, temperature=t, prior=alpha, units=grid.units,
            )  # fmt: skip
            risks[made] = expected_error(made, n or _GUESS)
    if not risks:
        raise ValueError(
            "`omega` and `units` must be given for map-cells on these tables, such as "
            f"'0.1' and 16: no other grid has at most {_MOST_CELLS} joint cells."
        )
    return min(risks, key=risks.__getitem__)


def _grids(
    layout: TableLayout, prior: Fraction, omega: Fraction | None, units: int | None
) -> Iterator[CellGrid]:
    """Yield the grids of few cells, with ω and units as given."""
    numbers = range(2, _MOST_UNITS + 1) if units is None else (units,)
    for number, least in itertools.product(numbers, range(1, _MOST_UNITS)):
        lowest = Fraction(least, number) if omega is None else omega
        if least > 1 and (omega is not None or 2 * least > number):
            continue
        with contextlib.suppress(ValueError):  # for too many cells, or too few points
            grid = CellGrid(layout, lowest, number, prior)
            if grid.size <= _MOST_CELLS:
                yield grid


def _truths(levels: int) -> list[np.ndarray]:
    """Weights of up to `levels` levels, of which a row takes the first and normalises.

    The same weights are turned, so that each level is the likely one in some of them.
    """
    first = [(2 * i + 1) / (2 * _STEPS) for i in range(_STEPS)]
    return [
        np.roll([p, *[(1 - p) / (levels - 1)] * (levels - 1)], turn)
        for p in first
        for turn in range(levels)
    ]


def expected_error(mechanism: CellMass, n: int) -> float:
    """Return the expected KL(true ‖ drawn) of a row, over rows and true tables."""
    truths = _truths(max(mechanism.grid.layout.sizes))
    rows, risks = mechanism.grid.rows, []
    counts_of = [n / number for number in _rows_of(mechanism.grid.layout)]
    sharpness = float(mechanism.rate) * (1 << SCORE_BITS)
    for truth in truths:
        mass, log_prior, errors = np.ones(1), np.zeros(1), []
        for row, records in zip(rows, counts_of, strict=True):
            true = truth[: row.points.shape[1]]
            true = true / true.sum()
            logs = np.log(row.points / mechanism.grid.units)
            prior = np.log(row.prior)
            fit = records / float(mechanism.temperature) * (logs @ true) + prior
            weights = np.exp(fit - fit.max())
            mass = np.multiply.outer(mass, weights / weights.sum()).ravel()
            log_prior = np.add.outer(log_prior, prior).ravel()
            errors.append((true * np.log(true)).sum() - logs @ true)
        logits = sharpness * mass + log_prior
        law = np.exp(logits - logits.max())
        law = (law / law.sum()).reshape([len(row.points) for row in rows])
        axes = range(len(rows))
        risks.append(
            np.mean([
                law.sum(axis=tuple(x for x in axes if x != i)) @ error
                for i, error in enumerate(errors)
            ])
        )  # fmt: skip
    return float(np.mean(risks))


def _rows_of(layout: TableLayout) -> list[int]:
    """Number of rows of each row's table."""
    sizes = [math.prod(layout.shape(group)[:-1]) for group in layout.groups]
    return [size for size in sizes for _ in range(size)]
