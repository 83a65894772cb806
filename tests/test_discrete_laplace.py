"""The compiled sampler against big integers, bit for bit, and against its law."""

import bisect
from fractions import Fraction
from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from dpjax.noise import discrete_laplace, tables
from dpjax.noise.keys import study_key
from dpjax.noise.keys.chacha import CHACHA20
from tests.helpers.cases import mostly_thorough
from tests.helpers.statistical import ALPHA, chi_square_pvalue

pytestmark = pytest.mark.device

RATES = [Fraction(21), Fraction(1), Fraction(1, 2), Fraction(1, 40), Fraction(1, 10**5)]


def big(rows):
    """Rows of limbs, most significant first, as Python integers."""
    return [sum(int(w) << 32 * (3 - i) for i, w in enumerate(row)) for row in rows]


split = jax.jit(jr.split, static_argnums=1)
bits = jax.jit(lambda key, shape: jr.bits(key, shape, jnp.uint32), static_argnums=1)


def reference(key, table, size):
    """The same draws in Python integers, every comparison with all 128 bits."""
    key = jr.clone(key)
    digits = table.largest.shape[-1]
    key_words, key_redraw, *key_ties = split(key, digits + 2)
    words = np.asarray(bits(key_words, (digits, size))).astype(object)
    ties = [np.asarray(bits(split(k, 2)[1], (3, size))) for k in key_ties]
    parts = [big(np.asarray(part)) for part in (table.low, *table.high)]
    result = np.zeros(size, object)
    overflowed = []
    for lane in range(size):
        categories = []
        for j, part in enumerate(parts):
            first = int(words[j, lane]) >> (j == 0)
            number = big([[first, *ties[j][:, lane]]])[0]
            reached = bisect.bisect_right(part, number)
            categories.append(min(reached, int(table.largest[j])))
        magnitude = categories[0] + sum(
            c << 4 * j for j, c in enumerate(categories) if j
        )
        top = int(table.top)
        is_top = categories[top] - (top == 0) == int(table.top_values)
        if categories[0] > 0 and is_top:
            overflowed.append(lane)
        sign = -1 if int(words[0, lane]) & 1 else 1
        result[lane] = [sign, magnitude if categories[0] > 0 else 0]
    while overflowed:
        key_redraw, key_now = split(key_redraw, 2)
        limbs = np.asarray(bits(key_now, (4, size)))
        again = []
        for lane in overflowed:
            reached = bisect.bisect_right(
                big(np.asarray(table.redraw)), big([limbs[:, lane]])[0]
            )
            digit = min(reached, int(table.top_values))
            result[lane][1] = min(
                result[lane][1] + (digit << 4 * int(table.top)), 1 << 30
            )
            again += [lane] if digit == int(table.top_values) else []
        overflowed = again
    return np.array([sign * magnitude for sign, magnitude in result])


@partial(jax.jit, static_argnums=2)
def draw(key, table, size):
    return discrete_laplace.sample(key, table, (size,))


@pytest.mark.parametrize("rho", mostly_thorough(RATES, quick=3), ids=str)
def test_the_sampler_equals_big_integers_bit_for_bit(rho, key):
    table = tables.build(rho)
    drawn = draw(key, table, 400)
    assert drawn.dtype == np.int32
    np.testing.assert_array_equal(drawn, reference(key, table, 400))


@pytest.mark.parametrize(
    "rho", mostly_thorough([Fraction(1, 40), Fraction(21)]), ids=str
)
def test_tables_of_a_shared_shape_give_the_same_draws(rho, key):
    shared = tables.build(rho, tables.lengths_shared(rho))
    np.testing.assert_array_equal(
        draw(jr.clone(key), shared, 400), draw(key, tables.build(rho), 400)
    )


def test_rates_with_as_many_digits_share_a_shape():
    rates = [Fraction(i, 20) for i in range(1, 400)]
    shapes = {tables.lengths_shared(rho) for rho in rates}
    assert shapes == {(33, 32), (16, 32, 32)}


