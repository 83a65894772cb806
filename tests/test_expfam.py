"""Exponential families: statistics, suprema over bounds, projection, bad input."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.distance import cdist

from dpjax.families import (
    FAMILIES as BY_NAME,
    Bernoulli,
    Categorical,
    Exponential,
    Gaussian,
    GaussianMean,
    LinearRegression,
    MultivariateGaussian,
    Poisson,
)
from dpjax.families.moments import largest_change
from tests.helpers.families import (
    FAMILIES,
    random_records,
    records_on_grid,
    statistics,
    total_of,
)

every_family = pytest.mark.parametrize("name", FAMILIES)


def diameter_of(statistics):
    """Largest L1 distance, a block of rows at a time."""
    blocks = np.array_split(statistics, max(1, len(statistics) // 500))
    return max(cdist(block, statistics, "cityblock").max() for block in blocks)


@every_family
@pytest.mark.parametrize("scaled", [False, True])
def test_suprema_equal_brute_force(name, scaled):
    family = FAMILIES[name]
    values = statistics(family, records_on_grid(family))
    if scaled:
        values = values / np.array(family.scales())
    radius, diameter = family.radius(scaled), family.diameter(scaled)
    assert radius.tight
    assert np.abs(values).sum(1).max() == pytest.approx(radius.value, rel=1e-6)
    found = diameter_of(values)
    assert found <= diameter.value * (1 + 1e-6)
    coarse = 0.005 if family.columns > 1 else 1e-5  # optima between points of the grid
    if diameter.tight:
        assert found >= diameter.value * (1 - coarse)
    assert diameter.tight == (name != "one side")


@every_family
def test_the_statistic_stays_within_its_scales(name):
    family = FAMILIES[name]
    values = statistics(family, records_on_grid(family))
    np.testing.assert_allclose(np.abs(values).max(0), family.scales(), rtol=1e-6)
    assert values.shape[1] == family.dimension == len(family.scales())
    if family.complement is not None:
        carrier = values[:, family.complement] / family.scales()[family.complement]
        assert carrier.min() >= 0


def test_suprema_inside_of_the_bounds():
    for half_width in (0.5, 0.8, 3.0):
        family = Gaussian(-half_width, half_width)
        assert family.diameter().value == pytest.approx(
            half_width**2 + half_width + 1 / 4
        )
    assert Gaussian(-0.3, 0.3).diameter().value == pytest.approx(2 * 0.3)
    for d in range(1, 9):
        exact = d * (d + 2) ** 2 / (2 * (d + 1))
        assert largest_change((1,) * d, True) == pytest.approx(exact)


def test_a_larger_box_moves_more(rng):
    for _ in range(50):
        small = rng.uniform(0, 2, 4)
        large = small + rng.uniform(0, 1, 4)
        for linear in (False, True):
            assert largest_change(list(small), linear) <= largest_change(
                list(large), linear
            )


def test_the_supremum_in_a_box_is_no_less_than_what_search_finds(rng):
    for linear in (False, True):
        half_widths = rng.uniform(0.05, 2, 5)
        one = rng.uniform(-1, 1, (4000, 5)) * half_widths
        corner = np.broadcast_to(half_widths, one.shape)
        rows, columns = np.triu_indices(5)

        def moments(z, rows=rows, columns=columns, linear=linear):
            products = z[:, rows] * z[:, columns]
            return np.concatenate([z, products], 1) if linear else products

        found = np.abs(moments(one) - moments(corner)).sum(1).max()
        bound = largest_change(list(half_widths), linear)
        assert 0.7 * bound <= found <= bound


@every_family
def test_records_that_are_none_are_clipped(name):
    family = FAMILIES[name]
    scaled = jax.jit(family.scaled_statistics)
    lower, upper = np.array(family.bounds, np.float32).T
    bad = np.stack([lower - 1e6, upper + 1e38, upper * 0 + np.inf, -np.inf + lower])
    clipped = np.stack([lower, upper, upper, lower])
    np.testing.assert_array_equal(scaled(bad), scaled(clipped))
    missing = np.asarray(scaled(np.full((1, family.columns), np.nan, np.float32)))
    assert np.isfinite(missing).all()
    zero = np.float32(0.0)
    both = np.array([[zero], [-zero]]).repeat(family.columns, 1)
    first, second = np.asarray(scaled(both))
    np.testing.assert_array_equal(first, second)


@pytest.mark.slow
def test_what_is_missing_is_the_middle():
    nothing = np.full((1, 2), np.nan, np.float32)
    middle = MultivariateGaussian((0.0, 1.0), (1.0, 5.0)).statistics(nothing)
    np.testing.assert_array_equal(middle, np.zeros((1, 5)))
    family = LinearRegression((0.0,), (4.0,), (1.0, 5.0), intercept=False)
    np.testing.assert_allclose(family.statistics(nothing), [[4, 6, 9]])
    assert Exponential(4.0).statistics(nothing[:, :1])[0, 0] == 2
    middle = Poisson(7).statistics(nothing[:, :1])
    np.testing.assert_allclose(middle, [[3]], rtol=1e-6)  # 3/7 is rounded on a GPU


@every_family
def test_families_are_static_and_rebuilt_from_bounds(name):
    family = FAMILIES[name]
    lower, upper = zip(*family.bounds, strict=True)
    again = BY_NAME[family.name].from_bounds(lower, upper, **family.options())
    assert again == family
    assert hash(again) == hash(family)
    with pytest.raises(dataclasses.FrozenInstanceError):
        family.name = "other"


@every_family
def test_possible_totals_are_left_alone(name, rng):
    family = FAMILIES[name]
    project = jax.jit(jax.vmap(family.project))
    sizes = [0, 1, 2, 30]
    totals = [total_of(family)(random_records(rng, family, n)) for n in sizes]
    projected, n = project(jnp.stack(totals), jnp.asarray(sizes))
    np.testing.assert_array_equal(n, sizes)
    scales = jnp.asarray(family.scales())
    for ours, given in zip(projected, totals, strict=True):
        np.testing.assert_allclose(ours / scales, given / scales, atol=2e-4)


@every_family
def test_projected_totals_are_possible(name, rng):
    family = FAMILIES[name]
    project = jax.jit(jax.vmap(family.project))
    scales = np.array(family.scales(), np.float32)
    sizes = np.array([-3.0, 0.0, 0.4, 2.0, 20.0, 20.0, 1000.0], np.float32)
    shift = rng.normal(size=(len(sizes), family.dimension)) * 15
    totals = jnp.asarray((shift + sizes[:, None] / 3) * scales, float)
    projected, n = project(totals, jnp.asarray(sizes, float))
    np.testing.assert_array_equal(n, np.maximum(sizes, 0))
    again, _ = project(projected, n)
    projected, again = np.asarray(projected), np.asarray(again)
    np.testing.assert_allclose(again / scales, projected / scales, atol=3e-3)
    for total, size in zip(np.asarray(projected / scales, float), n, strict=True):
        assert_possible(family, total, float(size))


def assert_possible(family, total, n):
    """Of scaled statistics."""
    if family.dimension == 1:
        least = 1 - family.diameter(scaled=True).value
        assert least * n - 1e-4 <= total[0] <= n + 1e-4
    elif family.lattice:
        assert total.min() >= 0
        assert total.sum() == pytest.approx(n, abs=1e-3)
    else:
        d = family.columns
        linear = getattr(family, "intercept", True)
        matrix = np.full((d, d), 0.0)
        matrix[np.triu_indices(d)] = total[d if linear else 0 :]
        matrix = np.maximum(matrix, matrix.T) + np.minimum(matrix, matrix.T)
        matrix -= np.diag(np.diag(matrix)) / 2
        assert np.diag(matrix).max() <= n * (1 + 1e-4) + 1e-4
        if linear:
            top = np.concatenate([[n], total[:d]])
            matrix = np.vstack([top, np.column_stack([total[:d], matrix])])
        assert np.linalg.eigvalsh(matrix).min() > -1e-4 * (1 + n)


def test_scatters_become_the_nearest_that_are_possible(rng):
    family, n = MultivariateGaussian((-1.0,) * 3, (1.0,) * 3), 1000.0
    vectors, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    scatter = vectors * np.array([-50.0, 20.0, 100.0]) @ vectors.T
    nearest = vectors * np.array([0.0, 20.0, 100.0]) @ vectors.T
    rows = np.triu_indices(3)
    total = np.concatenate([np.zeros(3), scatter[rows]])
    projected, _ = jax.jit(family.project)(jnp.asarray(total, float), n)
    np.testing.assert_allclose(projected[3:], nearest[rows], atol=0.01)


def test_counts_become_the_nearest_that_sum_to_n(rng):
    family = Categorical(5)
    project = jax.jit(jax.vmap(family.project))
    counts = rng.normal(size=(200, 5)).astype(np.float32) * 6 + 2
    sizes = np.full(200, 10.0, np.float32)
    nearest = np.asarray(project(jnp.asarray(counts), jnp.asarray(sizes))[0])
    assert nearest.min() >= 0
    np.testing.assert_allclose(nearest.sum(1), sizes, rtol=1e-4)
    for row, moved in zip(counts, counts - nearest, strict=True):
        kept = row - moved > 1e-5  # optimality: one amount off all that stay positive,
        assert np.ptp(moved[kept]) < 1e-4  # and what becomes 0 was below that amount
        assert (row[~kept] <= moved[kept][0] + 1e-4).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Gaussian(1.0, 1.0), "`lower` and `upper` must be public bounds"),
        (lambda: Gaussian(float("nan"), 1.0), "got nan and 1.0"),
        (lambda: GaussianMean(0.0, 1.0, 0.0), "`variance` must be positive"),
        (lambda: GaussianMean(2.0, 1.0, 1.0), "the lower below the upper"),
        (lambda: Exponential(1.0, lower=-1.0), "`lower` must be at least 0"),
        (lambda: Exponential(float("inf")), "`lower` and `upper` must be public"),
        (lambda: Poisson(0), "`upper` must be an integer of at least 1"),
        (lambda: Poisson(1 << 17), "`upper` must be at most 65536"),
        (lambda: Categorical(1), "`levels` must be an integer of at least 2"),
        (lambda: MultivariateGaussian((0.0,), (1.0, 2.0)), "as long as each other"),
        (lambda: MultivariateGaussian((), ()), "got 0 and 0"),
        (lambda: LinearRegression((0.0,), (1.0,), (2.0, 1.0)), "below the upper"),
        (lambda: LinearRegression((), (), (0.0, 1.0)), "must be as long"),
        (lambda: Bernoulli.from_bounds((0.0,), (2.0,)), "`variables` must be one"),
        (lambda: Poisson.from_bounds((0.0,), (2.5,)), "must be 0 and a whole number"),
        (lambda: Categorical.from_bounds((1.0,), (2.0,)), "one column of levels"),
        (lambda: GaussianMean.from_bounds((0.0,), (1.0,)), "`variance` must be given"),
        (lambda: Gaussian.from_bounds((0.0,) * 2, (1.0,) * 2), "takes more"),
        (lambda: Exponential.from_bounds((), ()), "one column, got 0"),
        (lambda: LinearRegression.from_bounds((0.0,), (1.0,)), "at least two columns"),
    ],
)
def test_bad_bounds_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_bounds_that_single_precision_cannot_tell_apart_are_refused():
    far = Gaussian(1e6, 1e6 + 1)
    records = jnp.full((1, 1), 1e6)
    if jnp.zeros(()).dtype == jnp.float32:
        with pytest.raises(ValueError, match="`records` must be in double precision"):
            far.statistics(records)
    else:
        np.testing.assert_allclose(far.statistics(records), [[-0.5, 0.25]])
