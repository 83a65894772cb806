"""Faults of what paid chains and events are charged."""

from tests.mutants.mutant import Mutant

_PRICE = "private_chains/price.py"
_CHARGING = "private_chains/charging.py"
_PAID = "hidden_markov/paid.py"
_IN_PRICES = "tests/test_prices.py::"
_IN_HIDDEN_MARKOV_PAID = "tests/test_hidden_markov_paid.py::"

MUTANTS = (
    Mutant(
        "bound loosened",
        "paid chains: a temperature rounded down",
        _PRICE,
        "temperature = float_above(max(Fraction(1), full / budget))",
        "temperature = -float_above(-max(Fraction(1), full / budget))",
        (_IN_PRICES + "test_a_price_is_epsilon_or_what_temperature_one_costs",),
    ),
    Mutant(
        "bound loosened",
        "floats: just below instead of just above",
        _PRICE,
        "np.nextafter(near, np.float32(np.inf)) if below else near",
        "near",
        (_IN_PRICES + "test_a_price_is_epsilon_or_what_temperature_one_costs",),
    ),
    Mutant(
        "bound loosened",
        "floats: of double precision, which nobody uses",
        _PRICE,
        "near = np.float32(float(exact))",
        "near = np.float64(float(exact))",
        (_IN_PRICES + "test_what_is_outside_of_the_bounds_is_clipped_inwards",),
    ),
    Mutant(
        "bound loosened",
        "floats: above instead of below",
        _PRICE,
        "return -float_above(-exact)",
        "return float_above(exact)",
        (_IN_PRICES + "test_floats_are_on_the_side_that_their_name_says",),
    ),
    Mutant(
        "sensitivity halved",
        "paid chains: the width of a table of two levels",
        _PRICE,
        "return rounded_up(logarithm_above((1 - (size - 1) * bound) / bound))",
        "return rounded_up(logarithm_above((1 - (size - 1) * bound) / bound / size))",
        (_IN_PRICES + "test_the_width_of_a_table_is_the_logarithm_of_its_odds[2]",),
    ),
    Mutant(
        "branch left out",
        "paid chains: a least probability that leaves none",
        _PRICE,
        "if bound * size >= 1 or bound < LEAST:",
        "if bound >= 1 or bound < LEAST:",
        (_IN_PRICES + "test_the_width_of_a_table_is_the_logarithm_of_its_odds[2]",),
    ),
    Mutant(
        "sensitivity halved",
        "paid chains: a width of the upper bound alone",
        _PRICE,
        "return self.high - self.low",
        "return abs(self.high)",
        (_IN_PRICES + "test_what_is_outside_of_the_bounds_is_clipped_inwards",),
    ),
    Mutant(
        "law changed",
        "paid chains: a record is given all latents",
        _PRICE,
        "return jax.vmap(function, (None, 0, 0))(state, records, own)",
        "return jax.vmap(function, (None, 0, None))(state, records, own)",
        (_IN_PRICES + "test_a_record_is_given_its_own_latents_and_no_other",),
    ),
    Mutant(
        "branch left out",
        "paid chains: likelihoods of more numbers",
        _PRICE,
        "    if jnp.shape(array) != shape:\n",
        "    if jnp.ndim(array) != len(shape):\n",
        (_IN_PRICES + "test_a_likelihood_of_more_numbers_is_refused",),
    ),
    Mutant(
        "branch left out",
        "paid chains: bounds in any order",
        _PRICE,
        "        if low < high:\n",
        "        if low != high:\n",
        (_IN_PRICES + "test_bounds_that_are_none_are_refused[bounds0]",),
    ),
    Mutant(
        "branch left out",
        "paid chains: bounds that are none",
        _PRICE,
        "        pass\n    raise ValueError(",
        "        return Fraction(-1), Fraction(0)\n    raise ValueError(",
        (_IN_PRICES + "test_bounds_that_are_none_are_refused[bounds2]",),
    ),
    Mutant(
        "budget not charged",
        "paid chains: charged in compiled code",
        _CHARGING,
        "    refuse_traced(arguments)\n",
        "",
        (_IN_PRICES + "test_a_charge_is_made_once_and_not_in_compiled_code",),
    ),
    Mutant(
        "budget not charged",
        "paid chains: only the first argument is looked at",
        _CHARGING,
        "for leaf in jax.tree.leaves(trees):",
        "for leaf in jax.tree.leaves(trees)[:1]:",
        (_IN_PRICES + "test_a_charge_is_made_once_and_not_in_compiled_code",),
    ),
    Mutant(
        "budget not charged",
        "paid chains: nothing is looked at after a number",
        _CHARGING,
        "            continue\n",
        "            return\n",
        (_IN_PRICES + "test_a_charge_is_made_once_and_not_in_compiled_code",),
    ),
    Mutant(
        "budget not charged",
        "paid chains: keys are not looked at",
        _CHARGING,
        "            leaf = jr.key_data(leaf)\n",
        "            continue\n",
        (_IN_PRICES + "test_a_charge_is_made_once_and_not_in_compiled_code",),
    ),
    Mutant(
        "budget not charged",
        "events: one update of many",
        _PAID,
        "return repeated(self.update, self.updates)",
        "return repeated(self.update, 1)",
        (_IN_PRICES + "test_paid_events_cost_all_of_their_updates",),
    ),
    Mutant(
        "budget not charged",
        "events: half of the updates, with a δ",
        _PAID,
        "return advanced(self.update, self.updates, delta)",
        "return advanced(self.update, self.updates // 2, delta)",
        (_IN_PRICES + "test_paid_events_cost_all_of_their_updates",),
    ),
    Mutant(
        "budget not charged",
        "events: the ledger is not charged",
        _PAID,
        "    if ledger is not None:\n        purpose",
        "    if ledger is None:\n        purpose",
        (
            _IN_HIDDEN_MARKOV_PAID
            + "test_draws_are_charged_before_they_are_made_and_made_of_what_is_charged",
        ),
    ),
    Mutant(
        "budget not charged",
        "events: burn-in without a claim is that of one draw",
        _PAID,
        "burn_in = sweeps - 1 if assume_converged else check_run(chains, "
        "sweeps, burn_in)",
        "burn_in = check_run(chains, sweeps, burn_in)",
        (_IN_HIDDEN_MARKOV_PAID + "test_a_claim_that_nobody_can_verify_is_labelled",),
    ),
    Mutant(
        "budget not charged",
        "events: every draw is shown for the price of the last",
        _PAID,
        "claim = CLAIM if assume_converged else None",
        "claim = None",
        (_IN_HIDDEN_MARKOV_PAID + "test_a_claim_that_nobody_can_verify_is_labelled",),
    ),
    Mutant(
        "branch left out",
        "events: a truncation without a limit",
        _PAID,
        "    if truncation > _MOST_TRUNCATION:\n",
        "    if truncation > _MOST_TRUNCATION**9:\n",
        (_IN_PRICES + "test_an_event_is_as_wide_as_all_of_its_fields",),
    ),
)
