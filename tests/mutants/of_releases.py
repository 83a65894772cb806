"""Faults of the door: noise of another budget, records that nobody may draw from."""

from tests.mutants.mutant import Mutant

_PUBLISH, _MEASURING = "releases/publish.py", "releases/measuring.py"
_GROUPING, _MULTIPLICITIES = "data/grouping.py", "data/multiplicities.py"
_BESIDE = "data/beside.py"
_RECIPES = "mechanisms/recipes.py"
_SAMPLING_RECIPES = "mechanisms/sampling_recipes.py"
_BASE = "mechanisms/base.py"
_DISCRETE_LAPLACE = "mechanisms/discrete_laplace.py"
_SMALLER = (
    "tests/test_released.py::test_noise_for_a_smaller_sensitivity_makes_no_release"
)
_SPLIT_LAPLACE = "mechanisms/split_laplace.py"
_IN_RELEASE = "tests/test_release.py::"
_IN_SAMPLING_DOORS = "tests/test_sampling_doors.py::"
_IN_SPLIT_LAPLACE = "tests/test_split_laplace.py::"
_IN_MEASURING = "tests/test_measuring.py::"
_MULTIPLES = "test_a_row_counts_as_often_as_its_multiplicity_says[{}]"
_OTHERS = "test_other_multiplicities_are_refused[{}]"
_IN_STREAMING = "tests/test_streaming.py::"
_IN_MECHANISMS = "tests/test_mechanisms.py::"

