"""Faults of the sensitivity of Fourier coefficients, branch by branch."""

from tests.mutants.mutant import Mutant

_FOURIER_SENSITIVITY = "statistics/fourier_sensitivity.py"
_IN_FOURIER_SENSITIVITY = "tests/test_fourier_sensitivity.py::"
_IN_FOURIER = "tests/test_fourier.py::"
_TOO_MANY = (
    _IN_FOURIER_SENSITIVITY
    + "test_where_an_order_has_too_many_cases_the_bound_is_above"
)

MUTANTS = (
    Mutant(
        "branch left out",
        "Fourier: records that differ in a binary variable",
        _FOURIER_SENSITIVITY,
        "useful = _SUMS if size > 2 else (_SUMS[1], _SUMS[2])",
        "useful = _SUMS if size > 2 else (_SUMS[1], _SUMS[1])",
        (_IN_FOURIER_SENSITIVITY + "test_states_are_those_of_all_pairs_of_levels[2]",),
    ),
    Mutant(
        "branch left out",
        "Fourier: two other levels",
        _FOURIER_SENSITIVITY,
        "useful = _SUMS if size > 2 else (_SUMS[1], _SUMS[2])",
        "useful = _SUMS[:4] if size > 2 else (_SUMS[1], _SUMS[2])",
        (_IN_FOURIER_SENSITIVITY + "test_states_are_those_of_all_pairs_of_levels[3]",),
    ),
    Mutant(
        "sensitivity halved",
        "Fourier: a contrast of each variable",
        _FOURIER_SENSITIVITY,
        "return np.array([[size - 1 if x",
        "return np.array([[max(size - 2, 1) if x",
        (_IN_FOURIER + "test_sensitivities_of_networks_equal_brute_force",),
    ),
    Mutant(
        "sensitivity halved",
        "Fourier: of large families, without the largest order",
        _FOURIER_SENSITIVITY,
        "for i in group], len(group), measured)",
        "for i in group], max(len(group) - 1, 1), measured)",
        (_IN_FOURIER + "test_sensitivities_of_networks_equal_brute_force",),
    ),
    Mutant(
        "branch left out",
        "Fourier: all large families but one",
        _FOURIER_SENSITIVITY,
        "return sum(change for change, _ in alone), exact",
        "return max(change for change, _ in alone), exact",
        (
            _IN_FOURIER
            + "test_large_families_are_bounded_at_once_and_a_single_one_exactly",
        ),
    ),
    Mutant(
        "bound loosened",
        "Fourier: a bound is said to be exact",
        _FOURIER_SENSITIVITY,
        "exact = len(groups) == 1 and alone[0][1]",
        "exact = len(groups) >= 1",
        (
            _IN_FOURIER
            + "test_large_families_are_bounded_at_once_and_a_single_one_exactly",
        ),
    ),
    Mutant(
        "law changed",
        "Fourier: what families share counts for each",
        _FOURIER_SENSITIVITY,
        "        seen.update(new)\n",
        "",
        (_IN_FOURIER + "test_sensitivities_of_known_networks[chain of 8]",),
    ),
    Mutant(
        "branch left out",
        "Fourier: coefficients of one variable",
        _FOURIER_SENSITIVITY,
        "if s and s not in seen]",
        "if len(s) > 1 and s not in seen]",
        (_IN_FOURIER + "test_sensitivities_of_known_networks[naive Bayes of 8]",),
    ),
    Mutant(
        "sensitivity halved",
        "Fourier: the exact answer of a network",
        _FOURIER_SENSITIVITY,
        "        return exact, True\n",
        "        return exact / 2, True\n",
        (_IN_FOURIER + "test_sensitivities_of_known_networks[naive Bayes of 8]",),
    ),
    Mutant(
        "branch left out",
        "Fourier: all but one family, where none is eliminated",
        _FOURIER_SENSITIVITY,
        "return sum(float(table.max()) for _, table in factors), False",
        "return max(float(table.max()) for _, table in factors), False",
        (_IN_FOURIER + "test_where_no_exact_answer_is_within_reach_a_bound_is_given",),
    ),
    Mutant(
        "branch left out",
        "Fourier: of an order, the last state of each level",
        _FOURIER_SENSITIVITY,
        "ways = np.array(list(_compositions(number, len(states(size)))))",
        "ways = np.array([\n        (*way, 0)"
        " for way in _compositions(number, len(states(size)) - 1)\n    ])",
        (_IN_FOURIER_SENSITIVITY + "test_of_an_order_all_states_are_tried[(2, 3)]",),
    ),
    Mutant(
        "sensitivity halved",
        "Fourier: a bound of an order",
        _FOURIER_SENSITIVITY,
        "return measured.most * (total - 1), False",
        "return measured.most / 2 * (total - 1), False",
        (_TOO_MANY,),
    ),
    Mutant(
        "sensitivity halved",
        "Fourier: coefficients of few levels weigh less",
        _FOURIER_SENSITIVITY,
        "weight = measured.binary if all(sizes[i] == 2 for i in support) else 1.0",
        "weight = measured.binary if any(sizes[i] == 2 for i in support) else 1.0",
        (_IN_FOURIER + "test_sensitivities_of_networks_equal_brute_force",),
    ),
    Mutant(
        "branch left out",
        "Fourier: one of the four terms of a change",
        _FOURIER_SENSITIVITY,
        "        change = change + sign * table",
        "        change = change + sign * table * (term < 3)",
        (
            _IN_FOURIER_SENSITIVITY
            + "test_factors_are_the_changes_of_their_own_coefficients",
        ),
    ),
    Mutant(
        "law changed",
        "Fourier: a variable that is in no support counts twice",
        _FOURIER_SENSITIVITY,
        "[np.ones(len(shares)), shares]",
        "[2 * np.ones(len(shares)), shares]",
        (_IN_FOURIER + "test_sensitivities_of_known_networks[naive Bayes of 8]",),
    ),
    Mutant(
        "branch left out",
        "Fourier: the change of a family is a sum without its start",
        _FOURIER_SENSITIVITY,
        "change = np.zeros([len(states(sizes[i])) for i in group])",
        "change = np.zeros([len(states(sizes[i])) for i in group]) - 1",
        (_IN_FOURIER + "test_sensitivities_of_known_networks[naive Bayes of 8]",),
    ),
    Mutant(
        "branch left out",
        "Fourier: all supports of a family but one",
        _FOURIER_SENSITIVITY,
        "    for support in own:",
        "    for support in [*own][:-1]:",
        (_IN_FOURIER + "test_sensitivities_of_known_networks[naive Bayes of 8]",),
    ),
    Mutant(
        "law changed",
        "Fourier: the least, not the largest, over a variable",
        _FOURIER_SENSITIVITY,
        "largest = total.max(axis=scope.index(variable))",
        "largest = total.min(axis=scope.index(variable))",
        (_IN_FOURIER_SENSITIVITY + "test_each_state_may_be_the_worst[0]",),
    ),
    Mutant(
        "branch left out",
        "Fourier: too large an elimination is none at all",
        _FOURIER_SENSITIVITY,
        "            return None\n        total",
        "            return maximum\n        total",
        (_IN_FOURIER_SENSITIVITY + "test_elimination_finds_the_maximum",),
    ),
    Mutant(
        "branch left out",
        "Fourier: factors of a variable that is out",
        _FOURIER_SENSITIVITY,
        "        total = total + table.reshape(",
        "        total = 0 * total + table.reshape(",
        (_IN_FOURIER + "test_sensitivities_of_known_networks[naive Bayes of 8]",),
    ),
    Mutant(
        "law changed",
        "Fourier: factors are spread over other variables",
        _FOURIER_SENSITIVITY,
        "[sizes[i] if i in group else 1 for i in scope]",
        "[sizes[i] if i in group else 1 for i in scope[::-1]]",
        (_IN_FOURIER + "test_sensitivities_of_known_networks[naive Bayes of 8]",),
    ),
    Mutant(
        "branch left out",
        "Fourier: the maximum over what is apart",
        _FOURIER_SENSITIVITY,
        "maximum += 0.0 if rest else float(largest)",
        "maximum = 0.0 if rest else float(largest)",
        (_IN_FOURIER + "test_sensitivities_of_networks_equal_brute_force",),
    ),
    Mutant(
        "branch left out",
        "Fourier: what is left of a variable is forgotten",
        _FOURIER_SENSITIVITY,
        "            holding[i][number] = rest, largest\n",
        "            holding[i][number] = rest, 0 * largest\n",
        (_IN_FOURIER_SENSITIVITY + "test_each_state_may_be_the_worst[0]",),
    ),
    Mutant(
        "law changed",
        "Fourier: what is left of the variables before",
        _FOURIER_SENSITIVITY,
        "                    del holding[i][old]\n",
        "                    del holding[i][old]\n"
        "            for old in [k for k in holding[i] if k >= len(factors)]:\n"
        "                del holding[i][old]\n",
        (_IN_FOURIER_SENSITIVITY + "test_elimination_finds_the_maximum",),
    ),
    Mutant(
        "branch left out",
        "Fourier: records that differ in all variables alike",
        _FOURIER_SENSITIVITY,
        "    for bars in itertools.combinations(range(total + parts - 1), parts - 1):",
        "    for bars in [*itertools.combinations(range(total + parts - "
        "1), parts - 1)][:1]:",
        (_IN_FOURIER + "test_sensitivities_of_networks_equal_brute_force",),
    ),
    Mutant(
        "sensitivity halved",
        "Fourier: of an order, the terms of one record",
        _FOURIER_SENSITIVITY,
        "for term, sign in enumerate(measured.signs):",
        "for term, sign in enumerate(measured.signs[:1]):",
        (_IN_FOURIER + "test_sensitivities_of_networks_equal_brute_force",),
    ),
    Mutant(
        "law changed",
        "Fourier: of an order, a start below zero",
        _FOURIER_SENSITIVITY,
        "return float((change - (1 - measured.binary) * of_binary).max()), True",
        "return float((change - (1 - measured.binary) * of_binary).max()) - 1, True",
        (_IN_FOURIER + "test_sensitivities_of_known_networks[clique of 5]",),
    ),
    Mutant(
        "branch left out",
        "Fourier: polynomials of all values but one",
        _FOURIER_SENSITIVITY,
        "    for value in values:",
        "    for value in values[1:]:",
        (_TOO_MANY,),
    ),
    Mutant(
        "law changed",
        "Fourier: polynomials with powers of a value",
        _FOURIER_SENSITIVITY,
        "for degree in range(order, 0, -1):",
        "for degree in range(1, order + 1):",
        (_TOO_MANY,),
    ),
    Mutant(
        "law changed",
        "Fourier: polynomials without the empty product",
        _FOURIER_SENSITIVITY,
        "result = [1] + [0] * order",
        "result = [0] + [1] + [0] * (order - 1)",
        (_TOO_MANY,),
    ),
    Mutant(
        "bound loosened",
        "Fourier: elimination, a start below zero",
        _FOURIER_SENSITIVITY,
        "    maximum = 0.0\n",
        "    maximum = -1.0\n",
        (_IN_FOURIER_SENSITIVITY + "test_each_state_may_be_the_worst[0]",),
    ),
)
