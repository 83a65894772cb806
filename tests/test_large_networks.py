"""Networks of many variables: estimates by tables; programs that do not grow."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import dpjax as dp
from dpjax.data import probabilities
from dpjax.mechanisms import DiscreteLaplace, Laplace
from dpjax.noise.keys import study_key
from dpjax.posteriors import METHODS, SeparateTables, separate_tables
from dpjax.posteriors.choice import _candidates
from dpjax.posteriors.estimate.number_law import number_log_prob
from dpjax.posteriors.estimate.separate_tables import _estimate, _Problem
from dpjax.posteriors.plug_in import draw_tables
from dpjax.releases.released import Released
from dpjax.statistics import FourierCoefficients, NetworkCounts
from dpjax.tables.gathers import add
from dpjax.tables.projection import project
from tests.helpers.networks import TINY, random_network, random_records

SMALL = dp.BayesNet.from_parents(
    {"a": [0, 1], "b": [0, 1, 2], "c": [0, 1], "d": [0, 1]},
    {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"]},
)


def noisy(rng, net, n=200, scale=3.0):
    statistic = NetworkCounts(net)
    exact = statistic.measure(random_records(rng, net, n))
    values = np.asarray(exact) + rng.laplace(scale=scale, size=exact.shape)
    return statistic, jnp.asarray(values, float), jnp.full(exact.shape, scale, float)


# ---- the estimate


def tables_of(layout, vector):
    spans = zip(layout.offsets[:-1], layout.offsets[1:], layout.groups, strict=True)
    return [(g, vector[a:b].reshape(layout.shape(g))) for a, b, g in spans]


@pytest.mark.slow
def test_numbers_of_other_tables_are_weighted_averages(rng):
    """A sum of k cells with noise of scale b has a variance proportional to k b^2."""
    statistic, values, _ = noisy(rng, SMALL)
    scale = jnp.asarray(rng.uniform(1, 3, values.shape), float)
    problem = _Problem.of(statistic, values, scale, jnp.asarray(200.0), jnp.ones(24))
    layout = statistic.measured
    numbers = {}
    for table, ((group, cells), (_, scales)) in enumerate(
        zip(tables_of(layout, values), tables_of(layout, scale), strict=True)
    ):
        for axis, i in enumerate(group):
            rest = tuple(a for a in range(len(group)) if a != axis)
            sums, noise = cells.sum(rest), (scales**2).sum(rest)
            for level in range(cells.shape[axis]):
                found = float(sums[level]), float(noise[level])
                numbers.setdefault((i, level), {})[table] = found
    wanted = []
    for table, group in enumerate(layout.groups):
        for i in group:
            for level in range(SMALL.sizes[i]):
                others = dict(numbers[i, level])
                others.pop(table)
                if others:
                    weights = [1 / noise for _, noise in others.values()]
                    sums = [value for value, _ in others.values()]
                    average = np.average(sums, weights=weights)
                    wanted.append((average, sum(weights) ** -0.5))
    got = problem.values[layout.length :], problem.scale[layout.length :]
    np.testing.assert_allclose(np.transpose(got), wanted, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("public_n", [True, False])
def test_gradients_are_those_of_the_log_density(rng, public_n):
    statistic, values, scale = noisy(rng, SMALL)
    n = jnp.asarray(200.0) if public_n else None
    prior = jnp.asarray(rng.uniform(0.5, 2, SMALL.layout.length), float)
    problem = _Problem.of(statistic, values, scale, n, prior)
    layout, cells = statistic.measured, values.size
    alpha = np.asarray(problem.alpha)
    starts = dict(zip(SMALL.families, SMALL.layout.offsets, strict=False))
    for (group, found), start in zip(
        tables_of(layout, alpha), map(starts.__getitem__, layout.groups), strict=True
    ):
        expected = prior[start : start + found.size]
        np.testing.assert_array_equal(found.ravel(), expected, err_msg=str(group))

    def density(logits, only_cells):
        log_q, loose = [], 0.0
        for _, table in tables_of(layout, logits):
            log_q.append(jax.nn.log_softmax(table.ravel()))
            loose += table.sum() ** 2 / table.size
        log_q = jnp.concatenate(log_q)
        q = jnp.exp(log_q)
        chances = jnp.concatenate([q, problem.levels.numbers(add, q, 0)])
        mean = problem.n * chances
        variance = mean * (1 - chances) if public_n else mean
        law = number_log_prob(
            problem.values, mean, variance, problem.scale, np.ones(mean.shape, bool)
        )
        law = law[:cells] if only_cells else law
        return law.sum() + (alpha * log_q).sum() - loose / 2

    logits = jnp.asarray(rng.normal(size=cells), float)
    found = jax.jit(problem.gradients)(logits)
    for only_cells in (False, True):
        wanted = jax.jit(jax.grad(partial(density, only_cells=only_cells)))(logits)
        np.testing.assert_allclose(found[int(only_cells)], wanted, rtol=1e-3, atol=1e-3)


@pytest.mark.slow
def test_without_noise_rows_are_those_of_exact_counts(rng):
    statistic, values, scale = noisy(rng, SMALL, 5000, 0.01)
    exact = jnp.round(statistic.tables(values))
    found = _estimate(
        statistic, values, scale, jnp.asarray(5000.0), jnp.ones(exact.size), 200
    )
    wanted, layout = exact + 1, SMALL.layout
    means = [x / layout.row_sums(x) for x in (found, wanted)]
    np.testing.assert_allclose(means[0], means[1], atol=2e-3)
    # The draws of the fit and of the moments change a total by up to a third.
    found, wanted = (np.asarray(layout.row_sums(x)) for x in (found, wanted))
    np.testing.assert_allclose(found / wanted, 1, atol=0.35)
    np.testing.assert_allclose(np.mean(found / wanted), 1, atol=0.1)


@pytest.mark.slow
def test_intervals_cover_and_estimates_beat_the_noisy_counts(rng):
    """Nominal 95 % intervals cover 89 to 97 % of truths that follow the prior.

    The spread of the fit is too small for large noise. The noise here has about the
    size of the counts.
    """
    net = random_network(rng, 12, 2, 3)
    statistic, repeats, n, scale = NetworkCounts(net), 48, 2000, 30.0
    one = jnp.ones(net.layout.length)
    keys = jr.split(study_key(3), repeats)
    truths = jax.jit(jax.vmap(lambda key: draw_tables(key, one, net.layout)))(keys)

    @jax.jit
    def simulate(key, theta):
        first, second = jr.split(key)
        records = probabilities.sample_records(first, theta, net, n)
        exact = statistic.measure(records).astype(float)
        return exact + scale * jr.laplace(second, exact.shape, float)

    values = jax.jit(jax.vmap(simulate))(jr.split(study_key(4), repeats), truths)
    sensitivity = statistic.sensitivity("replace-one")
    mechanism = Laplace(int(sensitivity.value) / scale, sensitivity)
    released = Released(values, statistic, mechanism, n)
    found = eqx.filter_vmap(separate_tables)(released)
    each = [_row(found, i) for i in range(repeats)]
    low, high = (np.array([x._quantile(q) for x in each]) for q in (0.025, 0.975))
    covered = np.mean((low <= truths) & (truths <= high))
    assert 0.89 < covered < 0.97, covered
    plain = jnp.clip(jax.jit(jax.vmap(statistic.tables))(values), 0, n) + 1
    rows = jax.vmap(net.layout.row_sums)
    error, others = (
        float(jnp.square(x / rows(x) - truths).sum())
        for x in (found.concentration, plain)
    )
    assert error < 0.75 * others, (error, others)


def _row(stacked, i):
    return jax.tree.map(lambda x: x[i], stacked)


@pytest.mark.slow
def test_large_networks_are_estimated_by_separate_tables(rng):
    net = random_network(rng, 120, 3, 3)
    records = random_records(rng, net, 500)
    released = dp.release(net, records, epsilon=1, adjacency="add-remove")
    found = dp.posterior(released)
    assert isinstance(found, SeparateTables)
    assert found.method == "separate-tables"
    assert found.sample_records(study_key(1), 10).shape == (10, 120)
    assert dp.posterior(released, noise_aware=False).method == "plug-in"
    assert found.update(records).method == "separate-tables"


@pytest.mark.slow
def test_no_method_is_asked_whether_it_is_slow_before_its_turn(rng, monkeypatch):
    """The junction tree of a naive Bayes network of many features is slow to find."""
    net = TINY["naive Bayes"]
    released = dp.release(
        net, random_records(rng, net, 9), epsilon=1, adjacency="add-remove"
    )

    def asked(*_):
        raise AssertionError("asked")

    monkeypatch.setattr(METHODS["point-estimate"], "is_slow", asked)
    candidates = iter(_candidates(released, None, noise_aware=True))
    assert next(candidates).kind == "exact"
    with pytest.raises(AssertionError, match="asked"):
        list(candidates)


def test_separate_tables_need_counts(rng):
    statistic = FourierCoefficients.of_network(TINY["collider"], "replace-one")
    mechanism = DiscreteLaplace.calibrate(1, statistic.sensitivity("replace-one"))
    values = np.zeros(statistic.length, np.int32)
    released = Released(values, statistic, mechanism, 5)
    with pytest.raises(ValueError, match=r"counts of a network.*`point_estimate`"):
        separate_tables(released)


# ---- programs


def programs(net):
    """Compiled functions of one network, and what they are called with."""
    statistic, layout = NetworkCounts(net), net.layout
    theta = jnp.ones(layout.length)
    values = jnp.ones(statistic.length)
    records = jnp.zeros((100, len(net.sizes)), jnp.uint8)
    noise = DiscreteLaplace.calibrate(1, statistic.sensitivity("replace-one"))
    exact = jnp.zeros(statistic.length, jnp.int32)
    key = study_key(0)
    scale, n = jnp.ones(statistic.length), jnp.asarray(100.0)
    return {
        "counts": (statistic.measure, records),
        "noise": (noise.sample, key, exact),
        "tables": (statistic.tables, values),
        "consistent": (partial(project, statistic.measured), values, n),
        "rows": (partial(draw_tables, layout=layout), key, theta),
        "estimate": (
            lambda *given: _estimate(statistic, *given, 5),
            *(values, scale, n, theta),
        ),
        "records": (
            lambda k, t: probabilities.sample_records(k, t, net, 100),
            key,
            theta,
        ),
        "predict": (lambda t, r: probabilities.predict(t, r, net, 1), theta, records),
        "likelihood": (
            lambda t, r: probabilities.log_likelihood(t, r, net),
            *(theta, records),
        ),
    }


def operations(function, *args):
    return str(jax.make_jaxpr(function)(*args)).count(" = ")


@pytest.mark.slow
def test_programs_do_not_grow_with_the_number_of_variables(rng):
    """Twice at most, from 20 to 300 variables with all shapes of tables at both sizes.

    Both networks have tables of the same shapes.
    """

    def network(variables):
        names = [f"v{i}" for i in range(variables)]
        parents = {
            name: names[max(0, i - 1 - i % 3) : i] for i, name in enumerate(names)
        }
        return dp.BayesNet.from_parents({name: [0, 1, 2] for name in names}, parents)

    small, large = programs(network(20)), programs(network(300))
    for name in small:
        sizes = operations(*small[name]), operations(*large[name])
        assert sizes[1] <= 2 * sizes[0], (name, sizes)


def test_tables_of_many_pieces_are_those_of_records(rng):
    """Families that larger ones contain are sums, wherever they stand."""
    net = random_network(rng, 40, 2, 3)
    statistic = NetworkCounts(net)
    records = random_records(rng, net, 300)
    found = np.asarray(statistic.tables(statistic.measure(records)))
    pieces, _ = statistic._pieces
    assert len(pieces) > 8
    wanted = []
    for family in net.families:
        table = np.zeros(net.layout.shape(family), int)
        np.add.at(table, tuple(records[:, i] for i in family), 1)
        wanted.append(table.ravel())
    np.testing.assert_array_equal(found, np.concatenate(wanted))
    stacked = statistic.tables(jnp.stack([statistic.measure(records)] * 2))
    np.testing.assert_array_equal(stacked, np.stack([found] * 2))
