"""Faults of the bounds of what the windows of a star omit, and of its padding."""

__all__ = ["MUTANTS"]

from tests.mutants.mutant import Mutant

_STARS = "posteriors/exact/stars.py"
_IN = "tests/test_star_bounds.py::"
_HUB = _IN + "test_no_count_outside_of_a_window_weighs_more_than_its_bound"
_RECORDS = (
    _IN + "test_no_numbers_of_records_outside_of_a_window_weigh_more_than_their_bound"
)

MUTANTS = (
    Mutant(
        "bound loosened",
        "stars: the prior's exponent is one too many",
        _STARS,
        "logs = gammaln(whole) - (whole - 1) * fall",
        "logs = gammaln(whole) - whole * fall",
        (_HUB,),
    ),
    Mutant(
        "bound loosened",
        "stars: strong priors are taken for weak ones",
        _STARS,
        "suits = (whole >= 2) & (group.alpha.max(axis=0) <= 1)",
        "suits = whole >= 2",
        (_HUB,),
    ),
    Mutant(
        "bound loosened",
        "stars: a sum of cells is bounded as one cell",
        _STARS,
        "return peaks * cells - share * rate * jnp.abs(off)",
        "return peaks - share * rate * jnp.abs(off)",
        (_HUB,),
    ),
    Mutant(
        "bound loosened",
        "stars: counts below a window by its edge alone",
        _STARS,
        "left = jnp.where(slope >= 0, jnp.maximum(*ends), jnp.inf)",
        "left = jnp.where(slope >= 0, ends[0], jnp.inf)",
        (_IN + "test_a_concave_and_a_convex_function_are_bounded_outside",),
    ),
    Mutant(
        "bound loosened",
        "stars: the priors of all levels at all records",
        _STARS,
        "return self._prior(count).max()",
        "return self._prior(count).sum()",
        (_RECORDS,),
    ),
    Mutant(
        "law changed",
        "stars: padding is read from the next table",
        "posteriors/exact/components.py",
        "return np.where(level < size, places, padding).astype(np.int32)",
        "return places.astype(np.int32)",
        (_IN + "test_leaves_that_are_padded_have_the_same_posterior",),
    ),
)
