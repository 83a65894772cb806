"""Releases of posterior samples: files, costs, and what can be done with them."""

import itertools
import json
import pathlib
from fractions import Fraction

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy import stats

import dpjax as dp
from dpjax.exports import report
from dpjax.mechanisms.recipes import recipe_of
from dpjax.posteriors import SampledParameters, SampledPosterior
from dpjax.releases.entries import InconsistentRelease
from dpjax.statistics import Sufficient
from tests.helpers.networks import TINY
from tests.helpers.release_files import rehashed
from tests.helpers.statistical import assert_binomial

NET = TINY["chain"]
RECORDED = pathlib.Path(__file__).parent / "recorded" / "format_1"
RECORDS = np.array([[0, 1], [1, 2], [0, 0], [1, 1]] * 10, np.uint8)


def release(mechanism="posterior-sample", ledger=None, **options):
    recipe = recipe_of(mechanism, options)
    return dp.release(
        NET, RECORDS, epsilon=4, adjacency="replace-one", mechanism=recipe,
        ledger=ledger,
    )  # fmt: skip


@pytest.fixture(scope="module")
def released():
    return release(samples=3, omega="0.05")


def test_the_release_holds_tables_of_probabilities(released):
    posterior = dp.posterior(released)
    assert isinstance(posterior, SampledPosterior)
    tables = posterior.tables()
    assert tables["x"].shape == (3, 2)
    assert tables["y"].shape == (3, 2, 3)
    for table in tables.values():
        assert np.allclose(np.asarray(table).sum(-1), 1)
        assert np.asarray(table).min() > 0.0499
    mean = posterior.mean()["y"]
    assert np.allclose(mean, np.asarray(tables["y"]).mean(0))


def joint_by_hand(tables, sample, record):
    x, y = record
    return float(tables["x"][sample, x]) * float(tables["y"][sample, x, y])


def test_predictions_average_the_joint_law_over_the_samples(released):
    """Appendix C.2: sum unnormalised probabilities over samples, then normalise."""
    posterior = dp.posterior(released)
    tables = {name: np.asarray(table) for name, table in posterior.tables().items()}
    records = np.array(list(itertools.product(range(2), range(3))), np.uint8)
    predicted = np.asarray(posterior.predict_proba(records, "x"))
    likelihood = np.exp(np.asarray(posterior.log_likelihood(records)))
    for record, row, total in zip(records, predicted, likelihood, strict=True):
        sums = np.array(
            [
                sum(joint_by_hand(tables, s, (x, record[1])) for s in range(3))
                for x in (0, 1)
            ]
        )
        assert np.allclose(row, sums / sums.sum(), rtol=1e-5)
        assert np.isclose(total, sums[record[0]] / 3, rtol=1e-5)


@pytest.mark.slow
def test_more_records_weight_the_samples_by_their_likelihood(released, key):
    before = dp.posterior(released)
    tables = {name: np.asarray(table) for name, table in before.tables().items()}
    records = np.array([[1, 2], [1, 1], [0, 0]], np.uint8)
    weights = np.ones(3)
    for record in (*records, *records[:1]):
        weights *= [joint_by_hand(tables, s, record) for s in range(3)]
    weights /= weights.sum()
    after = before.update(records).update(records[:1])
    np.testing.assert_allclose(np.exp(after.log_weights), weights, rtol=1e-4)
    mean = np.einsum("s,s...->...", weights, tables["y"])
    square = np.einsum("s,s...->...", weights, tables["y"] ** 2)
    np.testing.assert_allclose(after.mean()["y"], mean, rtol=1e-4)
    np.testing.assert_allclose(after.sd()["y"] ** 2, square - mean**2, atol=1e-5)
    joint = np.einsum("s,sx,sxy->xy", weights, tables["x"], tables["y"])
    states = np.array(list(itertools.product(range(2), range(3))), np.uint8)
    found = np.exp(after.log_likelihood(states)).reshape(2, 3)
    np.testing.assert_allclose(found, joint, rtol=1e-4)
    given = joint[:, 2] / joint[:, 2].sum()
    np.testing.assert_allclose(
        after.predict_proba(states[2:3], "x")[0], given, rtol=1e-4
    )
    np.testing.assert_allclose(after.query("x", {"y": "c"})[0], given, rtol=1e-4)
    drawn = np.asarray(after.sample(key, (4000,))["x"][:, 0])
    for s in range(3):
        seen = np.isclose(drawn, tables["x"][s, 0]).sum()
        assert_binomial(seen, 4000, weights[s])


