"""Truncated laws: draws, densities and means against quadrature and SciPy."""

import functools

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import numpyro
import pytest
from numpyro.infer import MCMC, NUTS
from scipy import special, stats

from dpjax.distributions import GaussianInBall, TruncatedBeta, TruncatedDirichlet
from tests.helpers.statistical import ALPHA
from tests.helpers.truncated import beta_law, dithered

X64 = jnp.zeros(()).dtype == jnp.float64
# Concentrations and interval: bulk, both tails with almost no mass, huge, small, wide.
BETAS = np.array(
    [
        [2.0, 3.0, 0.1, 0.9],
        [3.0, 900.0, 0.05, 0.95],
        [900.0, 3.0, 0.05, 0.95],
        [1e5, 1e5, 0.05, 0.95],
        [1e5, 1e5, 0.51, 0.95],
        [0.5, 0.5, 0.001, 0.999],
        [0.5, 50.0, 0.2, 0.8],
        [1e6, 3.0, 0.05, 0.95],
        [1.0, 1.0, 0.2, 0.3],
    ]
)
DRAWS = 20_000


@pytest.fixture(scope="module")
def betas():
    return TruncatedBeta(*jnp.asarray(BETAS.T, float))


@pytest.fixture(scope="module")
def beta_draws(betas):
    draw = jax.jit(lambda key: betas.sample(key, (DRAWS,)))
    return np.asarray(draw(jr.key(0)))


@pytest.mark.parametrize("i", range(len(BETAS)), ids=[str(b.tolist()) for b in BETAS])
def test_beta_draws_follow_their_law_and_would_show_another(i, beta_draws, rng):
    """A tenth more of a concentration, or of a spread left out, shows."""
    a, b, low, high = BETAS[i]
    drawn = dithered(beta_draws[:, i], rng, low, high)
    law = beta_law(a, b, low, high)
    assert stats.kstest(drawn, law.cdf).pvalue > ALPHA
    spread = law.variance**0.5
    other = beta_law(a * 1.1, b, low, high)
    if abs(other.mean - law.mean) > 0.1 * spread:
        assert stats.kstest(drawn, other.cdf).pvalue < ALPHA
    narrower = beta_law(a, b, low + 0.1 * spread, high)
    if narrower.below[-1] and law.cdf(low + 0.1 * spread) > 0.05:
        assert stats.kstest(drawn, narrower.cdf).pvalue < ALPHA


def test_where_scipy_has_an_answer_it_is_the_same(beta_draws, rng):
    a, b, low, high = BETAS[0]
    ends = stats.beta.cdf([low, high], a, b)

    def cdf(x):
        return (stats.beta.cdf(x, a, b) - ends[0]) / (ends[1] - ends[0])

    drawn = dithered(beta_draws[:, 0], rng, low, high)
    assert stats.kstest(drawn, cdf).pvalue > ALPHA


@pytest.mark.slow
def test_beta_densities_and_moments_are_those_of_quadrature(betas):
    laws = [beta_law(*row) for row in BETAS]
    modes = np.array([law.points.ravel()[law.masses.argmax()] for law in laws])
    points = np.asarray(modes.astype(np.float32 if not X64 else float), float)
    found = np.asarray(jax.jit(betas.log_prob)(jnp.asarray(points, float)))
    a, b = BETAS[:, 0], BETAS[:, 1]
    expected = (a - 1) * np.log(points) + (b - 1) * np.log1p(-points)
    expected -= [law.log_mass for law in laws]
    rounding = np.abs((a - 1) - (a + b - 2) * points) / (1 - points) * 6e-8
    tolerance = 1e-6 if X64 else 1e-4 + rounding + 2e-6 * np.abs(expected)
    assert (np.abs(found - expected) <= tolerance + 1e-6).all()
    means = np.array([law.mean for law in laws])
    assert np.allclose(np.asarray(betas.mean), means, rtol=1e-6 if X64 else 2e-5)


@pytest.mark.slow
def test_beta_draws_are_never_outside_and_never_lies():
    law = TruncatedBeta(
        jnp.array([2.0, jnp.nan]), jnp.array([2.0, 2.0]), 0.1, 0.9, validate_args=False
    )
    drawn = np.asarray(jax.jit(lambda key: law.sample(key, (50,)))(jr.key(0)))
    assert ((drawn[:, 0] >= 0.1) & (drawn[:, 0] <= 0.9)).all()
    assert np.isnan(drawn[:, 1]).all()


