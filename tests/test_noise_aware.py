"""Exact noise-aware posteriors against enumeration of all hidden data."""

import itertools
from dataclasses import replace

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy import stats

import dpjax as dp
from dpjax.data.bayes_net import BayesNet
from dpjax.mechanisms import DiscreteLaplace, Laplace
from dpjax.posteriors import Windows, exact_posterior, tree_posterior
from dpjax.posteriors.exact.cell_laws import CellLaw
from dpjax.posteriors.exact.star_sums import StarSums
from dpjax.releases.released import Released
from dpjax.statistics import NetworkCounts
from tests.helpers.enumeration import Enumerated

X64 = jax.config.jax_enable_x64
CLOSE = 1e-9 if X64 else 1e-4
BINARY = {"y": [0, 1], "a": [0, 1], "b": [0, 1]}
STAR = {"y": [], "a": ["y"], "b": ["y"]}
CASES = {
    "binary": (BINARY, STAR, "maximal", "1", 4),
    "categorical": (
        {"y": [0, 1, 2], "a": [0, 1, 2], "z": [0, 1]},
        {"y": [], "a": ["y"], "z": []},
        "all",
        "3",
        2,
    ),
    "mixed": ({"y": [0, 1], "a": [0, 1, 2]}, {"a": ["y"]}, "all", "2", 5),
    "chain": (BINARY, {"y": [], "a": ["y"], "b": ["a"]}, "maximal", "2", 5),
    "tree": (
        BINARY | {"c": [0, 1]},
        {"y": [], "a": ["y"], "b": ["a"], "c": ["a"]},
        "all",
        "4",
        3,
    ),
}


def log_law(rate):
    constant = np.log(np.tanh(rate / 2))
    return lambda released, exact: constant - rate * np.abs(released - exact)


def case(name, key, rng):
    """A release, a prior, what is inferred, and what enumeration says."""
    levels, parents, families, epsilon, n = CASES[name]
    net = BayesNet.from_parents(levels, parents)
    statistic = NetworkCounts(net, families)
    records = rng.integers(0, net.sizes, (n, len(net.sizes))).astype(np.int32)
    mechanism = DiscreteLaplace.calibrate(epsilon, statistic.sensitivity("replace-one"))
    values = mechanism.sample(key, statistic.measure(records))
    released = Released(values, statistic, mechanism, n)
    prior = rng.uniform(0.5, 3, net.layout.length)
    tables = net.layout.split(jnp.asarray(prior, float))
    tables = dict(zip(net.names, tables, strict=True))
    infer = tree_posterior if name in ("chain", "tree") else exact_posterior
    law = log_law(float(mechanism.rho))
    return infer(released, tables), Enumerated(statistic, values, law, prior, [n])


# Sums are the same with and without x64, and slow to compile: some with it alone.
@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    CASES if X64 else ["binary", pytest.param("chain", marks=pytest.mark.thorough)],
)
def test_posterior_is_the_enumerated_one(name, key, rng):
    posterior, enumerated = case(name, key, rng)
    first, second = enumerated.moments()
    np.testing.assert_allclose(posterior.first, first, atol=CLOSE)
    np.testing.assert_allclose(posterior.second, second, atol=CLOSE)
    assert abs(posterior.log_evidence - enumerated.log_evidence) < CLOSE * 10
    assert posterior.omitted < (1e-12 if X64 else 1e-6)
    density = enumerated.log_density(np.asarray(posterior.first, float))
    assert abs(posterior.log_prob(posterior.mean()) - density) < CLOSE * 100
    offset = 0
    for lowest, laws in posterior.hidden_counts().values():
        width = laws.shape[-1]
        laws, lowest = np.asarray(laws).reshape(-1, width), np.ravel(lowest)
        for law, first_count in zip(laws, lowest, strict=True):
            expected = enumerated.law_of_count(offset)
            seen = np.zeros(max(len(expected), first_count + width))
            seen[first_count : first_count + width] = law
            seen[: len(expected)] -= expected
            assert np.abs(seen).sum() / 2 < CLOSE  # total variation
            offset += 1
    if name == "binary":
        states = np.array(list(itertools.product(*map(range, posterior.net.sizes))))
        states = states.astype(np.int32)
        scores = np.exp(posterior.log_likelihood(states))
        np.testing.assert_allclose(
            scores, enumerated.predictive(states), atol=CLOSE, rtol=CLOSE
        )
        probabilities = posterior.predict_proba(states, "a")
        pairs = scores.reshape(2, 2, 2) / scores.reshape(2, 2, 2).sum(1, keepdims=True)
        expected = np.broadcast_to(pairs.transpose(0, 2, 1)[:, None], (2, 2, 2, 2))
        np.testing.assert_allclose(
            probabilities, expected.reshape(8, 2), rtol=10 * CLOSE
        )