def test_quantiles_of_weighted_samples():
    """With equal weights nearly those of the samples; with others, of the copies."""
    values = np.linspace(0.1, 0.9, 41)
    coin = dp.BayesNet.from_parents({"x": [0, 1]}, {"x": []})
    tables = np.stack([values, 1 - values], axis=1)
    weights = np.arange(41) % 3 + 1.0
    made = SampledPosterior(
        coin, jnp.asarray(tables), jnp.log(jnp.asarray(weights / weights.sum()))
    )
    copies = np.repeat(values, weights.astype(int))
    for q in (0.1, 0.5, 0.8):
        found = made.quantile(q)["x"][0]
        assert float(found) == pytest.approx(np.quantile(copies, q), abs=0.02)


def test_samples_of_a_family_are_weighted_too():
    statistic = Sufficient.of("poisson", (dp.Interval("x", 0, 20),), "replace-one")
    rates = np.array([1.0, 2.0, 4.0])
    before = SampledParameters(("rate",), jnp.asarray(rates)[:, None], statistic)
    after = before.update(np.array([[3.0], [2.0], [5.0]]))
    weights = rates**10 * np.exp(-3 * rates)
    weights /= weights.sum()
    mean = weights @ rates
    assert float(after.mean()["rate"]) == pytest.approx(mean, rel=1e-4)
    variance = weights @ rates**2 - mean**2
    assert float(after.variance()["rate"]) == pytest.approx(variance, rel=1e-3)


X, Y = dp.Interval("x", 0, 1), dp.Interval("y", 0, 1)
KINDS = {
    "categorical": (dp.Variable("x", ("a", "b", "c")),),
    "linear-regression": (X, Y),
    "multivariate-gaussian": (X, Y),
}


def log_likelihood(kind, parameters, records, i):
    """Of the records under released sample i, by SciPy."""
    own = {name: np.asarray(value[i], float) for name, value in parameters.items()}
    if kind == "categorical":
        return np.log(own["probability"])[records[:, 0].astype(int)].sum()
    if kind == "multivariate-gaussian":
        law = stats.multivariate_normal(own["mean"], own["covariance"])
        return law.logpdf(records).sum()
    mean = own["intercept"] + records[:, 0] * own["weights"][0]
    return stats.norm(mean, own["variance"] ** 0.5).logpdf(records[:, 1]).sum()


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*KINDS])
def test_samples_of_every_shape_are_weighted_by_the_likelihood(rng, kind):
    statistic = Sufficient.of(kind, KINDS[kind], "replace-one")
    records = rng.random((60, len(KINDS[kind])))
    records = np.floor(3 * records) if kind == "categorical" else records
    recipe = recipe_of("posterior-sample", {"samples": 3})
    data = records.astype(np.uint8) if kind == "categorical" else records
    before = dp.posterior(dp.release(statistic, data, epsilon=9, mechanism=recipe))
    after = before.update(data[:9])
    logs = np.array(
        [log_likelihood(kind, before.parameters(), records[:9], i) for i in range(3)]
    )
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    np.testing.assert_allclose(np.exp(after.log_weights), weights, rtol=0.02, atol=1e-5)
    if kind == "linear-regression":
        drawn = before.parameters()
        means = np.asarray(drawn["intercept"] + 0.3 * drawn["weights"][:, 0])
        found = after.predict(np.array([[0.3]]))
        assert float(found[0]) == pytest.approx(weights @ means, rel=1e-3)
        sds = np.sqrt(np.asarray(drawn["variance"]))
        low, high = (float(x[0]) for x in after.interval(np.array([[0.3]]), 0.8))
        for end, q in ((low, 0.1), (high, 0.9)):
            below = weights @ stats.norm(means, sds).cdf(end)
            assert below == pytest.approx(q, abs=1e-3)


