"""Faults of releases in models of one's own."""

__all__ = ["MUTANTS"]

from tests.mutants.mutant import Mutant

_MODELS = "posteriors/own_models.py"
_NUMBERS = "distributions/noisy_numbers.py"
_IN = "tests/test_release_law.py::"
MUTANTS = (
    Mutant(
        "law changed",
        "own models: hidden records accepted without the release",
        _MODELS,
        "accepted = jnp.log(uniform) < law.gain(noisy, total, moved)",
        "accepted = jnp.log(uniform) < 0 * law.gain(noisy, total, moved)",
        (_IN + "test_hidden_records_have_the_enumerated_law[4-laplace]",),
    ),
    Mutant(
        "law changed",
        "own models: a total stays as it was",
        _MODELS,
        "return jnp.where(accepted, moved, total), accepted",
        "return total, accepted",
        (_IN + "test_hidden_records_have_the_enumerated_law[2-laplace]",),
    ),
    Mutant(
        "law changed",
        "own models: a total is not in the release's units",
        "statistics/family_statistic.py",
        "return scaled * self.steps",
        "return scaled",
        (_IN + "test_totals_are_in_the_units_of_the_data[replace-one-laplace]",),
    ),
    Mutant(
        "law changed",
        "own models: the spread of a total is that of a mean",
        _MODELS,
        "return n * mean, jnp.sqrt(n) * root",
        "return n * mean, root",
        (_IN + "test_moments_of_a_total_are_those_of_its_records",),
    ),
    Mutant(
        "law changed",
        "own models: what is simulated has no noise",
        _NUMBERS,
        "return jax.vmap(self.law.sample)(keys, flat).reshape(wide.shape)",
        "return (keys.shape[0] * 0 + flat).reshape(wide.shape)",
        (_IN + "test_the_law_works_in_programs_and_predictions",),
    ),
)