TRIPLE = BayesNet.from_parents(BINARY, CASES["chain"][1])


def chain(values, n, epsilon):
    statistic = NetworkCounts(TRIPLE)
    noise = DiscreteLaplace.calibrate(epsilon, statistic.sensitivity("replace-one"))
    return Released(jnp.asarray(values, jnp.int32), statistic, noise, n)


@pytest.mark.thorough
def test_a_strong_prior_on_a_tree_does_not_underflow():
    """Against x64; without normalisation in logs, E[y = 0] was .22 in 32 bits."""
    released = chain([200, 50, 100, 150, 120, 180, 80, 120], 500, "1")
    strong = jnp.tile(jnp.asarray([1.0, 100.0]), 2)
    prior = {"y": jnp.asarray([1.0, 100.0])}
    prior |= {name: strong.reshape(2, 2) for name in "ab"}
    posterior = tree_posterior(released, prior)
    assert abs(posterior.mean()["y"][0] - 0.0846099) < 1e-5
    assert posterior.omitted < 1e-12


@pytest.mark.thorough
def test_tables_that_contradict_each_other_are_refused():
    """Not even x64 has numbers for both: the sums once were wrong in silence."""
    released = chain([0, 100, 0, 0, 100, 0, 0, 0], 100, "20")
    with pytest.raises(ValueError, match="`released` must have tables that do not"):
        tree_posterior(released)
    assert dp.posterior(released).method == "point-estimate"


@pytest.mark.thorough
def test_a_private_number_of_records_is_summed_over():
    """With noise that makes windows grow, if they are bounded badly."""
    statistic = NetworkCounts(BayesNet.naive_bayes({"y": [0, 1], "a": [0, 1]}, "y"))
    noise = DiscreteLaplace.calibrate("1", statistic.sensitivity("add-remove"))
    values = jnp.asarray([-3, 2, -1, 1], jnp.int32)
    posterior = exact_posterior(Released(values, statistic, noise, None))
    enumerated = Enumerated(statistic, values, log_law(1.0), 1.0, range(37))
    first, second = enumerated.moments()
    np.testing.assert_allclose(posterior.first, first, atol=CLOSE)
    np.testing.assert_allclose(posterior.second, second, atol=CLOSE)
    assert abs(posterior.log_evidence - enumerated.log_evidence) < CLOSE * 10
    assert posterior.windows.hub <= 256


def naive_bayes(d, key, n, epsilon, adjacency="replace-one"):
    """A network with d binary attributes, and a release for it."""
    net = BayesNet.naive_bayes({f"x{i}": [0, 1] for i in range(d + 1)}, "x0")
    statistic = NetworkCounts(net)
    mechanism = DiscreteLaplace.calibrate(epsilon, statistic.sensitivity(adjacency))
    records = jr.bernoulli(key, 0.3, (n, d + 1)).astype(jnp.int32)
    values = mechanism.sample(jr.fold_in(key, 1), statistic.measure(records))
    known = n if adjacency == "replace-one" else None
    return Released(values, statistic, mechanism, known)


@pytest.fixture(scope="module")
def large():
    """n beyond what small windows hold; narrow and wide windows must agree."""
    return naive_bayes(2, jr.key(7), 600, "2")


@pytest.mark.thorough
def test_windows_omit_what_they_say_and_no_more(large):
    narrow = exact_posterior(large)
    assert narrow.windows.cells < 601
    wide = exact_posterior(large, windows=Windows(601, 601, 601))
    np.testing.assert_allclose(narrow.first, wide.first, atol=CLOSE / 100, rtol=CLOSE)
    assert abs(narrow.log_evidence - wide.log_evidence) < CLOSE * 10
    assert narrow.omitted < 1e-12
    assert wide.omitted == 0 or wide.omitted < 1e-30


@pytest.mark.thorough
def test_a_window_too_small_is_refused(large):
    with pytest.raises(ValueError, match="`windows` must omit at most 1e-12"):
        exact_posterior(large, windows=Windows(64, 64, 64))


@pytest.mark.thorough
def test_what_is_omitted_is_bounded():
    """The bound, against the evidence that narrow windows do lose."""
    statistic = NetworkCounts(BayesNet.naive_bayes({"y": [0, 1], "a": [0, 1]}, "y"))
    noise = Laplace(0.5, statistic.sensitivity("replace-one"))
    for values in ([20.0, 30.0, 25.0, 25.0], [-8.0, 40.0, 66.0, 1.0]):
        released = Released(jnp.asarray(values), statistic, noise, 100)
        whole = exact_posterior(released, windows=Windows(101, 101, 101))
        for size in (40, 80):
            windows = Windows(size, size, size)
            part = exact_posterior(released, windows=windows, tolerance=2.0)
            lost = -np.expm1(float(part.log_evidence - whole.log_evidence))
            assert lost <= part.omitted + 10 * CLOSE
    assert part.omitted < 1