def test_one_sample_has_a_mean_and_no_spread():
    one, family = (
        dp.load(RECORDED / name) for name in ("samples.json", "poisson-samples.json")
    )
    for found in map(dp.posterior, (one, family)):
        for wrong in (found.sd(), found.quantile(0.3)):
            assert all(np.isnan(x).all() for x in jax.tree.leaves(wrong))
        assert all(np.isfinite(x).all() for x in jax.tree.leaves(found.mean()))
    told = report(one)
    assert "A single draw has only a mean" in told.content["results"]["intervals"]
    assert "lower" not in told.to_csv()


def test_one_sample_cannot_learn_from_records():
    for made in (
        SampledPosterior(NET, jnp.full((1, 8), 0.5)),
        SampledParameters(
            ("rate",),
            jnp.ones((1, 1)),
            Sufficient.of("poisson", (dp.Interval("x", 0, 20),), "replace-one"),
        ),
    ):
        with pytest.raises(ValueError, match="a release of several samples"):
            made.update(np.array([[1, 1]]))


def test_records_that_no_sample_allows_are_refused():
    tables = jnp.asarray([[1.0, 0.0, 0.0], [0.5, 0.0, 0.5]])
    with pytest.raises(ValueError, match="possible under one of the samples"):
        SampledPosterior(TINY["coin"], tables).update(np.array([[1]]))


def test_synthetic_records_come_from_one_of_the_samples(released, key):
    posterior = dp.posterior(released)
    key_records, key_tables = jr.split(key)
    records = eqx.filter_jit(posterior.sample_records)(key_records, 4000)
    share = np.bincount(np.asarray(records)[:, 0], minlength=2) / 4000
    tables = np.asarray(posterior.tables()["x"])
    assert np.abs(tables - share).max(axis=1).min() < 0.05
    drawn = posterior.sample(key_tables)["x"]
    assert any(np.allclose(drawn, table) for table in tables)


@pytest.mark.parametrize("mechanism", ["posterior-sample", "map", "map-cells"])
def test_a_file_gives_the_same_release_back(mechanism, tmp_path):
    options = {"omega": "1/8", "units": 8} if mechanism == "map-cells" else {}
    released = release(mechanism, **options)
    released.save(tmp_path / "r.json")
    loaded = dp.load(tmp_path / "r.json")
    assert (np.asarray(loaded.values) == np.asarray(released.values)).all()
    assert loaded.guarantee() == released.guarantee()
    assert loaded.mechanism == released.mechanism
    assert "posterior" not in repr(loaded).lower() or "[" not in repr(loaded)


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content["guarantee"].update(epsilon="3"),
        lambda content: content["mechanism"].update(temperature="1/2"),
        lambda content: content["mechanism"].update(samples=30),
        lambda content: content["mechanism"].update(least=[1, 1]),
        lambda content: content["mechanism"].update(units=10),
        lambda content: content["mechanism"].update(kind="map-on-grid"),
        lambda content: content["values"][0].__setitem__(0, 1),
        lambda content: content["values"].pop(),
        lambda content: content.update(records=10**6),
        lambda content: content["statistic"].update(families="maximal"),
    ],
)
def test_an_altered_file_is_refused(change, released, tmp_path):
    path = tmp_path / "r.json"
    released.save(path)
    document = json.loads(path.read_text())
    change(document["content"])
    path.write_text(json.dumps(rehashed(document)))
    with pytest.raises(InconsistentRelease):
        dp.load(path)


def test_samples_are_charged_as_such():
    ledger = dp.Ledger(epsilon=9, adjacency="replace-one")
    options = {"ledger": ledger, "omega": "1/10", "temperature": "6"}
    first = release(samples=1, **options).guarantee().epsilon
    third = release(samples=3, **options).guarantee().epsilon
    assert third == 3 * first
    assert ledger.spent == 4 * first < 9
    with pytest.raises(ValueError, match="`temperature` must be at least"):
        release(samples=30, **options)
    assert ledger.spent == 4 * first


