"""All mutants. One more: a `Mutant` in the file of its kind, with what kills it."""

__all__ = ["MUTANTS"]

from tests.mutants import (
    of_budgets,
    of_doors,
    of_files,
    of_ledgers,
    of_noise,
    of_samples,
)

MUTANTS = (
    *of_budgets.MUTANTS,
    *of_doors.MUTANTS,
    *of_files.MUTANTS,
    *of_ledgers.MUTANTS,
    *of_noise.MUTANTS,
    *of_samples.MUTANTS,
)
