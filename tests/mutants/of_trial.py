"""Faults of the trial of classes of other packages."""

from tests.mutants.mutant import Mutant

_TRIAL, _RELEASE = "statistics/trial.py", "releases/trial.py"
_OF = "tests/test_trial.py::test_a_statistic_that_breaks_its_contract_is_refused"
_BY = "tests/test_trial.py::test_a_mechanism_that_breaks_its_contract_is_refused"

MUTANTS = tuple(
    Mutant("limit weakened", f"trial: {what}", file, old, new, (test,))
    for what, file, old, new, test in (
        (
            "what one record changes, for replace-one",
            _TRIAL,
            "    if adjacency == REPLACE_ONE:\n",
            "    if False:\n",
            "tests/test_trial.py::test_a_family_that_states_half_of_its_diameter_is_refused",
        ),
        (
            "what one record changes, for add-remove",
            _TRIAL,
            "        yield np.abs(each)\n",
            "        yield 0 * each\n",
            _OF + "[half-add-remove]",
        ),
        (
            "the sensitivity",
            _TRIAL,
            "found[name] = max(found[name], int(values.max(initial=0)))",
            "found[name] = max(found[name], int(values.min(initial=0)))",
            _OF + "[half-replace-one]",
        ),
        (
            "the squared sensitivity",
            _TRIAL,
            "by_name = apart.sum(axis=1), (apart**2).sum(axis=1)",
            "by_name = apart.sum(axis=1), (apart > 0).any(axis=1)",
            _OF + "[squared-add-remove]",
        ),
        (
            "the sensitivity of parts",
            _TRIAL,
            "        if len(starts):\n",
            "        if False:\n",
            _OF + "[part-add-remove]",
        ),
        (
            "the adjacency of a sensitivity",
            _TRIAL,
            '    if getattr(stated, "adjacency", None) != adjacency:\n',
            "    if False:\n",
            _OF + "[adjacency-add-remove]",
        ),
        (
            "what one record adds to a number",
            _TRIAL,
            "most = int(np.abs(each).max(initial=0))",
            "most = 0",
            _OF + "[most-add-remove]",
        ),
        (
            "whether a statistic is a sum",
            _TRIAL,
            "        if not np.array_equal(whole, each[places].sum(axis=0)):\n",
            "        if False:\n",
            _OF + "[any-add-remove]",
        ),
        (
            "what is stated is compared the other way",
            _TRIAL,
            "    if found > stated:\n",
            "    if found < 0:\n",
            _OF + "[half-add-remove]",
        ),
        (
            "numbers beyond their bounds",
            _TRIAL,
            "jnp.clip(cells, variable.lower, variable.upper)",
            "cells",
            "tests/test_trial.py::test_records_are_within_their_bounds_before_they_are_"
            "measured",
        ),
        (
            "indices of levels as bytes",
            _TRIAL,
            "        return records.astype(jnp.int32)\n",
            "        return records\n",
            "tests/test_trial.py::test_indices_of_levels_are_of_32_bits_for_other_"
            "statistics",
        ),
        (
            "what a mechanism costs",
            _RELEASE,
            "    if not fits or mechanism.adjacency != cost.adjacency:\n",
            "    if mechanism.adjacency != cost.adjacency:\n",
            _BY + "[costs]",
        ),
        (
            "which neighbours a mechanism protects",
            _RELEASE,
            "    if not fits or mechanism.adjacency != cost.adjacency:\n",
            "    if False:\n",
            _BY + "[adjacency]",
        ),
        (
            "a statistic of another package",
            "releases/publish.py",
            "    if is_foreign(statistic, family_of(statistic)):\n",
            "    if False:\n",
            _OF + "[half-add-remove]",
        ),
        (
            "a recipe of another package",
            _RELEASE,
            "is_foreign(statistic, family_of(statistic), recipe, mechanism)",
            "False",
            _BY + "[half]",
        ),
        (
            "which statistics a mechanism accepts",
            _RELEASE,
            "    if not mechanism.accepts(statistic):\n",
            "    if False:\n",
            _BY + "[refuses]",
        ),
        (
            "numbers with a limit, which are no sums",
            _TRIAL,
            "    return [np.zeros(0, int), *every, *ends]\n",
            "    return [np.zeros(0, int), np.arange(size)]\n",
            "tests/test_trial.py::test_a_limit_of_a_number_is_no_sum",
        ),
        (
            "files that are read back as another statistic",
            _RELEASE,
            "    if (found.statistic, type(found.mechanism)) != made:\n",
            "    if False:\n",
            "tests/test_trial.py::test_a_file_that_is_read_back_as_another_statistic_is_"
            "refused",
        ),
        (
            "the cost for the number of records",
            "releases/publish.py",
            "    refuse_cost(private, recipe, cost)\n",
            "",
            "tests/test_trial.py::test_what_a_release_costs_is_checked_again_for_its_own_"
            "number_of_records",
        ),
        (
            "the noise itself",
            _RELEASE,
            "    values = mechanism.draw(given)\n",
            "    values = np.asarray(given)\n",
            "tests/test_release.py::test_every_release_has_noise_of_its_own",
        ),
        (
            "whether a draw is of integers",
            _RELEASE,
            "        if not jnp.issubdtype(np.asarray(values).dtype, np.integer):\n",
            "        if False:\n",
            _BY + "[floats]",
        ),
    )
)
