import subprocess
import sys
from fractions import Fraction

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy import stats

from dpjax.mechanisms import DiscreteLaplace, Laplace, integer_noise
from dpjax.privacy import PureDP, Sensitivity
from tests.helpers.statistical import assert_departs, assert_follows

TWO = Sensitivity(2, "replace-one", tight=True)


@jax.jit
def draw(key, mechanism, exact):
    return mechanism.sample(key, exact)


def test_simulated_noise_has_the_claimed_scale(key):
    noise = draw(key, Laplace(0.5, TWO), np.zeros(200_000, np.int32))
    assert_follows(noise, stats.laplace(scale=4.0))
    assert_departs(noise, stats.laplace(scale=4.0 * 1.05))


def test_simulated_noise_sweeps_over_epsilon(key):
    epsilons = jnp.array([0.5, 2.0])
    exact = jnp.arange(5)

    @jax.jit
    def draw_at(epsilon):
        return Laplace(epsilon, TWO).sample(jr.clone(key), exact)

    swept = jax.jit(jax.vmap(draw_at))(epsilons)
    for row, epsilon in zip(swept, epsilons, strict=True):
        np.testing.assert_allclose(row, draw_at(epsilon), rtol=1e-6)


def test_densities_equal_scipys():
    released, exact = jnp.linspace(-5, 9, 57), jnp.full(57, 2)
    np.testing.assert_allclose(
        Laplace(0.5, TWO).log_prob(released, exact),
        stats.laplace(loc=2, scale=4).logpdf(released),
        rtol=1e-5,
    )
    np.testing.assert_allclose(
        DiscreteLaplace.calibrate("0.5", TWO).log_prob(jnp.arange(-5, 9), exact[:14]),
        stats.dlaplace(0.25, loc=2).logpmf(np.arange(-5, 9)),
        rtol=1e-5,
    )


@pytest.mark.parametrize(
    ("epsilon", "exact"),
    [
        ("0.1", Fraction(1, 10)),
        (0.1, Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        (2, Fraction(2)),
        (np.int64(3), Fraction(3)),
        ("1e-2", Fraction(1, 100)),
        (Fraction(10**25 + 1, 10**25), Fraction(10**25 + 1, 10**25)),
    ],
)
def test_the_guarantee_is_the_fraction_that_was_given(epsilon, exact):
    mechanism = DiscreteLaplace.calibrate(epsilon, TWO)
    assert mechanism.guarantee() == PureDP(exact, "replace-one")
    assert mechanism.certify() > 1


def test_a_mechanism_with_the_noise_of_a_larger_budget_does_not_certify():
    one, more = (DiscreteLaplace.calibrate(x, TWO) for x in (1, "1.001"))
    with pytest.raises(ValueError, match="must keep the ratio"):
        eqx.tree_at(lambda x: x.table, one, more.table).certify()


def test_the_integers_of_a_fraction_are_kept_whole_or_refused():
    too_long = 1 << 32 * integer_noise._WORDS
    for integer in (0, 1, 1 << 32, too_long - 1):
        words = integer_noise._to_words(integer)
        assert integer_noise.from_words(words) == integer
    with pytest.raises(ValueError, match="must be a fraction of smaller integers"):
        integer_noise._to_words(too_long)


NOT_EPSILONS = [
    *(
        0,
        -1,
        True,
        float("inf"),
        1e300,
        "nan",
        "-inf",
        "abc",
        "",
        "1/0",
        "0/1",
        "1/2/3",
    ),
    *("1/0", "0/1", "1/2/3", "1e999999999", "1e-999999999", "9" * 100),
]


@pytest.mark.parametrize("epsilon", NOT_EPSILONS, ids=repr)
def test_an_epsilon_that_is_not_one_is_refused_at_once(epsilon):
    with pytest.raises(ValueError, match="`epsilon` must be a finite number > 0"):
        DiscreteLaplace.calibrate(epsilon, TWO)


def test_an_epsilon_outside_the_certified_range_is_refused():
    for epsilon in ("61", "1e-8"):
        with pytest.raises(ValueError, match="between 2"):
            DiscreteLaplace.calibrate(epsilon, TWO)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("nan"), float("inf")])
def test_a_simulated_epsilon_must_be_positive(epsilon):
    with pytest.raises(ValueError, match="`epsilon` must be positive and finite"):
        Laplace(epsilon, TWO)


def test_sensitivity_needs_an_adjacency_and_a_positive_value():
    with pytest.raises(ValueError, match="`adjacency` must be 'replace-one' or 'add"):
        Sensitivity(1, "unbounded")
    with pytest.raises(ValueError, match="`sensitivity` must be positive"):
        Sensitivity(0, "add-remove")
    with pytest.raises(ValueError, match="`sensitivity` must be an integer"):
        DiscreteLaplace.calibrate(1, Sensitivity(1.5, "add-remove"))


@pytest.mark.parametrize("legacy", [jr.PRNGKey(0), 0, np.zeros(2, np.uint32)])
def test_legacy_keys_are_refused(legacy):
    for mechanism in (Laplace(1.0, TWO), DiscreteLaplace.calibrate(1, TWO)):
        with pytest.raises(Exception, match=r"typed key|key.*Key"):
            mechanism.sample(legacy, jnp.zeros(3, jnp.int32))


@pytest.mark.slow
def test_mechanisms_are_pytrees_that_stack(key):
    one = DiscreteLaplace.calibrate("1/2", TWO)
    leaves, structure = jax.tree.flatten(one)
    again = jax.tree.unflatten(structure, leaves)
    assert again.guarantee() == one.guarantee()
    many = DiscreteLaplace.calibrate_many(["0.01", "1/2", 20], TWO)
    exact = jnp.arange(6, dtype=jnp.int32)
    keys = jr.split(key, 3)
    together = jax.vmap(draw, in_axes=(0, 0, None))(jr.clone(keys), many, exact)
    for i in range(3):
        alone = jax.tree.map(lambda leaf, i=i: leaf[i], many)
        np.testing.assert_array_equal(together[i], draw(keys[i], alone, exact))
        assert alone.guarantee().epsilon == (Fraction(1, 100), Fraction(1, 2), 20)[i]
        alone.certify()
    with pytest.raises(ValueError, match="of one mechanism"):
        many.guarantee()
    simulated = Laplace(1.0, TWO)
    assert jax.tree.unflatten(*jax.tree.flatten(simulated)[::-1]) == simulated


@pytest.mark.slow
def test_exact_noise_is_for_integers_of_any_width(key):
    mechanism = DiscreteLaplace.calibrate(1, TWO)
    wide, narrow = jnp.arange(5), jnp.arange(5, dtype=jnp.int8)
    drawn = draw(jr.clone(key), mechanism, wide)
    np.testing.assert_array_equal(drawn, draw(key, mechanism, narrow))
    assert drawn.dtype == jnp.int32


@pytest.mark.slow
def test_the_fraction_of_a_number_is_never_let_through():
    program = (
        "import jax.numpy as jnp, dpjax as dp\n"
        "s = dp.privacy.Sensitivity(1, 'add-remove')\n"
        "m = dp.mechanisms.DiscreteLaplace.calibrate(1, s)\n"
        "m.sample(dp.study_key(0), jnp.array([0.25]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert "`exact` must be integers, got float32" in done.stderr


def test_no_budgets_are_refused():
    with pytest.raises(ValueError, match="at least one budget"):
        DiscreteLaplace.calibrate_many([], TWO)
