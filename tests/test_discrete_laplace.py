"""The compiled sampler against big integers, bit for bit, and against its law."""

import bisect
from fractions import Fraction
from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from dpjax._platforms import ACCELERATOR, CPU
from dpjax.noise import discrete_laplace, pending, tables
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


def reference(key, table, size, most=1 << 30):
    """The same draws in Python integers, every comparison with all 128 bits."""
    key_words, key = split(jr.clone(key), 2)
    parts = [big(np.asarray(part)) for part in (table.low, *table.high)]
    words = np.asarray(bits(key_words, (len(parts), size))).tolist()
    firsts = [[word >> 1 for word in words[0]], *words[1:]]
    top, values = int(table.top), int(table.top_values)

    def number(lane, rest):
        """The sign and magnitude, and whether the top digit overflowed."""
        sizes = [
            min(bisect.bisect_right(part, big([[first[lane], *limbs]])[0]), int(most))
            for part, first, limbs, most in zip(
                parts, firsts, rest, table.largest, strict=True
            )
        ]
        magnitude = sum(digit << 4 * j for j, digit in enumerate(sizes))
        sign = -1 if words[0][lane] & 1 else 1
        overflow = sizes[0] > 0 and sizes[top] - (top == 0) == values
        return [sign, magnitude if sizes[0] else 0], overflow

    result = [number(lane, [[0, 0, 0]] * len(parts)) for lane in range(size)]
    overflowed = {lane for lane in range(size) if result[lane][1]}
    tied = {
        lane
        for part, first in zip(parts, firsts, strict=True)
        for lane in range(size)
        if first[lane] in {threshold >> 96 for threshold in part}
    }
    result, slots, overflowed = (
        [x for x, _ in result],
        min(size, 1024),
        overflowed - tied,
    )
    while tied | overflowed:
        key, key_now = split(key, 2)
        more = np.asarray(bits(key_now, (4 + 3 * len(parts), slots)))
        for lane in sorted(
            {x % slots: x for x in sorted(tied | overflowed)[::-1]}.values()
        ):
            limbs, *rest = np.split(more[:, lane % slots], range(4, len(more), 3))
            if lane in tied:
                result[lane], again = number(lane, rest)
            else:
                reached = bisect.bisect_right(
                    big(np.asarray(table.redraw)), big([limbs])[0]
                )
                digit = min(reached, values)
                result[lane][1] = min(result[lane][1] + (digit << 4 * top), most)
                again = digit == values
            tied -= {lane}
            overflowed = overflowed | {lane} if again else overflowed - {lane}
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.fixture
def coarse(monkeypatch):
    """Words of three values, so that all limbs tie and digits overflow."""
    fine = jr.bits
    monkeypatch.setattr(
        jr,
        "bits",
        lambda key, shape, dtype: fine(key, shape, dtype) % 3 + jnp.uint32(5),
    )
    bits.clear_cache()
    yield
    bits.clear_cache()


LOW = [[2, 6, 5, 6], [2, 6, 7, 7], [4, 5, 6, 6]]  # a word is halved: 3 does not tie
HIGH = [[5, 6, 6, 5], [6, 5, 7, 6], [6, 6, 6, 6], [7, 6, 5, 5]]


def tied_table(digits, redraw):
    """Thresholds of words of three values; the top digit 3 is an overflow."""
    high = (np.array(HIGH, np.uint32),) * (digits - 1)
    redraw = np.array(redraw, np.uint32)
    largest = np.array([3] * digits, np.int32)
    top, values = np.asarray(digits - 1, np.int32), np.asarray(3, np.int32)
    return tables.Table(np.array(LOW, np.uint32), high, redraw, largest, top, values)


@pytest.mark.slow
@pytest.mark.usefixtures("coarse")
@pytest.mark.parametrize("size", [1, 300, 2100])
def test_ties_and_overflows_are_completed_bit_for_bit(size, key):
    """More of them than are completed at once."""
    table = tied_table(3, HIGH[:3])
    drawn = jax.jit(lambda key: discrete_laplace.sample(key, table, (size,)))(key)
    np.testing.assert_array_equal(drawn, reference(key, table, size))


@pytest.mark.slow
@pytest.mark.usefixtures("coarse")
def test_noise_beyond_one_limb(key):
    """Studies clip it to ±2^30; releases have both limbs, with one sign."""
    table = tied_table(7, [[5, 5, 5, 6]] * 3)
    sample = jax.jit(lambda key: discrete_laplace.sample(key, table, (40,)))
    limbs = jax.jit(lambda key: discrete_laplace.limbs(key, table, (40,)))
    exact = reference(key, table, 40, most=1 << 55)
    assert {*np.sign(exact[np.abs(exact) > 1 << 30])} == {-1, 1}
    np.testing.assert_array_equal(sample(key), np.clip(exact, -(1 << 30), 1 << 30))
    high, low = np.asarray(limbs(jr.clone(key)), np.int64)
    np.testing.assert_array_equal((high << 30) + low, exact)
    assert np.abs(low).max() < 1 << 30
    assert (high * low >= 0).all()


