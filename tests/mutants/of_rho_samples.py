"""Faults of what samples cost in zero-concentrated privacy."""

from tests.mutants.mutant import Mutant, fault

_IN = "tests/test_samples_of_rho.py::"
_TILTED = "mechanisms/tilted_variance.py"
_LOSS = "mechanisms/sampling_loss.py"
_GRID = "mechanisms/parameter_grid.py"
_SHARE = _IN + "test_the_largest_share_is_a_bound_and_tight"
_ONE = _IN + "test_of_one_binary_variable_rho_is_nearly_exact[1-1-5]"
_FAMILY = _IN + "test_no_divergence_of_a_family_exceeds_rho"
_FILES = _IN + "test_a_file_is_verified_and_an_altered_one_refused"

MUTANTS = (
    Mutant(
        "bound loosened",
        "samples of ρ: a sixteenth of the squared range",
        "privacy/concentrated.py",
        "rho=epsilon**2 / 8 * part)",
        "rho=epsilon**2 / 16 * part)",
        (_ONE,),
        ("--mechanism", "posterior-rho"),
    ),
    fault(
        "budget not charged",
        "samples of ρ: the dearest variable instead of all",
        _LOSS,
        "for grid, has_parents in rows:",
        "for grid, has_parents in rows[:1]:",
        _IN + "test_variables_add_up_and_records_of_many_rows_do",
    ),
    fault(
        "wrong adjacency",
        "samples of ρ: half of the range of a record that is added",
        _LOSS,
        "(2 if replaced else 1) / temperature",
        "(2 if replaced else Fraction(1, 2)) / temperature",
        _IN + "test_variables_add_up_and_records_of_many_rows_do",
    ),
    fault(
        "sensitivity halved",
        "samples of ρ: a row of many is charged as the only one",
        _LOSS,
        "share = None if has_parents else partial(",
        "share = partial(",
        _IN + "test_a_row_of_few_records_costs_more_than_one_of_all",
    ),
    fault(
        "law changed",
        "samples of ρ: the variance at twice the records",
        _LOSS,
        "power = prior - 1 + n / temperature / 2",
        "power = prior - 1 + n / temperature",
        _ONE,
    ),
    fault(
        "law changed",
        "samples of ρ: the variance without the zeros",
        _LOSS,
        "power.numerator * (one + zero) for",
        "power.numerator * one for",
        _IN + "test_of_one_binary_variable_rho_is_nearly_exact[1-1-40]",
    ),
    fault(
        "law changed",
        "samples of ρ: the variance of log-probabilities",
        _LOSS,
        "odds = [one - zero for one, zero in pairs]",
        "odds = [one for one, zero in pairs]",
        _ONE,
    ),
    fault(
        "bound loosened",
        "samples of ρ: a share at a power of a thousandth",
        _LOSS,
        "return largest_share(odds, scores, power.denominator << LOG_BITS)",
        "return largest_share(odds, scores, power.denominator << 30)",
        _ONE,
    ),
    fault(
        "law changed",
        "samples at a public n: a record moves from 0 to the end",
        _GRID,
        "self.tables[0][:, 0], self.units - self.lowest",
        "self.tables[0][:, 0], self.units",
        "tests/test_sampling_costs.py::"
        "test_at_a_public_n_a_family_costs_what_the_worst_neighbours_lose",
    ),
    fault(
        "law changed",
        "samples of ρ: a family's variance at 3 times the records",
        _GRID,
        "prior, middle, n, tempered)",
        "prior, middle, 3 * n, tempered)",
        _FAMILY,
    ),
    fault(
        "bound loosened",
        "samples of ρ: a family's weights in the wrong unit",
        _GRID,
        ".tolist(), scores, unit.denominator)",
        ".tolist(), scores, unit.denominator // 9)",
        _FAMILY,
    ),
    fault(
        "law changed",
        "samples of ρ: sums at an end stand for all of them",
        _TILTED,
        "ends = _tilted(scaled, logs, np.array([-reach, reach]))",
        "break",
        _SHARE,
    ),
    fault(
        "bound loosened",
        "tilted laws: the largest variance at no tilt",
        _TILTED,
        "bound = max(tail, _between(scaled, logs, reach, best))",
        "bound = best",
        _SHARE,
    ),
    fault(
        "bound loosened",
        "tilted laws: no interval is halved",
        _TILTED,
        "open_ = np.flatnonzero(bound > best",
        "open_ = np.flatnonzero(bound > np.inf * best",
        _SHARE,
    ),
    fault(
        "bound loosened",
        "tilted laws: half of what is settled",
        _TILTED,
        "left, right = left.join(middle), middle.join(right)",
        "left, right = left, middle",
        _SHARE,
    ),
    fault(
        "bound loosened",
        "tilted laws: rounded down",
        _TILTED,
        "Fraction(math.ceil(mantissa * _DIGITS), _DIGITS)",
        "Fraction(math.floor(mantissa * _DIGITS / 1.01), _DIGITS)",
        _SHARE,
    ),
    fault(
        "bound loosened",
        "tilted laws: the variance at the ends of an interval",
        _TILTED,
        "np.log(squares) + end.log - middle.log - middle.mean * (end.t - middle.t)",
        "np.log(end.variance)",
        _SHARE,
    ),
    fault(
        "limit weakened",
        "tilted laws: steep weights cost nothing",
        _TILTED,
        "            return 1.0\n",
        "            return 0.0\n",
        _IN + "test_weights_that_are_too_steep_cost_the_whole_range",
    ),
    fault(
        "bound loosened",
        "cells of ρ: half of the range",
        "mechanisms/cell_grid.py",
        "budget.of_choice(used * 2 * (delta + slack), lambda: loss)",
        "budget.of_choice(used * (delta + slack), lambda: loss)",
        _IN + "test_no_divergence_of_cells_exceeds_rho",
    ),
    fault(
        "bound loosened",
        "samples of ρ: a cost that a file cannot state",
        _LOSS,
        "{name: written(number) for",
        "{name: number for",
        _IN + "test_a_cost_of_many_digits_is_rounded_up_to_fit_a_file",
    ),
    fault(
        "branch left out",
        "samples of ρ: in files of versions that do not know it",
        "releases/file_format.py",
        "known = guarantee, statistic, mechanism",
        "known = statistic, mechanism",
        _FILES,
    ),
    fault(
        "bound loosened",
        "samples of ρ: a temperature for a guess",
        _LOSS,
        "return limit.choice_epsilon / budget.choice_epsilon",
        "return 2 * limit.choice_epsilon / budget.choice_epsilon",
        "tests/test_sampling_costs.py::"
        "test_a_temperature_in_thousandths_is_found_exactly",
    ),
    fault(
        "budget not charged",
        "samples of ρ: the whole budget at a given temperature",
        _LOSS,
        "return min(budget, replace(cost, **numbers), key=lambda x: x.bound)",
        "return budget",
        _IN + "test_a_sample_of_a_thousand_records_needs_no_temperature",
    ),
)
