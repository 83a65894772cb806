import itertools

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy import stats
from sklearn.naive_bayes import CategoricalNB

import dpjax as dp
from dpjax.posteriors import PlugInPosterior, plug_in_posterior
from dpjax.statistics import NetworkCounts
from tests.helpers.networks import measure, random_network, random_records, tables
from tests.helpers.statistical import ALPHA


@pytest.fixture(scope="module")
def net(module_rng):
    return random_network(module_rng, variables=5)


@pytest.fixture
def records(rng, net):
    return random_records(rng, net, 60)


@pytest.fixture
def fitted(net, records):
    return exact_posterior(net, records)


def exact_posterior(net, records, prior=1.0):
    statistic = NetworkCounts(net)
    counts = tables(statistic, measure(statistic, records))
    return PlugInPosterior.from_counts(net, counts, prior)


def plain_tables(net, records, prior):
    """Conditional probability tables in plain Python, a row at a time."""
    result = {}
    for i, parents in enumerate(net.parents):
        table = np.full([net.sizes[j] for j in (*parents, i)], float(prior))
        for record in records:
            table[tuple(record[[*parents, i]])] += 1
        result[net.names[i]] = table / table.sum(-1, keepdims=True)
    return result


def joint(net, tables, record):
    """Probability of a record, a factor at a time."""
    return np.prod(
        [
            tables[name][tuple(record[[*parents, i]])]
            for i, (name, parents) in enumerate(
                zip(net.names, net.parents, strict=True)
            )
        ]
    )


def test_means_equal_an_independent_computation(net, records):
    expected = plain_tables(net, records, 0.7)
    for name, table in exact_posterior(net, records, 0.7).mean().items():
        np.testing.assert_allclose(table, expected[name], rtol=1e-5)


def test_standard_deviations_are_those_of_beta_laws(fitted):
    spreads = fitted.sd()
    for name, law in fitted.distributions().items():
        a = np.asarray(law.concentration, float)
        rest = a.sum(axis=-1, keepdims=True) - a
        np.testing.assert_allclose(spreads[name], stats.beta(a, rest).std(), rtol=1e-5)


def test_a_naive_bayes_classifier_equals_scikit_learns(rng):
    levels = {"t": [0, 1, 2], **{f"x{i}": list(range(2 + i)) for i in range(4)}}
    net = dp.BayesNet.naive_bayes(levels, "t")
    records = random_records(rng, net, 300)
    records[:, 2] = (records[:, 0] + (rng.random(300) < 0.3)) % net.sizes[2]
    ours = exact_posterior(net, records).predict_proba(records, "t")
    sklearns = CategoricalNB(alpha=1.0, min_categories=net.sizes[1:])
    sklearns.fit(records[:, 1:], records[:, 0])
    class_prior = (np.bincount(records[:, 0], minlength=3) + 1) / 303
    sklearns.class_log_prior_ = np.log(class_prior)
    np.testing.assert_allclose(ours, sklearns.predict_proba(records[:, 1:]), rtol=1e-4)


def test_every_variable_is_predicted_as_the_joint_law_says(net, records, fitted):
    tables = plain_tables(net, records, 1)
    for i, name in enumerate(net.names):
        predicted = np.asarray(fitted.predict_proba(records[:10], name))
        for record, law in zip(records[:10], predicted, strict=True):
            options = []
            for level in range(net.sizes[i]):
                changed = record.copy()
                changed[i] = level
                options.append(joint(net, tables, changed))
            np.testing.assert_allclose(law, options / np.sum(options), rtol=1e-4)


def test_the_targets_own_column_is_not_used(net, records, fitted):
    blind = records.copy()
    blind[:, 2] = 255
    np.testing.assert_array_equal(
        fitted.predict_proba(records, net.names[2]),
        fitted.predict_proba(blind, net.names[2]),
    )


