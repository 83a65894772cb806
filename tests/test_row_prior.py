"""Priors of the rows of tables that are learned from a release."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

import dpjax as dp
from dpjax.cli.main import main
from dpjax.mechanisms import DiscreteLaplace
from dpjax.posteriors import point_estimate
from dpjax.posteriors.estimate.row_prior import FixedPrior, LogLinearPrior
from dpjax.privacy import budget_of
from dpjax.releases.released import Released
from dpjax.statistics import NetworkCounts

TWO, THREE = [0, 1], [0, 1, 2]
NET = dp.BayesNet.from_parents(
    {"a": THREE, "b": TWO, "c": THREE}, {"a": [], "b": ["a"], "c": ["a", "b"]}
)
WIDE = dp.BayesNet.from_parents(
    {"a": [*range(6)], "b": [*range(4)], "c": THREE},
    {"a": [], "b": [], "c": ["a", "b"]},
)
STEPS = 100


def flat(tables):
    return np.concatenate([np.ravel(tables[name]) for name in NET.names])


def rows_of(rng, net):
    return {
        name: rng.dirichlet(np.ones(shape[-1]), shape[:-1])
        for name, shape in zip(
            net.names, map(net.layout.shape, net.layout.groups), strict=True
        )
    }


def row_parameters(unknown):
    """The Dirichlet parameters of each variable's rows, from all unknown ones."""
    *effects, logs = np.split(unknown, np.cumsum([3, 2, 6, 3, 9, 6]))
    _, of_b, b_by_a, of_c, c_by_a, c_by_b = effects
    logits = {
        "b": of_b + b_by_a.reshape(3, 2),
        "c": of_c + c_by_a.reshape(3, 1, 3) + c_by_b.reshape(2, 3),
    }
    found = {"a": np.full(3, 0.5)}
    for name, s in zip("bc", logs[1:], strict=True):
        mean = special.softmax(logits[name], axis=-1)
        found[name] = mean.shape[-1] / 2 * np.exp(s) * mean
    return found


def density(tables, unknown):
    """The log-density of logits and unknown parameters, by SciPy."""
    total = stats.norm.logpdf(unknown[:29], scale=0.7).sum()
    total += stats.norm.logpdf(unknown[29:]).sum()
    for name, alpha in row_parameters(unknown).items():
        rows = np.reshape(tables[name], (-1, alpha.shape[-1]))
        for row, own in zip(rows, alpha.reshape(rows.shape), strict=True):
            total += stats.dirichlet.logpdf(row, own) + np.log(row).sum()
    return total


@pytest.mark.slow
def test_the_density_and_its_slope_are_those_of_the_definition(rng):
    prior = LogLinearPrior(NET, jnp.full(NET.layout.length, 0.5))
    assert prior.size == 32
    ours, theirs = [], []
    for spread in (0.3, 1.0, 2.0):
        tables, unknown = rows_of(rng, NET), spread * rng.normal(size=prior.size)
        given = jnp.asarray(unknown, float)
        cells = flat(row_parameters(unknown))
        np.testing.assert_allclose(prior.cells(given), cells, rtol=1e-4)
        law = partial(prior.log_prob, jnp.asarray(np.log(flat(tables)), float))
        ours.append(law(given))
        theirs.append(density(tables, unknown))
        direction = rng.normal(size=prior.size)
        up, down = (density(tables, unknown + x * direction) for x in (1e-4, -1e-4))
        slope = jax.grad(law)(given) @ direction
        np.testing.assert_allclose(slope, (up - down) / 2e-4, rtol=1e-2, atol=1e-2)
    np.testing.assert_allclose(np.diff(ours), np.diff(theirs), rtol=1e-4)


@pytest.mark.slow
def test_matched_parameters_have_the_moments_of_all_draws(rng):
    prior = LogLinearPrior(NET, jnp.full(NET.layout.length, 0.5))
    unknown = rng.normal(size=(5, prior.size))
    found = NET.layout.split(prior.matched(jnp.asarray(unknown, float)))
    drawn = [row_parameters(x) for x in unknown]
    np.testing.assert_allclose(found[0], 0.5)
    for name, table in zip("bc", found[1:], strict=True):
        laws = [x[name].reshape(-1, table.shape[-1]) for x in drawn]
        for i, own in enumerate(np.reshape(table, laws[0].shape)):
            rows = [stats.dirichlet(x[i]) for x in laws]
            means = np.array([row.mean() for row in rows])
            spread = np.sum([row.var() for row in rows]) / 5 + means.var(axis=0).sum()
            matched = stats.dirichlet(own.astype(float))
            np.testing.assert_allclose(matched.mean(), means.mean(axis=0), rtol=1e-4)
            np.testing.assert_allclose(matched.var().sum(), spread, rtol=1e-4)


