"""Faults of what samples of an exponential family cost."""

from tests.mutants.mutant import Mutant

_PARAMETER_GRID = "mechanisms/parameter_grid.py"
_GRIDS = "families/grids.py"
_FAMILY_LOSS = "mechanisms/parameter_grid.py"
_IN_SAMPLING_LAWS = "tests/test_sampling_laws.py::"
_IN_SAMPLING_COSTS = "tests/test_sampling_costs.py::"
_IN_FAMILY_POSTERIOR = "tests/test_family_posterior.py::"

MUTANTS = (
    Mutant(
        "NaN let through",
        "mixtures: a quantile of equal components",
        "families/marginal_laws.py",
        "far = ~(beyond <= np.abs(middle - line))",
        "far = beyond > np.abs(middle - line)",
        (
            "tests/test_conjugate_regression.py"
            "::test_the_quantile_of_a_mixture_is_where_its_distribution_function_is_q",
        ),
    ),
    Mutant(
        "branch left out",
        "regression: a number for all features",
        "_checks.py",
        "if array.ndim != 2 or array.shape[1] != width:",
        "if array.ndim != 2:",
        (
            "tests/test_conjugate_regression.py"
            "::test_rows_have_a_number_for_each_feature",
        ),
    ),
    Mutant(
        "bound loosened",
        "family posterior: a grid beyond its limits",
        _GRIDS,
        "return np.clip(space(least, most, size), least, most)",
        "return space(least / 2, most, size)",
        (
            _IN_SAMPLING_LAWS
            + "test_scores_are_the_tempered_likelihood_and_the_whole_prior",
        ),
    ),
    Mutant(
        "law changed",
        "family posterior: rates spaced as means",
        _GRIDS,
        "np.geomspace if name in _EVEN_IN_LOGS else np.linspace",
        "np.linspace",
        (
            _IN_SAMPLING_LAWS
            + "test_scores_are_the_tempered_likelihood_and_the_whole_prior",
        ),
    ),
    Mutant(
        "sensitivity halved",
        "family posterior: a unit is half a unit",
        _PARAMETER_GRID,
        "np.array(self.family.scales()) / self.units)[None, :]\n"
        "        return _integers(steps)",
        "np.array(self.family.scales()) / self.units / 2)[None, :]\n"
        "        return _integers(steps)",
        (
            _IN_SAMPLING_LAWS
            + "test_scores_are_the_tempered_likelihood_and_the_whole_prior",
        ),
    ),
    Mutant(
        "law changed",
        "family posterior: records count for nothing",
        _PARAMETER_GRID,
        "return steps @ np.array(totals, object) + n * records",
        "return steps @ np.array(totals, object)",
        (
            _IN_SAMPLING_LAWS
            + "test_scores_are_the_tempered_likelihood_and_the_whole_prior",
        ),
    ),
    Mutant(
        "branch left out",
        "family posterior: the cost of rounding two statistics",
        _PARAMETER_GRID,
        "return supremum + Fraction(ranges, 1 << TABLE_BITS) * rounded",
        "return supremum",
        (
            _IN_SAMPLING_COSTS
            + "test_two_statistics_cost_more_where_rounding_moves_them",
        ),
    ),
    Mutant(
        "branch left out",
        "family posterior: rounding on a lattice as elsewhere",
        _PARAMETER_GRID,
        "        if self.family.lattice is not None:\n            return supremum\n",
        "        if self.family.lattice is None:\n            return supremum\n",
        (
            _IN_SAMPLING_COSTS
            + "test_two_statistics_cost_more_where_rounding_moves_them",
        ),
    ),
    Mutant(
        "wrong adjacency",
        "family posterior: a replaced record costs as one more",
        _PARAMETER_GRID,
        "moved = 2 if adjacency == REPLACE_ONE else 1",
        "moved = 1",
        (
            _IN_SAMPLING_COSTS
            + "test_two_statistics_cost_more_where_rounding_moves_them",
        ),
    ),
    Mutant(
        "branch left out",
        "family posterior: with one statistic the supremum alone",
        _PARAMETER_GRID,
        "            return self._widest_of_one(adjacency)\n",
        "            return Fraction(\n"
        "                self.family.sampling_sensitivity(adjacency, "
        "self.truncation).value\n"
        "            )\n",
        (_IN_SAMPLING_COSTS + "test_one_statistic_costs_what_its_worst_record_moves",),
    ),
    Mutant(
        "branch left out",
        "family posterior: its lowest end under add-remove",
        _PARAMETER_GRID,
        "added = [end * steps[:, 0] + records for end in ends]",
        "added = [end * steps[:, 0] + records for end in ends[1:]]",
        (_IN_SAMPLING_COSTS + "test_one_statistic_costs_what_its_worst_record_moves",),
    ),
    Mutant(
        "law changed",
        "family posterior: tables of 20 bits",
        _PARAMETER_GRID,
        "scaled = np.rint(np.ldexp(numbers, TABLE_BITS))",
        "scaled = np.rint(np.ldexp(numbers, 20)) * 2.0**29",
        (
            _IN_SAMPLING_LAWS
            + "test_scores_are_the_tempered_likelihood_and_the_whole_prior",
        ),
    ),
    Mutant(
        "branch left out",
        "family posterior: limits where doubles cancel",
        _PARAMETER_GRID,
        "if 0 < width < far / _FARTHEST:",
        "if 0 < width < far / _FARTHEST**9:",
        (_IN_SAMPLING_LAWS + "test_limits_that_doubles_cannot_tell_apart_are_refused",),
    ),
    Mutant(
        "branch left out",
        "family posterior: truncations that cost too much",
        _FAMILY_LOSS,
        "        if grid.widest(adjacency) <= width:\n",
        "        if grid.widest(adjacency) <= 2 * width:\n",
        (_IN_SAMPLING_COSTS + "test_the_widest_truncation_that_a_temperature_allows",),
    ),
    Mutant(
        "law changed",
        "family posterior: not the widest truncation",
        _FAMILY_LOSS,
        "for share in SHARES[::-1])",
        "for share in SHARES)",
        (_IN_SAMPLING_COSTS + "test_the_widest_truncation_that_a_temperature_allows",),
    ),
    Mutant(
        "sensitivity halved",
        "family posterior: half of the loss at a public n",
        _FAMILY_LOSS,
        "min(limit, self._loss(*of))",
        "min(limit / 2, self._loss(*of))",
        (
            _IN_SAMPLING_COSTS
            + "test_at_a_public_n_a_family_costs_what_the_worst_neighbours_lose",
        ),
    ),
    Mutant(
        "ε doubled",
        "family posterior: the likelihood without its temperature",
        _FAMILY_LOSS,
        "scores = power.numerator * self.scores(totals, n)",
        "scores = (power.numerator + 1) * self.scores(totals, n)",
        (
            _IN_SAMPLING_COSTS
            + "test_at_a_public_n_a_family_costs_what_the_worst_neighbours_lose",
        ),
    ),
    Mutant(
        "law changed",
        "family posterior: the prior is tempered too",
        _FAMILY_LOSS,
        "weight = power.numerator if tempered else power.denominator",
        "weight = power.numerator",
        (
            _IN_SAMPLING_COSTS
            + "test_at_a_public_n_a_family_costs_what_the_worst_neighbours_lose",
        ),
    ),
    Mutant(
        "bound loosened",
        "family posterior: rates as far from the centre as means",
        _PARAMETER_GRID,
        "from_zero = centre if name in _LOCATIONS else 0.0",
        "from_zero = centre",
        (_IN_SAMPLING_LAWS + "test_limits_that_doubles_cannot_tell_apart_are_refused",),
    ),
    Mutant(
        "branch left out",
        "family posterior: a likelihood without bounds",
        _PARAMETER_GRID,
        "        family.sampling_sensitivity(REPLACE_ONE, self.truncation)\n",
        "",
        (_IN_FAMILY_POSTERIOR + "test_wrong_choices_are_refused",),
    ),
    Mutant(
        "sensitivity halved",
        "family posterior: the least of the ends",
        _PARAMETER_GRID,
        "widest = max(int(max(change)",
        "widest = min(int(max(change)",
        (_IN_SAMPLING_COSTS + "test_one_statistic_costs_what_its_worst_record_moves",),
    ),
)
