"""Faults of queries with partial evidence."""

__all__ = ["MUTANTS"]

from tests.mutants.mutant import Mutant

_QUERIES = "posteriors/queries.py"
_EVIDENCE = "data/evidence.py"
_IN = "tests/test_partial_evidence.py::"
MUTANTS = (
    Mutant(
        "law changed",
        "evidence: what is known is ignored",
        _QUERIES,
        "singles = jnp.where(agrees, 0, _NEVER)",
        "singles = jnp.where(agrees, 0, 0 * _NEVER)",
        (_IN + "test_queries_equal_sums_over_the_joint_distribution",),
    ),
    Mutant(
        "law changed",
        "evidence: the most probable record by sums",
        _QUERIES,
        "tables = log_tables(layout, factors, largest=largest)",
        "tables = log_tables(layout, factors, largest=False)",
        (_IN + "test_the_most_probable_records_are_those_of_a_search",),
    ),
    Mutant(
        "law changed",
        "evidence: records are completed without noise",
        _QUERIES,
        "chosen = jnp.argmax(logs if largest else logs + noise[i])",
        "chosen = jnp.argmax(logs)",
        (_IN + "test_completed_records_follow_their_law",),
    ),
    Mutant(
        "branch left out",
        "evidence: a missing cell is level 0",
        _EVIDENCE,
        "return np.where(codes == variable.size, UNKNOWN, codes), outside",
        "return np.where(codes == variable.size, 0, codes), outside",
        (_IN + "test_files_with_gaps_are_evidence",),
    ),
)