@pytest.mark.thorough
def test_many_releases_are_one_call(large, key):
    noise = DiscreteLaplace.calibrate_many(
        ["1", "2", "4"], large.statistic.sensitivity("replace-one")
    )
    values = jnp.stack([large.values, large.values + 3, large.values - 5])
    windows = Windows(601, 601, 601)
    stack = exact_posterior(
        Released(values, large.statistic, noise, 600), windows=windows
    )
    assert stack.mean()["x1"].shape == (3, 2, 2)
    for i in range(3):
        one = jax.tree.map(lambda leaf, i=i: leaf[i] if jnp.ndim(leaf) else leaf, noise)
        alone = Released(values[i], large.statistic, one, 600)
        first = exact_posterior(alone, windows=windows).first
        np.testing.assert_allclose(stack.first[i], first, rtol=1e-5)

    def infer(values, mechanism):
        released = Released(values, large.statistic, mechanism, 600)
        return exact_posterior(released, windows=windows).first

    axes = jax.tree.map(lambda leaf: 0 if jnp.ndim(leaf) else None, noise)
    mapped = jax.vmap(infer, in_axes=(0, axes))(values, noise)
    np.testing.assert_allclose(mapped, stack.first, rtol=1e-5)


@pytest.mark.slow
def test_what_is_inferred_is_kept_and_predicts_the_same(key, monkeypatch):
    released = naive_bayes(2, key, 40, "1")
    whole = exact_posterior(released)
    again = replace(whole, inferred=None)  # as in compiled code
    records = np.array([[0, 1, 0], [1, 0, 1]], np.int32)
    wanted = again.predict_proba(records, "x0"), again.log_likelihood(records)

    def infer(sums):
        raise AssertionError("inferred again")

    monkeypatch.setattr(StarSums, "infer", infer)
    found = whole.predict_proba(records, "x0"), whole.log_likelihood(records)
    assert jax.tree.all(jax.tree.map(jnp.array_equal, found, wanted))
    with pytest.raises(AssertionError, match="inferred again"):
        again.log_likelihood(records)


def test_windows_hold_something():
    with pytest.raises(ValueError, match="`hub` must be an integer of at least 1"):
        Windows(5, 0, 5)


@pytest.mark.thorough
def test_wrong_arguments_are_named(large):
    posterior = exact_posterior(large)
    with pytest.raises(ValueError, match="`name` must be 'x0' or"):
        posterior.marginal("zz", (0, 0))
    for cell in ((0,), (0, 2), (0, -1)):
        with pytest.raises(ValueError, match="`cell` must be indices of a cell"):
            posterior.marginal("x1", cell)


def test_a_hub_of_many_levels_is_not_begun():
    """Its own sums cost more than those of its leaf; they once ran for minutes."""
    levels = {"y": list(range(10)), "a": [0, 1]}
    statistic = NetworkCounts(BayesNet.from_parents(levels, {"a": ["y"]}))
    noise = DiscreteLaplace.calibrate("0.01", statistic.sensitivity("replace-one"))
    values = jnp.full(statistic.length, 500, jnp.int32)
    with pytest.raises(ValueError, match="summed over at a bounded cost"):
        exact_posterior(Released(values, statistic, noise, 10_000))


def test_compiled_code_needs_windows():
    net = BayesNet.naive_bayes({"y": [0, 1], "a": [0, 1]}, "y")
    statistic = NetworkCounts(net)
    noise = DiscreteLaplace.calibrate("2", statistic.sensitivity("replace-one"))
    with pytest.raises(ValueError, match="`windows` must be given to "):
        jax.jit(
            lambda values: (
                exact_posterior(Released(values, statistic, noise, 600)).first
            )
        )(jnp.asarray([210, 90, 80, 220], jnp.int32))


def test_compiled_code_has_no_trees():
    example = chain([9, 3, 1, 7, 8, 2, 3, 7], 20, "2")
    with pytest.raises(ValueError, match="call `tree_posterior` outside of compiled"):
        jax.jit(
            lambda values: (
                tree_posterior(
                    Released(values, example.statistic, example.mechanism, 20)
                ).first
            )
        )(example.values)


