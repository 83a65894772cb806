"""Faults of what is charged: the release's door, composition, splits."""

from tests.mutants.mutant import Mutant

_OWN_TABLE = (
    "tests/test_split_laplace.py::test_numbers_have_the_noise_of_their_own_table"
)
_DOOR = "tests/test_release.py::"
_CHARGED_FIRST = (
    _DOOR + "test_the_ledger_is_charged_before_the_draw_and_before_data_is_touched"
)

MUTANTS = (
    Mutant(
        "budget not charged",
        "release: not at all",
        "publish.py",
        "    private = make(n=n)\n    if ledger is not None:\n",
        "    private = make(n=n)\n    if ledger is not None and False:\n",
        (_CHARGED_FIRST,),
    ),
    Mutant(
        "budget not charged",
        "release: after the draw",
        "publish.py",
        "    private = make(n=n)\n",
        "    private = make(n=n)\n    private.draw(exact)\n",
        (_CHARGED_FIRST,),
    ),
    Mutant(
        "budget not charged",
        "release: the records are read before the ledger is asked",
        "publish.py",
        "        ledger.require(budget)\n    exact, size =",
        "        pass\n    exact, size =",
        (
            "tests/test_streaming.py::"
            "test_records_are_not_touched_if_the_budget_is_gone",
        ),
    ),
    Mutant(
        "wrong adjacency",
        "release: the number of records is shown where it is private",
        "publish.py",
        "n = size if adjacency == REPLACE_ONE else None\n",
        "n = size\n",
        (_DOOR + "test_a_private_number_of_records_enters_no_shape_scale_or_clamp",),
    ),
    Mutant(
        "wrong adjacency",
        "composition: costs for both are added up",
        "privacy/composition.py",
        "    if len(found) != 1:\n",
        "    if not found:\n",
        (
            "tests/test_composition.py::"
            "test_costs_under_different_adjacencies_are_not_added",
        ),
    ),
    Mutant(
        "wrong adjacency",
        "composition: a record that moves between parts counts once",
        "privacy/composition.py",
        "dearest if adjacency == given else 2 * dearest",
        "dearest",
        (
            "tests/test_composition.py::"
            "test_parts_by_value_cost_the_dearest_once_or_twice[replace-one-bases0]",
        ),
    ),
    Mutant(
        "key reused",
        "splits: every row of numbers has the same noise",
        "mechanisms/split_laplace.py",
        "jr.split(key, len(owners))",
        "jnp.broadcast_to(key, (len(owners),))",
        (_OWN_TABLE,),
    ),
    Mutant(
        "table row shifted",
        "splits: a table has the noise of another",
        "mechanisms/split_laplace.py",
        "lambda leaf: leaf[owners]",
        "lambda leaf: leaf[owners[::-1]]",
        (_OWN_TABLE,),
    ),
    Mutant(
        "budget not charged",
        "splits: the dearest table instead of all",
        "mechanisms/split_laplace.py",
        "PureDP(_total(costs), self.adjacency)",
        "PureDP(max(costs), self.adjacency)",
        (
            "tests/test_split_laplace.py::"
            "test_the_loss_is_the_sum_of_the_budgets_and_no_less[two roots-add-remove]",
        ),
    ),
)