def test_log_likelihoods_are_those_of_the_joint_law(net, records, fitted):
    tables = plain_tables(net, records, 1)
    expected = [np.log(joint(net, tables, record)) for record in records]
    np.testing.assert_allclose(fitted.log_likelihood(records), expected, rtol=1e-4)
    everything = np.array(list(itertools.product(*map(range, net.sizes))), np.uint8)
    total = np.exp(np.asarray(fitted.log_likelihood(everything))).sum()
    np.testing.assert_allclose(total, 1, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.relaxed
def test_samples_and_densities_are_dirichlet(key):
    net = dp.BayesNet.from_parents({"a": [0, 1, 2], "b": [0, 1]}, {"b": ["a"]})
    counts = jnp.array([3, 0, 9, 4, 1, 0, 0, 2, 2])
    fitted = PlugInPosterior.from_counts(net, counts, 0.5)
    theta = fitted.sample(key)
    laws = fitted.distributions()
    density = jax.jit(lambda law, table: law.log_prob(table).sum())
    expected = sum(density(laws[name], theta[name]) for name in theta)
    np.testing.assert_allclose(fitted.log_prob(theta), expected, rtol=1e-4)
    many = jax.vmap(fitted.sample)(jax.random.split(key, 5000))
    for draws, law in (
        (many["a"][:, 2], stats.beta(9.5, 4)),
        (many["b"][:, 0, 1], stats.beta(1.5, 4.5)),
        (many["b"][:, 1, 0], stats.beta(0.5, 0.5)),
    ):
        assert stats.kstest(np.asarray(draws), law.cdf).pvalue > ALPHA


def test_a_zero_has_a_density_under_a_flat_prior():
    net = dp.BayesNet.from_parents({"a": [0, 1]}, {"a": []})
    flat = PlugInPosterior.from_counts(net, jnp.zeros(2))
    assert flat.log_prob({"a": jnp.array([0.0, 1.0])}) == pytest.approx(0, abs=1e-6)


def test_counts_that_are_none_are_refused():
    net = dp.BayesNet.from_parents({"a": [0, 1]}, {"a": []})
    with pytest.raises(ValueError, match=r"`counts` must have shape \(2,\)"):
        PlugInPosterior.from_counts(net, jnp.ones(1))
    with pytest.raises(ValueError, match="`concentration` must be positive"):
        PlugInPosterior.from_counts(net, jnp.array([-3, 5]))


@pytest.mark.thorough
def test_five_hundred_variables(rng, key):
    net = random_network(rng, variables=500, most_parents=4)
    records = random_records(rng, net, 30)
    released = dp.release(net, records, epsilon=50, adjacency="add-remove")
    with pytest.raises(ValueError, match="the method 'separate-tables'"):
        dp.posterior(released, method="point-estimate")
    for options in ({}, {"noise_aware": False}):
        fitted = dp.posterior(released, **options)
        assert fitted.method == ("plug-in" if options else "separate-tables")
        assert len(fitted.mean()) == len(released.tables()) == 500
        assert fitted.predict_proba(records, "v7").shape == (30, net.sizes[7])
        key, drawn = jr.split(key)
        assert fitted.log_likelihood(fitted.sample_records(drawn, 3)).shape == (3,)


def test_small_parameters_do_not_underflow(key):
    net = dp.BayesNet.from_parents({"a": list(range(50))}, {"a": []})
    fitted = PlugInPosterior.from_counts(net, jnp.zeros(50), 1e-3)
    table = fitted.sample(key)["a"]
    np.testing.assert_allclose(table.sum(), 1, rtol=1e-5)


@pytest.mark.slow
def test_synthetic_records_follow_the_tables(net, rng, key):
    counts = jnp.asarray(rng.integers(0, 9, net.layout.length) * 10**5)
    fitted = PlugInPosterior.from_counts(net, counts)
    synthetic = np.asarray(fitted.sample_records(key, 20_000))
    assert (synthetic < np.array(net.sizes)).all()
    everything = np.array(list(itertools.product(*map(range, net.sizes))), np.uint8)
    law = np.exp(np.asarray(fitted.log_likelihood(everything), float))
    cells = np.ravel_multi_index(synthetic.T, net.sizes)
    observed = np.bincount(cells, minlength=len(law))
    enough = law * 20_000 > 10
    expected = np.append(law[enough], law[~enough].sum()) * 20_000
    observed = np.append(observed[enough], observed[~enough].sum())
    kept = expected > 0
    expected = expected[kept] * observed.sum() / expected[kept].sum()
    assert stats.chisquare(observed[kept], expected).pvalue > ALPHA


def test_synthetic_records_of_another_law_would_be_noticed(key):
    net = dp.BayesNet.from_parents({"a": [0, 1], "b": [0, 1]}, {"b": ["a"]})
    counts = jnp.array([6, 4, 10, 0, 0, 10]) * 10**6
    fitted = PlugInPosterior.from_counts(net, counts)
    synthetic = np.asarray(fitted.sample_records(key, 5000))
    assert (synthetic[:, 0] == synthetic[:, 1]).mean() > 0.999
    assert abs(synthetic[:, 0].mean() - 0.4) < 0.05


def test_updating_equals_counting_everything_at_once(net, records):
    first = exact_posterior(net, records[:25])
    np.testing.assert_array_equal(
        first.update(records[25:]).concentration,
        exact_posterior(net, records).concentration,
    )


@pytest.mark.slow
def test_a_table_serves_as_well_as_encoded_records(net, records, fitted):
    table = dp.Schema(net.variables).decode(records)
    target = net.names[1]
    expected = fitted.predict_proba(records, target)
    del table[target]
    np.testing.assert_array_equal(fitted.predict_proba(table, target), expected)
    every = []
    for level in range(net.sizes[1]):
        whole = records.copy()
        whole[:, 1] = level
        every.append(np.exp(fitted.log_likelihood(whole)))
    known = np.exp(fitted.log_likelihood(table))
    np.testing.assert_allclose(known, sum(every), rtol=1e-4)


def released_values(values, adjacency, n):
    net = dp.BayesNet.from_parents({"a": [0, 1, 2]}, {"a": []})
    statistic = NetworkCounts(net)
    noise = dp.mechanisms.DiscreteLaplace.calibrate(1, statistic.sensitivity(adjacency))
    return dp.Released(jnp.array(values, jnp.int32), statistic, noise, n)


def test_counts_are_clamped_to_what_is_possible():
    fitted = plug_in_posterior(released_values([-5, 3, 12], "replace-one", 10))
    np.testing.assert_array_equal(fitted.concentration, [1, 4, 11])
    assert fitted.clamped == 2
    fitted = plug_in_posterior(released_values([-5, 3, 12], "add-remove", None), 2)
    np.testing.assert_array_equal(fitted.concentration, [2, 5, 14])
    assert fitted.clamped == 1


def test_priors_by_variable():
    prior = {"a": jnp.array([1.0, 2.0, 3.0])}
    fitted = plug_in_posterior(released_values([0, 0, 0], "replace-one", 1), prior)
    np.testing.assert_array_equal(fitted.concentration, [1, 2, 3])


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (0, "`prior` must be positive"),
        (-1.0, "`prior` must be positive"),
        (float("nan"), "`prior` must be positive"),
        ({"a": jnp.ones(2)}, r"`prior` must hold a table of shape \(3,\) for 'a'"),
        ({}, "got none"),
        ({"a": jnp.ones(3), "b": jnp.ones(2)}, "`prior` must name variables, got 'b'"),
    ],
)
def test_a_bad_prior_is_refused(prior, message):
    with pytest.raises(ValueError, match=message):
        plug_in_posterior(released_values([0, 0, 0], "replace-one", 1), prior)


