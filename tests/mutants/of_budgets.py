"""Faults of what is charged: the release's door, composition, splits."""

from tests.mutants.mutant import Mutant

_MECHANISMS, _SPLITS = "tests/test_mechanisms.py::", "tests/test_split_laplace.py::"
_OWN_TABLE = _SPLITS + "test_numbers_have_the_noise_of_their_own_table"
_DOOR = "tests/test_release.py::"
_CHARGED_FIRST = (
    _DOOR + "test_the_ledger_is_charged_before_the_draw_and_before_data_is_touched"
)

MUTANTS = (
    Mutant(
        "budget not charged",
        "release: not at all",
        "releases/publish.py",
        "(), cost)\n    if ledger is not None:\n",
        "(), cost)\n    if ledger is not None and False:\n",
        (_CHARGED_FIRST,),
    ),
    Mutant(
        "budget not charged",
        "release: after the draw",
        "releases/publish.py",
        "    private = make(n=n)\n",
        "    private = make(n=n)\n    private.draw(exact)\n",
        (_CHARGED_FIRST,),
    ),
    Mutant(
        "budget not charged",
        "release: the records are read before the ledger is asked",
        "releases/publish.py",
        "    if ledger is not None:\n"
        "        ledger.require("
        "(cost if sampled is None else sampled.cost).of_group(k), part)\n",
        "",
        (
            "tests/test_streaming.py::"
            "test_records_are_not_touched_if_the_budget_is_gone",
        ),
    ),
    Mutant(
        "wrong adjacency",
        "release: the number of records is shown where it is private",
        "releases/publish.py",
        "n = size if public else None\n",
        "n = size\n",
        (_DOOR + "test_a_private_number_of_records_enters_no_shape_scale_or_clamp",),
    ),
    Mutant(
        "wrong adjacency",
        "composition: costs for both are added up",
        "privacy/guarantee.py",
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
        "largest if adjacency == given else 2 * largest",
        "largest",
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
            _SPLITS + "test_the_loss_is_the_sum_of_the_budgets_and_no_less"
            "[two roots-add-remove]",
        ),
    ),
    Mutant(
        "ε doubled",
        "noise: of many budgets the largest, for all",
        "mechanisms/integer_noise.py",
        "many = [made[x] for x in budgets]",
        "many = [made[max(budgets)] for _ in budgets]",
        (_MECHANISMS + "test_mechanisms_are_pytrees_that_stack",),
    ),
    Mutant(
        "float noise",
        "noise: added to the fraction of a number",
        "mechanisms/integer_noise.py",
        "if not jnp.issubdtype(exact.dtype, jnp.integer):",
        "if False:",
        (_MECHANISMS + "test_the_fraction_of_a_number_is_never_let_through",),
    ),
    Mutant(
        "ε doubled",
        "noise: certified for more than its budget",
        "mechanisms/discrete_laplace.py",
        "return tables.certify(self.table, rho)",
        "return tables.certify(self.table, 2 * rho)",
        (
            _MECHANISMS
            + "test_a_mechanism_with_the_noise_of_a_larger_budget_does_not_certify",
        ),
    ),
    Mutant(
        "ε doubled",
        "noise: a budget of long integers is cut",
        "mechanisms/integer_noise.py",
        "if integer >> 32 * _WORDS:",
        "if False:",
        (_MECHANISMS + "test_the_integers_of_a_fraction_are_kept_whole_or_refused",),
    ),
    Mutant(
        "budget not charged",
        "splits: a budget for a table that is not measured",
        "mechanisms/split_laplace.py",
        "if set(split) != set(lengths):",
        "if not set(split) >= set(lengths):",
        (_SPLITS + "test_a_wrong_split_is_one_line_and_costs_nothing",),
    ),
    Mutant(
        "branch left out",
        "splits: rows without noise",
        "mechanisms/split_laplace.py",
        "            return part.sample(key, row)\n",
        "            return row\n",
        (_OWN_TABLE,),
    ),
    Mutant(
        "table row shifted",
        "splits: drawn with the noise of the last table first",
        "mechanisms/split_laplace.py",
        "zip(self.parts.values(), counted, strict=True)",
        "zip([*self.parts.values()][::-1], counted, strict=True)",
        (_SPLITS + "test_the_noise_of_every_table_follows_its_law[draw]",),
    ),
    Mutant(
        "table row shifted",
        "splits: rows of one table are of another",
        "mechanisms/split_laplace.py",
        "return owners, places",
        "return owners[::-1], places",
        (_OWN_TABLE,),
    ),
)