@pytest.mark.thorough
def test_the_sampler_equals_big_integers_under_vmap(key):
    rhos = [Fraction(4), Fraction(1, 10), Fraction(1, 3000)]
    lengths = tables.lengths_needed(*rhos)
    padded = [tables.build(rho, lengths) for rho in rhos]
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *padded)
    keys = jr.split(key, 3)
    draws = jax.jit(jax.vmap(lambda k, t: draw(k, t, 200)))(keys, stacked)
    for drawn, k, table in zip(draws, keys, padded, strict=True):
        np.testing.assert_array_equal(drawn, reference(k, table, 200))


def test_the_sampler_equals_big_integers_with_release_keys():
    key = jr.key(5, impl=CHACHA20)
    table = tables.build(Fraction(1, 40))
    drawn = draw(key, table, 200)
    np.testing.assert_array_equal(drawn, reference(key, table, 200))


def test_overflows_are_redrawn_bit_for_bit(key, monkeypatch):
    """Made so rare that they never happen: here the top digit mostly overflows."""
    monkeypatch.setattr(tables, "MOST_TOP_VALUES", 2)
    monkeypatch.setattr(tables, "OVERFLOW_EXPONENT", Fraction(1, 25))
    table = tables.build(Fraction(1, 50))
    drawn = draw(key, table, 400)
    assert np.abs(drawn).max() > 10 * 16 * int(table.top_values)
    np.testing.assert_array_equal(drawn, reference(key, table, 400))


def test_noise_beyond_one_limb(key, monkeypatch):
    """Studies clip it to ±2^30; releases have both limbs, with one sign."""
    drawn = (
        jnp.array([True, False, True, False]),
        jnp.array([0, 0, 3, 1 << 25], jnp.int32),
        jnp.array([5, 0, 7, 9], jnp.int32),
    )
    monkeypatch.setattr(discrete_laplace, "_magnitudes", lambda *_: drawn)
    table = tables.build(Fraction(1))
    sample = discrete_laplace.sample(key, table, (4,))
    assert sample.tolist() == [-5, 0, -(2**30), 2**30]
    limbs = discrete_laplace.limbs(key, table, (4,))
    assert limbs.tolist() == [[0, 0, -3, 1 << 25], [-5, 0, -7, 9]]


def test_limbs_carry_what_does_not_fit(rng):
    """A value is 2^30 times the high limb plus the low one, up to 2^55."""
    high = jnp.asarray(rng.integers(0, 1 << 20, 100), jnp.int32)
    low = jnp.asarray(rng.integers(0, 1 << 31, 100), jnp.int32)
    carried = np.stack(discrete_laplace._carried(high, low)).astype(np.int64)
    assert (carried[0] > np.asarray(high)).any()
    assert carried[1].max() < 1 << 30
    expected = (np.asarray(high, np.int64) << 30) + np.asarray(low)
    np.testing.assert_array_equal((carried[0] << 30) + carried[1], expected)
    assert discrete_laplace._carried(high * 0 + (1 << 25), low)[0].max() == 1 << 25


def test_ties_of_the_first_word_are_resolved_by_the_other_limbs(key):
    """A tie has chance 2^-26 a draw: here every lane has one."""
    table = tables.build(Fraction(3, 10))
    for part in (table.low, table.high[0]):
        first = np.repeat(part[:, 0], 50)
        key, key_part = jr.split(key)
        chosen = jax.jit(discrete_laplace._category)(jr.clone(key_part), first, part)
        rest = np.asarray(bits(split(key_part, 2)[1], (3, first.size)))
        numbers = big(np.stack([first, *rest], axis=1))
        expected = [bisect.bisect_right(big(part), number) for number in numbers]
        np.testing.assert_array_equal(chosen, expected)
        assert len({*expected}) > part.shape[0] / 2


