"""Faults of reports, which say how well a release protects."""

from tests.mutants.mutant import Mutant

_WORDS, _RESULTS = "exports/reports/words.py", "exports/reports/results.py"
_QUALITY, _LEVELS = "exports/reports/quality.py", "exports/reports/levels.py"
_IN, _OF = "tests/test_reports.py::", "tests/test_quality.py::"

MUTANTS = (
    Mutant(
        "ε doubled",
        "report: the chance after a release of half the ε",
        _WORDS,
        "math.exp(-epsilon))",
        "math.exp(-epsilon / 2))",
        (_IN + "test_the_chance_after_a_release_is_bayes_rule",),
    ),
    Mutant(
        "bound loosened",
        "report: the odds are rounded down",
        _WORDS,
        "above = math.ceil(number / step) * step",
        "above = math.floor(number / step) * step",
        (_IN + "test_odds_are_rounded_up",),
    ),
    Mutant(
        "wrong adjacency",
        "report: the content of a row, where its presence is protected",
        _WORDS,
        "if guarantee.adjacency == REPLACE_ONE:",
        "if guarantee.adjacency:",
        (_IN + "test_odds_are_rounded_up",),
    ),
    Mutant(
        "limit weakened",
        "report: infinite numbers, which JSON has not",
        _RESULTS,
        "[x if math.isfinite(x) else None for x in table[key]]",
        "[x if x == x else None for x in table[key]]",
        (_IN + "test_what_is_infinite_is_left_out",),
    ),
    Mutant(
        "branch left out",
        "report: nothing about δ",
        _WORDS,
        "    if delta:\n",
        "    if delta > 1:\n",
        (_IN + "test_a_persons_rows_and_delta_are_in_the_words",),
    ),
    Mutant(
        "limit weakened",
        "public facts: a file of version 1 has some",
        "releases/file_format.py",
        '_CANONICAL if {"about", "learned", "sampled"} & {*content} else lowest',
        "lowest + 0",
        ("tests/test_about.py::test_a_file_has_facts_from_version_3_on",),
    ),
    Mutant(
        "limit weakened",
        "public facts: text of several lines",
        "releases/about.py",
        "is_text(text) and text.strip() and text.isprintable()",
        "is_text(text) and text.strip()",
        ("tests/test_about.py::test_other_facts_are_refused_and_nothing_is_charged",),
    ),
    Mutant(
        "law changed",
        "report: the noise of one cell for that of a total",
        _RESULTS,
        "half = NormalDist().inv_cdf((1 + level) / 2) * sd",
        "half = NormalDist().inv_cdf((1 + level) / 2)",
        (_IN + "test_an_event_log_is_reported_by_totals",),
    ),
    Mutant(
        "law changed",
        "quality: half of what sampling alone does",
        _QUALITY,
        "return 2 * np.exp(logs) / n",
        "return np.exp(logs) / n",
        (_OF + "test_what_sampling_alone_does_is_the_exact_expectation",),
    ),
    Mutant(
        "branch left out",
        "quality: levels that all records have not are possible",
        _LEVELS,
        "possible[:whole] = (known[places] < 0) | (known[places] == levels)",
        "possible[:whole] = 1",
        (_OF + "test_probabilities_of_pairs_are_sums_over_all_records",),
    ),
    Mutant(
        "law changed",
        "quality: two numbers of one leaf are independent",
        _LEVELS,
        "found[own, own] = np.diag(found[:first, own].sum(axis=0))",
        "found[own, own] = found[own, own]",
        (_OF + "test_leaves_are_in_bins_of_their_predictive_law",),
    ),
)
