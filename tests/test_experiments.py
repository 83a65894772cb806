"""Ready-made experiments: splits, scores and cells against their parts by hand."""

import itertools

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import sklearn.metrics
from sklearn.naive_bayes import BernoulliNB

import dpjax as dp
from dpjax.data.intervals import Interval
from dpjax.event_logs import CellCounts, event_counts, sample_hidden_markov
from dpjax.families import KnownNoiseParameters, conjugate_posterior
from dpjax.mechanisms import DiscreteLaplace, NetworkPosteriorSampler, RegressionSample
from dpjax.posteriors import plug_in_posterior
from dpjax.statistics import Contrasts, FourierCoefficients, NetworkCounts, Sufficient
from dpjax.study.experiments import (
    HiddenMarkovExperiment,
    NaiveBayesExperiment,
    NetworkExperiment,
    RegressionExperiment,
)
from dpjax.study.experiments.network import MECHANISMS
from dpjax.study.experiments.splits import (
    _drop_ties,
    _order_statistic,
    split,
    training_mask,
)
from dpjax.study.metrics import table_errors
from dpjax.tables.gathers import add, marginals
from tests.helpers import event_log
from tests.helpers.cases import mostly_thorough
from tests.helpers.networks import TINY, random_network, random_records
from tests.helpers.statistical import assert_counts_follow

# The target is not the first column.
BINARY = dp.BayesNet.naive_bayes({name: [0, 1] for name in "abtc"}, "t")
CHAIN = TINY["chain"]
N, TRAINING = 60, 41


@pytest.fixture
def records(rng):
    target = rng.random(N) < 0.4
    law = np.where(target[:, None], [0.8, 0.3, 0.6], [0.2, 0.4, 0.1])
    return np.insert(rng.random((N, 3)) < law, 2, target, axis=1).astype(np.uint8)


@jax.jit
def many_masks(keys):
    return jax.vmap(lambda key: training_mask(key, 5, 2))(keys)


def test_every_split_has_its_size_and_is_as_likely_as_any_other(key):
    masks = np.asarray(many_masks(jr.split(key, 20_000)))
    assert (masks.sum(axis=1) == 2).all()
    pairs = [tuple(np.flatnonzero(mask)) for mask in masks]
    seen = [pairs.count(pair) for pair in itertools.combinations(range(5), 2)]
    assert_counts_follow(seen, np.full(10, 0.1))


@pytest.mark.parametrize("digit", [1, 4])
def test_the_order_statistic_is_exact_and_ties_go_in_order(rng, digit):
    words = rng.integers(0, 1 << 32, 99, np.uint32)
    words[:3] = 0, 2**32 - 1, 2**32 - 1
    find = jax.jit(
        lambda words: [_order_statistic(words, r, digit) for r in (1, 40, 99)]
    )
    assert [int(x) for x in find(words)] == list(np.sort(words)[[0, 39, 98]])
    tied = jnp.array([3, 1, 3, 3, 0, 4], jnp.uint32)
    taken = _drop_ties(tied, jnp.uint32(3), jnp.int32(2))
    assert np.asarray(taken).tolist() == [True, True, False, False, True, False]


def test_split_parts_the_records_by_the_mask_in_their_order(key):
    records = np.arange(20)[:, None]
    parted = jax.jit(lambda key, x: split(key, x, 13))
    train, rest = parted(jr.clone(key), jnp.asarray(records))
    mask = np.asarray(training_mask(key, 20, 13))
    np.testing.assert_array_equal(train, records[mask])
    np.testing.assert_array_equal(rest, records[~mask])


def test_auc_among_some_records_is_that_of_them_alone(rng):
    scores, positive = rng.integers(0, 9, 80) / 8.0, rng.integers(0, 2, 80)
    among = rng.random(80) < 0.4
    found = dp.study.metrics.roc_auc(*map(jnp.asarray, (scores, positive, among)))
    known = sklearn.metrics.roc_auc_score(positive[among], scores[among])
    assert float(found) == pytest.approx(known, rel=1e-5)


