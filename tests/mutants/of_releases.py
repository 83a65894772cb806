"""Faults of the door: noise of another budget, records that nobody may draw from."""

from tests.mutants.mutant import Mutant

_PUBLISH = "releases/publish.py"
_RECIPES = "mechanisms/recipes.py"
_BASE = "mechanisms/base.py"
_DISCRETE_LAPLACE = "mechanisms/discrete_laplace.py"
_SPLIT_LAPLACE = "mechanisms/split_laplace.py"
_IN_RELEASE = "tests/test_release.py::"
_IN_SAMPLING_DOORS = "tests/test_sampling_doors.py::"
_IN_SPLIT_LAPLACE = "tests/test_split_laplace.py::"
_IN_MEASURING = "tests/test_measuring.py::"
_IN_STREAMING = "tests/test_streaming.py::"
_IN_MECHANISMS = "tests/test_mechanisms.py::"

MUTANTS = (
    Mutant(
        "wrong adjacency",
        "release: ω chosen with a private number of records",
        _PUBLISH,
        "    private = make(n=n)\n",
        "    private = make(n=size)\n",
        (
            _IN_RELEASE
            + "test_a_private_number_of_records_chooses_no_truncation_or_temperature",
        ),
    ),
    Mutant(
        "ε doubled",
        "recipes: noise of twice the budget",
        _RECIPES,
        "            return DiscreteLaplace.of(statistic, budget)",
        "            return DiscreteLaplace.of(statistic, budget.repeated(2))",
        (_IN_SAMPLING_DOORS + "test_a_mechanism_is_made_for_the_budget",),
    ),
    Mutant(
        "ε doubled",
        "recipes: Fourier noise of twice the budget",
        _RECIPES,
        '        """Make the mechanism for the statistic, at the cost `budget`."""\n'
        "        return DiscreteLaplace.of(statistic, budget)",
        '        """Make the mechanism for the statistic, at the cost `budget`."""\n'
        "        return DiscreteLaplace.of(statistic, budget.repeated(2))",
        (_IN_SAMPLING_DOORS + "test_a_mechanism_is_made_for_the_budget",),
    ),
    Mutant(
        "sensitivity halved",
        "splits: half of a part's sensitivity",
        _SPLIT_LAPLACE,
        "return cls.calibrate(split, statistic.parts, one)",
        "return cls.calibrate(split, statistic.parts, type(one)(1, adjacency))",
        (_IN_SPLIT_LAPLACE + "test_a_release_spends_what_its_tables_do[replace-one]",),
    ),
    Mutant(
        "ε doubled",
        "recipes: a split of more than the budget",
        _RECIPES,
        "        if spent != budget:\n",
        "        if spent.bound < budget.bound:\n",
        (_IN_SPLIT_LAPLACE + "test_a_wrong_split_is_one_line_and_costs_nothing",),
    ),
    Mutant(
        "ε doubled",
        "recipes: family samples of twice the budget",
        _RECIPES,
        "                statistic.lowest,\n                epsilon,\n",
        "                statistic.lowest,\n                2 * epsilon,\n",
        (_IN_SAMPLING_DOORS + "test_samples_of_a_family_are_made_for_the_budget",),
    ),
    Mutant(
        "ε doubled",
        "recipes: samples of twice the budget",
        _RECIPES,
        "NetworkPosteriorSampler.posterior(layout, epsilon, adjacency,",
        "NetworkPosteriorSampler.posterior(layout, 2 * epsilon, adjacency,",
        (_IN_SAMPLING_DOORS + "test_a_mechanism_is_made_for_the_budget",),
    ),
    Mutant(
        "ε doubled",
        "recipes: a map of twice the budget",
        _RECIPES,
        "return make(layout, cost.epsilon, ",
        "return make(layout, 2 * cost.epsilon, ",
        (
            _IN_SAMPLING_DOORS
            + "test_a_mechanism_is_made_for_the_budget[map-replace-one]",
        ),
    ),
    Mutant(
        "ε doubled",
        "recipes: cells of twice the budget",
        _RECIPES,
        "return CellMass.calibrate(layout, cost.epsilon,",
        "return CellMass.calibrate(layout, 2 * cost.epsilon,",
        (_IN_SAMPLING_DOORS + "test_a_mechanism_is_made_for_the_budget",),
    ),
    Mutant(
        "branch left out",
        "mechanisms: some tables for samples of all",
        _BASE,
        "isinstance(statistic, TableStatistic) and statistic.measured == "
        "statistic.layout:",
        "isinstance(statistic, TableStatistic):",
        (_IN_SAMPLING_DOORS + "test_mistakes_show_before_any_record",),
    ),
    Mutant(
        "ε doubled",
        "release: twice the budget that was given",
        _PUBLISH,
        "budget_of(_given(epsilon), known, contributions=rows)",
        "budget_of(_given(epsilon), known, contributions=rows).repeated(2)",
        (_IN_SAMPLING_DOORS + "test_a_mechanism_is_made_for_the_budget",),
    ),
    Mutant(
        "branch left out",
        "release: noise for another statistic",
        _PUBLISH,
        "    if not recipe.accepts(what):\n",
        "    if False:\n",
        (_IN_SAMPLING_DOORS + "test_mistakes_show_before_any_record",),
    ),
    Mutant(
        "branch left out",
        "release: mistakes show after the records",
        _PUBLISH,
        "    make(n=1 if public else None)  # mistakes show before any record\n",
        "",
        (_IN_SAMPLING_DOORS + "test_mistakes_show_before_any_record",),
    ),
    Mutant(
        "bound loosened",
        "measuring: four times as many records",
        _PUBLISH,
        "if n * statistic.most_per_record > LARGEST:",
        "if n * statistic.most_per_record > 4 * LARGEST:",
        (_IN_MEASURING + "test_a_record_more_is_refused[replace-one]",),
    ),
    Mutant(
        "bound loosened",
        "measuring: units do not count",
        _PUBLISH,
        "if n * statistic.most_per_record > LARGEST:",
        "if n > LARGEST:",
        (_IN_MEASURING + "test_a_record_more_is_refused[replace-one]",),
    ),
    Mutant(
        "bound loosened",
        "measuring: each batch is counted by itself",
        _PUBLISH,
        "        size += len(batch)\n",
        "        size = len(batch)\n",
        (_IN_MEASURING + "test_batches_are_counted_up_to_the_limit",),
    ),
    Mutant(
        "bound loosened",
        "measuring: batches that are read are not counted",
        _PUBLISH,
        "    size = 0\n    for",
        "    size = -(1 << 40)\n    for",
        (_IN_MEASURING + "test_batches_are_counted_up_to_the_limit",),
    ),
    Mutant(
        "branch left out",
        "measuring: no limit in memory",
        _PUBLISH,
        "        _refuse_size(encoded.shape[0], statistic)\n",
        "",
        (_IN_MEASURING + "test_a_record_more_is_refused[replace-one]",),
    ),
    Mutant(
        "branch left out",
        "measuring: no limit of what comes in batches",
        _PUBLISH,
        "batches = _of_few(encoded, statistic)",
        "batches = encoded",
        (_IN_STREAMING + "test_too_many_records_are_refused_while_they_are_read",),
    ),
    Mutant(
        "key reused",
        "measuring: records of a program",
        _PUBLISH,
        "        np.asarray(records[:0])\n",
        "        records[:0]\n",
        (_IN_MEASURING + "test_records_of_a_program_are_refused",),
    ),
    Mutant(
        "key reused",
        "noise: untyped keys",
        _DISCRETE_LAPLACE,
        "        typed_key(key=key)\n",
        "",
        (_IN_MECHANISMS + "test_legacy_keys_are_refused[legacy0]",),
    ),
    Mutant(
        "ε doubled",
        "noise: a guarantee of the inverse",
        _DISCRETE_LAPLACE,
        "return PureDP(Fraction(numerator, denominator), self.sensitivity.adjacency)",
        "return PureDP(Fraction(denominator, numerator), self.sensitivity.adjacency)",
        (_IN_MECHANISMS + "test_the_guarantee_is_the_fraction_that_was_given",),
    ),
    Mutant(
        "law changed",
        "noise: ε in 32 bits",
        _DISCRETE_LAPLACE,
        "[(integer >> 32 * i) & 0xFFFFFFFF for i in range(_WORDS)]",
        "[(integer >> 31 * i) & 0xFFFFFFFF for i in range(_WORDS)]",
        (_IN_MECHANISMS + "test_the_guarantee_is_the_fraction_that_was_given",),
    ),
    Mutant(
        "law changed",
        "noise: ε without its higher words",
        _DISCRETE_LAPLACE,
        "return sum(int(word) << 32 * i for i, word in enumerate(words))",
        "return int(words[0])",
        (_IN_MECHANISMS + "test_the_guarantee_is_the_fraction_that_was_given",),
    ),
    Mutant(
        "ε doubled",
        "splits: every table has the largest budget",
        _SPLIT_LAPLACE,
        "budgets = [_budget(name, split[name]) for name in lengths]",
        "budgets = [max(_budget(name, split[name]) for name in lengths)] "
        "* len(lengths)",
        (_IN_SPLIT_LAPLACE + "test_the_loss_is_the_sum_of_the_budgets_and_no_less",),
    ),
    Mutant(
        "ε doubled",
        "splits: a budget read twice as large",
        _SPLIT_LAPLACE,
        "        return exact_epsilon(epsilon)\n",
        "        return 2 * exact_epsilon(epsilon)\n",
        (_IN_SPLIT_LAPLACE + "test_the_loss_is_the_sum_of_the_budgets_and_no_less",),
    ),
    Mutant(
        "wrong adjacency",
        "release: of no record, under a public n",
        _PUBLISH,
        "if n == 0 and adjacency == REPLACE_ONE:",
        "if False:",
        (
            _IN_RELEASE
            + "test_an_empty_table_is_a_data_set_only_where_its_size_is_private",
        ),
    ),
)