@pytest.fixture(scope="module", params=["star", "tree", "private n"])
def posterior(request):
    if request.param == "tree":
        levels = {"y": [0, 1], "x0": [0, 1], "x1": [0, 1]}
        parents = {"y": [], "x0": ["y"], "x1": ["x0"]}
        statistic = NetworkCounts(BayesNet.from_parents(levels, parents))
        noise = DiscreteLaplace.calibrate("2", statistic.sensitivity("replace-one"))
        values = jnp.asarray([9, 3, 1, 7, 8, 2, 3, 7], jnp.int32)
        return tree_posterior(Released(values, statistic, noise, 20))
    if request.param == "star":
        return exact_posterior(naive_bayes(2, jr.key(3), 20, "2"), 2.0)
    return exact_posterior(naive_bayes(1, jr.key(3), 20, "2", "add-remove"), 2.0)


@pytest.mark.thorough
def test_draws_follow_the_marginal_laws(posterior, key):
    draws = jax.vmap(posterior.sample)(jr.split(key, 4000))["x1"]
    for cell in ((0, 0), (1, 1)):
        law = posterior.marginal("x1", cell)
        ranks = jax.vmap(law.cdf)(draws[:, cell[0], cell[1]])
        assert stats.kstest(np.asarray(ranks, float), "uniform").pvalue > 1e-6
    np.testing.assert_allclose(draws.sum(axis=-1), 1, rtol=1e-5)


@pytest.mark.thorough
def test_marginal_laws_agree_with_moments_and_quantiles(posterior):
    law = posterior.marginal("x1", (1, 0))
    grid = np.linspace(0.001, 0.999, 2001)
    density = np.exp(np.asarray(jax.vmap(law.log_prob)(jnp.asarray(grid, float))))
    below = np.asarray(jax.vmap(law.cdf)(jnp.asarray(grid, float)), float)
    inside = np.trapezoid(density, grid)
    np.testing.assert_allclose(inside, below[-1] - below[0], atol=1e-5 + CLOSE)
    mean = 0.999 - np.trapezoid(below, grid)  # up to 1e-3 at either end
    assert abs(mean - posterior.mean()["x1"][1, 0]) < 1.1e-3
    second = 0.999**2 - 2 * np.trapezoid(grid * below, grid)
    spread = np.sqrt(second - mean**2)
    assert abs(spread - posterior.sd()["x1"][1, 0]) < 0.01
    for q in (0.025, 0.5):
        found = posterior.quantile(q)["x1"][1, 0]
        assert abs(law.cdf(found) - q) < 1e-4


@pytest.mark.slow
def test_a_law_is_the_mixture_of_its_beta_laws_also_below_the_least_count():
    """Two of the totals are below all counts, which have no weight there."""
    a, whole = 3.5 + np.arange(4), 2.0 + np.arange(6)
    weights = np.random.default_rng(0).random((6, 4)) * (whole[:, None] > a)
    weights /= weights.sum()
    law = CellLaw(*(jnp.asarray(x, float) for x in (weights, a, whole)))
    for t in (0.1, 0.5, 0.9):
        b = np.where(weights > 0, whole[:, None] - a, 1)
        expected = (weights * stats.beta.cdf(t, a, b)).sum()
        below = float(law.cdf(jnp.asarray(t, float)))
        assert below == pytest.approx(expected, abs=1e-5)
        found = law.quantile(jnp.asarray(expected, float))
        assert float(found) == pytest.approx(t, abs=1e-4)


@pytest.mark.slow
def test_means_are_within_intervals_if_a_level_is_frequent_and_n_private():
    """The window of its row's total begins below that of its count."""
    levels = {"ill": [0, 1], "smoker": [0, 1]}
    net = BayesNet.from_parents(levels, {"ill": [], "smoker": ["ill"]})
    statistic = NetworkCounts(net)
    noise = DiscreteLaplace.calibrate("1/5", statistic.sensitivity("add-remove"))
    values = jnp.asarray([532, 228, 48, 22], jnp.int32)
    found = exact_posterior(Released(values, statistic, noise, None))
    lower, mean, upper = found.quantile(0.025), found.mean(), found.quantile(0.975)
    for name in net.names:
        assert (lower[name] < mean[name]).all()
        assert (mean[name] < upper[name]).all()
        assert (upper[name] - lower[name] < 5 * found.sd()[name]).all()


@pytest.mark.thorough
def test_updates_add_to_the_prior(posterior, rng):
    d = len(posterior.net.names)
    records = rng.integers(0, 2, (6, d)).astype(np.int32)
    updated = posterior.update(records)
    counts = np.asarray(NetworkCounts(posterior.net, "all").measure(records))
    expected = np.asarray(posterior.prior) + counts
    np.testing.assert_allclose(updated.prior, expected, rtol=1e-6)
    assert np.abs(np.asarray(updated.first - posterior.first)).max() > 1e-3
