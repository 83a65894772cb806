"""Faults that only an accelerator would show, and of the law of gamma draws."""

__all__ = ["MUTANTS"]

from tests.mutants.mutant import Mutant

_IN = "tests/test_accelerators.py::"
_GAMMA = "distributions/gamma_draws.py"
_REPLACEMENT = "posteriors/gibbs/replacement.py"

MUTANTS = (
    Mutant(
        "accelerator",
        "products: factors are rounded to few bits",
        "_products.py",
        "matmul = partial(jnp.matmul, precision=lax.Precision.HIGHEST)",
        "matmul = partial(jnp.matmul, precision=lax.Precision.DEFAULT)",
        (_IN + "test_a_hot_program_suits_accelerators[curvature]",),
    ),
    Mutant(
        "accelerator",
        "hidden paths: floats are added by scatter",
        "chains/hidden_paths.py",
        "return jnp.zeros(length, jnp.int32).at[places].add(ones)",
        "return jnp.zeros(length).at[places].add(ones.astype(float)).astype(jnp.int32)",
        (_IN + "test_a_hot_program_suits_accelerators[hidden paths]",),
    ),
    Mutant(
        "accelerator",
        "projection: floats are added by scatter",
        "tables/projection.py",
        "if not sizes.whole:",
        "if sizes:",
        (_IN + "test_a_hot_program_suits_accelerators[projection]",),
    ),
    Mutant(
        "accelerator",
        "hidden paths: the likelihood of a span forgets its beginning",
        "chains/path_draws.py",
        "return scaled(rows, logs + most)",
        "return scaled(rows, most)",
        (
            "tests/test_gibbs_blocks.py::"
            "test_laws_and_paths_are_alike_time_by_time_and_by_doubling[9]",
        ),
    ),
    Mutant(
        "accelerator",
        "beta draws: one after the other",
        "families/bernoulli.py",
        "draw_beta(key, (a, b), shape + jnp.shape(a))",
        "jr.beta(key, a, b, shape + jnp.shape(a))",
        (_IN + "test_no_product_is_rounded_and_no_draw_is_serial[bernoulli]",),
    ),
    Mutant(
        "law changed",
        "gamma draws: the constant of the method is wrong",
        _GAMMA,
        "d = jnp.where(small, given + 1, given) - 1 / 3",
        "d = jnp.where(small, given + 1, given) - 1 / 2",
        ("tests/test_gamma_draws.py::test_gamma_draws_have_their_law[3.0]",),
    ),
    Mutant(
        "law changed",
        "hidden records: decisions are final after a few rounds",
        _REPLACEMENT,
        "return changing & (done <= len(moves))",
        "return changing & (done < 1)",
        ("tests/test_gibbs.py::test_decisions_at_once_are_those_in_turn[10]",),
    ),
    Mutant(
        "branch left out",
        "hidden records: the last ones are never proposed",
        _REPLACEMENT,
        "blocks = jnp.maximum(-(-n // proposals), 1)",
        "blocks = jnp.maximum(n // proposals, 1)",
        ("tests/test_gibbs.py::test_each_record_is_proposed_to_be_replaced",),
    ),
)
