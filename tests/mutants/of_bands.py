"""Faults of the bands of distribution functions of ranks."""

from tests.mutants.mutant import Mutant

_FILE, _IN = "study/ecdf.py", "tests/test_ecdf.py::"

MUTANTS = (
    Mutant(
        "law changed",
        "ECDF band: more values are expected in each part",
        _FILE,
        "expected = n / (len(lower) + 1)",
        "expected = n / len(lower)",
        (_IN + "test_the_level_is_a_sum_over_all_outcomes",),
    ),
    Mutant(
        "bound loosened",
        "ECDF band: a level that is too small will do",
        _FILE,
        "if inside >= level else",
        "if inside >= level - 0.01 else",
        (_IN + "test_the_next_narrower_band_has_too_small_a_level",),
    ),
)
