"""One posterior from several releases, of one table of records or of disjoint ones."""

from fractions import Fraction

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import dpjax as dp
from dpjax.mechanisms import DiscreteLaplace, Laplace
from dpjax.posteriors import point_estimate, pooled_estimate
from dpjax.privacy import PureDP
from dpjax.statistics import MarginalContrasts, MarginalCounts, NetworkCounts
from dpjax.statistics.joined_moments import JoinedMoments
from tests.helpers.networks import measure, random_records, tables

LEVELS = {"a": ["no", "yes"], "b": [0, 1, 2], "c": ["x", "y"]}
NET = dp.BayesNet.from_parents(LEVELS, {"a": [], "b": ["a"], "c": ["b"]})
APART = dp.BayesNet.from_parents(LEVELS, {"a": [], "b": [], "c": []})
KINDS = ["replace-one", "add-remove"]


@pytest.fixture(scope="module")
def records(module_rng):
    a = module_rng.integers(0, 2, 900)
    b = (a + module_rng.integers(0, 2, 900)) % 3
    c = (module_rng.random(900) < 0.2 + 0.3 * b).astype(int)
    return np.stack([a, b, c], axis=1).astype(np.uint8)


def released(records, epsilon="1", adjacency="replace-one", net=NET, **options):
    chosen = {"mechanism": "laplace"} | options
    return dp.release(net, records, epsilon=epsilon, adjacency=adjacency, **chosen)


def exact(records, adjacency="replace-one", net=NET, **about):
    """Exact counts, given out as if they had hardly any noise."""
    statistic = NetworkCounts(net)
    counts = measure(statistic, jnp.asarray(records))
    loud = DiscreteLaplace.calibrate(Fraction(30), statistic.sensitivity(adjacency))
    n = len(records) if adjacency == "replace-one" else None
    return dp.Released(counts, statistic, loud, n, about=about)


def flat(posterior, what="mean"):
    return np.concatenate([np.ravel(x) for x in getattr(posterior, what)().values()])


