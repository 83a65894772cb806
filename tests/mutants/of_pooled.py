"""Faults of posteriors from several releases."""

__all__ = ["MUTANTS"]

from tests.mutants.mutant import Mutant

_POOLED = "posteriors/estimate/pooled.py"
_FIT = "posteriors/estimate/fit.py"
_CURVATURE = "posteriors/estimate/curvature.py"
_IN = "tests/test_pooled.py::"
_ONE = _IN + "test_without_noise_records_count_once_in_one_table"
_APART = _IN + "test_without_noise_disjoint_tables_are_all_their_records"
_COSTS = _IN + "test_costs_add_up_in_one_table_and_the_largest_counts_of_several"
MUTANTS = (
    Mutant(
        "bound loosened",
        "pooled: releases of one table cost the largest",
        _POOLED,
        "basic(*(x.mechanism.guarantee() for x in y))",
        "max((x.mechanism.guarantee() for x in y), key=lambda x: x.bound)",
        (_COSTS,),
    ),
    Mutant(
        "bound loosened",
        "pooled: several tables cost as the first",
        _POOLED,
        "if len(costs) == 1:",
        "if len(costs) >= 1:",
        (_COSTS,),
    ),
    Mutant(
        "bound loosened",
        "pooled: a person's rows are forgotten",
        _POOLED,
        "return parallel(costs, parts, adjacency).of_group(rows)",
        "return parallel(costs, parts, adjacency)",
        (_COSTS,),
    ),
    Mutant(
        "law changed",
        "pooled: one table's releases count as disjoint",
        _POOLED,
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
        "branch left out",
        "pooled: numbers of records may differ in one table",
        _POOLED,
        "if one.n != found[0].n:",
        "if False:",
        (_IN + "test_releases_that_do_not_fit_are_refused",),
    ),
)
