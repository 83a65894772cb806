"""Faults of networks with numeric leaves."""

__all__ = ["MUTANTS"]

from tests.mutants.mutant import Mutant

_TOTALS, _LEAVES = "statistics/mixed_totals.py", "posteriors/mixed/leaves.py"
_POSTERIOR, _PARTS = "posteriors/mixed/posterior.py", "posteriors/mixed/parts.py"
_IN, _AFTER = "tests/test_mixed_totals.py::", "tests/test_mixed_posterior.py::"
_LARGEST = (_IN + "test_the_sensitivity_is_the_largest_change_of_any_record",)
_LOSS = (_IN + "test_the_loss_is_the_budget_by_enumeration",)
_ROW = (_AFTER + "test_a_row_without_noise_awareness_is_that_of_its_three_numbers",)
_CLASS = (_AFTER + "test_a_class_is_predicted_from_levels_and_numbers_some_unknown",)
_RECORDS, _FEW = "posteriors/mixed/few_records.py", "tests/test_few_records.py::"
_WEIGHTS = (
    _FEW + "test_probabilities_of_no_record_one_and_more_are_those_of_simulation",
)
MUTANTS = (
    Mutant(
        "sensitivity halved",
        "leaves: one record changes one row, also in place of another",
        _TOTALS,
        "change = 2 if adjacency == REPLACE_ONE else 1",
        "change = 1",
        _LARGEST,
    ),
    Mutant(
        "sensitivity halved",
        "leaves: squares and numbers of records cost nothing",
        _TOTALS,
        "return len(self.counts.measured.groups) + 2 * len(self.rows)",
        "return len(self.counts.measured.groups) + len(self.rows)",
        _LOSS,
    ),
    Mutant(
        "law changed",
        "leaves: rows have two records or more",
        _LEAVES,
        "parameters = with_few_records(key_few, hidden, parameters, totals, n)",
        "parameters = parameters",
        (
            _FEW
            + "test_a_row_without_records_keeps_its_prior_and_one_record_updates_it",
        ),
    ),
    Mutant(
        "law changed",
        "leaves: the density of the sums of many lacks its constant",
        _RECORDS,
        "return logsumexp(gains) - np.log(_PROPOSED) + constant",
        "return logsumexp(gains) - np.log(_PROPOSED)",
        _WEIGHTS,
    ),
    Mutant(
        "law changed",
        "leaves: one record has no density of its own",
        _RECORDS,
        "return law + noise + np.log(_GRID[1] - _GRID[0])",
        "return noise + np.log(_GRID[1] - _GRID[0])",
        _WEIGHTS,
    ),
    Mutant(
        "law changed",
        "leaves: single records are as probable as none",
        _RECORDS,
        "part = _systematic(key_part, jax.nn.softmax(logs), n.size).reshape(n.shape)",
        "part = _systematic(key_part, jax.nn.softmax(0 * logs), n.size)"
        ".reshape(n.shape)",
        (_FEW + "test_draws_are_a_mixture_with_these_probabilities",),
    ),
    Mutant(
        "branch left out",
        "leaves: draws without coordinates are in the proposal",
        _RECORDS,
        "jnp.isfinite(points).all(axis=1, keepdims=True)",
        "jnp.ones_like(points[:, :1], bool)",
        (
            _FEW
            + "test_draws_that_rounding_leaves_without_coordinates_count_for_nothing",
        ),
    ),
    Mutant(
        "law changed",
        "leaves: a count is not in the unit of the sums",
        _TOTALS,
        "parts = [self.counts.measure(codes) * self.steps]",
        "parts = [self.counts.measure(codes)]",
        (_IN + "test_the_numbers_are_counts_and_sums_of_the_records_of_each_row",),
    ),
    Mutant(
        "law changed",
        "leaves: the noise of counts has the scale of the sums",
        _PARTS,
        "noise = NumbersWithNoise(law.continuous(statistic.steps), released.mechanism)",
        "noise = NumbersWithNoise(law.continuous(1), released.mechanism)",
        (_AFTER + "test_the_noise_of_counts_is_in_records",),
    ),
    Mutant(
        "law changed",
        "leaves: a variance is scaled as a mean is",
        _LEAVES,
        "return p._replace(mean=centre + half * p.mean, scale=half**2 * p.scale)",
        "return p._replace(mean=centre + half * p.mean, scale=half * p.scale)",
        _ROW,
    ),
    Mutant(
        "law changed",
        "leaves: an unknown number is taken for a known one",
        _POSTERIOR,
        "factors.append(jnp.where(unknown[:, None], 0, logs))",
        "factors.append(logs)",
        _CLASS,
    ),
    Mutant(
        "law changed",
        "leaves: a value's density has no uncertainty of the mean",
        _LEAVES,
        "jnp.sqrt(p.scale * (1 + 1 / p.strength) / p.shape)",
        "jnp.sqrt(p.scale / p.shape)",
        (_AFTER + "test_the_density_of_a_record_is_that_of_its_parts",),
    ),
    Mutant(
        "key reused",
        "leaves: synthetic numbers of all leaves are the same noise",
        _POSTERIOR,
        "noise = jr.normal(key_values, (len(self.leaves), n))",
        "noise = jnp.tile(jr.normal(key_values, (1, n)), (len(self.leaves), 1))",
        (_AFTER + "test_synthetic_records_have_the_laws_of_the_posterior",),
    ),
    Mutant(
        "branch left out",
        "levels among numbers: fractions pass for indices",
        "data/encoding.py",
        "check_records(numpy.where(whole, columns, -1).astype(np.int32), sizes)",
        "check_records(numpy.where(whole, columns, 0).astype(np.int32), sizes)",
        (
            "tests/test_numeric_schema.py::"
            "test_variables_of_both_kinds_are_floats_together_or_encoded_apart",
        ),
    ),
)
