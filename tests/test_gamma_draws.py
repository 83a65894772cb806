"""Gamma draws: their law at every size of the shape parameter, and with every key."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy import stats

from dpjax.distributions import gamma_draws
from dpjax.distributions.gamma_draws import draw_beta, draw_gamma, draw_log_gamma
from dpjax.noise.keys.chacha import CHACHA20
from tests.helpers.statistical import ALPHA, assert_departs, assert_follows

MANY = 20_000


@pytest.mark.parametrize("shape", [0.05, 0.7, 1.0, 3.0, 1e3, 1e6, 1e9])
def test_gamma_draws_have_their_law(shape, key):
    parameters = jnp.asarray(shape), jnp.asarray(2.0)
    drawn = np.asarray(draw_gamma(key, parameters, (MANY,)), float)
    law = stats.gamma(shape, scale=0.5)
    assert_follows(drawn, law)
    assert_departs(drawn * (1 + 0.2 * law.std() / law.mean()), law)
    off = (drawn.mean() - law.mean()) / law.std() * MANY**0.5
    assert abs(off) < stats.norm.isf(ALPHA / 2)


def test_logs_of_gamma_draws_do_not_underflow(key):
    drawn = np.asarray(draw_log_gamma(key, jnp.full(MANY, 1e-3)))
    assert_follows(drawn[drawn > -80], Truncated(stats.loggamma(1e-3), -80))
    assert drawn.min() < -1000


class Truncated:
    """A law given that a number is above a bound."""

    def __init__(self, law, bound):
        self.law, self.below = law, law.cdf(bound)

    def cdf(self, x):
        return (self.law.cdf(x) - self.below) / (1 - self.below)


@pytest.mark.slow
def test_release_keys_draw_the_same_laws(key):
    secret = jr.wrap_key_data(jr.bits(key, (8,), jnp.uint32), impl=CHACHA20)
    shapes = jnp.asarray(2.0), jnp.asarray(0.5)
    assert_follows(draw_beta(secret, shapes, (MANY,)), stats.beta(2, 0.5))


def test_the_chance_of_acceptance_is_exact():
    """As in the paper, where its terms are known to many digits."""
    for d in (0.7, 40.0, 1e4, 1e8):
        x = np.linspace(-5, 5, 1001)
        h = np.asarray(x / np.sqrt(9 * d), np.float32)
        h = h[h > -0.999]
        wide = h.astype(np.longdouble)
        cube = (1 + wide) ** 3
        wanted = 4.5 * d * wide**2 + d * (1 - cube + 3 * np.log1p(wide))
        found = d * np.asarray(jax.jit(gamma_draws._log_acceptance)(h), float)
        np.testing.assert_allclose(found, np.float64(wanted), rtol=1e-3, atol=1e-4)


def test_numbers_are_drawn_together():
    """One loop of few passes, whose number does not grow with the numbers."""
    parameters = jnp.asarray(3.0), jnp.asarray(1.0)

    def program(words, size):
        key = jr.wrap_key_data(words, impl=CHACHA20)
        return draw_gamma(key, parameters, (size,))

    texts = [
        jax.jit(program, static_argnums=1).lower(np.zeros(8, np.uint32), n).as_text()
        for n in (64, 128)
    ]
    assert "tensor<128xf32>" in texts[1] or jax.config.jax_enable_x64
    assert texts[0].count("stablehlo.while") == texts[1].count("stablehlo.while")
