"""Faults of estimates by separate tables and of sums by gathers."""

__all__ = ["MUTANTS"]

from tests.mutants.mutant import Mutant

_ESTIMATE = "posteriors/estimate/separate_tables.py"
_LEVELS = "posteriors/estimate/table_levels.py"
_COUNTS = "statistics/network_counts.py"
_IN = "tests/test_large_networks.py::"
_AVERAGES = _IN + "test_numbers_of_other_tables_are_weighted_averages"
_GRADIENTS = _IN + "test_gradients_are_those_of_the_log_density"
_EXACT = _IN + "test_without_noise_rows_are_those_of_exact_counts"
_CHOICE = _IN + "test_large_networks_are_estimated_by_separate_tables"
_LARGEST = "tests/test_layout.py::test_largest_entries_are_constants_in_derivatives"
_PIECES = _IN + "test_tables_of_many_pieces_are_those_of_records"

MUTANTS = (
    Mutant(
        "law changed",
        "separate tables: a table is measured by itself again",
        _LEVELS,
        "return (total - weights * sums) / weight, 1 / jnp.sqrt(weight)",
        "return total / (weight + weights), 1 / jnp.sqrt(weight)",
        (_AVERAGES,),
    ),
    Mutant(
        "law changed",
        "separate tables: weights are inverse to scales",
        _LEVELS,
        "weights = 1 / self.numbers(add, scale**2, 0)",
        "weights = 1 / self.numbers(add, scale, 0)",
        (_AVERAGES,),
    ),
    Mutant(
        "law changed",
        "separate tables: the prior pulls all cells alike",
        _ESTIMATE,
        "rest = self.alpha - q * levels.sums(self.alpha) - loose",
        "rest = self.alpha - levels.sums(self.alpha) / 2 - loose",
        (_GRADIENTS,),
    ),
    Mutant(
        "law changed",
        "separate tables: spread from the numbers of other tables",
        _ESTIMATE,
        "return jnp.stack([through(own + others), through(own)]) + rest[None]",
        "return jnp.stack([through(own + others)] * 2) + rest[None]",
        (_GRADIENTS,),
    ),
    Mutant(
        "law changed",
        "separate tables: rows with half of the records",
        _ESTIMATE,
        "total = layout.row_sums(mean * (1 - mean)) / variance - 1",
        "total = layout.row_sums(mean * (1 - mean)) / variance / 2 - 1",
        (_EXACT,),
    ),
    Mutant(
        "law changed",
        "separate tables: more records are forgotten",
        "posteriors/plug_in.py",
        "return dataclasses.replace(self, concentration=self.concentration + counts)",
        "return PlugInPosterior(self.net, self.concentration + counts)",
        (_CHOICE,),
    ),
    Mutant(
        "table row shifted",
        "many pieces: sums stand one place too early",
        _COUNTS,
        "start, end = end, end + length",
        "start, end = end - 1, end + length",
        (_PIECES,),
    ),
    Mutant(
        "law changed",
        "rows: largest entries have derivatives",
        "tables/layout.py",
        "jax.lax.stop_gradient(self._over_rows(jnp.max, vector, -np.inf))",
        "self._over_rows(jnp.max, vector, -np.inf)",
        (_LARGEST,),
    ),
)
