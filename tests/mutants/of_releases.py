"""Faults of the door: noise of another budget, records that nobody may draw from."""

from tests.mutants.mutant import Mutant

_PUBLISH = "publish.py"
_MEASURING = "measuring.py"
_IN_RELEASE = "tests/test_release.py::"
_IN_MEASURING = "tests/test_measuring.py::"

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
        "bound loosened",
        "measuring: four times as many records",
        _MEASURING,
        "if n * statistic.most_per_record > LARGEST:",
        "if n * statistic.most_per_record > 4 * LARGEST:",
        (_IN_MEASURING + "test_a_record_more_is_refused[replace-one]",),
    ),
    Mutant(
        "bound loosened",
        "measuring: units do not count",
        _MEASURING,
        "if n * statistic.most_per_record > LARGEST:",
        "if n > LARGEST:",
        (_IN_MEASURING + "test_a_record_more_is_refused[replace-one]",),
    ),
)