MUTANTS = (
    Mutant(
        "sensitivity halved",
        "noise: accepted if that of one of several budgets is enough",
        "mechanisms/integer_noise.py",
        "np.all(needed.value <= own.value)",
        "np.any(needed.value <= own.value)",
        (
            "tests/test_released.py::"
            "test_noise_for_several_budgets_makes_stacked_releases",
        ),
    ),
    Mutant(
        "sensitivity halved",
        "noise: accepted for a third of the sensitivity",
        "mechanisms/integer_noise.py",
        "np.all(needed.value <= own.value)",
        "np.all(needed.value <= 3 * own.value)",
        (_SMALLER,),
    ),
    Mutant(
        "sensitivity halved",
        "Gaussian noise: accepted for any squared sensitivity",
        "mechanisms/gaussian_noise.py",
        "return suffices(self.squared, statistic.squared_sensitivity(self.adjacency))",
        "return True",
        (_SMALLER,),
    ),
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
        '"""Make the mechanism for the statistic, at the cost `budget`."""\n'
        "        return DiscreteLaplace.of(statistic, budget)",
        '"""Make the mechanism for the statistic, at the cost `budget`."""\n'
        "        return DiscreteLaplace.of(statistic, budget.repeated(2))",
        (_IN_SAMPLING_DOORS + "test_a_mechanism_is_made_for_the_budget",),
    ),
    Mutant(
        "ε doubled",
        "recipes: K-norm noise without a split of twice the budget",
        _RECIPES,
        "return k_norm.KNorm.of(statistic, budget)",
        "return k_norm.KNorm.of(statistic, budget.repeated(2))",
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
        "    if noise.guarantee() != budget:\n",
        "    if noise.guarantee().bound < budget.bound:\n",
        (_IN_SPLIT_LAPLACE + "test_a_wrong_split_is_one_line_and_costs_nothing",),
    ),
    Mutant(
        "ε doubled",
        "recipes: family samples of twice the budget",
        _SAMPLING_RECIPES,
        "return FamilyPosteriorSampler.of(*scale, budget, **common)",
        "return FamilyPosteriorSampler.of(*scale, budget.repeated(2), **common)",
        (_IN_SAMPLING_DOORS + "test_samples_of_a_family_are_made_for_the_budget",),
    ),
    Mutant(
        "ε doubled",
        "recipes: samples of twice the budget",
        _SAMPLING_RECIPES,
        "all_tables(statistic), budget, **common)",
        "all_tables(statistic), budget.repeated(2), **common)",
        (_IN_SAMPLING_DOORS + "test_a_mechanism_is_made_for_the_budget",),
    ),
    Mutant(
        "ε doubled",
        "recipes: cells of twice the budget",
        _SAMPLING_RECIPES,
        "return CellMass.of(layout, budget,",
        "return CellMass.of(layout, budget.repeated(2),",
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
        "    tried, some = _tried(make, public)\n"
        "    try_out(statistic, recipe, tried, cost, some)\n",
        '    tried = type("Any", (), {"largest": 2**29, "additive": True})\n',
        (_IN_SAMPLING_DOORS + "test_mistakes_show_before_any_record",),
    ),
    *(
        Mutant("bound loosened", f"measuring: {what}", _MEASURING, old, new, (test,))
        for what, old, new, test in (
            (
                "four times as many records",
                "    if n > most:",
                "    if n > 4 * most:",
                _IN_MEASURING + "test_a_record_more_is_refused[replace-one]",
            ),
            (
                "units do not count",
                "    most = largest // statistic.most_per_record",
                "    most = largest",
                _IN_MEASURING + "test_a_record_more_is_refused[replace-one]",
            ),
            (
                "what comes in batches starts below zero",
                "    size = 0\n",
                "    size = -(1 << 40)\n",
                _IN_MEASURING + "test_batches_are_counted_up_to_the_limit",
            ),
            (
                "each batch is counted by itself",
                "        size += len(batch)\n",
                "        size = len(batch)\n",
                _IN_MEASURING + "test_batches_are_counted_up_to_the_limit",
            ),
            (
                "no limit of what comes in batches",
                "        _refuse_more(size, most)\n",
                "",
                _IN_MEASURING + "test_batches_are_counted_up_to_the_limit",
            ),
            (
                "no limit of the tables of an iterable",
                "count_batches(_few(batches, most), layout",
                "count_batches(batches, layout",
                _IN_STREAMING + "test_too_many_records_are_refused_while_they_are_read",
            ),
            (
                "pieces of numbers are too large for 32 bits",
                "most = min(LARGEST // statistic.most_per_record, _PIECE)",
                "most = 4 * _PIECE",
                _IN_MEASURING + "test_the_largest_sums_are_exact[add-remove]",
            ),
        )
    ),
    *(
        Mutant("record read by others", what, file, old, new, (_IN_MEASURING + test,))
        for what, file, old, new, test in (
            (
                "multiplicities: a row counts once",
                _GROUPING,
                "np.add.at(counts, start + cells, multiples)",
                "np.add.at(counts, start + cells, 1)",
                _MULTIPLES.format("column0-replace-one"),
            ),
            (
                "multiplicities: applied twice",
                _GROUPING,
                "np.add.at(counts, start + cells, multiples)",
                "np.add.at(counts, start + cells, multiples**2)",
                _MULTIPLES.format("column0-replace-one"),
            ),
            (
                "multiplicities: rows of numbers count once",
                _MEASURING,
                "total += _in_pieces(statistic, [chosen]).values << bit",
                "total += _in_pieces(statistic, [chosen]).values",
                _MULTIPLES.format("column0-replace-one"),
            ),
            (
                "multiplicities: bits of them are left out",
                _MEASURING,
                "chosen = records[(multiples >> bit) & 1 == 1]",
                "chosen = records[multiples >> bit == 1]",
                _MULTIPLES.format("column0-replace-one"),
            ),
            (
                "multiplicities: ones",
                _GROUPING,
                "multiples = column.of_the(rows)",
                "multiples = np.ones(len(rows), np.int64)",
                _MULTIPLES.format("column0-replace-one"),
            ),
            (
                "multiplicities: a pass over the tables is begun",
                _GROUPING,
                "known = None if len(grouped.tables) == 1 else _names_of(table)",
                "known = next(iter(sources.parts(table))).names()",
                "test_multiplicities_come_in_batches",
            ),
            (
                "multiplicities: rows of numbers as records",
                _MEASURING,
                "return total, own.total",
                "return total, len(records)",
                _MULTIPLES.format("column0-replace-one"),
            ),
            (
                "multiplicities: ones for numbers",
                _MEASURING,
                "multiples.append(own.of_the(batch))",
                "multiples.append(np.ones(len(batch), np.int64))",
                _MULTIPLES.format("column0-replace-one"),
            ),
            (
                "multiplicities: the total of the last batch",
                _MULTIPLICITIES,
                "self.total += int(self._seen.sum())",
                "self.total = int(self._seen.sum())",
                "test_multiplicities_come_in_batches",
            ),
            (
                "multiplicities: one at most",
                _MULTIPLICITIES,
                "        return int(shown)\n",
                "        return min(int(shown), 1)\n",
                _MULTIPLES.format("column0-replace-one"),
            ),
            (
                "multiplicities: none is zero",
                _MULTIPLICITIES,
                'shown = person_of(cell) or ""',
                'shown = person_of(cell) or "0"',
                _OTHERS.format("cells6"),
            ),
            (
                "multiplicities: of other digits",
                _MULTIPLICITIES,
                "digits = shown.isascii() and shown.isdigit()",
                "digits = shown.isdigit()",
                _OTHERS.format("cells7"),
            ),
            (
                "multiplicities: of other rows",
                _BESIDE,
                "        return seen\n",
                "        return seen[::-1]\n",
                _MULTIPLES.format("column0-replace-one"),
            ),
            (
                "multiplicities: that of the first cell",
                _BESIDE,
                "self.integer(values[i], where)",
                "self.integer(values[0], where)",
                _MULTIPLES.format("column0-replace-one"),
            ),
            (
                "large counts: in 32 bits",
                "releases/trial.py",
                "(exact, jnp.int32) if mechanism.largest == LARGEST else exact",
                "(exact, jnp.int32)",
                "test_two_to_the_forty_records[replace-one]",
            ),
            (
                "large counts: parities are exchanged",
                "statistics/fourier.py",
                "np.where(binary, if_binary, otherwise)",
                "np.where(binary, otherwise, if_binary)",
                "test_odd_parities_of_many_records_are_exact",
            ),
            (
                "multiplicities: any integer",
                _MULTIPLICITIES,
                "if not digits or len(shown) > 16 or int(shown) > self._most:",
                "if not digits:",
                _OTHERS.format("cells1"),
            ),
            (
                "multiplicities: their sum has no limit",
                _MULTIPLICITIES,
                "if float(self.total) + self._seen.sum(dtype=float) > MOST:",
                "if False:",
                "test_a_sum_of_multiplicities_beyond_the_range_is_refused",
            ),
            (
                "weights: larger ones than the public maximum",
                _PUBLISH,
                "k if weights else MOST",
                "MOST",
                "test_weights_count_and_are_limited_by_the_contributions",
            ),
            (
                "weights: their sum as the public number of records",
                "releases/selection.py",
                "        if adjacency == REPLACE_ONE:\n            raise",
                "        if False:\n            raise",
                "test_weights_count_and_are_limited_by_the_contributions",
            ),
            (
                "multiplicities: of another column",
                _BESIDE,
                "        if len(seen) != len(rows):",
                "        if False:",
                "test_columns_of_other_lengths_are_refused",
            ),
        )
    ),
    Mutant(
        "key reused",
        "noise: untyped keys",
        "mechanisms/integer_noise.py",
        "        typed_key(key=key)\n",
        "",
        (_IN_MECHANISMS + "test_legacy_keys_are_refused[legacy0]",),
    ),
    Mutant(
        "ε doubled",
        "noise: a guarantee of the inverse",
        "mechanisms/integer_noise.py",
        "return Fraction(*map(from_words, words))",
        "return 1 / Fraction(*map(from_words, words))",
        (_IN_MECHANISMS + "test_the_guarantee_is_the_fraction_that_was_given",),
    ),
    Mutant(
        "law changed",
        "noise: ε in 32 bits",
        "mechanisms/integer_noise.py",
        "[(integer >> 32 * i) & 0xFFFFFFFF for i in range(_WORDS)]",
        "[(integer >> 31 * i) & 0xFFFFFFFF for i in range(_WORDS)]",
        (_IN_MECHANISMS + "test_the_guarantee_is_the_fraction_that_was_given",),
    ),
    Mutant(
        "law changed",
        "noise: ε without its higher words",
        "mechanisms/integer_noise.py",
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
