"""Faults of what several releases cost together, and of how it is written down."""

from tests.mutants.mutant import Mutant

_GUARANTEE = "privacy/guarantee.py"
_COMPOSITION = "privacy/composition.py"
_IN_GUARANTEE = "tests/test_guarantee.py::"
_IN_COMPOSITION = "tests/test_composition.py::"

MUTANTS = (
    Mutant(
        "budget not charged",
        "approximate: δ without its factor e^ε",
        _GUARANTEE,
        "factor = 1 + exponential_above(min(cost.epsilon, Fraction(100)))",
        "factor = 1 + min(cost.epsilon, Fraction(0))",
        (_IN_GUARANTEE + "test_proposition_3_is_attained_for_total_variation[1]",),
    ),
    Mutant(
        "ε doubled",
        "budgets: a text is read twice as large",
        _GUARANTEE,
        "fraction = Fraction(numerator)\n",
        "fraction = 2 * Fraction(numerator)\n",
        (
            _IN_GUARANTEE
            + "test_a_shortened_fraction_is_above_and_fits_a_ledger_file[1/3]",
        ),
    ),
    Mutant(
        "ε doubled",
        "budgets: a fraction is read twice as large",
        _GUARANTEE,
        "exact = Fraction(int(epsilon.numerator), int(epsilon.denominator))",
        "exact = 2 * Fraction(int(epsilon.numerator), int(epsilon.denominator))",
        (_IN_GUARANTEE + "test_proposition_3_is_attained_for_total_variation[1]",),
    ),
    Mutant(
        "ε doubled",
        "budgets: a denominator is not looked at",
        _GUARANTEE,
        "        fraction /= Fraction(part)\n",
        "        fraction /= 1\n",
        (
            _IN_GUARANTEE
            + "test_a_shortened_fraction_is_above_and_fits_a_ledger_file[1/3]",
        ),
    ),
    Mutant(
        "branch left out",
        "guarantee: losses below zero",
        _GUARANTEE,
        "if not isinstance(epsilon, Fraction) or epsilon < 0:",
        "if not isinstance(epsilon, Fraction):",
        (
            _IN_GUARANTEE
            + "test_a_guarantee_that_is_none_is_refused[epsilon0-delta0-replace-one-`epsilon` must be a Fraction]",
        ),
    ),
    Mutant(
        "budget not charged",
        "composition: the dearest instead of the sum",
        _COMPOSITION,
        "epsilon = sum((cost.epsilon for cost in costs), Fraction(0))",
        "epsilon = max(cost.epsilon for cost in costs)",
        (_IN_COMPOSITION + "test_basic_composition_is_attained[add-remove-1]",),
    ),
    Mutant(
        "budget not charged",
        "composition: δs are forgotten where one is pure",
        _COMPOSITION,
        "if all(isinstance(cost, PureDP) for cost in costs):",
        "if any(isinstance(cost, PureDP) for cost in costs):",
        (_IN_COMPOSITION + "test_deltas_add_up",),
    ),
    Mutant(
        "budget not charged",
        "composition: many releases for the price of one",
        _COMPOSITION,
        "return PureDP(cost.epsilon * int(times), cost.adjacency)",
        "return PureDP(cost.epsilon, cost.adjacency)",
        (_IN_COMPOSITION + "test_repeating_is_adding",),
    ),
    Mutant(
        "budget not charged",
        "composition: the cheapest of the parts",
        _COMPOSITION,
        "dearest = max(cost.epsilon for cost in costs)",
        "dearest = min(cost.epsilon for cost in costs)",
        (
            _IN_COMPOSITION
            + "test_parts_by_value_cost_the_dearest_once_or_twice[add-remove-bases1]",
        ),
    ),
    Mutant(
        "wrong adjacency",
        "composition: parts by index under add-remove",
        _COMPOSITION,
        'if parts == "index" and adjacency == ADD_REMOVE:',
        'if parts == "index" and adjacency == ADD_REMOVE and False:',
        (_IN_COMPOSITION + "test_parts_by_index_promise_nothing_under_add_remove",),
    ),
    Mutant(
        "wrong adjacency",
        "composition: parts of costs for the other one",
        _COMPOSITION,
        "    if given != _PARTS[parts]:\n",
        "    if given != _PARTS[parts] and False:\n",
        (_IN_COMPOSITION + "test_parts_by_value_need_costs_under_add_remove",),
    ),
    Mutant(
        "budget not charged",
        "advanced composition: without its drift",
        _COMPOSITION,
        "epsilon = rounded_up(cost.epsilon * (spread + drift))",
        "epsilon = rounded_up(cost.epsilon * spread)",
        (
            _IN_COMPOSITION
            + "test_advanced_composition_holds_for_randomised_response[0.1-500-1e-2]",
        ),
    ),
    Mutant(
        "budget not charged",
        "advanced composition: half of its spread",
        _COMPOSITION,
        "root_above(2 * int(times) * logarithm_above(1 / chance))",
        "root_above(int(times) * logarithm_above(1 / chance) / 2)",
        (
            _IN_COMPOSITION
            + "test_advanced_composition_holds_for_randomised_response[0.01-50-1e-5]",
        ),
    ),
    Mutant(
        "budget not charged",
        "advanced composition: its ε without its δ",
        _COMPOSITION,
        "return ApproximateDP(epsilon, chance, cost.adjacency)",
        "return ApproximateDP(epsilon, Fraction(0), cost.adjacency)",
        (
            _IN_COMPOSITION
            + "test_advanced_composition_holds_for_randomised_response[0.01-50-1e-2]",
        ),
    ),
    Mutant(
        "budget not charged",
        "advanced composition: one release where sums are less",
        _COMPOSITION,
        "return ApproximateDP(simple, Fraction(0), cost.adjacency)",
        "return ApproximateDP(cost.epsilon, Fraction(0), cost.adjacency)",
        (
            _IN_COMPOSITION
            + "test_advanced_composition_holds_for_randomised_response[0.1-50-1e-9]",
        ),
    ),
    Mutant(
        "budget not charged",
        "sampling: a share of ε",
        _COMPOSITION,
        "loss = rounded_up(cost.epsilon + logarithm_above(share + unsampled))",
        "loss = rounded_up(share * cost.epsilon)",
        (_IN_COMPOSITION + "test_poisson_sampling_is_attained[rate0]",),
    ),
    Mutant(
        "wrong adjacency",
        "sampling: the other one's cost",
        _COMPOSITION,
        "if cost.adjacency != _SAMPLING[sampling]:",
        "if cost.adjacency != _SAMPLING[sampling] and False:",
        (_IN_COMPOSITION + "test_poisson_sampling_does_not_help_under_replace_one",),
    ),
    Mutant(
        "wrong adjacency",
        "composition: the first cost's is taken for all",
        _COMPOSITION,
        "    return found[0]\n",
        "    return found[-1] if len(found) > 9 else ADJACENCIES[0]\n",
        (_IN_COMPOSITION + "test_basic_composition_is_attained[add-remove-1]",),
    ),
    Mutant(
        "budget not charged",
        "composition: δs do not add up",
        _COMPOSITION,
        "return cost.delta if isinstance(cost, ApproximateDP) else Fraction(0)",
        "return Fraction(0)",
        (_IN_COMPOSITION + "test_deltas_add_up",),
    ),
    Mutant(
        "branch left out",
        "advanced composition: a δ of 1",
        _COMPOSITION,
        "    if value >= 1:\n",
        "    if value > 1:\n",
        (_IN_COMPOSITION + "test_a_delta_of_one_is_refused",),
    ),
    Mutant(
        "branch left out",
        "sampling: a share above 1",
        _COMPOSITION,
        "    if share > 1:\n",
        "    if share > 2:\n",
        (_IN_COMPOSITION + "test_sampling_that_is_none_is_refused",),
    ),
)
