"""Faults of what rows of a grid cost, at which temperature and truncation."""

from tests.mutants.mutant import Mutant

_SAMPLING_LOSS = "mechanisms/sampling_loss.py"
_IN_SAMPLING_COSTS = "tests/test_sampling_costs.py::"
_IN_GRID_POSTERIOR = "tests/test_grid_posterior.py::"
_IN_SAMPLING_LAWS = "tests/test_sampling_laws.py::"

MUTANTS = (
    Mutant(
        "budget not charged",
        "grid posterior: the dearest variable instead of all",
        _SAMPLING_LOSS,
        "return first.composed(*others)",
        "return first.largest(*others)",
        (
            _IN_SAMPLING_COSTS
            + "test_more_levels_and_a_private_number_are_charged_their_limit",
        ),
    ),
    Mutant(
        "budget not charged",
        "grid posterior: one variable at a public n",
        _SAMPLING_LOSS,
        "first, *others = costs",
        "first, *others = costs if n is None else costs[:1]",
        (
            _IN_GRID_POSTERIOR
            + "test_no_output_tells_neighbours_apart_by_more_than_epsilon",
        ),
    ),
    Mutant(
        "wrong adjacency",
        "grid posterior: the loss at a private n",
        _SAMPLING_LOSS,
        "if n is not None and replaced and grid.levels == 2:",
        "if n is not None and grid.levels == 2:",
        (
            _IN_SAMPLING_COSTS
            + "test_more_levels_and_a_private_number_are_charged_their_limit",
        ),
    ),
    Mutant(
        "branch left out",
        "grid posterior: more levels are charged as two",
        _SAMPLING_LOSS,
        "if n is not None and replaced and grid.levels == 2:",
        "if n is not None and replaced:",
        (
            _IN_SAMPLING_COSTS
            + "test_more_levels_and_a_private_number_are_charged_their_limit",
        ),
    ),
    Mutant(
        "branch left out",
        "grid posterior: parents",
        _SAMPLING_LOSS,
        "    if has_parents:\n",
        "    if has_parents and False:\n",
        (
            _IN_SAMPLING_COSTS
            + "test_rows_cost_what_the_worst_neighbours_lose[True-1/2-1]",
        ),
    ),
    Mutant(
        "law changed",
        "grid posterior: one of two zeros becomes a one",
        _SAMPLING_LOSS,
        "before = _log_sum(grid, prior, prior + power * n)",
        "before = _log_sum(grid, prior, prior + power * (n - 1))",
        (
            _IN_SAMPLING_COSTS
            + "test_rows_cost_what_the_worst_neighbours_lose[False-1/2-1]",
        ),
    ),
    Mutant(
        "branch left out",
        "grid posterior: a record that moves leaves its row free",
        _SAMPLING_LOSS,
        "    return max(\n        _added(grid",
        "    return min(\n        _added(grid",
        (
            _IN_SAMPLING_COSTS
            + "test_rows_cost_what_the_worst_neighbours_lose[True-1/2-3]",
        ),
    ),
    Mutant(
        "bound loosened",
        "grid posterior: beyond 16 records as at one",
        _SAMPLING_LOSS,
        "splits = range(n) if n <= _MOST_SPLITS else [None]",
        "splits = range(n if n <= _MOST_SPLITS else 1)",
        (
            _IN_SAMPLING_COSTS
            + "test_rows_cost_what_the_worst_neighbours_lose[True-10-17]",
        ),
    ),
    Mutant(
        "sensitivity halved",
        "grid posterior: no records beyond 16, in the row left",
        _SAMPLING_LOSS,
        "_added(grid, power, prior, n - 1 if split is None else split)",
        "_added(grid, power, prior, 0 if split is None else split)",
        (
            _IN_SAMPLING_COSTS
            + "test_rows_cost_what_the_worst_neighbours_lose[True-10-17]",
        ),
    ),
    Mutant(
        "sensitivity halved",
        "grid posterior: half of n beyond 16",
        _SAMPLING_LOSS,
        "_added(grid, power, prior, n - 1 if split is None else split)\n"
        "        + _added(grid, power, prior, n - 1 if split is None "
        "else n - 1 - split)",
        "_added(grid, power, prior, (n - 1) // 2 if split is None else "
        "split)\n"
        "        + _added(\n"
        "            grid, power, prior, (n - 1) // 2 if split is None "
        "else n - 1 - split\n"
        "        )",
        (
            _IN_SAMPLING_COSTS
            + "test_rows_cost_what_the_worst_neighbours_lose[True-10-18]",
        ),
    ),
    Mutant(
        "branch left out",
        "grid posterior: only records that are zeros",
        _SAMPLING_LOSS,
        "return max(gain, after_ones[1] - ones[0] - least)",
        "return gain",
        (
            _IN_SAMPLING_COSTS
            + "test_rows_cost_what_the_worst_neighbours_lose[True-1/2-1]",
        ),
    ),
    Mutant(
        "law changed",
        "grid posterior: the likelihood of zeros alone",
        _SAMPLING_LOSS,
        "powers[0] * logs[g] + powers[1] * logs[grid.units - g]",
        "powers[1] * logs[grid.units - g]",
        (
            _IN_SAMPLING_COSTS
            + "test_rows_cost_what_the_worst_neighbours_lose[False-1/2-1]",
        ),
    ),
    Mutant(
        "bound loosened",
        "truncation: rounded down to the grid",
        _SAMPLING_LOSS,
        "least = math.ceil(omega * units)",
        "least = max(1, math.floor(omega * units))",
        (_IN_SAMPLING_LAWS + "test_omega_is_rounded_up_to_the_grid",),
    ),
    Mutant(
        "sensitivity halved",
        "truncation: half of the temperature in the limit",
        _SAMPLING_LOSS,
        "        high += 1\n    low = 0\n",
        "        high += 1\n    low, high = 0, high // 2\n",
        (
            _IN_SAMPLING_COSTS
            + "test_the_lowest_temperature_keeps_the_budget_and_none_lower_does",
        ),
    ),
    Mutant(
        "bound loosened",
        "truncation: temperatures rounded down",
        _SAMPLING_LOSS,
        "        high += 1\n    low = 0\n",
        "        break\n    low = 0\n",
        (
            _IN_SAMPLING_COSTS
            + "test_the_lowest_temperature_keeps_the_budget_and_none_lower_does",
        ),
    ),
    Mutant(
        "bound loosened",
        "truncation: a loss a thousandth above ε",
        _SAMPLING_LOSS,
        "affordable = cost(Fraction(middle, _STEP), n=n).fits(budget)",
        "more = budget.share(Fraction(1001, 1000))\n"
        "        affordable = cost(Fraction(middle, _STEP), n=n).fits(more)",
        (
            _IN_SAMPLING_COSTS
            + "test_the_lowest_temperature_keeps_the_budget_and_none_lower_does",
        ),
    ),
    Mutant(
        "law changed",
        "truncation: the dearer half of the search",
        _SAMPLING_LOSS,
        "low, high = (low, middle) if affordable else (middle, high)",
        "low, high = (middle, high) if affordable else (low, middle)",
        (
            _IN_SAMPLING_COSTS
            + "test_the_lowest_temperature_keeps_the_budget_and_none_lower_does",
        ),
    ),
    Mutant(
        "branch left out",
        "truncation: shares of any cost",
        _SAMPLING_LOSS,
        "if at is None or sample_cost(grids, at, budget).fits(budget):",
        "if True:",
        (_IN_SAMPLING_COSTS + "test_a_truncation_for_a_temperature_costs_what_it_may",),
    ),
    Mutant(
        "ε doubled",
        "truncation: for twice the budget",
        _SAMPLING_LOSS,
        "sample_cost(grids, at, budget).fits(budget)",
        "sample_cost(grids, at, budget).fits(budget.repeated(2))",
        (_IN_SAMPLING_COSTS + "test_a_truncation_for_a_temperature_costs_what_it_may",),
    ),
    Mutant(
        "law changed",
        "truncation: not the smallest share at T",
        _SAMPLING_LOSS,
        "return min(risks)[1] if at is None else risks[-1][1]",
        "return min(risks)[1] if at is None else risks[0][1]",
        (_IN_SAMPLING_COSTS + "test_a_truncation_for_a_temperature_costs_what_it_may",),
    ),
)
