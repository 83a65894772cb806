"""Faults of impossible combinations: accepted records, noise or weight on them."""

from tests.mutants.mutant import Mutant

_TESTS = "tests/test_impossible.py::"
_RECORD = _TESTS + "test_a_record_with_an_impossible_combination_is_refused[{}]"
_POSTERIOR = _TESTS + "test_the_posterior_gives_impossible_combinations_no_probability"
_FILE = _TESTS + "test_a_release_with_zeros_is_saved_and_checked"
_ORDER = _TESTS + "test_cells_are_excluded_whatever_the_order_of_variables"
_PUBLISH, _FORMAT = "releases/publish.py", "releases/file_format.py"
_PLUG_IN, _PREDICTION = "posteriors/plug_in.py", "data/probabilities.py"

MUTANTS = tuple(
    Mutant("record read by others", f"impossible: {what}", file, old, new, (test,))
    for what, file, old, new, test in (
        (
            "no cell is excluded",
            "data/impossible.py",
            "                cube |= small.transpose(axes).reshape(wide)\n",
            "                pass\n",
            _RECORD.format("groups"),
        ),
        (
            "counts of them are accepted",
            "releases/measuring.py",
            "    statistic.refuse_impossible(exact)\n",
            "",
            _RECORD.format("groups"),
        ),
        (
            "exact counts of them are accepted",
            "statistics/network_counts.py",
            "    statistic.refuse_impossible(counts)\n",
            "",
            _RECORD.format("a file"),
        ),
        (
            "only the first combination is refused",
            "data/impossible.py",
            "not counts[excluded_cells(combinations, layout)]",
            "not counts[excluded_cells(combinations[:1], layout)]",
            _TESTS + "test_every_combination_is_refused",
        ),
        (
            "records are encoded whatever they are",
            "data/impossible.py",
            "            raise refusal([name for name, _ in one])\n",
            "            pass\n",
            _TESTS + "test_a_schema_refuses_it[a dictionary]",
        ),
        (
            "zeros get noise",
            "releases/trial.py",
            "        values = np.where(statistic.zeros, 0, np.asarray(values))\n",
            "        pass\n",
            _TESTS + "test_cells_of_impossible_combinations_are_zero_and_others_noisy",
        ),
        (
            "all cells are zeros",
            "releases/trial.py",
            "np.where(statistic.zeros, 0, np.asarray(values))",
            "np.where(True, 0, np.asarray(values))",
            _TESTS + "test_cells_of_impossible_combinations_are_zero_and_others_noisy",
        ),
        (
            "samples ignore them",
            _PUBLISH,
            "    if statistic.network is not None and not tried.additive:\n",
            "    if False:\n",
            _TESTS
            + "test_other_mechanisms_refuse_impossible_combinations[posterior-sample]",
        ),
        (
            "a sensitivity is called tight",
            "statistics/cell_statistic.py",
            "tight=net is None or not net.impossible",
            "tight=True",
            _TESTS + "test_zeros_change_no_sensitivity[maximal-add-remove]",
        ),
        (
            "a file may have counts of them",
            _FORMAT,
            "not maker.additive or values[zeros].any()",
            "not maker.additive",
            _FILE,
        ),
        (
            "a file does not state them",
            _FORMAT,
            'if k == "impossible"}',
            "if False}",
            _FILE,
        ),
        (
            "noise-aware methods ignore them",
            "posteriors/laws.py",
            "    if released.statistic.zeros is not None:\n",
            "    if False:\n",
            _TESTS + "test_what_would_ignore_zeros_refuses_them[gibbs]",
        ),
        (
            "they have a prior",
            _PLUG_IN,
            "        return jnp.where(self.net.zeros, 0, self.concentration)\n",
            "        return self.concentration\n",
            _POSTERIOR,
        ),
        (
            "evidence is not looked at",
            "posteriors/base.py",
            "as_records(records, self.net.schema, absent",
            "as_records(records, self.net.variables, absent",
            _TESTS + "test_synthetic_records_are_possible_and_evidence_must_be",
        ),
        (
            "the first combination is left out",
            "data/impossible.py",
            "_together(combinations, layout.sizes)",
            "_together(combinations[1:], layout.sizes)",
            _ORDER,
        ),
        (
            "the first table is left out",
            "data/impossible.py",
            "zip(layout.groups, layout.offsets, strict=False)",
            "zip(layout.groups[1:], layout.offsets[1:], strict=False)",
            _ORDER,
        ),
        (
            "only those of a table's first variable are found",
            "data/impossible.py",
            "for i in group)):",
            "for i in group[:1])):",
            _ORDER,
        ),
        (
            "of exact counts only the first is refused",
            "data/impossible.py",
            "    for one in combinations:\n        if counts",
            "    for one in combinations[:1]:\n        if counts",
            _TESTS + "test_every_combination_is_refused",
        ),
        (
            "axes are exchanged",
            "data/impossible.py",
            "axes = np.argsort([group.index(i) for i in names])",
            "axes = np.arange(len(names))",
            _ORDER,
        ),
        (
            "a row that is cut may be impossible",
            "data/persons.py",
            "    for rows in checked(batches, impossible, names):\n",
            "    for rows in batches:\n",
            _TESTS + "test_a_row_that_is_cut_must_be_possible",
        ),
        (
            "a table of two large numbers has 32 bits",
            "releases/wide.py",
            "sums = np.add.reduceat(sizes, layout.offsets[:-1], axis=-1)",
            "sums = sizes",
            "tests/test_measuring.py::test_a_table_of_many_large_numbers_is_wide",
        ),
        (
            "every level of a target may be impossible",
            "data/impossible.py",
            "    if undecided:\n",
            "    if False:\n",
            _TESTS + "test_evidence_leaves_the_target_a_level",
        ),
        (
            "the last level is drawn though impossible",
            _PREDICTION,
            "jnp.where(possible, levels, 0)",
            "levels",
            _TESTS
            + "test_rounding_never_draws_a_level_without_probability[law0-drawn0]",
        ),
    )
)
