"""All mutants. One more: a `Mutant` in the file of its kind, with what kills it."""

__all__ = ["MUTANTS"]

from tests.mutants import (
    of_budgets,
    of_cells,
    of_certificates,
    of_composition,
    of_doors,
    of_exact_draws,
    of_families,
    of_family_samples,
    of_files,
    of_fourier,
    of_grid_samples,
    of_grids,
    of_ledgers,
    of_noise,
    of_prices,
    of_releases,
    of_samplers,
    of_samples,
    of_sensitivities,
)

MUTANTS = (
    *of_budgets.MUTANTS,
    *of_cells.MUTANTS,
    *of_certificates.MUTANTS,
    *of_composition.MUTANTS,
    *of_doors.MUTANTS,
    *of_exact_draws.MUTANTS,
    *of_families.MUTANTS,
    *of_family_samples.MUTANTS,
    *of_files.MUTANTS,
    *of_fourier.MUTANTS,
    *of_grid_samples.MUTANTS,
    *of_grids.MUTANTS,
    *of_ledgers.MUTANTS,
    *of_noise.MUTANTS,
    *of_prices.MUTANTS,
    *of_releases.MUTANTS,
    *of_samplers.MUTANTS,
    *of_samples.MUTANTS,
    *of_sensitivities.MUTANTS,
)