def test_a_fixed_prior_has_no_unknown_parameters(rng):
    prior = FixedPrior(jnp.full(NET.layout.length, 0.5))
    logs = jnp.asarray(np.log(flat(rows_of(rng, NET))), float)
    none = jnp.zeros(0)
    assert prior.size == 0
    np.testing.assert_allclose(prior.log_prob(logs, none), 0.5 * logs.sum(), rtol=1e-6)
    assert (prior.matched(none[None]) == prior.centre).all()


def noiseless(net, counts, stack=()):
    """A release with so little noise that it is of the counts themselves."""
    statistic = NetworkCounts(net)
    mechanism = DiscreteLaplace.of(statistic, budget_of(25, "replace-one"))
    counts = np.broadcast_to(counts, (*stack, *counts.shape))
    n = int(counts.sum() / counts[..., 0].size)
    return Released(jnp.asarray(counts, jnp.int32), statistic, mechanism, n)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["equal", "effects of each parent"])
def test_rows_that_are_alike_are_estimated_with_less_error(rng, kind):
    """24 rows of 10 records each: the prior 1/2 leaves noise of the sample."""
    logits = rng.normal(size=(6, 1, 3)) + rng.normal(size=(4, 3))
    rows = special.softmax(logits, axis=-1).reshape(24, 3)
    if kind == "equal":
        rows = np.tile([0.7, 0.2, 0.1], (24, 1))
    counts = np.stack([rng.multinomial(10, row, size=8) for row in rows], axis=1)
    released = noiseless(WIDE, counts.reshape(8, -1))
    errors = []
    for prior in (0.5, "hierarchical"):
        tables = np.asarray(point_estimate(released, prior, steps=STEPS).mean()["c"])
        errors.append(special.rel_entr(rows, tables.reshape(-1, 24, 3)).sum(-1).mean())
    assert errors[1] < 0.9 * errors[0]


@pytest.mark.slow
def test_rows_that_differ_are_estimated_as_alone(rng):
    rows = np.eye(3)[rng.integers(3, size=24)]
    released = noiseless(WIDE, (1000 * rows).ravel())
    alone, found = (
        point_estimate(released, prior, steps=STEPS) for prior in (0.5, "hierarchical")
    )
    np.testing.assert_allclose(found.theta, alone.theta, atol=1e-3)


@pytest.mark.slow
def test_a_stack_of_releases_has_the_prior_of_each(rng):
    counts = rng.multinomial(10, [0.7, 0.2, 0.1], 24).ravel()
    one = point_estimate(noiseless(WIDE, counts), "hierarchical", steps=STEPS)
    two = point_estimate(noiseless(WIDE, counts, (2,)), "hierarchical", steps=STEPS)
    assert two.prior.shape == (2, WIDE.layout.length)
    np.testing.assert_allclose(two.prior[1], one.prior, rtol=1e-3)
    sd = np.asarray(one.sd()["c"])
    assert ((sd > 0) & (sd < 0.5)).all()


BAYES = dp.BayesNet.naive_bayes({"t": TWO, "a": TWO, "b": TWO}, "t")
RECORDS = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 0]], np.uint8)


def released(mechanism):
    return dp.release(
        BAYES, RECORDS, epsilon=1, adjacency="replace-one", mechanism=mechanism
    )


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["laplace", "k-norm", "fourier"])
def test_the_method_is_the_point_estimate(mechanism):
    found = dp.posterior(released(mechanism), "hierarchical")
    assert found.method == "point-estimate"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "options"),
    [
        ("posterior-sample", {}),
        ("laplace", {"method": "gibbs"}),
        ("laplace", {"method": "exact"}),
        ("laplace", {"noise_aware": False}),
    ],
)
def test_other_methods_refuse_it(mechanism, options):
    with pytest.raises(ValueError, match=r"^`prior` must be left out") as error:
        dp.posterior(released(mechanism), "hierarchical", **options)
    assert "\n" not in str(error.value)


@pytest.mark.usefixtures("as_for_a_user")
def test_another_name_is_refused():
    with pytest.raises(ValueError, match="'hierarchical', got 'flat'"):
        dp.posterior(released("laplace"), "flat")


@pytest.mark.slow
def test_the_command_line_takes_it(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    released("laplace").save("release.json")
    (tmp_path / "new.csv").write_text("a,b\n0,1\n")
    arguments = ["predict", "release.json", "new.csv", "--target", "t", "--prior"]
    assert main([*arguments, "hierarchical"]) == 0
    assert "point-estimate" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*arguments, "flat"])
    assert "must be a number or hierarchical, got 'flat'" in capsys.readouterr().err