def test_rows_that_do_not_fit_are_refused(fitted, net, key):
    with pytest.raises(ValueError, match=r"must have shape \(n, 5\)"):
        fitted.predict_proba(np.zeros((2, 3), np.uint8), net.names[0])
    with pytest.raises(ValueError, match="must hold indices of levels"):
        fitted.log_likelihood(np.full((2, 5), 9, np.uint8))
    with pytest.raises(ValueError, match="one of the network's variables, got 'z'"):
        fitted.predict_proba(np.zeros((2, 5), np.uint8), "z")
    with pytest.raises(ValueError, match="`n` must be an integer of at least 0"):
        fitted.sample_records(key, -1)


@pytest.mark.slow
def test_posteriors_are_pytrees(fitted, records, key):
    leaves, structure = jax.tree.flatten(fitted)
    again = jax.tree.unflatten(structure, leaves)
    np.testing.assert_array_equal(again.concentration, fitted.concentration)
    jitted = jax.jit(lambda p, k: p.sample_records(k, 4))(fitted, jr.clone(key))
    np.testing.assert_array_equal(jitted, fitted.sample_records(key, 4))
    predict = jax.jit(lambda p, x: p.predict_proba(x, "v0"))
    np.testing.assert_allclose(
        predict(fitted, records), fitted.predict_proba(records, "v0"), rtol=1e-5
    )