def test_each_limb_of_a_tie_is_a_word_of_its_own(rng, monkeypatch):
    """Words of three values, so that all limbs tie, and thresholds that many reach."""
    thresholds = np.array([[6, 6, 6, i] for i in (5, 6, 7)] + [[6, 7, 5, 6]], np.uint32)
    words = rng.integers(5, 8, (4, 300)).astype(np.uint32)
    shapes = []

    def scripted(key, shape, dtype):
        shapes.append(shape)
        return jnp.asarray(words[1:][: shape[0]] if len(shape) == 2 else words[1])

    monkeypatch.setattr(jr, "bits", scripted)
    chosen = discrete_laplace._category(study_key(1), jnp.asarray(words[0]), thresholds)
    numbers = big(words.T)
    expected = [bisect.bisect_right(big(thresholds), number) for number in numbers]
    np.testing.assert_array_equal(chosen, expected)
    assert shapes == [(3, 300)]
    assert {*expected} == {*range(5)}


@pytest.mark.parametrize("tied", [0, 1, 2])
def test_one_tie_with_any_threshold_is_enough(tied, monkeypatch):
    """All other lanes are decided by their first word."""
    thresholds = np.array([[3, 0, 9, 0], [5, 8, 0, 0], [9, 0, 0, 7]], np.uint32)
    first = np.array([1, 4, 6, 10, thresholds[tied, 0]], np.uint32)
    for words, reached in ((thresholds[tied, 1:], 1), ([0, 0, 0], 0)):
        rest = jnp.broadcast_to(jnp.asarray(words, jnp.uint32)[:, None], (3, 5))
        monkeypatch.setattr(jr, "bits", lambda key, shape, dtype, rest=rest: rest)
        chosen = discrete_laplace._category(
            study_key(1), jnp.asarray(first), thresholds
        )
        np.testing.assert_array_equal(chosen, [0, 1, 2, 3, tied + reached])


@pytest.mark.parametrize(
    "rho", mostly_thorough([Fraction(2), Fraction(1, 3), Fraction(1, 60)]), ids=str
)
def test_the_draws_follow_the_law_and_would_show_a_tenth_more(rho, key):
    table, other = tables.build(rho), tables.build(rho * Fraction(11, 10))
    reach = int(12 / rho)
    support = range(-reach, reach + 1)
    drawn = draw(key, table, 200_000)
    pvalue = chi_square_pvalue(drawn, lambda z: tables.probability(table, z), support)
    power = chi_square_pvalue(drawn, lambda z: tables.probability(other, z), support)
    assert pvalue > ALPHA > power


def test_sums_are_clipped_where_saturation_cannot_show(key):
    table = tables.build(Fraction(1, 2**23))
    edge = discrete_laplace.LARGEST
    add = jax.jit(discrete_laplace.add)
    noise = np.asarray(draw(key, table, 20_000)).astype(int)
    for count in (edge, -edge, 0):
        exact = jnp.full(20_000, count, jnp.int32)
        noisy = np.asarray(add(jr.clone(key), table, exact)).astype(int)
        assert np.abs(noisy).max() <= edge
        np.testing.assert_array_equal(noisy, np.clip(count + noise, -edge, edge))


def test_no_two_draws_share_randomness():
    """Two vectors of 100 draws are equal by chance with probability below 1e-200."""
    table = tables.build(Fraction(1, 40))
    draws = [np.asarray(draw(study_key(seed), table, 400)) for seed in (0, 1)]
    assert len(np.unique(np.reshape(draws, (8, 100)), axis=0)) == 8


def test_log_prob_is_the_log_of_the_law():
    rho = Fraction(1, 3)
    table = tables.build(rho)
    noise = np.arange(-20, 21)
    expected = [np.log(float(tables.probability(table, int(z)))) for z in noise]
    np.testing.assert_allclose(
        discrete_laplace.log_prob(jnp.asarray(noise), float(rho)), expected, rtol=1e-5
    )