IN_TURN = ACCELERATOR._replace(least_unrolled=1 << 62, double_rounds=1)


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [1 << 32, 1 << 16, 70_000])
@pytest.mark.parametrize(
    "make",
    [study_key, partial(jr.key, impl=CHACHA20), jr.key],
    ids=["study", "release", "jax"],
)
def test_an_accelerators_program_compares_the_same_words(make, lanes):
    """Rows begin within parts of the stream, and blocks within rows, the last ends."""
    table, sizes = tables.build(Fraction(1, 40)), IN_TURN._replace(lanes=lanes)

    def marked(sizes):
        mark = partial(discrete_laplace._marked, sizes, size=170_001)
        return jax.jit(lambda key: mark(key, table))(make(3))

    for row, expected in zip(marked(sizes), marked(CPU), strict=True):
        np.testing.assert_array_equal(row, expected)


@pytest.mark.slow
@pytest.mark.parametrize("rho", [Fraction(2), Fraction(1, 60)], ids=str)
def test_an_accelerators_program_completes_the_same_draws(rho, key):
    """Rows of one shape have unused thresholds, with which no word ties."""
    table, size = tables.build(rho), 70_000

    def drawn(sizes):
        draw = partial(discrete_laplace._drawn, sizes, size=size, number=1)
        return jax.jit(lambda key: draw(key, table))(jr.clone(key))

    np.testing.assert_array_equal(drawn(IN_TURN), drawn(CPU))


@pytest.mark.slow
def test_a_word_without_zeros_does_not_tie_with_an_unused_threshold():
    rows = [(np.array(x, np.uint32), len(x), np.uint32(0)) for x in ([1, 5], [9])]
    _, row = discrete_laplace._of_one_shape(rows)
    words = jnp.array([0, 9, 10, 0xFFFFFFFF], jnp.uint32)
    tied = discrete_laplace.TIE
    assert discrete_laplace._digit(words, row).tolist() == [0, tied, 1, 1]
    whole = (np.array([1, 0xFFFFFFFF], np.uint32), 2, np.uint32(0))
    assert discrete_laplace._digit(words, whole).tolist() == [0, 1, 1, tied | 1]


@pytest.mark.slow
def test_many_draws_are_made_in_blocks_of_their_own_keys(key, monkeypatch):
    table = tables.build(Fraction(1, 40))
    monkeypatch.setattr(pending, "_MOST_WORDS", 200)
    shape, digits = (7, 50), table.largest.size
    drawn = jax.jit(lambda key: discrete_laplace.sample(key, table, shape))(key)
    blocks = -(-350 * digits // 200)
    expected = [
        reference(k, table, -(-350 // blocks)) for k in split(jr.clone(key), blocks)
    ]
    np.testing.assert_array_equal(drawn.ravel(), np.concatenate(expected)[:350])


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


def test_ties_of_the_first_word_are_resolved_by_the_other_limbs(rng):
    """A tie has chance 2^-26 a draw: here every lane has one."""
    for part in tables.build(Fraction(3, 10))[0], tables.build(Fraction(3, 10)).high[0]:
        first = np.repeat(part[:, 0], 50)
        rest = rng.integers(0, 2**32, (3, first.size), dtype=np.uint32)
        below = np.searchsorted(part[:, 0], first).astype(np.uint8)
        marked = jnp.asarray(below | discrete_laplace.TIE, jnp.uint8)
        chosen = jax.jit(discrete_laplace._resolved)(marked, rest, part)
        numbers = big(np.stack([first, *rest], axis=1))
        expected = [bisect.bisect_right(big(part), number) for number in numbers]
        np.testing.assert_array_equal(chosen, expected)
        assert len({*expected}) > part.shape[0] / 2


@pytest.mark.parametrize("tied", [0, 1, 2])
def test_one_tie_with_any_threshold_is_enough(tied):
    """All other words are below or above all leading limbs of equal thresholds."""
    table = tied_table(2, HIGH)._replace(
        high=(np.array([[3, 0, 9, 0], [5, 8, 0, 0], [9, 0, 0, 7]], np.uint32),)
    )
    first = np.array([1, 4, 6, 10, table.high[0][tied, 0]], np.uint32)
    words = np.stack([np.zeros(5, np.uint32), first])
    leading = table.high[0][:, 0]
    marked = discrete_laplace._digit(jnp.asarray(words[1]), (leading, 3, np.uint32(0)))
    assert marked.tolist() == [0, 1, 2, 3, discrete_laplace.TIE | tied]


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


@pytest.mark.slow
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
