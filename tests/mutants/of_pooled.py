"""Faults of posteriors from several releases."""

__all__ = ["MUTANTS"]

from tests.mutants.mutant import Mutant

_SEVERAL = "posteriors/several.py"
_FIT = "posteriors/estimate/fit.py"
_CLIPPED = "posteriors/exact/clipped.py"
_NOISY = "posteriors/exact/noisy_sums.py"
_SUMS = "tests/test_clipped.py::"
_HIDDEN = "posteriors/hidden_totals/hidden_total.py"
_CURVATURE = "posteriors/estimate/curvature.py"
_ROWS = "posteriors/estimate/row_prior.py"
_LIKELIHOOD = "posteriors/exact/star_likelihood.py"
_DENSITIES = "tests/test_star_likelihood.py::test_"
_MARGINAL = (
    _DENSITIES + "the_density_of_a_private_number_of_records_is_that_of_the_marginal"
)
_STARS = _DENSITIES + "densities_of_stars_are_sums_over_hidden_counts"
_IN = "tests/test_pooled.py::"
_DRAWN = (
    "tests/test_point_estimate.py::"
    "test_drawn_rows_have_the_beta_distributions_that_are_stated"
)
_DIRICHLET = (
    "tests/test_point_estimate.py::"
    "test_rows_are_dirichlet_distributed_where_nothing_but_the_prior_is_known"
)
_NUMBER = (
    _IN + "test_a_private_number_of_records_is_the_least_squares_one_of_all_releases"
)
_ONE = _IN + "test_without_noise_records_count_once_in_one_table"
_FAMILIES = "tests/test_several_families.py::"
_COIN = _FAMILIES + "test_a_coin_in_several_tables_is_the_sum_over_all_hidden_counts"
_APART = _IN + "test_without_noise_disjoint_tables_are_all_their_records"
_COSTS = _IN + "test_costs_add_up_in_one_table_and_the_largest_counts_of_several"
_LOG_LINEAR = (
    "tests/test_row_prior.py::test_the_density_and_its_slope_are_those_of_the_definition",
)
MUTANTS = (
    Mutant(
        "bound loosened",
        "hidden totals: those below what records can have",
        _HIDDEN,
        "possible = jnp.all((least <= scaled) & (scaled <= most))",
        "possible = jnp.all(scaled <= most)",
        (
            "tests/test_noise_aware_families.py::"
            "test_totals_that_no_records_have_are_not_drawn",
        ),
    ),
    Mutant(
        "law changed",
        "densities: a sum over records has no measure",
        _LIKELIHOOD,
        "return logsumexp(lax.map(at, roots) + slopes)",
        "return logsumexp(lax.map(at, roots))",
        (_MARGINAL,),
    ),
    Mutant(
        "law changed",
        "densities: totals of leaves have Poisson weights",
        _LIKELIHOOD,
        "log_valid(logs[-1], met, length) - poisson(totals, guess[None])",
        "log_valid(logs[-1], met, length)",
        (_STARS,),
    ),
    Mutant(
        "bound loosened",
        "pooled: releases of one table cost the largest",
        _SEVERAL,
        "basic(*(x.guarantee_of_row() for x in found))",
        "max((x.mechanism.guarantee() for x in found), key=lambda x: x.bound)",
        (_COSTS,),
    ),
    Mutant(
        "bound loosened",
        "pooled: several tables cost as the first",
        _SEVERAL,
        "if len(costs) == 1:",
        "if len(costs) >= 1:",
        (_COSTS,),
    ),
    Mutant(
        "bound loosened",
        "pooled: a person's rows are forgotten",
        _SEVERAL,
        "return parallel(costs, parts, adjacency).of_group(rows)",
        "return parallel(costs, parts, adjacency)",
        (_COSTS,),
    ),
    Mutant(
        "law changed",
        "pooled: one table's releases count as disjoint",
        _SEVERAL,
        "entries if disjoint else [together]",
        "entries",
        (_ONE,),
    ),
    Mutant(
        "law changed",
        "pooled: disjoint tables count as one in the fit",
        _FIT,
        "apart = jnp.asarray(problem.in_table, vector.dtype) * vector[None]",
        "apart = jnp.ones_like(problem.in_table, vector.dtype) * vector[None]",
        (_APART,),
    ),
    Mutant(
        "law changed",
        "pooled: disjoint tables count as one in deviations",
        _CURVATURE,
        "sums = matmul(in_table.T, sizes)",
        "sums = jnp.ones_like(matmul(in_table.T, sizes)) * n.sum()",
        (_APART,),
    ),
    Mutant(
        "law changed",
        "estimates: shares of rows have twice the weight",
        _CURVATURE,
        "weight = 1 / (mean * left * jnp.diagonal(spread))",
        "weight = 2 / (mean * left * jnp.diagonal(spread))",
        (_DRAWN,),
    ),
    Mutant(
        "law changed",
        "estimates: drawn rows are independent",
        _CURVATURE,
        "scores = matmul(root, jr.normal(key, one.shape, one.dtype))",
        "scores = jr.normal(key, one.shape, one.dtype)",
        (_DRAWN,),
    ),
    Mutant(
        "law changed",
        "estimates: a share of the whole row, not of what is left",
        _CURVATURE,
        "matmul(own.T, logs[0]) + matmul(following.T, logs[1])",
        "matmul(own.T, logs[0]) + matmul(following.T, logs[1]) / 2",
        (_DIRICHLET,),
    ),
    Mutant(
        "law changed",
        "estimates: the density lacks the derivative of shares",
        _CURVATURE,
        "(density - betaln(one, other) - jnp.log(first + rest)).sum()",
        "(density - betaln(one, other)).sum()",
        (_DIRICHLET,),
    ),
    Mutant(
        "law changed",
        "pooled: a private number is that of the first release",
        "posteriors/estimate/pooled.py",
        "jnp.sum(weights * jnp.stack(estimates))",
        "estimates[0] + 0 * jnp.sum(weights)",
        (_NUMBER,),
    ),
    Mutant(
        "law changed",
        "pooled: a private number is the unweighted mean",
        "posteriors/estimate/pooled.py",
        "precisions.append(1 / jnp.sum((along * scale) ** 2))",
        "precisions.append(1 / jnp.sum((along * scale) ** 0))",
        (_NUMBER,),
    ),
    Mutant(
        "branch left out",
        "pooled: numbers of records may differ in one table",
        _SEVERAL,
        "if one.n != found[0].n:",
        "if False:",
        (_IN + "test_releases_that_do_not_fit_are_refused",),
    ),
    Mutant(
        "law changed",
        "pooled families: tables do not share their parameters",
        _HIDDEN,
        "return density + jax.vmap(gain)(totals, n).sum() - gain(*sums)",
        "return density",
        (_COIN,),
    ),
    Mutant(
        "law changed",
        "pooled families: the first release of a table alone counts",
        _HIDDEN,
        "            for one in found:\n",
        "            for one in found[:1]:\n",
        (_COIN,),
    ),
    Mutant(
        "law changed",
        "pooled families: a chain of one table's records",
        "posteriors/hidden_totals/total_walk.py",
        "totals, n = totals.sum(axis=-2), n.sum(axis=-1)",
        "totals, n = totals[..., 0, :], n[..., 0]",
        (_COIN,),
    ),
    Mutant(
        "law changed",
        "point estimate: sd by linearisation",
        _CURVATURE,
        "return jnp.sqrt(self.theta * (1 - self.theta) / (1 + self.weight()))",
        "return jnp.sqrt(self.theta * (1 - self.theta) / self.weight())",
        (
            "tests/test_point_estimate.py::"
            "test_sd_and_quantiles_are_those_of_beta_distributions",
        ),
    ),
    Mutant(
        "law changed",
        "point estimate: quantiles of the other levels",
        _CURVATURE,
        "return _quantiles(weight * self.theta, weight * (1 - self.theta), q)",
        "return _quantiles(weight * (1 - self.theta), weight * self.theta, q)",
        (
            "tests/test_point_estimate.py::"
            "test_sd_and_quantiles_are_those_of_beta_distributions",
        ),
    ),
    Mutant(
        "law changed",
        "row prior: a row's concentration counts in each cell",
        _ROWS,
        "gammaln(layout.row_sums(alpha)) / width",
        "gammaln(layout.row_sums(alpha))",
        _LOG_LINEAR,
    ),
    Mutant(
        "law changed",
        "row prior: variables without parents are learned too",
        _ROWS,
        "len(family) > 1 for family",
        "len(family) > 0 for family",
        _LOG_LINEAR,
    ),
    Mutant(
        "law changed",
        "row prior: effects are known after the fit",
        _ROWS,
        "within + share.var(axis=0)",
        "within",
        (
            "tests/test_row_prior.py::test_matched_parameters_have_the_moments_of_all_draws",
        ),
    ),
    Mutant(
        "law changed",
        "row prior: effects have a wide law",
        _ROWS,
        "(effects / _EFFECT) ** 2",
        "(effects * _EFFECT) ** 2",
        _LOG_LINEAR,
    ),
    Mutant(
        "law changed",
        "pooled: a copy of a release is another one",
        _SEVERAL,
        "len({*map(_content, together)})",
        "len({*map(id, together)})",
        (_IN + "test_a_copy_of_a_release_is_refused",),
    ),
    Mutant(
        "law changed",
        "pooled: an earlier release from a file counts again",
        _SEVERAL,
        "return content if content in earlier else id(one)",
        "return id(one)",
        (
            "tests/test_learn.py::"
            "test_a_release_that_others_were_learned_from_counts_once",
        ),
    ),
    Mutant(
        "law changed",
        "clipped sums: units that differ count as the first's",
        _CLIPPED,
        "check_clipped(one)[0] != together[0].statistic",
        "check_clipped(one)[0] is None",
        (_SUMS + "test_several_releases_infer_the_parameter_before_clipping",),
    ),
    Mutant(
        "law changed",
        "clipped sums: the first table alone",
        _CLIPPED,
        "for noisy in sums:",
        "for noisy in sums[:1]:",
        (_SUMS + "test_several_releases_infer_the_parameter_before_clipping",),
    ),
    Mutant(
        "law changed",
        "clipped sums: slopes between places",
        _NOISY,
        "rate = slopes[i + 1] - 1j * t",
        "rate = slopes[i] - 1j * t",
        (_SUMS + "test_the_likelihood_of_several_releases_is_the_enumerated_one",),
    ),
    Mutant(
        "law changed",
        "clipped sums: normal noise of both numbers agrees",
        _NOISY,
        "factor = -(weights @ (wanted - center) ** 2) / 2",
        "factor = 0.0",
        (_SUMS + "test_the_likelihood_of_several_releases_is_the_enumerated_one",),
    ),
    Mutant(
        "law changed",
        "modes: sets of states of equal size are one",
        "event_logs/chains_by_mode.py",
        "_agreements(posterior)\n    low",
        "0 * _agreements(posterior)\n    low",
        (
            "tests/test_hidden_markov_modes.py::"
            "test_sets_of_states_that_differ_in_cells_alone_are_modes",
        ),
    ),
    Mutant(
        "law changed",
        "truncated rows: absent entries are replaced",
        "distributions/truncated_dirichlet.py",
        "jnp.where(present, log_top - grids.log_mass, -jnp.inf)",
        "log_top - grids.log_mass",
        (
            "tests/test_truncated.py::test_vectors_of_several_lengths_have_the_law_of_each",
        ),
    ),
    Mutant(
        "branch left out",
        "numeric leaves: parts of one name",
        "statistics/mixed_totals.py",
        "if name in found:",
        "if not name:",
        (
            "tests/test_mixed_totals.py::test_parts_of_one_name_are_refused_before_the_cost",
        ),
    ),
    Mutant(
        "law changed",
        "plan: learners of one program have the numbers of the first",
        "study/simulated.py",
        "for y in zip(firsts, given, strict=True)",
        "for y in zip(firsts, [given[i] for i in firsts], strict=True)",
        ("tests/test_plan.py::test_learners_that_differ_in_numbers_share_a_program",),
    ),
)