SHAPES = np.array(
    [[2.0, 3.0, 4.0], [0.5, 0.5, 0.5], [5000.0, 1.0, 1.0], [1e6, 3e5, 10.0]]
)
LEAST = np.array([0.1, 0.05, 0.25, 0.2])


@pytest.fixture(scope="module")
def dirichlets():
    return TruncatedDirichlet(jnp.asarray(SHAPES, float), jnp.asarray(LEAST, float))


@pytest.fixture(scope="module")
def dirichlet_draws(dirichlets):
    draw = jax.jit(lambda key: dirichlets.sample(key, (DRAWS // 4,)))
    return np.asarray(draw(jr.key(1)), float)


def triangle(least, points=600):
    """Midpoints of a grid of the truncated simplex of three entries."""
    scale = 1 - 3 * least
    steps = (np.arange(points) + 0.5) / points
    x, y = np.meshgrid(steps, steps, indexing="ij")
    u, v = x * scale, y * (1 - x) * scale  # (x, y) of the square to the triangle
    area = scale**2 * (1 - x) / points**2
    return np.stack([least + u, least + v, least + scale - u - v], -1), area


@functools.cache
def log_mass(i):
    points, area = triangle(LEAST[i])
    logs = ((SHAPES[i] - 1) * np.log(points)).sum(-1)
    masses = np.exp(logs - logs.max()) * area
    return logs.max() + np.log(masses.sum()), points, masses / masses.sum()


@pytest.mark.slow
def test_dirichlet_densities_integrate_to_one(dirichlets):
    at = np.array([0.3, 0.3, 0.4])
    found = np.asarray(jax.jit(dirichlets.log_prob)(jnp.asarray(at, float)))
    for i in (0, 1):
        expected, *_ = log_mass(i)
        exact = ((SHAPES[i] - 1) * np.log(at)).sum() - expected
        assert found[i] == pytest.approx(exact, abs=2e-4)


@pytest.mark.thorough
def test_uniform_rows_have_the_volume_of_their_simplex():
    """Any number of levels: (1 - k ω)^(k-1) / (k - 1)!."""
    for k, least in ((2, 0.1), (3, 0.3), (10, 0.05)):
        law = TruncatedDirichlet(jnp.ones(k), least)
        volume = (k - 1) * np.log(1 - k * least) - special.gammaln(k)
        found = float(law.log_prob(jnp.full(k, 1 / k)))
        assert found == pytest.approx(-volume, abs=1e-6 if X64 else 1e-4)


@pytest.mark.slow
def test_two_levels_are_a_truncated_beta():
    rows = jnp.asarray([[3.0, 900.0], [1e5, 1e5], [0.5, 2.0]], float)
    law = TruncatedDirichlet(rows, 0.05)
    beta = TruncatedBeta(rows[:, 0], rows[:, 1], 0.05, 0.95)
    at = jnp.asarray([[0.06, 0.94], [0.501, 0.499], [0.3, 0.7]], float)
    found, expected = np.asarray(law.log_prob(at)), np.asarray(beta.log_prob(at[:, 0]))
    assert np.allclose(
        found, expected, rtol=1e-6 if X64 else 2e-5, atol=2e-2 * (not X64)
    )


@pytest.mark.parametrize("i", range(len(SHAPES)))
def test_dirichlet_draws_have_the_right_marginals(i, dirichlets, dirichlet_draws, rng):
    drawn = dirichlet_draws[:, i]
    assert drawn.min() >= LEAST[i] - 1e-6
    assert np.allclose(drawn.sum(-1), 1, atol=1e-5)
    if i > 1:  # concentrated: means and spread by the library's own moments, next test
        return
    _, points, masses = log_mass(i)
    order = np.argsort(points[..., 0].ravel())
    below = np.cumsum(masses.ravel()[order])

    def cdf(x):
        return np.interp(x, points[..., 0].ravel()[order], below)

    assert stats.kstest(drawn[:, 0], cdf).pvalue > ALPHA
    assert stats.kstest(drawn[:, 1], cdf).pvalue < ALPHA or i == 1


@pytest.mark.thorough
def test_dirichlet_means_agree_with_draws(dirichlets, dirichlet_draws):
    mean, spread = dirichlet_draws.mean(0), dirichlet_draws.std(0)
    error = np.abs(np.asarray(dirichlets.mean) - mean)
    assert (error <= 6 * spread / DRAWS**0.5 * 2 + 1e-5).all()
    _, points, masses = log_mass(0)
    expected = (points * masses[..., None]).sum((0, 1))
    assert np.allclose(np.asarray(dirichlets.mean)[0], expected, atol=1e-4)


@pytest.mark.thorough
def test_many_unequal_levels_are_drawn(rng):
    """Forty levels from 0.5 to 1e6, and a bound near the largest possible one."""
    shapes = np.geomspace(0.5, 1e6, 40)
    law = TruncatedDirichlet(jnp.asarray(shapes, float), 0.99 / 40)
    drawn = np.asarray(jax.jit(lambda key: law.sample(key, (20,)))(jr.key(2)))
    assert drawn.shape == (20, 40)
    assert np.isfinite(drawn).all()
    assert drawn.min() >= 0.99 / 40 - 1e-6
    assert drawn[:, -1].mean() > 0.034  # all that can be spared


BALLS = [(40.0, 1.0, 1.0), (0.3, 2.0, 1.5), (-3.0, 100.0, 0.5)]


@pytest.mark.thorough
def test_in_one_dimension_the_ball_is_an_interval(rng):
    mean, precision, radius = np.array(BALLS).T
    law = GaussianInBall(
        jnp.asarray(mean[:, None], float),
        jnp.asarray(precision[:, None, None], float),
        jnp.asarray(radius, float),
    )
    drawn = np.asarray(jax.jit(lambda key: law.sample(key, (5000,)))(jr.key(3)), float)
    for i, (m, p, r) in enumerate(BALLS):
        scale = p**-0.5
        exact = stats.truncnorm((-r - m) / scale, (r - m) / scale, m, scale)
        seen = dithered(drawn[:, i, 0].astype(np.float32), rng, -r, r)
        assert stats.kstest(seen, exact.cdf).pvalue > ALPHA
        assert stats.kstest(seen * 0.8, exact.cdf).pvalue < ALPHA
        at = 0.9 * r * np.sign(m)
        found = float(law.log_prob(jnp.full((3, 1), at, float))[i])
        assert found == pytest.approx(exact.logpdf(at), rel=1e-4, abs=1e-3)


@pytest.mark.thorough
def test_in_two_dimensions_the_density_integrates_to_one():
    precision = jnp.asarray([[3.0, 1.0], [1.0, 2.0]], float)
    law = GaussianInBall(jnp.asarray([0.8, -0.5], float), precision, 1.0)
    grid = (np.arange(400) + 0.5) / 200 - 1
    x, y = np.meshgrid(grid, grid)
    inside = x**2 + y**2 < 1
    points = np.stack([x[inside], y[inside]], -1)
    density = np.exp(
        np.asarray(jax.jit(law.log_prob)(jnp.asarray(points, float)), float)
    )
    assert density.sum() / 200**2 == pytest.approx(1, abs=2e-3)
    mean = (density[:, None] * points).sum(0) / density.sum()
    assert np.allclose(np.asarray(law.mean), mean, atol=2e-3)


@pytest.mark.thorough
def test_in_a_hundred_dimensions_draws_come_where_almost_nothing_is():
    """Mean 10 in every direction, radius 1: a naive draw is inside with 1e-2000."""
    law = GaussianInBall(jnp.full(100, 10.0), jnp.eye(100), 1.0)
    drawn = np.asarray(jax.jit(lambda key: law.sample(key, (400,)))(jr.key(4)))
    norms = np.linalg.norm(drawn, axis=1)
    assert norms.max() <= 1 + 1e-5
    assert drawn.mean() == pytest.approx(float(np.asarray(law.mean)[0]), rel=0.02)


@pytest.mark.thorough
def test_under_vmap_draws_are_the_same():
    keys = jr.split(jr.key(5), 3)
    rows = jnp.asarray(SHAPES[:3], float)

    def draw(key, row):
        return TruncatedDirichlet(row, 0.1).sample(key)

    together = np.asarray(jax.vmap(draw)(keys, rows))
    alone = np.asarray(jax.jit(draw)(jr.clone(keys)[1], rows[1]))
    assert np.allclose(together.sum(1), 1, atol=1e-5)
    assert np.allclose(together[1], alone, atol=1e-6)


@pytest.mark.thorough
@pytest.mark.relaxed
def test_a_batch_of_truncated_betas_is_each_of_them(key):
    """A batch is drawn by one loop, and its lanes keep their own keys."""
    keys = jr.split(key, (3, 2))
    ones = jnp.asarray(np.linspace(0.6, 30, 400), float)
    low = jnp.asarray([0.05, 0.4], float)

    def draw(key, low):
        law = TruncatedBeta(ones, ones[::-1], low, 1 - low, validate_args=False)
        return law.sample(key)

    batch = jax.jit(jax.vmap(jax.vmap(draw), in_axes=(0, None)))(keys, low)
    alone = jax.jit(draw)
    for i, j in np.ndindex(3, 2):
        # Nothing but rounding may differ: not one lane its draw.
        np.testing.assert_allclose(batch[i, j], alone(keys[i, j], low[j]), rtol=1e-4)


@pytest.mark.slow
@pytest.mark.relaxed
def test_vectors_of_several_lengths_have_the_law_of_each(key):
    """By means and variances of 20,000 draws, with false alarms of about 1e-6."""
    rows = np.array([[2, 0.7, 5, 1, 1], [0.5, 3, 1, 0.6, 1], [20, 1, 4, 9, 2]])
    least, lengths, draws = np.array([0.1, 0.02, 0.01]), (3, 4, 5), 20_000
    present = np.arange(5) < np.array(lengths)[:, None]
    law = TruncatedDirichlet(
        jnp.asarray(np.broadcast_to(rows, (draws, 3, 5)), float),
        jnp.asarray(least, float),
        validate_args=False,
    )
    every = jnp.asarray(np.broadcast_to(present, (draws, 3, 5)))
    drawn = np.asarray(jax.jit(law.sample_present)(key, every), float)
    for i, k in enumerate(lengths):
        alone = TruncatedDirichlet(jnp.asarray(rows[i, :k], float), least[i])
        mean, variance = np.asarray(alone.mean), np.asarray(alone.variance)
        seen = drawn[:, i, :k]
        np.testing.assert_allclose(seen.sum(axis=1), 1, atol=1e-6)
        assert seen.min() >= least[i] - 1e-7
        far = (seen.mean(axis=0) - mean) / np.sqrt(variance / draws)
        assert np.abs(far).max() < 5.5
        squares = (seen - mean) ** 2
        error = squares.std(axis=0) / np.sqrt(draws)
        far = (squares.mean(axis=0) - variance) / error
        assert np.abs(far).max() < 5.5


@pytest.mark.slow
@pytest.mark.relaxed
def test_lanes_that_wait_do_not_share_their_draws(key):
    law = TruncatedBeta(jnp.full(8000, 3.0), 2.0, 0.1, 0.9, validate_args=False)
    draws = np.asarray(jax.jit(law.sample)(key))
    # Some 4 of 8000 floats are equal by chance: 8000² / 2 pairs, 2^23 floats.
    assert len(np.unique(draws)) > 8000 - 25


@pytest.mark.thorough
@pytest.mark.relaxed
def test_inside_a_model_nuts_finds_their_means():
    def model():
        numpyro.sample("p", TruncatedBeta(3.0, 4.0, 0.3, 0.9))
        numpyro.sample("row", TruncatedDirichlet(jnp.array([2.0, 3.0, 4.0]), 0.1))
        numpyro.sample("w", GaussianInBall(jnp.array([2.0, 0.0]), jnp.eye(2), 1.0))

    chain = MCMC(NUTS(model), num_warmup=300, num_samples=1500, progress_bar=False)
    chain.run(jr.key(0))
    means = {name: np.asarray(x).mean(0) for name, x in chain.get_samples().items()}
    assert means["p"] == pytest.approx(beta_law(3, 4, 0.3, 0.9).mean, abs=0.03)
    row = TruncatedDirichlet(jnp.array([2.0, 3.0, 4.0]), 0.1).mean
    assert np.allclose(means["row"], row, atol=0.03)
    w = GaussianInBall(jnp.array([2.0, 0.0]), jnp.eye(2), 1.0).mean
    assert np.allclose(means["w"], w, atol=0.08)


@pytest.mark.parametrize(
    "make",
    [
        lambda: TruncatedBeta(-1.0, 1.0, 0.1, 0.9, validate_args=True),
        lambda: TruncatedBeta(1.0, 1.0, 0.9, 0.1, validate_args=True),
        lambda: TruncatedDirichlet(jnp.ones(3), 0.34, validate_args=True),
        lambda: TruncatedDirichlet(-jnp.ones(3), 0.1, validate_args=True),
        lambda: GaussianInBall(jnp.zeros(2), jnp.eye(2), -1.0, validate_args=True),
        lambda: GaussianInBall(jnp.zeros(2), -jnp.eye(2), 1.0, validate_args=True),
    ],
)
def test_parameters_out_of_range_are_refused(make):
    with pytest.raises(ValueError, match=r"`\w+` .*must"):
        make()
