"""What is published is drawn without rounding: bit for bit, to the last of 64 bits."""

import decimal
import itertools
from fractions import Fraction

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from dpjax.families import Poisson
from dpjax.mechanisms import DiscreteLaplace, FamilyPosteriorSampler, discrete_laplace
from dpjax.noise.simplex_grid import LOG_BITS, SimplexGrid, log_table
from dpjax.privacy import Sensitivity

from .test_discrete_laplace import reference

pytestmark = pytest.mark.device

NOISE = DiscreteLaplace.calibrate("1/500", Sensitivity(3, "replace-one"))


@pytest.mark.slow
def test_the_noise_of_a_release_is_the_samplers_bit_for_bit(key, monkeypatch):
    monkeypatch.setattr(discrete_laplace, "release_key", lambda: jr.clone(key))
    exact = np.arange(-300, 300, dtype=np.int32)
    drawn = np.asarray(NOISE.draw(jnp.asarray(exact)))
    noise = reference(key, NOISE.table, 4096)[: len(exact)]
    np.testing.assert_array_equal(drawn - exact, noise)


def test_noise_is_given_out_as_it_was_drawn_however_large(monkeypatch):
    far = np.array([2**53, -(2**53) + 7, 2**30, 10**6, -10, 0])
    high, low = np.sign(far) * (np.abs(far) >> 30), np.sign(far) * (np.abs(far) % 2**30)
    drawn = np.stack([np.resize(x, 4096) for x in (high, low)]).astype(np.int32)
    monkeypatch.setattr(discrete_laplace, "_limbs", lambda *_: drawn)
    np.testing.assert_array_equal(NOISE.draw(np.zeros(6, np.int64)), far)
    np.testing.assert_array_equal(NOISE.draw(np.full(6, 5)), np.minimum(far + 5, 2**53))
    limit = np.full(6, -(2**53))
    np.testing.assert_array_equal(NOISE.draw(limit), np.maximum(far, 0) + limit)


def test_the_program_of_the_noise_has_no_floating_point(key):
    program = jax.make_jaxpr(discrete_laplace._limbs, static_argnums=2)(
        key, NOISE.padded_table(), (4,)
    )
    text = str(program)
    assert "i32[" in text
    assert not any(f"f{width}[" in text for width in (16, 32, 64))


def edges(scores, unit):
    """Sums of weights over their total, with fifty digits."""
    context = decimal.Context(prec=60)
    steps = [unit * (score - max(scores)) for score in scores]
    weights = [context.exp(decimal.Decimal(x.numerator) / x.denominator) for x in steps]
    sums = [Fraction(x) for x in itertools.accumulate(weights)]
    return [x / sums[-1] for x in sums[:-1]]


def stream(number):
    """A source of bits: those of a 64-bit number, and then zeros."""
    position = 0

    def bits(k):
        nonlocal position
        position += k
        return ((number << 512) >> (576 - position)) & ((1 << k) - 1)

    return bits


def assert_split_at(edges, draw):
    """Numbers a few units of 2^-64 on both sides of an edge go to different indices."""
    for index, edge in enumerate(edges):
        near = int(edge * 2**64)
        drawn = [draw(stream(near + step)) for step in (-4, 4)]
        assert drawn == [index, index + 1]


def test_levels_of_a_row_are_parted_at_the_last_of_64_bits():
    grid, exponents = SimplexGrid(2, 12, 2), (Fraction(7, 3), Fraction(1, 2))
    logs = log_table(grid.units)
    scores = [
        int(6 * exponents[0]) * logs[g] + int(6 * exponents[1]) * logs[12 - g]
        for g in range(2, 11)
    ]
    where = edges(scores, Fraction(1, 6 << LOG_BITS))
    assert_split_at(where, lambda bits: grid.draw(exponents, bits)[0][0] - 2)


@pytest.mark.parametrize("n", [2, 20])
def test_points_of_a_family_are_parted_at_the_last_of_64_bits(n):
    mechanism = FamilyPosteriorSampler.calibrate(
        Poisson(3), 3, 0, "1", "replace-one", n=n, points=9,
        truncation={"rate": (0.5, 2.5)},
    )  # fmt: skip
    exact = jnp.array([n + 1], jnp.int32)
    where = edges(*mechanism.scores([n + 1]))
    assert_split_at(where, lambda bits: int(mechanism.draw_with(bits, exact)[0, 0]))
