"""Faults of results in other programs."""

from tests.mutants.mutant import Mutant

TESTS = "tests/test_exports.py"

MUTANTS = (
    Mutant(
        "table row shifted",
        "BIF: rows of a table in another order",
        "exports/networks.py",
        "groups = itertools.product(*(labels[i] for i in parents))",
        "groups = itertools.product(*(labels[i][::-1] for i in parents))",
        (f"{TESTS}::test_bif_names_the_row_of_each_combination",),
    ),
    Mutant(
        "table row shifted",
        "frame: the parents' levels in another order",
        "exports/summaries.py",
        "for given in itertools.product(*(coords[x] for x in parents)):",
        "for given in itertools.product(*(coords[x][::-1] for x in parents)):",
        (f"{TESTS}::test_a_frame_names_the_cell_of_each_row",),
    ),
    Mutant(
        "bound loosened",
        "frame: an interval with half of its tail",
        "exports/summaries.py",
        "tail = (1 - level) / 2",
        "tail = (1 - level) / 4",
        (f"{TESTS}::test_a_frame_has_a_row_for_each_cell_and_is_read_back",),
    ),
)
