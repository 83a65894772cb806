"""The noise-aware point estimate against enumeration, and where noise vanishes."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy import special, stats

from dpjax import BayesNet
from dpjax.mechanisms import DiscreteLaplace, Laplace
from dpjax.posteriors import point_estimate, point_estimate_of
from dpjax.posteriors.estimate.curvature import StickBreaking
from dpjax.posteriors.estimate.normal_update import posterior_noise
from dpjax.posteriors.estimate.number_law import laplace_variance, number_log_prob
from dpjax.releases.released import Released
from dpjax.statistics import FourierCoefficients, NetworkCounts
from tests.helpers.cases import mostly_thorough
from tests.helpers.networks import TINY, measure, random_records

MIXED = BayesNet.from_parents(
    {"a": [0, 1], "b": [0, 1, 2], "c": [0, 1], "d": [0, 1]},
    {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"]},
)

STEPS = 60  # in all tests alike, to share programs


def statistics(net, adjacency="replace-one"):
    return {
        "maximal": NetworkCounts(net),
        "all": NetworkCounts(net, "all"),
        "Fourier": FourierCoefficients.of_network(net, adjacency),
    }


# ---- the law of one number


def summed(values, mean, scale):
    """Poisson counts plus Laplace noise, summed over all counts that matter."""
    low, high = stats.poisson.ppf([1e-14, 1 - 1e-14], mean)
    counts = np.arange(low, high + 2)
    logs = stats.poisson.logpmf(counts, mean)
    noise = stats.laplace.logpdf(values[:, None] - counts, scale=scale)
    return special.logsumexp(logs + noise, axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.5, 3.0, 40.0, 1000.0])
def test_the_law_of_a_number_is_a_sum_over_counts(scale):
    """Total variation .08 at most, where noise so small that the lattice of the counts
    shows through meets a normal law; .02 with more noise, none where means are small.
    """
    law = jax.jit(number_log_prob, static_argnums=4)
    points = 4001
    counts = Mask(np.ones(points, bool))
    for mean in 0.0, 0.01, 1.0, 7.9, 10.0, 14.0, 19.0, 50.0, 1e4:
        reach = 12 * scale + 8 * np.sqrt(mean + 1)
        values, step = np.linspace(mean - reach, mean + reach, points, retstep=True)
        full = [jnp.full(points, x, float) for x in (mean, mean, scale)]
        ours = np.asarray(law(jnp.asarray(values, float), *full, counts), float)
        exact = summed(values, max(mean, 1e-6), scale)
        assert np.isfinite(ours).all()
        variation = np.abs(np.exp(ours) - np.exp(exact)).sum() * step / 2
        bound = 1e-4 if mean < 8 else 0.08 if scale < 3 else 0.02
        assert variation < bound, (mean, variation)


class Mask(np.ndarray):
    """A hashable mask, to be static under `jit`."""

    def __new__(cls, mask):
        return mask.view(cls)

    def __hash__(self):
        return hash(self.tobytes())

    def __eq__(self, other):
        return self.tobytes() == other.tobytes()


@pytest.mark.parametrize("ratio", [0.01, 0.3, 1.0, 3.0, 30.0])
def test_normal_noise_has_the_information_of_laplace_noise(ratio):
    """The Fisher information of a sum about its location, by numerical integration."""
    grid = np.linspace(-60, 60, 1 << 17) * (1 + ratio)
    density = np.exp(np.asarray(number_log_prob_at(grid, ratio)))
    slope = np.gradient(density, grid)
    information = np.trapezoid(slope**2 / np.maximum(density, 1e-300), grid)
    wanted = 1 / information - ratio**2
    found = laplace_variance(jnp.array([ratio**2], float), jnp.ones(1))
    assert float(found[0]) == pytest.approx(wanted, rel=0.02)


def number_log_prob_at(grid, sd):
    """Log-density of a normal variable plus Laplace noise of scale 1, by SciPy."""
    sides = [special.log_ndtr(x / sd - sd) - x for x in (grid, -grid)]
    return np.logaddexp(*sides) + sd**2 / 2 - np.log(2)


@pytest.mark.parametrize(("known", "wanted"), [(1e-6, 2.0), (1e6, 1.0)])
def test_noise_leaves_its_variance_if_nothing_else_is_known(known, wanted):
    """One parameter, one number: Laplace noise of scale 3."""
    one = jnp.ones((1, 1))
    scale = jnp.array([3.0])
    found = posterior_noise(known * one, one, 1e-4 * one, scale)
    assert float(found[0]) == pytest.approx(9 * wanted, rel=0.02)


@pytest.mark.thorough
def test_the_slope_of_the_law_is_the_expected_count():
    """d log p / d log mean = E[count | value] - mean, by enumeration."""
    values = np.array([-30.0, -1.0, 0.0, 2.5, 9.0, 40.0])
    terms = np.arange(120)
    for mean, scale in itertools.product([0.01, 1.0, 7.0], [0.5, 10.0]):
        mask = np.ones(values.size, bool)

        def total(log_mean, mask=mask, scale=scale):
            means = jnp.exp(log_mean)
            noise = jnp.full(values.size, scale, float)
            exact = jnp.asarray(values, float)
            return number_log_prob(exact, means, means, noise, mask).sum()

        slopes = jax.jit(jax.grad(total))(jnp.full(values.size, np.log(mean), float))
        logs = stats.poisson.logpmf(terms, mean)
        logs = logs - np.abs(values[:, None] - terms) / scale
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        expected = (weights * terms).sum(axis=1) / weights.sum(axis=1)
        np.testing.assert_allclose(slopes, expected - mean, rtol=2e-3, atol=1e-4)


@pytest.mark.thorough
def test_slopes_are_finite_differences():
    mask = np.array([True, True, False])
    values = jnp.array([3.0, 80.0, -20.0])
    scale = jnp.array([2.0, 2.0, 2.0])

    def total(mean):
        return number_log_prob(values, mean, mean * mean / 50 + 1, scale, mask).sum()

    for mean in np.array([[0.5, 9.0, -15.0], [12.0, 18.0, 3.0], [30.0, 100.0, 0.0]]):
        slope = jax.grad(total)(jnp.asarray(mean, float))
        for i in range(3):
            step = np.zeros(3)
            step[i] = 1e-2 * max(1.0, abs(mean[i]))
            ends = [float(total(jnp.asarray(mean + s * step, float))) for s in (1, -1)]
            known = (ends[0] - ends[1]) / (2 * step[i])
            np.testing.assert_allclose(slope[i], known, rtol=0.02, atol=2e-3)


# ---- what a record adds to the numbers


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("kind", mostly_thorough(["maximal", "all", "Fourier"]))
def test_moments_are_averages_over_records(rng, kind, adjacency):
    statistic = statistics(MIXED, adjacency)[kind]
    records = random_records(rng, MIXED, 40)
    one = jax.jit(jax.vmap(lambda record: statistic.measure(record[None])))
    numbers = np.asarray(one(jnp.asarray(records)), float)
    families = np.asarray(measure(NetworkCounts(MIXED, "all"), records)) / 40
    moments = statistic.record_moments()
    families = jnp.asarray(families, float)
    np.testing.assert_allclose(moments.mean(families), numbers.mean(0), atol=1e-5)
    squares = (numbers**2).mean(0)
    np.testing.assert_allclose(moments.second(families), squares, atol=1e-5)


# ---- limits and exact answers


def dirichlet_mean(net, counts, prior):
    counts = jnp.asarray(counts, float) + prior
    return counts / net.layout.row_sums(counts)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kind", "adjacency"),
    [
        ("maximal", "replace-one"),
        pytest.param("all", "replace-one", marks=pytest.mark.thorough),
        pytest.param("Fourier", "add-remove", marks=pytest.mark.thorough),
    ],
)
def test_without_noise_it_is_the_dirichlet_posterior_mean(rng, kind, adjacency):
    records = random_records(rng, MIXED, 400)
    statistic = statistics(MIXED, adjacency)[kind]
    mechanism = Laplace(1e4, statistic.sensitivity(adjacency))
    n = 400 if adjacency == "replace-one" else None
    exact = measure(statistic, records).astype(float)
    found = point_estimate(Released(exact, statistic, mechanism, n), 0.7, steps=STEPS)
    counts = measure(NetworkCounts(MIXED, "all"), records)
    np.testing.assert_allclose(found.n, 400, rtol=0.02)
    known = dirichlet_mean(MIXED, counts, 0.7)
    np.testing.assert_allclose(found.theta, known, atol=3e-3)


def enumerate_posterior(net, statistic, values, scale, n, prior=1.0):
    """Mean and sd of every cell, summed over all data sets of n records."""
    states = np.indices(net.sizes).reshape(len(net.sizes), -1).T
    bars = itertools.combinations(range(n + len(states) - 1), len(states) - 1)
    bars = np.array(list(bars))
    edges = np.pad(bars, ((0, 0), (1, 1)), constant_values=-1)
    edges[:, -1] = n + len(states) - 1
    numbers = np.diff(edges, axis=1) - 1  # of records in each state, a data set a row

    def of(layout):
        table = np.zeros((len(states), layout.length))
        np.add.at(table, (np.arange(len(states))[:, None], layout.cells(states)), 1)
        return numbers @ table

    families, layout = of(net.layout) + prior, net.layout
    rows = np.zeros((layout.length, int(layout.rows.max()) + 1))
    rows[np.arange(layout.length), layout.rows] = 1
    logs = special.gammaln(n + 1) - special.gammaln(numbers + 1).sum(axis=1)
    logs += special.gammaln(families).sum(axis=1)
    logs -= special.gammaln(families @ rows).sum(axis=1)
    logs -= np.abs(values - of(statistic.measured)).sum(axis=1) / scale
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    totals = (families @ rows) @ rows.T
    means = families / totals
    squares = families * (families + 1) / (totals * (totals + 1))
    mean = weights @ means
    return mean, np.sqrt(weights @ squares - mean**2)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["coin", "two roots", "collider"])
def test_it_is_finite_however_the_compiler_rounds(name):
    """Tests are compiled without most optimisations, and other programs with them."""
    net = TINY[name]
    statistic = NetworkCounts(net)
    law = DiscreteLaplace.calibrate(2, statistic.sensitivity("replace-one"))
    counts = measure(statistic, random_records(np.random.default_rng(0), net, 6))
    found = point_estimate(Released(counts, statistic, law, 6), steps=3)
    assert np.all(np.asarray(found.theta) > 0)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", ["collider", pytest.param("chain", marks=pytest.mark.thorough)]
)
def test_it_is_close_to_the_exact_posterior(rng, name):
    """Gap of the mean: .03 on average, .12 at most; of the papers' form .08 and more.

    The standard deviations agree within a factor of 1.8, on average within 1.3.
    """
    net, n = TINY[name], {"chain": 14, "collider": 8}[name]
    statistic = NetworkCounts(net)
    scales = np.repeat([0.5, 2.0, 6.0], 4)
    data = rng.integers(0, np.array(net.sizes), (scales.size, n, len(net.sizes)))
    data[::2] = data[::2, :1]  # half of the data sets: the same record n times
    exact = np.array([measure(statistic, r.astype(np.uint8)) for r in data])
    values = exact + rng.laplace(scale=scales[:, None], size=exact.shape)
    sensitivity = statistic.sensitivity("replace-one")
    mechanism = Laplace(jnp.asarray(sensitivity.value / scales, float), sensitivity)
    released = Released(jnp.asarray(values, float), statistic, mechanism, n)
    found = point_estimate(released)
    one = Laplace(jnp.asarray(1.0), sensitivity)
    gaps, naive, ratios = [], [], []
    for i, (value, scale) in enumerate(zip(values, scales, strict=True)):
        mean, sd = enumerate_posterior(net, statistic, value, scale, n)
        gaps.append(np.abs(np.asarray(found.theta[i]) - mean))
        counts = np.clip(statistic.tables(jnp.asarray(value, float)), 0, n)
        naive.append(np.abs(np.asarray(dirichlet_mean(net, counts, 1.0)) - mean))
        mine = eqx.tree_at(
            lambda e: (e.released.values, e.released.mechanism, e.prior, e.theta, e.n),
            found,
            (
                released.values[i],
                eqx.tree_at(lambda m: m.epsilon, one, mechanism.epsilon[i]),
                found.prior[i],
                found.theta[i],
                found.n[i],
            ),
        )
        flat = np.concatenate([np.ravel(table) for table in mine.sd().values()])
        ratios.append(flat / sd)
    gaps, ratios = np.array(gaps), np.array(ratios)
    print(f"{name}: gap {gaps.mean():.4f}, at most {gaps.max():.4f}; of the papers'")
    print(f"form {np.mean(naive):.4f}; sd over exact", ratios.min(), ratios.max())
    assert gaps.mean() < 0.03
    assert gaps.max() < 0.12
    assert gaps.mean() < 0.5 * np.mean(naive)
    assert (np.abs(np.log(ratios)) < np.log(1.8)).all()
    assert np.abs(np.log(ratios)).mean() < np.log(1.3)


# ---- the face of every posterior


def release(rng, statistic, records, epsilon="2", adjacency="replace-one"):
    mechanism = DiscreteLaplace.calibrate(epsilon, statistic.sensitivity(adjacency))
    exact = np.asarray(measure(statistic, records))
    chance = -np.expm1(-float(mechanism.rho))
    noise = np.subtract(*rng.geometric(chance, (2, exact.size)))
    n = len(records) if adjacency == "replace-one" else None
    return Released(jnp.asarray(exact + noise, jnp.int32), statistic, mechanism, n)


@pytest.mark.thorough
def test_stacks_are_a_loop(rng):
    records, statistic = random_records(rng, MIXED, 300), NetworkCounts(MIXED)
    draws = [release(rng, statistic, records, "5") for _ in range(2)]
    stacked = eqx.tree_at(
        lambda r: r.values, draws[0], jnp.stack([r.values for r in draws])
    )
    many = point_estimate(stacked, steps=STEPS)
    assert many.mean()["d"].shape == (2, 3, 2, 2)
    for theta, one in zip(many.theta, draws, strict=True):
        alone = point_estimate(one, steps=STEPS)
        np.testing.assert_allclose(theta, alone.theta, atol=2e-3)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kind", "adjacency"), [("maximal", "replace-one"), ("Fourier", "add-remove")]
)
def test_every_method_answers(rng, key, kind, adjacency):
    records = random_records(rng, MIXED, 300)
    released = release(rng, statistics(MIXED, adjacency)[kind], records, "5", adjacency)
    found = point_estimate(released, steps=STEPS)
    assert found.method == "point-estimate"
    np.testing.assert_allclose(found.n, 300, rtol=0.2)
    key_tables, key = jr.split(key)
    for tables in found.mean(), found.sample(key_tables):
        for table in tables.values():
            np.testing.assert_allclose(table.sum(axis=-1), 1, atol=1e-5)
    for table in found.sd().values():
        assert (table > 0).all()
        assert (table < 0.5).all()
    assert found.predict_proba(records, "a").shape == (300, 2)
    assert found.log_likelihood(records).shape == (300,)
    assert found.sample_records(key, 5).shape == (5, 4)


@pytest.mark.thorough
def test_updates_are_counts_in_the_prior(rng):
    old, new = random_records(rng, MIXED, 50), random_records(rng, MIXED, 30)
    released = release(rng, NetworkCounts(MIXED), old)
    updated = point_estimate(released, steps=STEPS).update(new)
    counts = np.asarray(measure(NetworkCounts(MIXED, "all"), new))
    prior = dict(
        zip(MIXED.names, MIXED.layout.split(jnp.asarray(counts + 1.0)), strict=True)
    )
    again = point_estimate(released, prior, steps=STEPS)
    np.testing.assert_allclose(updated.theta, again.theta, atol=1e-5)


@pytest.mark.parametrize("rare", [0.002, 0.05, 0.3])
@pytest.mark.parametrize("weight", [0.3, 2.0, 30.0])
def test_drawn_rows_have_the_beta_distributions_that_are_stated(weight, rare, key):
    """Whatever is known of them: rows of two levels, whose logits are correlated."""
    theta = jnp.asarray([rare, 1 - rare, 0.5, 0.5, 0.8, 0.2], float)
    net = BayesNet.from_parents({"a": [0, 1], "b": [0, 1]}, {"a": [], "b": ["a"]})
    root = np.linalg.cholesky(0.6 * np.ones((3, 3)) + 0.4 * np.eye(3))
    root = root / np.sqrt(weight * theta[::2] * theta[1::2])[:, None]
    root = np.repeat(root, 2, axis=0) * np.tile([0.5, -0.5], 3)[:, None]
    covariance = jnp.asarray(root @ root.T + 1e-4 * np.eye(6), theta.dtype)
    law = StickBreaking(net, theta, covariance)
    drawn = np.asarray(jax.vmap(law.draw)(jr.split(key, 20_000)), float)
    for own, mean in zip(drawn[:, ::2].T, np.asarray(theta[::2], float), strict=True):
        for share in 0.05, 0.5, 0.9, 0.99:
            cut = stats.beta.ppf(share, weight * mean, weight * (1 - mean))
            if 1e-30 < cut < 1 - 1e-6:
                assert abs((own <= cut).mean() - share) < 6 * 0.5 / 20_000**0.5
        error = mean * (1 - mean) / (1 + weight) / 20_000
        assert abs(own.mean() - mean) < 6 * error**0.5
    scores = stats.spearmanr(drawn[:, [2, 4]]).statistic
    assert abs(scores - 6 / np.pi * np.arcsin(0.6 / 2)) < 6 / 20_000**0.5


@pytest.mark.slow
def test_rows_are_dirichlet_distributed_where_nothing_but_the_prior_is_known(key):
    alpha = np.array([0.3, 1.5, 0.7, 2.0, 0.4, 0.6])
    net = BayesNet.from_parents({"a": [0, 1, 2, 3], "b": [0, 1]}, {"a": [], "b": []})
    rows = [slice(0, 4), slice(4, 6)]
    theta = np.concatenate([alpha[row] / alpha[row].sum() for row in rows])
    known = np.zeros((6, 6))
    for row in rows:  # of a multinomial distribution, and of the mean of the logits
        own, total = theta[row], alpha[row].sum()
        known[row, row] = total * (np.diag(own) - np.outer(own, own)) + 1
    law = StickBreaking(net, *(jnp.asarray(x, float) for x in (theta, known)))
    law = eqx.tree_at(lambda x: x.covariance, law, jnp.linalg.inv(law.covariance))
    at = np.array([0.1, 0.5, 0.15, 0.25, 0.7, 0.3])
    wanted = sum(stats.dirichlet.logpdf(at[row], alpha[row]) for row in rows)
    np.testing.assert_allclose(law.log_prob(jnp.asarray(at, float)), wanted, rtol=1e-4)
    drawn = np.asarray(jax.vmap(law.draw)(jr.split(key, 20_000)), float)
    exact = [stats.dirichlet(alpha[row]) for row in rows]
    variances = np.concatenate([x.var() for x in exact])
    off = np.abs(drawn.mean(axis=0) - theta)
    np.testing.assert_array_less(off, 6 * np.sqrt(variances / 20_000))
    np.testing.assert_allclose(drawn.var(axis=0), variances, rtol=0.06)


@pytest.mark.thorough
def test_draws_have_the_stated_spread(rng, key):
    found = point_estimate(
        release(rng, NetworkCounts(MIXED), random_records(rng, MIXED, 2000), "5"),
        steps=STEPS,
    )
    draws = jax.jit(jax.vmap(lambda k: found.sample(k)["b"]))(jr.split(key, 4000))
    # 4,000 draws: 1.1 % error of a deviation; the rest is curvature.
    np.testing.assert_allclose(draws.std(axis=0), found.sd()["b"], rtol=0.12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "off", "apart"), [(1e-6, 0.03, 0.06), (60.0, 0.003, 0.12)]
)
def test_sd_and_quantiles_are_those_of_beta_distributions(rng, epsilon, off, apart):
    """Of so wide noise that the prior is left, and of noise below one record.

    The mean of the prior is found by gradient steps alone, within `off`. Records of a
    row are as many as are expected, which here is within a fifth of those there are.
    """
    statistic, records = NetworkCounts(MIXED), random_records(rng, MIXED, 400)
    noise = Laplace(jnp.asarray(epsilon), statistic.sensitivity("replace-one"))
    values = jnp.asarray(measure(statistic, records), float)
    found = point_estimate(Released(values, statistic, noise, 400), steps=STEPS)
    counts = np.asarray(measure(NetworkCounts(MIXED, "all"), records), float)
    alpha = 1 + counts * (epsilon > 1)
    law = stats.beta(
        alpha, np.asarray(MIXED.layout.row_sums(jnp.asarray(alpha))) - alpha
    )

    def flat(tables):
        return np.concatenate([np.ravel(tables[name]) for name in MIXED.names])

    np.testing.assert_allclose(flat(found.mean()), law.mean(), atol=off)
    np.testing.assert_allclose(flat(found.sd()), law.std(), rtol=apart)
    for q in (0.025, 0.5, 0.975):
        near = off + 2 * apart * law.std()
        assert (np.abs(flat(found.quantile(q)) - law.ppf(q)) < near).all()


def test_wrong_arguments_are_refused(rng):
    records = random_records(rng, MIXED, 20)
    released = release(rng, NetworkCounts(MIXED), records)
    with pytest.raises(ValueError, match="`steps` must be an integer of at least 1"):
        point_estimate(released, steps=0)
    with pytest.raises(ValueError, match="`prior` must be positive"):
        point_estimate(released, 0.0)
    with pytest.raises(ValueError, match="`prior` must hold a table"):
        point_estimate(released, {"a": jnp.ones(2)})
    statistic = FourierCoefficients(MIXED.variables, "replace-one", order=2)
    with pytest.raises(ValueError, match="`released` must be for a network"):
        point_estimate(release(rng, statistic, records))
    with pytest.raises(ValueError, match="`scale` must be positive"):
        point_estimate_of(
            NetworkCounts(MIXED), jnp.zeros(18), jnp.zeros(18), 3, jnp.ones(())
        )
