"""Faults of samples of a hidden Markov model among public candidates."""

__all__ = ["MUTANTS"]

from tests.mutants.mutant import Mutant

_CANDIDATES = "mechanisms/path_candidates.py"
_IN = "tests/test_hidden_markov_sample.py::"
_LOSS = (_IN + "test_no_output_loses_more_than_epsilon_for_any_neighbours",)
_RANGE = (_IN + "test_the_range_of_an_event_has_the_error_of_four_scores",)
_SCORES = (_IN + "test_scores_are_logarithms_of_sums_over_all_paths",)
_FILES = (_IN + "test_files_that_claim_less_than_they_cost_are_refused",)
MUTANTS = (
    Mutant(
        "sensitivity halved",
        "candidates: another event in place of one moves as one",
        _CANDIDATES,
        "moved = 2 if adjacency == REPLACE_ONE else 1",
        "moved = 1",
        _LOSS,
    ),
    Mutant(
        "float noise",
        "candidates: the rounding of scores is not in their range",
        _CANDIDATES,
        "Fraction(moved * int(width) + _ROUNDED, 1 << LOG_BITS)",
        "Fraction(moved * int(width), 1 << LOG_BITS)",
        _RANGE,
    ),
    Mutant(
        "float noise",
        "candidates: sums over paths have the precision of doubles",
        _CANDIDATES,
        "_DIGITS = 60",
        "_DIGITS = 14",
        _SCORES,
    ),
    Mutant(
        "bound loosened",
        "candidates: a file may claim less than its samples cost",
        "mechanisms/hidden_markov_sampler.py",
        "return one.repeated(self.samples).bound",
        "return one.bound",
        _FILES,
    ),
)
