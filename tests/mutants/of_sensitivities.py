"""Faults of what a record moves: counts, coefficients, fixed-point sums, rounding."""

from tests.mutants.mutant import Mutant

_FAMILY_COUNTS = "statistics/cell_statistic.py"
_FOURIER = "statistics/fourier.py"
_SUFFICIENT = "statistics/sufficient.py"
_SENSITIVITY = "privacy/sensitivity.py"
_IN_COUNTS = "tests/test_counts.py::"
_IN_FOURIER = "tests/test_fourier.py::"
_IN_SUFFICIENT = "tests/test_sufficient.py::"
_IN_FAMILY_POSTERIOR = "tests/test_family_posterior.py::"
_IN_MECHANISMS = "tests/test_mechanisms.py::"

MUTANTS = (
    Mutant(
        "sensitivity halved",
        "coefficients as printed",
        "statistics/printed_fourier.py",
        "Sensitivity(2 * self._coefficients",
        "Sensitivity(self._coefficients",
        ("tests/test_printed.py::test_the_noise_has_the_printed_scale",),
    ),
    Mutant(
        "ε doubled",
        "algorithms as printed: noise of twice the budget",
        "mechanisms/printed.py",
        "DiscreteLaplace.of(statistic, budget)",
        "DiscreteLaplace.of(statistic, budget.repeated(2))",
        ("tests/test_printed.py::test_the_loss_is_at_most_epsilon",),
    ),
    Mutant(
        "wrong adjacency",
        "algorithms as printed: records may be added",
        "mechanisms/printed.py",
        "if adjacency != REPLACE_ONE:",
        "if not adjacency:",
        ("tests/test_printed.py::test_only_what_is_printed_is_accepted",),
    ),
    Mutant(
        "sensitivity halved",
        "counts: of one table for all of them",
        _FAMILY_COUNTS,
        "tables = len(self.measured.groups)",
        "tables = 1",
        (_IN_COUNTS + "test_sensitivity_equals_brute_force_over_all_pairs_of_records",),
    ),
    Mutant(
        "wrong adjacency",
        "Fourier: the slots of one for the other",
        _FOURIER,
        "return 1 if self.adjacency == REPLACE_ONE else 0",
        "return 0 if self.adjacency == REPLACE_ONE else 1",
        (_IN_FOURIER + "test_sensitivities_of_networks_equal_brute_force",),
    ),
    Mutant(
        "law changed",
        "Fourier: parities are counted twice",
        _FOURIER,
        "return self._choose((n - measured) // 2, measured)",
        "return self._choose(n - measured, measured)",
        (_IN_FOURIER + "test_sensitivities_of_networks_equal_brute_force",),
    ),
    Mutant(
        "branch left out",
        "Fourier: coefficients of several tables, each once",
        _FOURIER,
        "if len(self.counted.groups) > 1:",
        "if len(self.counted.groups) > 9:",
        (_IN_FOURIER + "test_sensitivities_of_networks_equal_brute_force",),
    ),
    Mutant(
        "wrong adjacency",
        "Fourier: parities of a private number of records",
        _FOURIER,
        "        if not self._first:\n            return measured\n",
        "",
        (_IN_FOURIER + "test_sensitivities_of_networks_equal_brute_force",),
    ),
    Mutant(
        "law changed",
        "Fourier: a mask in reverse",
        _FOURIER,
        "jnp.broadcast_to(binary, if_binary.shape), if_binary, otherwise",
        "jnp.broadcast_to(binary, if_binary.shape), otherwise, if_binary",
        (_IN_FOURIER + "test_sensitivities_of_networks_equal_brute_force",),
    ),
    Mutant(
        "law changed",
        "Fourier: all are of one kind if one is",
        _FOURIER,
        "if binary.all():",
        "if binary.any():",
        (_IN_FOURIER + "test_sensitivities_of_networks_equal_brute_force",),
    ),
    Mutant(
        "sensitivity halved",
        "Fourier: a record more is in half of the coefficients",
        _FOURIER,
        "return Sensitivity(self._coefficients, adjacency, tight=True)",
        "return Sensitivity(self._coefficients // 2, adjacency, tight=True)",
        (_IN_FOURIER + "test_sensitivities_of_known_networks[naive Bayes of 8]",),
    ),
    Mutant(
        "sensitivity halved",
        "Fourier: of an order, the one below",
        _FOURIER,
        "largest_change_of_order(sizes, self.order, measured)",
        "largest_change_of_order(sizes, self.order - 1 or 1, measured)",
        (_IN_FOURIER + "test_sensitivities_of_marginals_equal_brute_force",),
    ),
    Mutant(
        "sensitivity halved",
        "Fourier: of a network, without its last family",
        _FOURIER,
        "found = layout.sizes, layout.groups, measured",
        "found = layout.sizes, layout.groups[:-1] or layout.groups, measured",
        (_IN_FOURIER + "test_sensitivities_of_known_networks[naive Bayes of 8]",),
    ),
    Mutant(
        "bound loosened",
        "fixed-point sums: half of the slack for rounding",
        _SUFFICIENT,
        "slack = family.dimension * (1 + 2 * error)",
        "slack = family.dimension * (1 + 2 * error) / 2",
        (_IN_SUFFICIENT + "test_the_slack_is_a_unit_a_number[gaussian-4]",),
    ),
    Mutant(
        "bound loosened",
        "fixed-point sums: one number rounds up by nothing",
        _SUFFICIENT,
        "least = math.ceil(lowest - 0.5 - error)",
        "least = math.ceil(lowest + 0.5 - error)",
        (_IN_SUFFICIENT + "test_sensitivities_equal_brute_force",),
    ),
    Mutant(
        "law changed",
        "fixed-point sums: half a unit a component",
        _SUFFICIENT,
        "rounded = jnp.round(scaled * self.steps).astype(jnp.int32)",
        "rounded = jnp.round(2 * scaled * self.steps).astype(jnp.int32)",
        (_IN_SUFFICIENT + "test_sensitivities_equal_brute_force",),
    ),
    Mutant(
        "branch left out",
        "fixed-point sums: the default of what is missing",
        _SUFFICIENT,
        "missing = [x.missing for x in self.over if isinstance(x, Interval)]",
        "missing = [x.lower for x in self.over if isinstance(x, Interval)]",
        (_IN_SUFFICIENT + "test_what_is_missing_is_the_variables_default",),
    ),
    Mutant(
        "NaN let through",
        "fixed-point sums: what is missing stays so",
        _SUFFICIENT,
        "        if missing:\n",
        "        if missing and False:\n",
        (_IN_SUFFICIENT + "test_what_is_missing_is_the_variables_default",),
    ),
    Mutant(
        "wrong adjacency",
        "fixed-point sums: no number of records",
        _SUFFICIENT,
        "        if not self._measures_complement:\n",
        "        if True:\n",
        (_IN_SUFFICIENT + "test_decoding_gives_the_total_and_the_number_of_records",),
    ),
    Mutant(
        "wrong adjacency",
        "fixed-point sums: n is measured where it is public",
        _SUFFICIENT,
        "return self.adjacency != REPLACE_ONE and self.family.complement is not None",
        "return self.family.complement is not None",
        (_IN_SUFFICIENT + "test_sensitivities_equal_brute_force",),
    ),
    Mutant(
        "sensitivity halved",
        "fixed-point sums: on a lattice",
        _SUFFICIENT,
        "return Sensitivity(round(units * change), adjacency, tight)",
        "return Sensitivity(round(units * change) // 2 or 1, adjacency, tight)",
        (_IN_SUFFICIENT + "test_sensitivities_equal_brute_force",),
    ),
    Mutant(
        "sensitivity halved",
        "fixed-point sums: of a record more",
        _SUFFICIENT,
        "return Sensitivity(units * radius, adjacency, tight=True)",
        "return Sensitivity(max(units * radius // 2, 1), adjacency, tight=True)",
        (_IN_SUFFICIENT + "test_sensitivities_equal_brute_force[add-remove-poisson]",),
    ),
    Mutant(
        "bound loosened",
        "fixed-point sums: the lowest record one higher",
        _SUFFICIENT,
        "return self.steps - int(one.sensitivity(REPLACE_ONE).value)",
        "return self.steps - int(one.sensitivity(REPLACE_ONE).value) + 1",
        (
            _IN_FAMILY_POSTERIOR
            + "test_no_output_tells_neighbours_apart_by_more_than_epsilon",
        ),
    ),
    Mutant(
        "branch left out",
        "sensitivities: below zero",
        _SENSITIVITY,
        "        positive(sensitivity=self.value)\n",
        "",
        (_IN_MECHANISMS + "test_sensitivity_needs_an_adjacency_and_a_positive_value",),
    ),
)
