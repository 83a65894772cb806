"""Faults of releases from a secret sample: its law, what it costs, and its files."""

from tests.mutants.mutant import Mutant

_DRAWS = "data/sampling.py"
_SAMPLED = "releases/sampled.py"
_COSTS = "privacy/composition.py"
_CHOSEN = "releases/selection.py"
_HERE = "tests/test_sample_rate.py::"
_LOSS = _HERE + "test_the_loss_is_at_most_epsilon_and_nearly_attained[replace-one-2/3]"
_PRICES = _HERE + "test_what_a_sample_may_cost_uses_the_cost_up[1/3-1-add-remove]"
_ALTERED = _HERE + "test_an_altered_file_is_refused_although_it_is_rehashed"
_WRONG = _HERE + "test_a_sample_that_cannot_be_is_refused_and_costs_nothing"
_ORDERS = _HERE + "test_all_samples_of_a_size_are_drawn_by_as_many_orders[2]"
_MADE = _HERE + "test_a_release_of_a_sample_is_charged_saved_and_verified"

MUTANTS = tuple(
    Mutant(fault, f"sample: {what}", file, old, new, (test,))
    for fault, what, file, old, new, test in (
        (
            "law changed",
            "the rate is rounded up",
            _DRAWS,
            "int(rate * 2**64)",
            "(int(rate * 2**64) + 1)",
            _HERE + "test_a_row_is_kept_with_the_rate_to_the_last_bit",
        ),
        (
            "law changed",
            "equal words keep the order of the rows",
            _DRAWS,
            "while len(np.unique(words)) < len(rows):",
            "while len(words) < len(rows):",
            _ORDERS,
        ),
        (
            "law changed",
            "the first rows in place of random ones",
            _DRAWS,
            "rows[np.sort(np.argsort(words)[:size])]",
            "rows[:size]",
            _ORDERS,
        ),
        (
            "ε doubled",
            "the odds are divided by the rate twice",
            _COSTS,
            "odds = 1 + (1 / exponential_above(-below) - 1) / share",
            "odds = 1 + (1 / exponential_above(-below) - 1) / share**2",
            _PRICES,
        ),
        (
            "bound loosened",
            "the cost of a sample is rounded up",
            _COSTS,
            "* (1 - _SHORT_OF)",
            "* (1 + _SHORT_OF)",
            _PRICES,
        ),
        (
            "bound loosened",
            "δ of the whole table is too small",
            _COSTS,
            "return _changed(row, min(loss, epsilon), share)",
            "return _changed(row, min(loss, epsilon), share**2)",
            _PRICES,
        ),
        (
            "bound loosened",
            "δ of the sample is too large",
            _COSTS,
            "logarithm_above(1 / odds)), 1 / share)",
            "logarithm_above(1 / odds)), 1 / share**2)",
            _PRICES,
        ),
        (
            "bound loosened",
            "any cost is believed",
            _SAMPLED,
            "if not whole.fits(self.cost):",
            "if whole is None:",
            f"{_ALTERED}[a smaller cost]",
        ),
        (
            "bound loosened",
            "the number of sampled records is believed",
            _SAMPLED,
            "if n is not None and int(n) != self.size:",
            "if n is not None and int(n) < 0:",
            f"{_ALTERED}[more records]",
        ),
        (
            "limit weakened",
            "all records are a sample",
            _SAMPLED,
            "if self.rate >= 1:",
            "if self.rate > 1:",
            f"{_WRONG}[one]",
        ),
        (
            "limit weakened",
            "a ρ is taken for an (ε, δ)",
            _SAMPLED,
            "if row.kind not in (PureDP.kind, ApproximateDP.kind):",
            "if row is None:",
            f"{_WRONG}[a rho]",
        ),
        (
            "limit weakened",
            "rows of persons are sampled one by one",
            _CHOSEN,
            "or any(other is not None for other in others):",
            "or not others:",
            f"{_WRONG}[an id]",
        ),
        (
            "branch left out",
            "impossible rows outside the sample",
            _CHOSEN,
            "sampled.draw(checked(batches, impossible, names))",
            "sampled.draw(batches)",
            _HERE + "test_an_impossible_row_is_refused_in_and_outside_of_the_sample",
        ),
        (
            "budget not charged",
            "the cost of the sample in a file",
            "releases/released.py",
            "            return self.sampled.cost\n",
            "            return self.mechanism.guarantee()\n",
            f"{_MADE}[counts]",
        ),
        (
            "budget not charged",
            "the ledger is charged nothing",
            "releases/publish.py",
            "else sampled.cost\n",
            "else sampled.cost.share(sampled.rate)\n",
            f"{_MADE}[counts]",
        ),
        (
            "branch left out",
            "columns are not refused",
            "releases/publish.py",
            "        refuse_sample(table, id, multiplicity, weights, mesh)\n",
            "        pass\n",
            f"{_WRONG}[multiplicities]",
        ),
        (
            "budget not charged",
            "a cheap mechanism costs all that it may",
            _SAMPLED,
            "return replace(self, cost=self._of_whole(spent))",
            "return replace(self, cost=self._of_whole(allowed))",
            _HERE
            + "test_a_mechanism_that_costs_less_than_it_may_is_charged_what_it_costs",
        ),
        (
            "bound loosened",
            "a file may state any cost",
            _SAMPLED,
            "whole = self._of_whole(spent)",
            "whole = self.cost",
            f"{_ALTERED}[a smaller cost]",
        ),
        (
            "budget not charged",
            "what a mechanism costs is not asked",
            "releases/publish.py",
            "sampled.charged(private.guarantee(), cost)",
            "sampled.charged(cost, cost)",
            _HERE
            + "test_a_mechanism_that_costs_less_than_it_may_is_charged_what_it_costs",
        ),
        (
            "budget not charged",
            "a cheap mechanism costs the whole budget",
            _SAMPLED,
            "if spent == allowed:",
            "if spent != allowed:",
            _HERE
            + "test_a_mechanism_that_costs_less_than_it_may_is_charged_what_it_costs",
        ),
        (
            "bound loosened",
            "the cost of a sample is that of the table",
            _SAMPLED,
            "return subsampled(spent, self.rate, self._way)",
            "return subsampled(spent, self.rate / 2, self._way)",
            f"{_ALTERED}[a smaller cost]",
        ),
        (
            "bound loosened",
            "δ is as before",
            _COSTS,
            "delta = {x: factor * y for x, y",
            "delta = {x: y for x, y",
            _HERE + "test_costs_of_samples_are_of_known_kinds",
        ),
        (
            "branch left out",
            "all records are released at the cost of a sample",
            _SAMPLED,
            "        if rate is None:\n",
            "        if recipe is not None:\n",
            f"{_MADE}[public n]",
        ),
        (
            "ε doubled",
            "the budget is spent twice",
            "releases/publish.py",
            "Sampled.of(sample_rate, recipe, budget)",
            "Sampled.of(sample_rate, recipe, budget.repeated(2))",
            _LOSS,
        ),
        (
            "record read by others",
            "the first batch alone",
            _SAMPLED,
            "rows = np.concatenate([*batches])",
            "rows = next(iter(batches))",
            _HERE + "test_tables_in_batches_are_sampled_as_a_whole",
        ),
        (
            "branch left out",
            "samples are taken for one table",
            "posteriors/several.py",
            "if sampled and several:",
            "if sampled and not found:",
            _HERE
            + "test_several_releases_of_a_table_have_a_posterior_only_if_all_rows_are_"
            + "in_them",
        ),
        (
            "branch left out",
            "a learned network is sampled",
            "releases/released.py",
            "            if self.learned is not None:\n                raise",
            "            if not self.statistic:\n                raise",
            _HERE + "test_a_network_that_is_learned_has_no_sample",
        ),
    )
)
