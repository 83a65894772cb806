"""Coordinates of average moments: their range, their inverse and their volume."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from dpjax.data.intervals import Interval
from dpjax.families import LinearRegression, MultivariateGaussian
from dpjax.families.exact_totals import FamilyWithLaw
from dpjax.families.moment_totals import log_pivots
from dpjax.mechanisms import Laplace
from dpjax.posteriors import family_posterior
from dpjax.posteriors.hidden_totals.default_prior import DefaultPrior
from dpjax.posteriors.hidden_totals.hidden_total import HiddenTotal, Noisy
from dpjax.releases.released import Released
from dpjax.statistics import Sufficient

FAMILIES = {
    "intercept": LinearRegression((-3, 0), (5, 1), (-6, 2)),
    "no intercept": LinearRegression((-3, 0), (5, 1), (-6, 2), intercept=False),
    "normal": MultivariateGaussian((-3, 0, -6), (5, 1, 2)),
}


def tolerance():
    return 1e-9 if jnp.zeros(()).dtype == jnp.float64 else 2e-3


@pytest.mark.parametrize("name", FAMILIES)
def test_coordinates_reach_what_is_possible_and_nothing_else(rng, name):
    family = FAMILIES[name]
    for size in (0.1, 1.0, 5.0):
        point = jnp.asarray(size * rng.normal(size=family.dimension))
        average, _ = jax.jit(family.average_at)(point)
        squares = np.asarray(jax.jit(family.products)(average, 1.0), float)
        squares = squares[family.linear :, family.linear :]
        assert np.all(np.diag(squares) <= 1 + 1e-6)
        assert np.linalg.eigvalsh(squares).min() > -1e-6
        assert np.all(np.abs(average) <= 1 + 1e-6)


@pytest.mark.parametrize("name", FAMILIES)
def test_coordinates_of_a_total_lead_back_to_it(rng, name):
    family = FAMILIES[name]
    lower, upper = np.array(family.bounds).T
    records = jnp.asarray(lower + (upper - lower) * rng.random((50, 3)))
    scaled = jax.jit(family.scaled_statistics)(records).sum(axis=0)
    point = jax.jit(family.coordinates)(scaled, jnp.asarray(50.0))
    again, _ = jax.jit(family.average_at)(point)
    np.testing.assert_allclose(50 * again, scaled, rtol=1e-3, atol=50 * tolerance())


@pytest.mark.parametrize("name", FAMILIES)
def test_the_volume_is_that_of_the_map(rng, name):
    """Against the determinant of the derivatives."""
    family = FAMILIES[name]
    for size in (0.1, 1.0):
        point = jnp.asarray(size * rng.normal(size=family.dimension))
        changes = jax.jit(jax.jacfwd(lambda x: family.average_at(x)[0]))(point)
        sign, expected = np.linalg.slogdet(np.asarray(changes, float))
        assert sign != 0
        volume = float(jax.jit(family.average_at)(point)[1])
        assert volume == pytest.approx(expected, abs=10 * tolerance())


@pytest.mark.slow
def test_the_volume_with_a_private_number_of_records(rng):
    over = (Interval("x", -3, 5), Interval("y", -6, 2))
    statistic = Sufficient.of("linear-regression", over, "add-remove")
    law = Laplace(1.0, statistic.sensitivity("add-remove"))
    noisy, family = jnp.full(statistic.length, 30.0), statistic.family
    assert isinstance(family, FamilyWithLaw)
    releases = ((Noisy(noisy, law),),)
    hidden = HiddenTotal(releases, None, DefaultPrior(), statistic, family)
    point = jnp.asarray(rng.normal(size=hidden.coordinates + hidden.hyperparameters))
    changes = jax.jit(jax.jacfwd(lambda x: hidden.at(x)[0]))(point)
    changes = np.asarray(changes, float)[:, : hidden.coordinates]
    _, expected = np.linalg.slogdet(changes / statistic.steps)
    volume = float(jax.jit(lambda x: hidden.at(x)[2])(point))
    assert volume == pytest.approx(expected, abs=10 * tolerance())
    again, start = jax.jit(
        lambda x: (
            hidden.decode(hidden.at(hidden.point(x))[0])[0],
            hidden.decode(hidden.start(x))[0],
        )
    )(jnp.asarray(0.1))
    np.testing.assert_allclose(again, start, rtol=1e-3, atol=1e-2)


@pytest.mark.slow
def test_pivots_and_their_gains(rng):
    """Against Cholesky factors; their slopes against differences."""
    roots, more, way = rng.normal(size=(3, 4, 4))
    matrix, more, way = (np.asarray(x @ x.T, float) for x in (roots, more, way))
    matrix = matrix + np.eye(4)

    def expected(matrix, more):
        of = [
            np.log(np.diag(np.linalg.cholesky(x))) * 2 for x in (matrix, matrix + more)
        ]
        return of[0], of[1] - of[0]

    given = jnp.asarray(matrix), jnp.asarray(more)
    for found, wanted in zip(log_pivots(*given), expected(matrix, more), strict=True):
        np.testing.assert_allclose(found, wanted, atol=tolerance())
    tiny = 1e-9 * more  # the gains keep their digits
    _, gains = log_pivots(given[0], jnp.asarray(tiny))
    factor = np.linalg.inv(np.linalg.cholesky(matrix))
    wanted = np.diag(factor @ tiny @ factor.T)
    np.testing.assert_allclose(gains, wanted, rtol=1e-3)
    weights = jnp.asarray(rng.normal(size=(2, 4)))

    def value(t):
        logs, gains = log_pivots(given[0] + t * jnp.asarray(way), given[1] * (1 + t))
        return (weights[0] * logs + weights[1] * gains).sum()

    step = 1e-5
    ends = [
        expected(matrix + t * way, more * (1 + t)) for t in (-step, step)
    ]  # in NumPy's doubles
    slope = sum(
        float(weight @ (np.asarray(after) - before)) / (2 * step)
        for weight, before, after in zip(np.asarray(weights, float), *ends, strict=True)
    )
    assert float(jax.grad(value)(jnp.zeros(()))) == pytest.approx(slope, rel=1e-3)


@pytest.mark.thorough
def test_chains_of_many_columns_agree(key, rng):
    """A regression with 20 features, for little noise and for more noise than data."""
    over = tuple(Interval(f"x{i}", -1, 1) for i in range(21))
    statistic = Sufficient.of("linear-regression", over, "replace-one")
    records = rng.uniform(-1, 1, (10_000, 21))
    records[:, -1] = records @ np.linspace(-0.3, 0.3, 21)
    exact = np.asarray(statistic.measure(jnp.asarray(records)), float)
    sensitivity = statistic.sensitivity("replace-one")
    for epsilon, key_chains in zip((1.0, 10.0), jr.split(key), strict=True):
        noise = rng.laplace(0, sensitivity.value / epsilon, exact.shape)
        law = Laplace(epsilon, sensitivity)
        released = Released(jnp.asarray(exact + noise), statistic, law, 10_000)
        found = family_posterior(key_chains, released).diagnostics()
        assert all(np.max(x) < 1.1 for x in found["r_hat"].values())
        assert all(np.min(x) > 40 for x in found["effective"].values())
        assert 0.5 < found["accepted"] < 0.98
