"""Released posteriors approach the exact ones as n grows: Foulds et al., section 3."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special

from dpjax.families import Bernoulli, GaussianMean, conjugate_posterior
from dpjax.mechanisms import DiscreteLaplace

from .test_sufficient import sufficient

SIZES = 2 ** np.arange(7, 16)
REPEATS = 2000
TRUTH, UNITS = 0.3, 64
FAMILIES = {"beta": Bernoulli(), "normal": GaussianMean(-1.0, 2.0, 0.25)}


def exact_vectors(statistic, n):
    """What a data set of n records with mean TRUTH measures; the last digits apart."""
    ((lower, upper),) = statistic.family.bounds
    part = round(n * (TRUTH - lower) / (upper - lower) * statistic.units)
    if statistic.adjacency == "replace-one":
        return [part]
    return [part, n * statistic.units - part]


@jax.jit
def draw(key, mechanism):
    """Enough noise for every case, in one vector: one program for all of them."""
    return mechanism.sample(key, jnp.zeros(REPEATS * len(SIZES) * 2, jnp.int32))


def parameters(key, name, adjacency, growth=0.0):
    """Of exact and released posteriors, by n and repeat; noise times n^growth."""
    family = FAMILIES[name]
    statistic = sufficient(family, adjacency, UNITS)
    mechanism = DiscreteLaplace.calibrate("1/2", statistic.sensitivity(adjacency))
    noise = np.asarray(draw(key, mechanism), float).reshape(REPEATS, len(SIZES), 2)
    noise = noise * (SIZES[:, None] / SIZES[0]) ** growth
    exact = np.array([exact_vectors(statistic, n) for n in SIZES], float)

    def posterior(vector, n):
        public = n if adjacency == "replace-one" else None
        total, n = statistic.decode(vector, public)
        return conjugate_posterior(family, total, n).parameters

    over_sizes = jax.vmap(posterior)
    over_both = jax.jit(jax.vmap(over_sizes, (0, None)))
    vectors = np.concatenate([exact[None], exact + noise[..., : statistic.length]])
    result = over_both(jnp.asarray(vectors, float), jnp.asarray(SIZES, float))
    result = jax.tree.map(lambda x: np.asarray(x, np.float64), result)
    exact, noisy = (jax.tree.map(lambda x, i=i: x[i], result) for i in (0, np.s_[1:]))
    return exact, noisy


def divergence(name, noisy, exact):
    """KL of the released posterior from the exact one, in closed form."""
    if name == "normal":
        ratio = exact.precision / noisy.precision
        shift = exact.precision * (noisy.mean - exact.mean) ** 2
        return (ratio - 1 - np.log(ratio) + shift) / 2
    a, b = noisy
    c, d = exact
    digamma = special.digamma
    return (
        special.betaln(c, d)
        - special.betaln(a, b)
        + (a - c) * digamma(a)
        + (b - d) * digamma(b)
        + (c - a + d - b) * digamma(a + b)
    )


def slope(key, name, adjacency, growth=0.0):
    """Of the logarithm of the expected divergence over that of n."""
    exact, noisy = parameters(key, name, adjacency, growth)
    expected = divergence(name, noisy, exact).mean(axis=0)
    return np.polyfit(np.log(SIZES), np.log(expected), 1)[0], expected


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("name", FAMILIES)
def test_released_posteriors_approach_the_exact_ones(name, adjacency, key):
    """Lemma 1 and Corollary 2; with fixed noise the divergence falls like 1/n."""
    fitted, expected = slope(key, name, adjacency)
    assert fitted == pytest.approx(-1, abs=0.1)
    assert expected[-1] < 0.02 < expected[0] * 10


@pytest.mark.parametrize("name", FAMILIES)
def test_noise_that_grows_with_the_root_of_n_would_be_noticed(name, key):
    fitted, _ = slope(key, name, "replace-one", growth=0.5)
    assert fitted > -0.2


def test_a_released_mean_is_as_good_as_the_exact_one(key):
    """Remark 1: beside the error of n records, that of the noise vanishes."""
    exact, noisy = parameters(key, "beta", "add-remove")
    mean = noisy.successes / (noisy.successes + noisy.failures)
    error = np.mean(
        (mean - exact.successes / (exact.successes + exact.failures)) ** 2, 0
    )
    sampling = TRUTH * (1 - TRUTH) / SIZES
    assert error[-1] < 0.01 * sampling[-1]
    assert error[0] > 0.1 * sampling[0]
