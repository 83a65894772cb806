"""Faults of reports, which say how well a release protects."""

from tests.mutants.mutant import Mutant

_WORDS, _RESULTS = "exports/reports/words.py", "exports/reports/results.py"
_IN = "tests/test_reports.py::"

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
        "branch left out",
        "report: nothing about δ",
        _WORDS,
        "{but}. This",
        ". This",
        (_IN + "test_a_persons_rows_and_delta_are_in_the_words",),
    ),
    Mutant(
        "limit weakened",
        "public facts: a file of version 1 has some",
        "releases/file_format.py",
        'lowest = _CANONICAL if "about" in content else lowest',
        "lowest = lowest + 0",
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
)
