"""Faults of networks that are learned: scores, draws of edges, budgets, and files."""

from tests.mutants.mutant import Mutant

_SCORES = "releases/candidates.py"
_LEARN = "releases/learning.py"
_PLANS = "releases/learning_plans.py"
_LEARNED = "releases/learned.py"
_HERE = "tests/test_learn.py::"
_COST = _HERE + "test_the_cost_is_the_budget_and_counts_every_draw"
_DEGREE = (
    _HERE + "test_the_degree_is_the_most_whose_errors_are_small_beside_the_records"
)
_WRONG = _HERE + "test_a_wrong_argument_is_refused_and_nothing_is_charged"
_LEFT_OUT = _HERE + "test_edges_with_too_large_a_table_are_left_out"
_PRICES = _HERE + "test_what_a_draw_costs_and_what_a_budget_pays_for"

MUTANTS = tuple(
    Mutant(fault, f"learned: {what}", file, old, new, (test,))
    for fault, what, file, old, new, test in (
        (
            "sensitivity halved",
            "a replaced record changes one count",
            _SCORES,
            "return 2 if adjacency == REPLACE_ONE else 1",
            "return 1",
            _HERE + "test_the_sensitivity_of_scores_is_exact[replace-one]",
        ),
        (
            "ε doubled",
            "the exponent without 1/2",
            _SCORES,
            "unit = epsilon / (2 * distance_sensitivity(adjacency))",
            "unit = epsilon / distance_sensitivity(adjacency)",
            _HERE + "test_an_edge_is_drawn_with_the_stated_probability",
        ),
        (
            "branch left out",
            "a table without earlier parents",
            _SCORES,
            "(*net.parents[edge[0]], edge[1], edge[0])",
            "(edge[1], edge[0])",
            _HERE + "test_the_table_of_an_edge_has_all_parents",
        ),
        (
            "limit weakened",
            "tables of any size",
            _SCORES,
            "sizes[edge] <= MOST_CELLS]",
            "sizes[edge] <= 2 * MOST_CELLS]",
            _LEFT_OUT,
        ),
        (
            "branch left out",
            "a layout without tables",
            _SCORES,
            "    if not kept:\n",
            "    if kept:\n",
            _HERE + "test_scores_are_distances_minus_noise",
        ),
        (
            "wrong adjacency",
            "one row of a person",
            _LEARN,
            "budget = budget_for(schema, epsilon, adjacency, contributions, budget",
            "budget = budget_for(schema, epsilon, adjacency, None, budget",
            f"{_COST}[persons-1]",
        ),
        (
            "limit weakened",
            "records are read first",
            _LEARN,
            "    if ledger is not None:\n        ledger.require(budget, part)\n",
            "",
            _HERE + "test_a_ledger_without_enough_budget_is_asked_before_records_are_"
            "read",
        ),
        (
            "budget not charged",
            "nothing is charged",
            _LEARN,
            "        ledger.charge(budget, purpose, part)\n",
            "        del purpose\n",
            f"{_COST}[concentrated-1]",
        ),
        (
            "limit weakened",
            "no parents at all",
            _PLANS,
            "    whole(1, degree=degree)\n",
            "",
            f"{_WRONG}[no degree]",
        ),
        (
            "ε doubled",
            "the last tables cost as if one edge was drawn",
            _PLANS,
            ".of_choice(epsilons[-1]).repeated(draws)",
            ".of_choice(epsilons[-1]).repeated(1)",
            f"{_COST}[pure-1]",
        ),
        (
            "limit weakened",
            "a degree with errors as large as n",
            _PLANS,
            "_error(plan, net) <= _SMALL * n",
            "_error(plan, net) <= n",
            f"{_DEGREE}[replace-one]",
        ),
        (
            "branch left out",
            "the lowest degree is the only one",
            _PLANS,
            "every = range(1, min(most, _DEGREES) + 1) if",
            "every = range(1, 2) if",
            f"{_DEGREE}[replace-one]",
        ),
        (
            "branch left out",
            "a degree is chosen by the noise of tables alone",
            _PLANS,
            "return table + float(distance_sensitivity(cost.adjacency) /",
            "return table + float(0 /",
            f"{_DEGREE}[add-remove]",
        ),
        (
            "limit weakened",
            "a degree whose tables have any size",
            _PLANS,
            "    if max(cells) > MOST_CELLS:\n",
            "    if max(cells) > 2 * MOST_CELLS:\n",
            _HERE + "test_a_degree_with_too_large_tables_is_not_chosen",
        ),
        (
            "branch left out",
            "samples in place of noise",
            _PLANS,
            "    for cost in plan.tables:\n        if not",
            "    for cost in ():\n        if not",
            f"{_WRONG}[samples]",
        ),
        (
            "limit weakened",
            "no records where their number is public",
            _LEARN,
            "    refuse_empty(len(records), budget.adjacency)\n",
            "",
            f"{_WRONG}[no records]",
        ),
        (
            "limit weakened",
            "all rows of a person",
            _LEARN,
            "    if id is None:\n",
            "    if True:\n",
            _HERE + "test_rows_of_persons_are_limited_once",
        ),
        (
            "limit weakened",
            "a variable identifies persons",
            _LEARN,
            "        check_id(id, net.variables, budget.adjacency)\n",
            "",
            f"{_WRONG}[persons]",
        ),
        (
            "record read by others",
            "the first batch alone",
            _LEARN,
            "records = np.concatenate(batches) if batches else empty",
            "records = batches[0] if batches else empty",
            _HERE + "test_all_batches_are_read",
        ),
        (
            "budget not charged",
            "later edges for variables that have none to pay",
            _LEARN,
            "order[step + 1 :]",
            "order[1:]",
            f"{_COST}[pure-2]",
        ),
        (
            "budget not charged",
            "as many draws in later steps",
            _LEARNED,
            "return 1 if before is None else 1 + before.depth",
            "return 1",
            f"{_COST}[pure-2]",
        ),
        (
            "budget not charged",
            "a draw less",
            _LEARNED,
            "return len(self.earlier.net.names) - self.depth",
            "return len(self.earlier.net.names) - 1 - self.depth",
            f"{_COST}[pure-1]",
        ),
        (
            "budget not charged",
            "one draw of all",
            _LEARNED,
            "kind.of_choice(self.epsilon).repeated(self.choices)",
            "kind.of_choice(self.epsilon)",
            f"{_COST}[pure-1]",
        ),
        (
            "wrong adjacency",
            "the tables of a file cost persons, not rows",
            _LEARNED,
            "own = cost.minus(self.earlier.guarantee()).per_record()",
            "own = cost.minus(self.earlier.guarantee())",
            f"{_COST}[persons-1]",
        ),
        (
            "limit weakened",
            "two new parents in a file",
            _LEARNED,
            "zip(before.net.parents, net.parents, strict=True):",
            "zip(net.parents, net.parents, strict=True):",
            _HERE + "test_a_release_continues_only_what_it_was_learned_from",
        ),
        (
            "budget not charged",
            "no earlier release but one",
            _LEARNED,
            "before = self.earlier.learned\n",
            "before = None\n",
            f"{_COST}[pure-2]",
        ),
        (
            "record read by others",
            "an earlier release of other records",
            _LEARNED,
            "before = self.earlier\n        one = before.n,",
            "before = self.earlier\n        one = n,",
            _HERE + "test_a_release_continues_only_what_it_was_learned_from",
        ),
        (
            "budget not charged",
            "earlier releases are free",
            "releases/released.py",
            "(one.guarantee_of_row() for one in self.chain)",
            "(one.guarantee_of_row() for one in (self,))",
            f"{_COST}[pure-1]",
        ),
        (
            "budget not charged",
            "draws are free",
            "releases/released.py",
            "return tables.composed(self.learned.selection(tables))",
            "return tables",
            f"{_COST}[pure-1]",
        ),
        (
            "bound loosened",
            "a draw costs half of ρ",
            "privacy/concentrated.py",
            "rho=epsilon**2 / 8 * part)",
            "rho=epsilon**2 / 16 * part)",
            _HERE + "test_a_draw_loses_at_most_epsilon_and_much_of_it[add-remove]",
        ),
        (
            "bound loosened",
            "twice the ρ pays for a draw",
            "privacy/concentrated.py",
            "root_below(8 * self.rho)",
            "root_below(16 * self.rho)",
            _PRICES,
        ),
        (
            "ε doubled",
            "a pure budget pays for twice the ε",
            "privacy/kinds.py",
            'mechanism, which is this ε."""\n        return self.epsilon',
            'mechanism, which is this ε."""\n        return 2 * self.epsilon',
            _PRICES,
        ),
    )
)