def test_auc_among_some_records_takes_an_infinite_score_for_the_largest():
    scores, positive = np.float32([np.inf, 0, 1, 5, 5]), np.array([1, 0, 0, 1, 0])
    among = np.array([True, True, True, False, False])
    assert dp.study.metrics.roc_auc(*map(jnp.asarray, (scores, positive, among))) == 1


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", mostly_thorough(["replace-one", "add-remove"]))
def test_a_statistic_of_counts_is_that_of_their_records(adjacency, rng):
    net = random_network(rng, variables=4, most_parents=2, most_levels=3)
    records = random_records(rng, net, 50)
    measured = NetworkCounts(net).measure(records)
    for statistic in (
        NetworkCounts(net),
        NetworkCounts(net, "all"),
        FourierCoefficients.of_network(net, adjacency),
        Contrasts.of_network(net, adjacency),
    ):
        counts = NetworkCounts(net, "all").measure(records)
        if statistic.counted != net.layout:
            counts = marginals(NetworkCounts(net).measured, statistic.counted)(
                add, measured, 0
            )
        found = statistic.of_counts(counts, 50)
        np.testing.assert_array_equal(found, statistic.measure(records))


def cell(experiment, name, epsilon, key, data):
    """One cell of a sweep: scores as numbers, and the key of the cell."""
    key_split, key_cell = jr.split(jr.clone(key))
    (learner,) = experiment.mechanisms([name], [epsilon]).values()
    learner = jax.tree.map(lambda leaf: jnp.asarray(leaf)[0], learner)
    found = jax.jit(
        lambda a, b, learner, data: experiment(b, learner, experiment.prepare(a, data))
    )(jr.clone(key_split), jr.clone(key_cell), learner, data)
    return {name: float(value) for name, value in found.items()}, key_split, key_cell


@pytest.mark.slow
def test_scores_of_naive_bayes_are_scikit_learns(key, records):
    experiment = NaiveBayesExperiment(BINARY, "t", TRAINING, "replace-one")
    found, key_split, _ = cell(experiment, "non-private", 1, key, records)
    mask = np.asarray(training_mask(key_split, N, TRAINING))
    features, target = np.delete(records, 2, axis=1), records[:, 2]
    share = (target[mask].sum() + 1) / (TRAINING + 2)
    model = BernoulliNB(alpha=1, class_prior=[1 - share, share])
    model.fit(features[mask], target[mask])
    law, held_out = model.predict_proba(features[~mask]), target[~mask]
    assert found == pytest.approx(
        {
            "accuracy": sklearn.metrics.accuracy_score(held_out, law.argmax(axis=1)),
            "auc": sklearn.metrics.roc_auc_score(held_out, law[:, 1]),
            "log_loss": sklearn.metrics.log_loss(held_out, law),
            "log_likelihood": model.predict_joint_log_proba(features[~mask])[
                np.arange(N - TRAINING), held_out
            ].mean(),
        },
        rel=1e-5,
    )


def assert_alike(names, key, records):
    """Both experiments of naive Bayes have the same scores."""
    general = NetworkExperiment(BINARY, "t", TRAINING, "replace-one")
    special = NaiveBayesExperiment(BINARY, "t", TRAINING, "replace-one")
    for name in names:
        slow, *_ = cell(general, name, 1, key, records)
        fast, *_ = cell(special, name, 1, key, records)
        assert slow == pytest.approx(fast, rel=2e-5), name


@pytest.mark.slow
def test_the_fast_experiment_is_the_general_one(key, records):
    assert_alike(["laplace"], key, records)


@pytest.mark.thorough
@pytest.mark.relaxed  # NumPyro draws the posterior's sample
def test_the_fast_experiment_is_the_general_one_for_every_mechanism(key, records):
    assert_alike(MECHANISMS, key, records)


def noisy_posterior(statistic, epsilon, adjacency, train, key):
    noise = DiscreteLaplace.calibrate(epsilon, statistic.sensitivity(adjacency))
    values = noise.sample(key, statistic.measure(train))
    n = len(train) if adjacency == "replace-one" else None
    return plug_in_posterior(dp.Released(values, statistic, noise, n))