def dirichlet(records, net=NET):
    """Posterior means and deviations if all records were given."""
    vector = measure(NetworkCounts(net), jnp.asarray(records))
    counts = np.asarray(tables(NetworkCounts(net), vector), float) + 1
    total = np.asarray(net.layout.row_sums(jnp.asarray(counts)))
    mean = counts / total
    return mean, np.sqrt(mean * (1 - mean) / (total + 1))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "adjacency"),
    [
        ("laplace", "replace-one"),
        ("k-norm", "add-remove"),
        pytest.param("laplace", "add-remove", marks=pytest.mark.thorough),
        pytest.param("k-norm", "replace-one", marks=pytest.mark.thorough),
    ],
)
def test_a_list_of_one_is_that_release(records, adjacency, mechanism):
    one = released(records, adjacency=adjacency, mechanism=mechanism)
    made, wanted = dp.posterior([one], disjoint=False), point_estimate(one)
    # Other programs round otherwise, and 200 steps of a fit enlarge that.
    np.testing.assert_allclose(flat(made), flat(wanted), atol=2e-4)
    np.testing.assert_allclose(flat(made, "sd"), flat(wanted, "sd"), rtol=1e-3)
    np.testing.assert_allclose(made.n, [wanted.n], rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", KINDS)
def test_without_noise_records_count_once_in_one_table(records, adjacency):
    three = [exact(records, adjacency, title=title) for title in "123"]
    made = dp.posterior(three, disjoint=False)
    mean, sd = dirichlet(records)
    np.testing.assert_allclose(flat(made), mean, atol=2e-3)
    inside = mean > 0.02  # the others are far from normal
    np.testing.assert_allclose(flat(made, "sd")[inside], sd[inside], rtol=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", KINDS)
@pytest.mark.parametrize("sizes", [(300,), (100, 400)])
def test_without_noise_disjoint_tables_are_all_their_records(records, adjacency, sizes):
    parts = np.split(records, np.array(sizes))
    made = dp.posterior([exact(x, adjacency) for x in parts], disjoint=True)
    mean, sd = dirichlet(records)
    np.testing.assert_allclose(made.n, [len(x) for x in parts], rtol=0.01)
    np.testing.assert_allclose(flat(made), mean, atol=2e-3)
    inside = mean > 0.02
    np.testing.assert_allclose(flat(made, "sd")[inside], sd[inside], rtol=0.05)


@pytest.mark.slow
def test_tables_may_have_several_releases_each(records):
    first, second = records[:300], records[300:]
    pairs = [[exact(first), exact(first, title="2")], exact(second)]
    made, wanted = (
        dp.posterior(x, disjoint=True) for x in (pairs, [exact(first), exact(second)])
    )
    np.testing.assert_allclose(flat(made), flat(wanted), atol=2e-3)
    np.testing.assert_array_equal(made.n, [300, 600])


@pytest.mark.slow
def test_a_precise_release_outweighs_a_noisy_one(records):
    noisy, precise = released(records, "1/100"), released(records, "20")
    both = dp.posterior([noisy, precise], disjoint=False)
    alone = point_estimate(precise)
    np.testing.assert_allclose(flat(both), flat(alone), atol=0.01)
    assert np.all(flat(both, "sd") < 1.01 * flat(alone, "sd"))


@pytest.mark.slow
def test_two_releases_are_more_precise_than_one(records, key):
    """As precise as one whose noise has half the variance, nearly."""
    epsilon, statistic = 0.05, NetworkCounts(NET)
    counts = measure(statistic, jnp.asarray(records))
    truth, _ = dirichlet(records)

    def error(rate, many, key):
        sensitivity = statistic.sensitivity("replace-one")
        noise = Laplace(jnp.asarray(epsilon * rate), sensitivity)
        drawn = [noise.sample(x, counts) for x in jr.split(key, many)]
        made = [dp.Released(x, statistic, noise, len(records)) for x in drawn]
        return np.mean((flat(dp.posterior(made, disjoint=False)) - truth) ** 2)

    keys = jr.split(key, 3 * 40).reshape(3, 40)
    rates = (1, 1), (1, 2), (2**0.5, 1)
    one, two, wanted = (
        np.mean([error(rate, many, x) for x in row])
        for row, (rate, many) in zip(keys, rates, strict=True)
    )
    assert two < 0.85 * one
    assert two < 1.25 * wanted


@pytest.mark.slow
def test_a_private_number_of_records_is_the_least_squares_one_of_all_releases(rng):
    """That of one joint table for all released numbers, weighted by their noise."""
    pair = MarginalCounts.of_tables(NET.schema, [["a", "b"]])
    joint, made, seen, deviations = np.eye(12, dtype=np.float32), [], [], []
    places = np.indices((2, 3, 2)).reshape(3, -1).T.astype(np.uint8)
    for statistic, epsilon in (
        (NetworkCounts(NET), 1.0),
        (NetworkCounts(APART), 0.3),
        (pair, 2.0),
    ):
        noise = Laplace(jnp.asarray(epsilon), statistic.sensitivity("add-remove"))
        exact = np.stack([measure(statistic, jnp.asarray(x[None])) for x in places])
        values = exact.sum(axis=0) * 50 + rng.laplace(0, 30, statistic.length)
        made.append(dp.Released(jnp.asarray(values, float), statistic, noise, None))
        seen.append(exact.T @ joint)
        deviations.append(np.full(statistic.length, float(noise.scale)))
    weights = 1 / np.concatenate(deviations)
    values = np.concatenate([x.values for x in made])
    matrix = np.concatenate(seen) * weights[:, None]
    solved = np.linalg.lstsq(matrix, values * weights, rcond=None)[0]
    found = pooled_estimate(made, disjoint=False, steps=1).n
    np.testing.assert_allclose(found, [solved.sum()], rtol=1e-4)


@pytest.mark.slow
def test_mechanisms_may_differ_and_tables_be_parts(records):
    whole = released(records, "2", mechanism="k-norm")
    parts = [
        released(records, "2"),
        released(records, "2", net=APART),
        released(records, "2", mechanism="fourier"),
        dp.release(
            MarginalContrasts.of_tables(NET.schema, [["a", "b"]], "replace-one"),
            records,
            epsilon=2,
            mechanism="k-norm",
        ),
    ]
    mean, _ = dirichlet(records)
    alone = point_estimate(whole)
    for some in (parts[2:], parts):
        made = dp.posterior([*some, whole], disjoint=False)
        assert made.net is NET
        np.testing.assert_allclose(flat(made), mean, atol=0.1)
        there = eqx.tree_at(lambda x: x.theta, made, alone.theta)
        assert np.all(flat(there, "sd") < 1.001 * flat(alone, "sd"))  # more is known


@pytest.mark.slow
def test_moments_of_parts_are_those_of_each(rng):
    moments = [NetworkCounts(net).record_moments() for net in (APART, NET)]
    joined = JoinedMoments(
        NET.layout, ((moments[0], APART.layout), (moments[1], NET.layout))
    )
    one = jnp.asarray(random_records(rng, NET, 1))
    measured = [measure(NetworkCounts(net), one) for net in (APART, NET)]
    cells = tables(NetworkCounts(NET), measured[1]).astype(float)
    wanted = np.concatenate(measured)
    np.testing.assert_array_equal(joined.mean(cells), wanted)
    np.testing.assert_array_equal(joined.second(cells), wanted)
    np.testing.assert_array_equal(joined.counts, np.ones(len(wanted), bool))


@pytest.mark.slow
def test_costs_add_up_in_one_table_and_the_largest_counts_of_several(records):
    half, third = released(records, "1/2"), released(records, "1/3")
    again = released(records, "1/3")
    made = pooled_estimate([half, third], disjoint=False)
    assert made.guarantee() == PureDP(Fraction(5, 6), "replace-one")
    made = pooled_estimate([[half, third], again], disjoint=True)
    assert made.guarantee() == PureDP(Fraction(5, 6), "replace-one")
    made = pooled_estimate([third, half], disjoint=True)
    assert made.guarantee() == PureDP(Fraction(1, 2), "replace-one")
    parts = [released(records, x, "add-remove") for x in ("1/2", "1/3")]
    made = pooled_estimate(parts, disjoint=True)
    assert made.guarantee() == PureDP(Fraction(1, 2), "add-remove")
    persons = [released(records, "1/2", contributions=3) for _ in range(2)]
    one = persons[0].guarantee()
    made = pooled_estimate(persons, disjoint=False)
    assert made.guarantee() == one.composed(one)
    made = pooled_estimate(persons, disjoint=True)
    assert made.guarantee() == one


@pytest.mark.slow
def test_it_is_a_posterior_like_any_other(records, key):
    parts = [released(records[:400], "5"), released(records[400:], "5")]
    made = dp.posterior(parts, disjoint=True)
    assert made.method == "point-estimate"
    assert made.predict_proba(records[:7], "c").shape == (7, 2)
    drawn = made.sample(key, (200,))
    np.testing.assert_allclose(drawn["a"].mean(axis=0), made.mean()["a"], atol=0.02)
    assert np.isfinite(made.log_prob(made.mean()))
    low, high = made.quantile(0.025)["a"], made.quantile(0.975)["a"]
    assert np.all((low < made.mean()["a"]) & (made.mean()["a"] < high))
    more = made.update(records)
    assert np.all(flat(more, "sd") < flat(made, "sd"))
    hierarchical = dp.posterior(parts, "hierarchical", disjoint=True)
    np.testing.assert_allclose(flat(hierarchical), flat(made), atol=0.1)


@pytest.mark.parametrize("disjoint", [False, True])
def test_a_copy_of_a_release_is_refused(records, tmp_path, disjoint):
    """Also the copy of a file: its records and its noise would count twice."""
    released(records).save(tmp_path / "r.json")
    copies = [dp.load(tmp_path / "r.json") for _ in "12"]
    with pytest.raises(ValueError, match="a copy, twice: give it once"):
        dp.posterior(copies, disjoint=disjoint)
    times = {"t": [float(i) for i in range(1, 9)]}
    table = dp.statistics.Sufficient.of(
        "exponential", (dp.Interval("t", 0, 9),), "replace-one"
    )
    text = dp.release(table, times, epsilon=1, adjacency="replace-one").to_text()
    with pytest.raises(ValueError, match="a copy, twice: give it once"):
        dp.posterior([dp.Released.from_text(text) for _ in "12"], disjoint=disjoint)


WRONG = [
    (lambda x: [released(x), released(x)], {}, "`disjoint` must say"),
    (lambda x: released(x), {"disjoint": True}, "`disjoint` must be left out"),
    (lambda x: [released(x)] * 2, {"disjoint": False}, "a copy, twice"),
    (lambda x: [], {"disjoint": True}, "a list of releases, got an empty list"),
    (lambda x: [[], released(x)], {"disjoint": True}, "got an empty list"),
    (lambda x: [released(x), "r.json"], {"disjoint": False}, "got str"),
    (
        lambda x: [released(x), released(x[:10])],
        {"disjoint": False},
        "the same number of records",
    ),
    (
        lambda x: [released(x), released(x, adjacency="add-remove")],
        {"disjoint": True},
        "the same adjacency",
    ),
    (
        lambda x: [released(x), released(x, contributions=2)],
        {"disjoint": True},
        "the same `contributions`",
    ),
    (
        lambda x: [released(x), released(x[:, :2], net=PART)],
        {"disjoint": True},
        "the same variables",
    ),
    (
        lambda x: [released(x), released(x, net=APART)],
        {"disjoint": True},
        "a release of the whole network for each table",
    ),
    (
        lambda x: [released(x), released(x, net=OTHER)],
        {"disjoint": False},
        "tables within those of one network",
    ),
    (
        lambda x: [released(x), released(x)],
        {"disjoint": False, "method": "gibbs"},
        "`method` must be 'point-estimate'",
    ),
    (
        lambda x: [released(x), released(x)],
        {"disjoint": False, "noise_aware": False},
        "`method` must be 'point-estimate'",
    ),
]
PART = dp.BayesNet.from_parents(
    {name: LEVELS[name] for name in "ab"}, {"a": [], "b": []}
)
OTHER = dp.BayesNet.from_parents(LEVELS, {"a": [], "b": [], "c": ["a"]})


@pytest.mark.parametrize(("make", "options", "message"), WRONG)
@pytest.mark.usefixtures("as_for_a_user")
def test_releases_that_do_not_fit_are_refused(records, make, options, message):
    with pytest.raises(ValueError, match=message):
        dp.posterior(make(records), **options)


@pytest.mark.thorough
@pytest.mark.parametrize("disjoint", [False, True])
def test_intervals_cover_the_truth(rng, disjoint):
    hits = []
    for _ in range(150):
        rows = [rng.dirichlet(np.ones(k)) for k in (2, 3, 3, 2, 2, 2)]
        a = (rng.random(1000) < rows[0][1]).astype(int)
        b = np.array([rng.choice(3, p=rows[1 + i]) for i in a])
        c = (rng.random(1000) < np.array([rows[3 + i][1] for i in b])).astype(int)
        data = np.stack([a, b, c], axis=1).astype(np.uint8)
        parts = np.split(data, [400]) if disjoint else [data, data]
        made = dp.posterior(
            [released(x, "1/2", mechanism="k-norm") for x in parts], disjoint=disjoint
        )
        low, high = (
            np.concatenate([np.ravel(x) for x in made.quantile(q).values()])
            for q in (0.025, 0.975)
        )
        truth = np.concatenate(rows)
        hits.append(np.mean((low <= truth) & (truth <= high)))
    assert 0.92 <= np.mean(hits) <= 0.975  # 14 cells × 150; half of them are alike
