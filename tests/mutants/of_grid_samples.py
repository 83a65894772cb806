"""Faults of samples of tables on a grid: their price, exponents and bits."""

from tests.mutants.mutant import Mutant

_GRID_POSTERIOR = "mechanisms/network_posterior_sampler.py"
_IN_SAMPLING_LAWS = "tests/test_sampling_laws.py::"
_IN_SAMPLING_COSTS = "tests/test_sampling_costs.py::"
_IN_GRID_POSTERIOR = "tests/test_grid_posterior.py::"
_IN_EXACT_CHOICE = "tests/test_exact_choice.py::"

MUTANTS = (
    Mutant(
        "branch left out",
        "samplers: a mechanism that costs more than it says",
        "mechanisms/base.py",
        'if self.loss > per_row(self.cost, "budget").bound:',
        'if self.loss > 2 * per_row(self.cost, "budget").bound:',
        (
            _IN_SAMPLING_LAWS
            + "test_a_mechanism_is_not_made_for_a_little_less_than_it_costs",
        ),
    ),
    Mutant(
        "budget not charged",
        "grid posterior: many samples, each with the whole budget",
        _GRID_POSTERIOR,
        "each = budget.share(Fraction(1, samples))",
        "each = budget",
        (_IN_SAMPLING_COSTS + "test_many_samples_share_the_budget[replace-one]",),
    ),
    Mutant(
        "ε doubled",
        "grid posterior: ω chosen for twice the budget",
        _GRID_POSTERIOR,
        "choose_share(layout, units, each, n,",
        "choose_share(layout, units, each.repeated(2), n,",
        (
            _IN_GRID_POSTERIOR
            + "test_of_truncation_and_temperature_either_gives_the_other",
        ),
    ),
    Mutant(
        "bound loosened",
        "grid posterior: half of the ω asked for",
        _GRID_POSTERIOR,
        "sampling_loss.grids_of_omega(layout, least, units)",
        "sampling_loss.grids_of_omega(layout, least / 2, units)",
        (_IN_GRID_POSTERIOR + "test_figure_1_of_foulds_has_temperature_2_77",),
    ),
    Mutant(
        "wrong adjacency",
        "grid posterior: the guess of a private n is taken for it",
        _GRID_POSTERIOR,
        "public = budget.adjacency == REPLACE_ONE and not tempered_prior\n"
        "        n = n if public else None\n",
        "n = n\n",
        (_IN_SAMPLING_COSTS + "test_a_private_number_of_records_moves_no_cost",),
    ),
    Mutant(
        "ε doubled",
        "grid posterior: the temperature of twice the budget",
        _GRID_POSTERIOR,
        "sampling_loss.lowest_temperature(each, cost, n)",
        "sampling_loss.lowest_temperature(each.repeated(2), cost, n)",
        (
            _IN_GRID_POSTERIOR
            + "test_no_output_tells_neighbours_apart_by_more_than_epsilon",
        ),
    ),
    Mutant(
        "budget not charged",
        "grid posterior: the cost of a given temperature",
        _GRID_POSTERIOR,
        "derived = given is None and (tempered_prior or lowest > 1)",
        "derived = tempered_prior or lowest > 1",
        (_IN_SAMPLING_COSTS + "test_many_samples_share_the_budget[replace-one]",),
    ),
    Mutant(
        "law changed",
        "grid posterior: not the temperature that was derived",
        _GRID_POSTERIOR,
        "used = lowest if derived else given or Fraction(1)",
        "used = given or Fraction(1)",
        (
            _IN_GRID_POSTERIOR
            + "test_no_output_tells_neighbours_apart_by_more_than_epsilon",
        ),
    ),
    Mutant(
        "budget not charged",
        "grid posterior: one sample of many, at a given T",
        _GRID_POSTERIOR,
        "spent_at(budget, cost(used, n=n).repeated(samples))",
        "spent_at(budget, cost(used, n=n))",
        (_IN_SAMPLING_COSTS + "test_many_samples_share_the_budget[replace-one]",),
    ),
    Mutant(
        "budget not charged",
        "grid posterior: a file's number of samples is one",
        _GRID_POSTERIOR,
        '            described["samples"],\n            tempered_prior,',
        "            1,\n            tempered_prior,",
        (
            _IN_SAMPLING_LAWS
            + "test_a_mechanism_is_not_made_for_a_little_less_than_it_costs",
        ),
    ),
    Mutant(
        "wrong adjacency",
        "grid posterior: a file's map at a public n",
        _GRID_POSTERIOR,
        "None if tempered_prior else n,\n            cost,",
        "n,\n            cost,",
        (
            _IN_SAMPLING_LAWS
            + "test_a_mechanism_is_not_made_for_a_little_less_than_it_costs",
        ),
    ),
    Mutant(
        "weak randomness",
        "samplers: bits of a generator of numbers",
        "mechanisms/base.py",
        "self.draw_with(system_bits, exact)",
        "self.draw_with(\n"
        '            __import__("random").Random(0).getrandbits, exact\n'
        "        )",
        (_IN_EXACT_CHOICE + "test_a_draw_is_a_function_of_the_systems_bits_alone",),
    ),
    Mutant(
        "key reused",
        "grid posterior: all rows are the last one's",
        _GRID_POSTERIOR,
        "            drawn[:, row] = grid.draw(exponents, bits, self.samples)\n",
        "            drawn[:, row] = grid.draw(exponents, lambda k: "
        "bits(k) & 0, self.samples)\n",
        (_IN_SAMPLING_LAWS + "test_every_row_of_every_sample_has_bits_of_its_own",),
    ),
    Mutant(
        "table row shifted",
        "grid posterior: a grid of another variable",
        _GRID_POSTERIOR,
        "in zip(self.grids, ends, strict=True):",
        "in zip(self.grids[::-1], ends, strict=True):",
        (_IN_SAMPLING_LAWS + "test_exponents_are_those_of_the_tempered_posterior",),
    ),
    Mutant(
        "ε doubled",
        "map: drawn at half the temperature",
        _GRID_POSTERIOR,
        "return (self.prior - 1 + count) / self.temperature",
        "return (self.prior - 1 + 2 * count) / self.temperature",
        (_IN_SAMPLING_LAWS + "test_exponents_are_those_of_the_tempered_posterior",),
    ),
    Mutant(
        "branch left out",
        "grid posterior: counts of another number of records",
        _GRID_POSTERIOR,
        "if self.n is not None and most != self.n:",
        "if self.n is not None and most > 2 * self.n:",
        (_IN_SAMPLING_LAWS + "test_counts_of_another_number_of_records_are_refused",),
    ),
    Mutant(
        "branch left out",
        "grid posterior: counts below zero",
        _GRID_POSTERIOR,
        "if len(counts) != length or min(counts) < 0:",
        "if len(counts) != length:",
        (_IN_SAMPLING_LAWS + "test_counts_of_another_number_of_records_are_refused",),
    ),
    Mutant(
        "branch left out",
        "grid posterior: counts of any number of records",
        _GRID_POSTERIOR,
        "most = sum(counts[: self.layout.offsets[1]])",
        "most = self.n",
        (_IN_SAMPLING_LAWS + "test_counts_of_another_number_of_records_are_refused",),
    ),
    Mutant(
        "branch left out",
        "grid posterior: counts are not looked at",
        _GRID_POSTERIOR,
        "counts, offsets = self._checked(exact), self.layout.offsets",
        "counts, offsets = [int(x) for x in exact], self.layout.offsets",
        (_IN_SAMPLING_LAWS + "test_counts_of_another_number_of_records_are_refused",),
    ),
)