def by_posterior(posterior, rest):
    law = posterior.predict_proba(rest, "y")
    return {
        "accuracy": float(dp.study.metrics.accuracy(law, rest[:, 1])),
        "log_loss": float(dp.study.metrics.log_loss(law, rest[:, 1])),
        "log_likelihood": float(posterior.log_likelihood(rest).mean()),
    }


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "adjacency"),
    [
        ("laplace", "replace-one"),
        pytest.param("fourier", "replace-one", marks=pytest.mark.thorough),
        pytest.param("fourier", "add-remove", marks=pytest.mark.thorough),
    ],
)
def test_a_cell_is_a_release_and_its_posterior(name, adjacency, key, rng):
    records = jnp.asarray(random_records(rng, CHAIN, N))
    experiment = NetworkExperiment(CHAIN, "y", TRAINING, adjacency, exact_noise=True)
    assert experiment.scores == ("accuracy", "log_loss", "log_likelihood")
    found, key_split, key_cell = cell(experiment, name, "0.7", key, records)
    train, rest = split(key_split, records, TRAINING)
    made = {"laplace": NetworkCounts(CHAIN)}.get(
        name, FourierCoefficients.of_network(CHAIN, adjacency)
    )
    posterior = noisy_posterior(made, "0.7", adjacency, train, key_cell)
    assert found == pytest.approx(by_posterior(posterior, rest), rel=1e-5)


@pytest.mark.thorough
@pytest.mark.relaxed
def test_a_cell_is_a_posterior_sample(key, rng):
    records = jnp.asarray(random_records(rng, CHAIN, N))
    experiment = NetworkExperiment(CHAIN, "y", TRAINING, "replace-one")
    found, key_split, key_cell = cell(experiment, "posterior-sample", 1, key, records)
    train, rest = split(key_split, records, TRAINING)
    law = NetworkPosteriorSampler.posterior(
        CHAIN.layout, 1, "replace-one", n=TRAINING
    ).in_reals()
    counts = NetworkCounts(CHAIN, "all").measure(train)
    drawn = dp.posteriors.SampledPosterior(CHAIN, law.sample(key_cell, counts)[None])
    assert found == pytest.approx(by_posterior(drawn, rest), rel=1e-5)


@pytest.mark.thorough
def test_accuracy_rises_with_epsilon_to_that_without_privacy(key, rng):
    n = 300
    target = rng.random(n) < 0.4
    law = np.where(target[:, None], [0.8, 0.3, 0.6], [0.2, 0.4, 0.1])
    records = np.insert(rng.random((n, 3)) < law, 2, target, axis=1).astype(np.uint8)
    experiment = NaiveBayesExperiment(
        BINARY,
        "t",
        200,
        "replace-one",
        scores=("accuracy", "log_loss"),
        exact_noise=True,
    )
    # At the last, noise is not 0 with a chance of 1e-12.
    epsilons = ["0.02", "0.15", "179"]
    names = ["laplace", "fourier", "non-private"]
    result = dp.sweep(
        key,
        experiment,
        records,
        epsilons=epsilons,
        mechanisms=experiment.mechanisms(names, epsilons),
        prepare=experiment.prepare,
        repeats=200,
        block=100,
    )
    by_name = {score: dict(zip(names, result[score], strict=True)) for score in result}
    for score, sign in (("accuracy", 1), ("log_loss", -1)):
        exact = by_name[score].pop("non-private")
        for values in by_name[score].values():  # budgets by repeats
            assert (sign * np.diff(values.mean(axis=1)) > 0.01).all()
            np.testing.assert_allclose(values[-1], exact[-1], rtol=1e-5)


def test_errors_of_tables_are_means_over_rows(rng):
    layout = CHAIN.layout  # one row of two levels, two of three
    truth = [np.array([0.25, 0.75]), *rng.dirichlet([1, 1, 1], 2)]
    truth[1] = np.array([0, 0.5, 0.5])  # 0 log 0 is 0
    learned = [rng.dirichlet(np.ones(row.size)) for row in truth]
    with np.errstate(divide="ignore", invalid="ignore"):
        kl = [np.nansum(p * np.log(p / q)) for p, q in zip(truth, learned, strict=True)]
    variation = [abs(p - q).sum() / 2 for p, q in zip(truth, learned, strict=True)]
    flat = (jnp.asarray(np.concatenate(x), float) for x in (truth, learned))
    found = {k: float(v) for k, v in table_errors(layout, *flat).items()}
    known = {"total_variation": np.mean(variation), "kl": np.mean(kl)}
    assert found == pytest.approx(known, rel=1e-5)


