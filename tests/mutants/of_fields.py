"""Faults of posteriors from marginal tables without a network."""

__all__ = ["MUTANTS"]

from tests.mutants.mutant import Mutant

_FIT = "posteriors/random_fields/fit.py"
_FIELD = "posteriors/random_fields/field.py"
_SYNTHETIC = "study/synthetic.py"
_IN = "tests/test_random_fields.py::"
_DIRICHLET = (
    _IN + "test_with_all_interactions_and_no_noise_it_is_a_dirichlet_distribution",
)
_NOISE = (
    "tests/test_point_estimate.py::"
    "test_noise_leaves_its_variance_if_nothing_else_is_known",
)
_RUBIN = (_IN + "test_rubins_rules_are_those_of_the_paper",)
_INTEGRAL = (_IN + "test_densities_are_integrals_over_a_private_number",)
_NUMBER = (_IN + "test_a_private_number_has_the_law_of_its_estimate",)
MUTANTS = (
    Mutant(
        "law changed",
        "fields: a private number is one of its unweighted estimates",
        "posteriors/random_fields/observed.py",
        "deviations = jnp.sqrt(noise)",
        "deviations = jnp.sqrt(noise) * jnp.arange(1, 1 + len(noise))",
        _NUMBER,
    ),
    Mutant(
        "law changed",
        "fields: a private number is taken as its estimate",
        "posteriors/random_fields/posterior.py",
        "off = -sd * ndtri(share * ndtr(n / sd))",
        "off = -0.5 * sd * ndtri(share * ndtr(n / sd))",
        _NUMBER,
    ),
    Mutant(
        "law changed",
        "fields: densities take a private number as its estimate",
        _FIT,
        "moves = moves * fit.along[None]",
        "moves = 0 * moves * fit.along[None]",
        _INTEGRAL,
    ),
    Mutant(
        "law changed",
        "fields: parameters do not move with a private number",
        "posteriors/random_fields/posterior.py",
        "eta, n = eta + fit.along * off, n + off",
        "eta, n = eta, n + off",
        (_IN + "test_parameters_move_with_a_private_number",),
    ),
    Mutant(
        "law changed",
        "fields: exact numbers do not vary",
        _FIT,
        "spread = matmul(moved, observe.T)",
        "spread = 0.01 * matmul(moved, observe.T)",
        _DIRICHLET,
    ),
    Mutant(
        "law changed",
        "fields: the prior has twice its records",
        _FIT,
        "return matmul(eta, self.problem.prior) - self.problem.strength * total - weak",
        "return matmul(eta, self.problem.prior) - 2 * self.problem.strength * total",
        _DIRICHLET,
    ),
    Mutant(
        "law changed",
        "fields: the prior is left out of the mode",
        _FIT,
        "slope = self.problem.prior - self.problem.strength * mean",
        "slope = 0 * self.problem.strength * mean",
        (_IN + "test_without_noise_the_estimate_has_the_tables_of_the_records",),
    ),
    Mutant(
        "law changed",
        "fields: chains know no prior but that of records",
        _FIT,
        "weak = matmul(precisions, eta**2) / 2",
        "weak = 0 * matmul(precisions, eta**2) / 2",
        (_IN + "test_without_information_parameters_have_the_variances_of_the_prior",),
    ),
    Mutant(
        "law changed",
        "fields: the precision of interactions is not learned",
        _FIT,
        "prior=jnp.where(state.rounds == 0, state.prior, learned),",
        "prior=state.prior,",
        (_IN + "test_without_information_parameters_have_the_variances_of_the_prior",),
    ),
    Mutant(
        "law changed",
        "fields: interactions of all orders have one precision",
        _FIT,
        "alike = np.flatnonzero(self.field.orders == order)",
        "alike = np.flatnonzero(self.field.orders > 1)",
        (_IN + "test_the_precision_of_interactions_is_that_of_the_ones_without_noise",),
    ),
    Mutant(
        "law changed",
        "fields: learned precisions take estimates for exact",
        _FIT,
        "known = jnp.maximum(1 - prior[alike] * variances[alike], 0).sum()",
        "known = jnp.ones_like(variances[alike]).sum()",
        (_IN + "test_without_information_parameters_have_the_variances_of_the_prior",),
    ),
    Mutant(
        "law changed",
        "fields: noise that is rounded away beside the counts",
        _FIT,
        "    noise = jnp.maximum(noise, least)",
        "    noise = jnp.maximum(noise, 0 * least)",
        (_IN + "test_noise_below_the_rounding_of_counts_is_no_noise",),
    ),
    Mutant(
        "law changed",
        "fields: the covariance of features is not centred",
        _FIELD,
        "centred = possible - matmul(possible, law)[:, None]",
        "centred = possible",
        (_IN + "test_sums_over_all_records_are_those_of_a_junction_tree",),
    ),
    Mutant(
        "law changed",
        "normal noise has the variance b² for Laplace noise",
        "posteriors/estimate/number_law.py",
        "return scale**2 * (1 + 2 * rising) / (1 + rising)",
        "return scale**2 * (1 + rising) / (1 + rising)",
        _NOISE,
    ),
    Mutant(
        "law changed",
        "normal noise is that of a number without others",
        "posteriors/estimate/normal_update.py",
        "return noise / share - noise",
        "return noise / share * 1e6",
        _NOISE,
    ),
    Mutant(
        "law changed",
        "Rubin's rules: tables are too few by one",
        _SYNTHETIC,
        "(1 + 1 / m) * q.var",
        "(1 - 1 / m) * q.var",
        _RUBIN,
    ),
    Mutant(
        "law changed",
        "Rubin's rules: the variance in a table is added",
        _SYNTHETIC,
        "across - within, across > within",
        "across + within, across > within",
        _RUBIN,
    ),
    Mutant(
        "key reused",
        "synthetic tables are all the same",
        "cli/synthesize.py",
        "[jr.fold_in(key, i) for i in range(options.copies)]",
        "[jr.fold_in(key, 0) for i in range(options.copies)]",
        (_IN + "test_the_command_line_predicts_queries_and_synthesizes",),
    ),
)
