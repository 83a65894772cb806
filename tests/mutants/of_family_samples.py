"""Faults of samples of an exponential family: their price, scores and bits."""

from tests.mutants.mutant import Mutant

_FAMILY_POSTERIOR = "mechanisms/family_posterior_sampler.py"
_FAMILY_LOSS = "mechanisms/parameter_grid.py"
_IN_FAMILY_POSTERIOR = "tests/test_family_posterior.py::"
_IN_SAMPLING_LAWS = "tests/test_sampling_laws.py::"
_IN_SAMPLING_COSTS = "tests/test_sampling_costs.py::"

MUTANTS = (
    Mutant(
        "branch left out",
        "family posterior: a prior that is none",
        _FAMILY_POSTERIOR,
        "        refuse_prior(self.prior, self.grid.family)\n",
        "        pass\n",
        (_IN_SAMPLING_LAWS + "test_a_file_of_a_family_keeps_its_prior[prior0]",),
    ),
    Mutant(
        "bound loosened",
        "family posterior: the rounding of tables is not charged",
        _FAMILY_LOSS,
        "max(_MARGIN, tabled)",
        "_MARGIN",
        (_IN_SAMPLING_COSTS + "test_rounded_tables_cost_what_is_charged",),
    ),
    Mutant(
        "budget not charged",
        "family posterior: many samples, each with the whole budget",
        _FAMILY_POSTERIOR,
        "each = budget.share(Fraction(1, int(samples)))",
        "each = budget",
        (_IN_SAMPLING_COSTS + "test_many_samples_of_a_family_share_the_budget",),
    ),
    Mutant(
        "budget not charged",
        "family posterior: a given temperature costs nothing",
        _FAMILY_POSTERIOR,
        "spent_at(budget, cost(used, n=n).repeated(samples))",
        "spent_at(budget, cost(used, n=n).nothing())",
        (_IN_SAMPLING_COSTS + "test_many_samples_of_a_family_share_the_budget",),
    ),
    Mutant(
        "budget not charged",
        "family posterior: the cost of a given temperature",
        _FAMILY_POSTERIOR,
        "derived = given is None and (tempered_prior or least >= 1)",
        "derived = tempered_prior or least >= 1",
        (_IN_SAMPLING_COSTS + "test_many_samples_of_a_family_share_the_budget",),
    ),
    Mutant(
        "ε doubled",
        "family posterior: a truncation for twice the budget",
        _FAMILY_POSTERIOR,
        "widest_grid(family, grid_within, width * given,",
        "widest_grid(family, grid_within, 2 * width * given,",
        (_IN_SAMPLING_COSTS + "test_the_widest_truncation_that_a_temperature_allows",),
    ),
    Mutant(
        "ε doubled",
        "family posterior: the temperature of twice the budget",
        _FAMILY_POSTERIOR,
        "lowest_temperature(each, cost, n)",
        "lowest_temperature(each.repeated(2), cost, n)",
        (_IN_SAMPLING_COSTS + "test_many_samples_of_a_family_share_the_budget",),
    ),
    Mutant(
        "ε doubled",
        "family posterior: not the temperature that was derived",
        _FAMILY_POSTERIOR,
        "used = least if derived else given or Fraction(1)",
        "used = given or Fraction(1)",
        (_IN_SAMPLING_COSTS + "test_many_samples_of_a_family_share_the_budget",),
    ),
    Mutant(
        "budget not charged",
        "family posterior: many samples for the price of one",
        _FAMILY_POSTERIOR,
        "return one.repeated(self.samples).bound",
        "return one.bound",
        (_IN_SAMPLING_COSTS + "test_many_samples_of_a_family_share_the_budget",),
    ),
    Mutant(
        "wrong adjacency",
        "family posterior: a private n is taken as it is scaled",
        _FAMILY_POSTERIOR,
        "            n //= units\n",
        "            n //= 1\n",
        (
            _IN_SAMPLING_LAWS
            + "test_scores_are_the_tempered_likelihood_and_the_whole_prior",
        ),
    ),
    Mutant(
        "branch left out",
        "family posterior: sums of more records than n",
        _FAMILY_POSTERIOR,
        "if n is None or any(abs(total) > n * units for total in totals):",
        "if n is None:",
        (
            _IN_SAMPLING_LAWS
            + "test_scores_are_the_tempered_likelihood_and_the_whole_prior",
        ),
    ),
    Mutant(
        "budget not charged",
        "family posterior: a file's number of samples is one",
        _FAMILY_POSTERIOR,
        'prior, described["samples"], n, cost',
        "prior, 1, n, cost",
        (
            _IN_SAMPLING_LAWS
            + "test_a_mechanism_is_not_made_for_a_little_less_than_it_costs",
        ),
    ),
    Mutant(
        "branch left out",
        "family posterior: a file's prior",
        _FAMILY_POSTERIOR,
        "prior = tuple(map(float, prior[0])), float(prior[1])",
        "prior = None",
        (_IN_SAMPLING_LAWS + "test_a_file_of_a_family_keeps_its_prior[prior0]",),
    ),
    Mutant(
        "sensitivity halved",
        "tables: rows with parents cost what one row does",
        "mechanisms/sampling_loss.py",
        "(SimplexGrid(levels, units, max(1, int(share * units / levels))), rows > 1)",
        "(SimplexGrid(levels, units, max(1, int(share * units / levels))), False)",
        (_IN_SAMPLING_COSTS + "test_a_truncation_for_a_temperature_costs_what_it_may",),
    ),
    Mutant(
        "ε doubled",
        "families: half of the limit where n is private",
        _FAMILY_LOSS,
        "return budget.of_choice(limit)",
        "return budget.of_choice(limit / 2)",
        (_IN_FAMILY_POSTERIOR + "test_of_many_records_the_limit_is_needed",),
    ),
    Mutant(
        "branch left out",
        "families: the loss at one of two ends",
        _FAMILY_LOSS,
        "((self.lowest, move), (self.units, -move)):",
        "((self.lowest, move),):",
        (
            _IN_SAMPLING_COSTS
            + "test_at_a_public_n_a_family_costs_what_the_worst_neighbours_lose",
        ),
    ),
    Mutant(
        "wrong adjacency",
        "families: the cost at a private n",
        _FAMILY_POSTERIOR,
        "n = n if budget.adjacency == REPLACE_ONE else None",
        "n = n",
        (_IN_FAMILY_POSTERIOR + "test_a_private_number_of_records_moves_no_cost",),
    ),
    Mutant(
        "law changed",
        "families: records that are missing count twice",
        _FAMILY_POSTERIOR,
        "n = vector[carrier] + vector[-1] if",
        "n = vector[carrier] + 2 * vector[-1] if",
        (
            _IN_FAMILY_POSTERIOR
            + "test_a_release_of_samples_finds_the_parameters[add-remove]",
        ),
    ),
)