@pytest.mark.slow
def test_known_tables_are_drawn_from_and_compared_with(key):
    truth = jnp.asarray([0.25, 0.75, 0, 0.5, 0.5, 0.2, 0.3, 0.5], float)
    experiment = NetworkExperiment(CHAIN, "y", 30_000, "replace-one", synthetic=50)
    key_trial, key = jr.split(key)
    trial = experiment.prepare(key_trial, truth)
    assert int(trial.counts.sum()) == 30_000  # of one maximal family
    assert trial.held_out.shape == (50, 2)
    law = np.repeat([0.25, 0.75], 3) * np.asarray(truth[2:])
    assert_counts_follow(np.asarray(trial.counts), law)
    found, *_ = cell(experiment, "non-private", 1, key, truth)
    assert 0 < found["total_variation"] < 0.02
    assert 0 < found["kl"] < 0.001


VARIABLES = (Interval("a", -1, 1), Interval("b", 0, 2), Interval("y", -2, 3))
LINE = Sufficient.of("linear-regression", VARIABLES, "replace-one")


@pytest.fixture
def line(rng):
    features = rng.uniform([-1, 0], [1, 2], (N, 2))
    target = features @ [0.5, 0.8] - 0.3 + 0.1 * rng.normal(size=N)
    return np.column_stack([features, np.clip(target, -2, 3)]).astype(np.float32)


@pytest.mark.thorough
def test_a_cell_of_a_regression_is_the_conjugate_posteriors(key, line):
    experiment = RegressionExperiment(LINE, TRAINING, 2.0, noise_precision=3.0)
    found, key_split, key_cell = cell(experiment, "laplace", 5, key, line)
    train, rest = split(key_split, jnp.asarray(line, float), TRAINING)
    noise = DiscreteLaplace.calibrate(5, LINE.sensitivity("replace-one"))
    values = noise.sample(key_cell, LINE.measure(train))
    prior = KnownNoiseParameters(jnp.zeros(3), 2 * jnp.eye(3), 3.0)
    posterior = conjugate_posterior(LINE.family, *LINE.decode(values, TRAINING), prior)
    error = posterior.predict(rest[:, :-1]) - rest[:, -1]
    assert found["mse"] == pytest.approx(float((error**2).mean()), rel=1e-4)


def test_a_regression_without_privacy_is_ridge_regression(key, line):
    experiment = RegressionExperiment(LINE, TRAINING, 2.0, noise_precision=3.0)
    found, key_split, _ = cell(experiment, "non-private", 1, key, line)
    mask = np.asarray(training_mask(key_split, N, TRAINING))
    centred = np.insert(line - [0, 1, 0.5], 0, 1, axis=1)  # at the bounds' middle
    design, target = centred[:, :-1], centred[:, -1]
    gram = design[mask].T @ design[mask] + 2 / 3 * np.eye(3)
    weights = np.linalg.solve(gram, design[mask].T @ target[mask])
    mse = np.mean((design[~mask] @ weights - target[~mask]) ** 2)
    assert found["mse"] == pytest.approx(mse, rel=0.02)  # records are rounded


@pytest.mark.thorough
@pytest.mark.relaxed
def test_a_cell_of_a_regression_is_a_posterior_sample(key, line):
    experiment = RegressionExperiment(LINE, TRAINING, 2.0)
    found, key_split, key_cell = cell(experiment, "posterior-sample", 5, key, line)
    train, rest = split(key_split, jnp.asarray(line, float), TRAINING)
    law = RegressionSample.calibrate(LINE, 5, 2.0, n=TRAINING)
    drawn = law.sample(key_cell, LINE.measure(train))
    error = law.predict(drawn, rest[:, :-1]) - rest[:, -1]
    assert found["mse"] == pytest.approx(float((error**2).mean()), rel=1e-3)


