"""Faults of what is sampled: grid and family posteriors, cells, paid chains, events."""

from tests.mutants.mutant import Mutant

_GRID, _FAMILY = "tests/test_grid_posterior.py::", "tests/test_family_posterior.py::"
_CHAINS, _EVENTS = (
    "tests/test_private_chains.py::",
    "tests/test_hidden_markov_paid.py::",
)
_NOISY = "tests/test_hidden_markov_noise.py::"
_MODES = "tests/test_hidden_markov_modes.py::"
_TOLD_APART = "test_no_output_tells_neighbours_apart_by_more_than_epsilon"
_CHARGED = "test_draws_are_charged_before_they_are_made_and_made_of_what_is_charged"
_EXACT = "tests/test_exact_draws.py::"

MUTANTS = (
    Mutant(
        "sensitivity halved",
        "grid posterior: a replaced record costs as one more",
        "mechanisms/sampling_loss.py",
        "grid.log_range * (2 if replaced else 1) / temperature, ()",
        "grid.log_range / temperature, ()",
        (_GRID + "test_figure_1_of_foulds_has_temperature_2_77",),
    ),
    Mutant(
        "sensitivity halved",
        "grid posterior: of one row at a public n",
        "mechanisms/sampling_loss.py",
        "    loss = _replaced(grid, power, prior - 1, n)\n",
        "    loss = _replaced(grid, power, prior - 1, n) / 2\n",
        (_GRID + "test_of_one_binary_variable_the_loss_is_exact[1-5]",),
    ),
    Mutant(
        "ε doubled",
        "grid posterior: drawn at half the temperature",
        "mechanisms/network_posterior_sampler.py",
        "return self.prior - 1 + count / self.temperature",
        "return self.prior - 1 + 2 * count / self.temperature",
        audit=("--mechanism", "posterior-grid"),
    ),
    Mutant(
        "budget not charged",
        "grid posterior: many samples for the price of one",
        "mechanisms/network_posterior_sampler.py",
        "return one.repeated(self.samples).bound",
        "return one.bound",
        (_GRID + "test_many_samples_cost_many_times_as_much",),
    ),
    Mutant(
        "table row shifted",
        "grid posterior: each row is drawn from the first one's counts",
        "mechanisms/network_posterior_sampler.py",
        "for count in counts[row]]",
        "for count in counts[start : start + grid.levels]]",
        (_GRID + "test_rows_of_a_draw_follow_their_counts",),
    ),
    Mutant(
        "table row shifted",
        "grid posterior: logarithms of the point before",
        "noise/simplex_grid.py",
        "[p * logs[g] - tilt * g for g in",
        "[p * logs[g - 1] - tilt * g for g in",
        (_EXACT + "test_levels_of_a_row_are_parted_at_the_last_of_64_bits",),
    ),
    Mutant(
        "key reused",
        "grid posterior: all samples are one",
        "noise/simplex_grid.py",
        "return [law.draw(bits) for _ in range(draws)]",
        "return [law.draw(bits)] * draws",
        (_GRID + "test_rows_are_drawn_from_their_law[grid0-exponents0]",),
    ),
    Mutant(
        "float noise",
        "grid posterior: levels by inversion of a double",
        "noise/simplex_grid.py",
        "entry = self.grid.least + choose(bounds_at, bits)",
        "weights = np.cumsum(bounds_at(96).lower.astype(float))\n"
        "            uniform = bits(53) / 2**53 * weights[-1]\n"
        "            entry = self.grid.least + int(np.searchsorted(weights, uniform))",
        (_EXACT + "test_levels_of_a_row_are_parted_at_the_last_of_64_bits",),
    ),
    Mutant(
        "sensitivity halved",
        "family posterior: of one parameter",
        "mechanisms/parameter_grid.py",
        "added = [(ends[1] - ends[0]) * steps[:, 0]]",
        "added = [(ends[1] - ends[0]) * steps[:, 0] // 2]",
        (_FAMILY + _TOLD_APART + "[poisson-replace-one]",),
    ),
    Mutant(
        "ε doubled",
        "family posterior: drawn at half the temperature",
        "mechanisms/family_posterior_sampler.py",
        "power = 1 / self.temperature",
        "power = 2 / self.temperature",
        (_FAMILY + _TOLD_APART + "[poisson-replace-one]",),
    ),
    Mutant(
        "float noise",
        "family posterior: points by inversion of a double",
        "mechanisms/family_posterior_sampler.py",
        "drawn = softmax(scores, unit, bits, draws=self.samples)",
        "logs = np.array([float(unit * (s - max(scores))) for s in scores])\n"
        "        sums = np.cumsum(np.exp(logs))\n"
        "        uniforms = [bits(53) * sums[-1] / 2**53] * self.samples\n"
        "        drawn = np.searchsorted(sums, uniforms).tolist()",
        (_EXACT + "test_points_of_a_family_are_parted_at_the_last_of_64_bits[2]",),
    ),
    Mutant(
        "sensitivity halved",
        "cells of a posterior: a replaced record costs as one more",
        "mechanisms/cell_mass.py",
        "moved = 2 if budget.adjacency == REPLACE_ONE else 1",
        "moved = 1",
        ("tests/test_cell_mass.py::" + _TOLD_APART + "[coin 1/3 3 1-replace-one]",),
    ),
    Mutant(
        "ε doubled",
        "cells of a posterior: drawn at twice the rate",
        "mechanisms/cell_mass.py",
        "softmax(values.tolist(), self.rate,",
        "softmax(values.tolist(), 2 * self.rate,",
        ("tests/test_cell_mass.py::test_draws_have_the_law[few records]",),
    ),
    Mutant(
        "sensitivity halved",
        "truncated posterior: Theorem 4 without its 2",
        "theory/lipschitz.py",
        "factor = (2 if adjacency == REPLACE_ONE else 1) * int(samples)",
        "factor = int(samples)",
        (
            "tests/test_lipschitz.py::"
            "test_a_posterior_sample_costs_what_it_loses_on_many_records[1-replace-one]",
        ),
    ),
    Mutant(
        "sensitivity halved",
        "truncated posterior of numbers: without its 2",
        "mechanisms/family_samples.py",
        "times = 2 if self.adjacency == REPLACE_ONE else 1",
        "times = 1",
        (
            "tests/test_samples_of_numbers.py::test_the_cost_bounds_the_loss_of_any_two_records",
        ),
    ),
    Mutant(
        "key reused",
        "truncated laws: lanes that wait get the same draws twice",
        "distributions/rejection.py",
        "proposal, accepted = draw(jr.fold_in(key, step), some)",
        "proposal, accepted = draw(jr.fold_in(key, step // 2), some)",
        (
            "tests/test_keys.py::"
            "test_lanes_that_wait_are_served_with_fresh_bits_in_every_pass",
        ),
    ),
    Mutant(
        "sensitivity halved",
        "paid chains: a replaced record costs as one more",
        "chains/price.py",
        "return width * (2 if adjacency == REPLACE_ONE else 1)",
        "return width",
        (_CHAINS + "test_a_chain_costs_what_it_says[3]",),
    ),
    Mutant(
        "ε doubled",
        "paid chains: tables drawn at half the temperature",
        "chains/updates.py",
        "return prior + counts.reshape(rows, levels) / temperature",
        "return prior + 2 * counts.reshape(rows, levels) / temperature",
        (_CHAINS + "test_a_table_costs_what_it_says[1-replace-one]",),
    ),
    Mutant(
        "NaN let through",
        "paid chains: of a log-likelihood",
        "chains/price.py",
        "known = jnp.where(jnp.isnan(log_likelihood), low, log_likelihood)",
        "known = log_likelihood",
        (_CHAINS + "test_likelihoods_without_a_number_count_as_the_lowest",),
    ),
    Mutant(
        "budget not charged",
        "paid chains: one sweep instead of all",
        "chains/private_chain.py",
        "for each, draws in charges)).repeated(sweeps)",
        "for each, draws in charges)).repeated(1)",
        (_CHAINS + "test_the_ledger_refuses_to_go_on",),
    ),
    Mutant(
        "budget not charged",
        "paid chains: one update of many at random",
        "chains/updates.py",
        "return ChargedStep(_repeatedly(name, law, times), cost, times, law)",
        "return ChargedStep(_repeatedly(name, law, times), cost, 1, law)",
        (_CHAINS + "test_random_scans_draw_as_said",),
    ),
    Mutant(
        "sensitivity halved",
        "events: only the dearest field counts",
        "event_logs/charged.py",
        "return sum(map(table_width, fields, least), Fraction(0))",
        "return max(map(table_width, fields, least))",
        (_EVENTS + "test_a_draw_of_paths_costs_what_it_says[replace-one-1/2]",),
    ),
    Mutant(
        "ε doubled",
        "events: drawn at half the temperature",
        "event_logs/charged.py",
        "        counts / temperature,\n",
        "        2 * counts / temperature,\n",
        (_EVENTS + _CHARGED + "[1/2]",),
    ),
    Mutant(
        "budget not charged",
        "events: one draw a sweep instead of two",
        "event_logs/charged.py",
        "(1 if assume_converged else 2 * sweeps)",
        "(1 if assume_converged else sweeps)",
        (_EVENTS + _CHARGED + "[1/2]",),
    ),
    Mutant(
        "law changed",
        "events: no exact count is above the released one",
        "event_logs/noisy_cells.py",
        "both = jnp.logaddexp(below, above)[: most + 1]",
        "both = below[: most + 1]",
        (_NOISY + "test_the_law_of_a_noisy_count_is_the_sum_over_exact_counts[0.3]",),
    ),
    Mutant(
        "law changed",
        "events: proposals of emissions without their densities",
        "event_logs/noise_aware.py",
        "new.log - old.log + _by_field(density / 2, cells.model.fields)",
        "new.log - old.log",
        (_NOISY + "test_noisy_data_from_the_prior_give_the_prior_back",),
    ),
    Mutant(
        "law changed",
        "events: shares of two rates from a uniform prior",
        "event_logs/hidden_rates.py",
        "jnp.full((_SHARES, *law.shape), 1 / law.shape[-1], law.dtype)",
        "jnp.full((_SHARES, *law.shape), 1.0, law.dtype)",
        (_NOISY + "test_noisy_data_from_the_prior_give_the_prior_back",),
    ),
    Mutant(
        "law changed",
        "events: the share of two rates by the cells of one",
        "event_logs/hidden_rates.py",
        "(sums + sums[..., other] + noise[..., pair])",
        "(2 * sums[..., pair] + noise[..., pair])",
        (_NOISY + "test_noisy_data_from_the_prior_give_the_prior_back",),
    ),
    Mutant(
        "law changed",
        "events: modes are weighed without the constant of g",
        "event_logs/modes.py",
        ".sum(axis=(1, 2)) - constant.sum()",
        ".sum(axis=(1, 2))",
        (_MODES + "test_weights_are_posterior_probabilities[False]",),
    ),
    Mutant(
        "law changed",
        "events: each chain has the weight of its mode",
        "event_logs/posterior.py",
        "= mode.weight / len(mode.chains)",
        "= mode.weight",
        (_MODES + "test_means_and_predictions_have_the_weights_of_the_modes",),
    ),
)
