"""Faults of masses of cells: their scores, prior and rate."""

from tests.mutants.mutant import Mutant

_CELL_GRID = "mechanisms/cell_grid.py"
_CELL_MASS = "mechanisms/cell_mass.py"
_IN_CELL_MASS = "tests/test_cell_mass.py::"

MUTANTS = (
    Mutant(
        "bound loosened",
        "cells of a posterior: ω rounded down to the grid",
        _CELL_GRID,
        "least = math.ceil(self.omega * self.units)",
        "least = max(1, math.floor(self.omega * self.units))",
        (_IN_CELL_MASS + "test_no_probability_is_below_omega[0.07-2]",),
    ),
    Mutant(
        "sensitivity halved",
        "cells of a posterior: the range of one variable",
        _CELL_GRID,
        "return Fraction(sum(grid.log_range for grid, _ in self._tables()))",
        "return Fraction(max(grid.log_range for grid, _ in self._tables()))",
        (_IN_CELL_MASS + "test_no_output_tells_neighbours_apart_by_more_than_epsilon",),
    ),
    Mutant(
        "law changed",
        "cells of a posterior: weights of cells in another order",
        _CELL_GRID,
        "np.multiply.outer(cells, prior).ravel()",
        "np.multiply.outer(prior, cells).ravel()",
        (_IN_CELL_MASS + "test_scores_are_the_masses_of_the_posterior_on_the_grid",),
    ),
    Mutant(
        "ε doubled",
        "cells of a posterior: masses at half the temperature",
        _CELL_GRID,
        "unit = 1 / (temperature * (1 << LOG_BITS))",
        "unit = 2 / (temperature * (1 << LOG_BITS))",
        (_IN_CELL_MASS + "test_no_output_tells_neighbours_apart_by_more_than_epsilon",),
    ),
    Mutant(
        "law changed",
        "cells of a posterior: a mass is not that of a product",
        _CELL_GRID,
        "(np.multiply.outer(scores, mass) >> SCORE_BITS).ravel()",
        "(np.add.outer(scores, mass) >> 1).ravel()",
        (_IN_CELL_MASS + "test_no_output_tells_neighbours_apart_by_more_than_epsilon",),
    ),
    Mutant(
        "bound loosened",
        "cells of a posterior: points below the least",
        _CELL_GRID,
        "return grid.units - grid.levels * (grid.least - 1)",
        "return grid.units - grid.levels * (grid.least - 1) + 1",
        (_IN_CELL_MASS + "test_no_output_tells_neighbours_apart_by_more_than_epsilon",),
    ),
    Mutant(
        "law changed",
        "cells of a posterior: logarithms of the next unit",
        _CELL_GRID,
        "logs = np.array(log_table(grid.units), object)[points]",
        "logs = np.array(log_table(grid.units), object)[points - 1]",
        (_IN_CELL_MASS + "test_no_output_tells_neighbours_apart_by_more_than_epsilon",),
    ),
    Mutant(
        "law changed",
        "cells of a posterior: a prior of 1 is one of 2",
        _CELL_GRID,
        "return Row(points, logs, np.ones(len(points), np.int64))",
        "return Row(points, logs, np.arange(1, len(points) + 1))",
        (
            _IN_CELL_MASS
            + "test_the_sensitivity_is_never_exceeded_and_attained_by_two_points",
        ),
    ),
    Mutant(
        "law changed",
        "cells of a posterior: a prior below 1 as one above",
        _CELL_GRID,
        "powers = logs.sum(axis=1) * (1 if prior > 1 else -1)",
        "powers = logs.sum(axis=1)",
        (_IN_CELL_MASS + "test_no_output_tells_neighbours_apart_by_more_than_epsilon",),
    ),
    Mutant(
        "law changed",
        "cells of a posterior: masses without the prior",
        _CELL_GRID,
        "weights = lower * row.prior.astype(object)",
        "weights = lower * 1",
        (_IN_CELL_MASS + "test_no_output_tells_neighbours_apart_by_more_than_epsilon",),
    ),
    Mutant(
        "bound loosened",
        "cells of a posterior: no slack for rounded scores",
        _CELL_MASS,
        "slack = 2 * len(priors) + 1",
        "slack = 0",
        (_IN_CELL_MASS + "test_as_much_as_is_proved_is_spent[0.1-replace-one]",),
    ),
    Mutant(
        "branch left out",
        "cells of a posterior: π is taken for 0",
        _CELL_MASS,
        "return epsilon / (delta * (1 + Fraction(step, _STEPS)) + 2 * slack)",
        "return epsilon / (delta + 2 * slack)",
        (_IN_CELL_MASS + "test_no_output_tells_neighbours_apart_by_more_than_epsilon",),
    ),
    Mutant(
        "bound loosened",
        "cells of a posterior: π is not proved",
        _CELL_MASS,
        "return pi <= Fraction(step, _STEPS)",
        "return pi <= Fraction(step, _STEPS) * 2",
        (_IN_CELL_MASS + "test_no_output_tells_neighbours_apart_by_more_than_epsilon",),
    ),
    Mutant(
        "bound loosened",
        "cells of a posterior: small exponentials are large",
        _CELL_MASS,
        "    if power < -1000:\n        return Fraction(0)\n",
        "    if power < -1:\n        return Fraction(1)\n",
        (_IN_CELL_MASS + "test_no_output_tells_neighbours_apart_by_more_than_epsilon",),
    ),
    Mutant(
        "ε doubled",
        "cells of a posterior: a rate for twice the budget",
        _CELL_MASS,
        "_largest_rate(promise.epsilon, width, grid.prior_ranges)",
        "_largest_rate(2 * promise.epsilon, width, grid.prior_ranges)",
        (_IN_CELL_MASS + "test_no_output_tells_neighbours_apart_by_more_than_epsilon",),
    ),
    Mutant(
        "law changed",
        "cells of a posterior: rows without the prior",
        _CELL_GRID,
        "_row(grid, self.prior, self._bits) for grid in self.grids",
        "_row(grid, Fraction(1), self._bits) for grid in self.grids",
        (_IN_CELL_MASS + "test_prior_weights_are_those_of_a_dirichlet",),
    ),
)