@pytest.mark.thorough
@pytest.mark.relaxed
def test_a_cell_of_an_event_log_is_a_fit_to_noisy_counts(key, rng):
    net, records = event_log.NET, event_log.encoded(rng, 500)
    experiment = HiddenMarkovExperiment(
        net, 2, 5, "replace-one", chains=3, sweeps=6, emission=0.5, transition=2.0
    )
    exact = event_counts(net, records)
    for name in ("laplace", "non-private"):
        found, key_split, key_cell = cell(experiment, name, 2, key, records)
        observed = np.asarray(training_mask(key_split, 24, 19)).reshape(2, 12)
        key_noise, key_chains = jr.split(key_cell)
        counts = jnp.where(observed[..., None], exact, 0)
        if name == "laplace":
            noise = DiscreteLaplace.calibrate(
                2, event_log.STATISTIC.sensitivity("replace-one")
            )
            counts = jnp.maximum(noise.sample(key_noise, counts), 0)
        cells = CellCounts.of(
            net, counts, 2, observed=observed, emission=0.5, transition=2.0
        )
        fitted = sample_hidden_markov(key_chains, cells, chains=3, sweeps=6)
        logs = np.asarray(fitted.log_likelihood(exact))[~observed]
        assert logs.size == 5
        assert found["log_likelihood"] == pytest.approx(logs.mean(), rel=1e-4)


@pytest.mark.parametrize("kind", [NetworkExperiment, NaiveBayesExperiment])
def test_wrong_arguments_of_networks_are_refused(kind, key, records):
    def made(target="t", training=TRAINING, adjacency="replace-one", **options):
        return kind(BINARY, target, training, adjacency, **options)

    with pytest.raises(ValueError, match="`target` must be one of the network's"):
        made(target="z")
    with pytest.raises(ValueError, match="`training` must be an integer of at least 1"):
        made(training=0)
    with pytest.raises(ValueError, match="`adjacency` must be"):
        made(adjacency="both")
    with pytest.raises(ValueError, match="`prior` must be positive"):
        made(prior=0.0)
    with pytest.raises(ValueError, match="`score` must be"):
        made(scores=("accuracy", "kl"))
    with pytest.raises(ValueError, match="`scores` must hold at least one"):
        made(scores=())
    with pytest.raises(ValueError, match="`mechanism` must be"):
        made().mechanisms(["gauss"], [1])
    with pytest.raises(ValueError, match="`epsilon` must be"):
        made().mechanisms(["laplace"], [0])
    with pytest.raises(ValueError, match="below the number of records, 60"):
        made(training=N).prepare(key, records)


def test_other_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="`net` must be naive Bayes of binary"):
        NaiveBayesExperiment(CHAIN, "x", 10, "replace-one")
    with pytest.raises(ValueError, match="`net` must be naive Bayes of binary"):
        NaiveBayesExperiment(BINARY, "a", 10, "replace-one")
    with pytest.raises(ValueError, match="`synthetic` must be an integer"):
        NetworkExperiment(CHAIN, "x", 10, "replace-one", synthetic=0)
    other = Sufficient.of("gaussian", VARIABLES[:1], "replace-one")
    with pytest.raises(ValueError, match="`statistic` must be of a linear-regression"):
        RegressionExperiment(other, 10)
    with pytest.raises(ValueError, match="`radius` must be positive"):
        RegressionExperiment(LINE, 10, radius=-1.0)
    with pytest.raises(ValueError, match="`mechanism` must be"):
        RegressionExperiment(LINE, 10).mechanisms(["fourier"], [1])
    with pytest.raises(ValueError, match="`net` must be of an event log"):
        HiddenMarkovExperiment(CHAIN, 2, 5, "replace-one")
    with pytest.raises(
        ValueError, match="`held_out` must be below the number of cells"
    ):
        HiddenMarkovExperiment(event_log.NET, 2, 24, "replace-one")
    with pytest.raises(ValueError, match="`states` must be"):
        HiddenMarkovExperiment(event_log.NET, 0, 5, "replace-one")
    with pytest.raises(ValueError, match="`mechanism` must be"):
        HiddenMarkovExperiment(event_log.NET, 2, 5, "replace-one").mechanisms(
            ["posterior-sample"], [1]
        )