def test_a_budget_that_is_too_small_is_refused_before_the_table_is_read():
    ledger = dp.Ledger(epsilon=1, adjacency="replace-one")
    with pytest.raises(dp.BudgetExceeded):
        dp.release(
            NET, {"x": "never read"}, epsilon=2, adjacency="replace-one",
            mechanism="posterior-sample", ledger=ledger,
        )  # fmt: skip


def test_under_add_remove_the_empty_table_is_a_table():
    released = dp.release(
        NET, RECORDS[:0], epsilon=1, adjacency="add-remove", mechanism="map"
    )
    assert released.n is None
    assert released.values.shape == (1, 8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mechanism": "laplace", "omega": "0.1"}, "`omega` must be left out"),
        ({"mechanism": "map", "samples": 2}, "`samples` must be left out"),
        ({"omega": "0.4"}, "`omega` must be below 1/3"),
        ({"omega": "0.1", "temperature": "1"}, "`temperature` must be at least"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        release(**options)


@pytest.mark.parametrize("mechanism", ["posterior-sample", "map", "map-cells"])
def test_samples_are_of_all_families_and_of_nothing_else(mechanism, tmp_path):
    """What another statistic measures may look like counts: ε would be wrong."""
    net = dp.BayesNet.from_parents({"x": [0, 1]}, {"x": []})
    ledger = dp.Ledger(9, adjacency="add-remove")
    for statistic in (
        dp.statistics.FourierCoefficients.of_network(net, "add-remove"),
        dp.statistics.NetworkCounts(NET),
    ):
        with pytest.raises(ValueError, match="`mechanism` must be one for"):
            dp.release(
                statistic, RECORDS[:, :1], epsilon=1, adjacency="add-remove",
                mechanism=mechanism, ledger=ledger,
            )  # fmt: skip
    assert ledger.spent == 0
    law = dp.mechanisms.NetworkPosteriorSampler.posterior(net.layout, 1, "add-remove")
    statistic = dp.statistics.FourierCoefficients.of_network(net, "add-remove")
    values = law.draw(jnp.array([10, 4], jnp.int32))
    dp.Released(values, statistic, law, None).save(tmp_path / "r.json")
    with pytest.raises(InconsistentRelease, match="for what was measured"):
        dp.load(tmp_path / "r.json")


def test_samples_have_neither_counts_nor_another_prior(released):
    with pytest.raises(ValueError, match="must be of noisy counts"):
        released.counts()
    with pytest.raises(ValueError, match="`prior` and `increment` must not be given"):
        dp.posterior(released, 1.0)


@pytest.mark.slow
def test_real_arithmetic_cannot_be_saved(tmp_path, key):
    exact = dp.statistics.NetworkCounts(NET, "all")
    law = dp.mechanisms.PosteriorSample(NET.layout, 10.0, 0.1, "replace-one")
    values = jax.eval_shape(law.sample, key, exact.measure(RECORDS))
    released = dp.Released(jnp.full(values.shape, 0.5), exact, law, 40)
    with pytest.raises(ValueError, match="`mechanism` must be exact to be saved"):
        released.save(tmp_path / "r.json")
    assert law.guarantee().epsilon > Fraction(0)


def test_inside_jit_nothing_is_released():
    def traced(records):
        return dp.release(
            NET, records, epsilon=1, adjacency="add-remove", mechanism="map"
        ).values

    with pytest.raises(ValueError, match="outside of `jit`"):
        jax.jit(traced)(jnp.asarray(RECORDS))


@pytest.mark.parametrize("mechanism", ["laplace", "posterior-sample"])
def test_a_statistic_for_the_other_adjacency_is_refused(mechanism):
    """Else n would be read off the sums, and the loss exceed ε."""
    statistic = dp.statistics.Sufficient.of(
        "poisson", (dp.Interval("x", 0, 3),), "replace-one"
    )
    ledger = dp.Ledger(9, adjacency="add-remove")
    with pytest.raises(ValueError, match="`adjacency` must be 'replace-one'"):
        dp.release(
            statistic, np.ones((5, 1)), epsilon=1, adjacency="add-remove",
            mechanism=mechanism, ledger=ledger,
        )  # fmt: skip
    assert ledger.spent == 0
