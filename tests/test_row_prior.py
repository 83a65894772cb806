"""Priors of the rows of tables that are learned from a release."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

import dpjax as dp
from dpjax.cli.main import main
from dpjax.mechanisms import DiscreteLaplace
from dpjax.posteriors import point_estimate
from dpjax.posteriors.estimate.row_prior import FixedPrior, SharedPrior
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
MIXED, SHARED = jnp.asarray(False), jnp.asarray(True)


def flat(tables):
    return np.concatenate([np.ravel(tables[name]) for name in NET.names])


def rows_of(rng, net):
    return {
        name: rng.dirichlet(np.ones(shape[-1]), shape[:-1])
        for name, shape in zip(
            net.names, map(net.layout.shape, net.layout.groups), strict=True
        )
    }


def density(tables, unknown):
    """The log-density of logits and unknown parameters, by SciPy."""
    total, start = 0.0, 0
    for name in NET.names:
        rows = np.reshape(tables[name], (-1, np.shape(tables[name])[-1]))
        width = rows.shape[1]
        u, start = unknown[start : start + width], start + width
        phi = special.softmax(u)
        deviation = u.sum() / np.sqrt(width)
        s = width / 2 * np.exp(deviation)

        def of_rows(alpha, rows=rows):
            jacobian = np.log(rows).sum(axis=1)
            return sum(stats.dirichlet.logpdf(x, alpha) for x in rows) + jacobian.sum()

        alone = of_rows(np.full(width, 0.5))
        both = np.logaddexp(alone, of_rows(s * phi)) + np.log(0.5)
        several = len(rows) > 1
        total += both if several else alone
        total += 2 * np.log(phi).sum() - deviation**2 / 2
    return total


def test_the_density_is_that_of_its_definition(rng):
    prior = SharedPrior(NET, jnp.full(NET.layout.length, 0.5))
    assert prior.size == 8
    ours, theirs = [], []
    for spread in (0.3, 1.0, 3.0):
        tables, unknown = rows_of(rng, NET), spread * rng.normal(size=prior.size)
        logs = jnp.asarray(np.log(flat(tables)), float)
        ours.append(prior.log_prob(logs, jnp.asarray(unknown, float), MIXED))
        theirs.append(density(tables, unknown))
    np.testing.assert_allclose(np.diff(ours), np.diff(theirs), rtol=1e-4)


def test_a_fixed_prior_has_no_unknown_parameters(rng):
    prior = FixedPrior(jnp.full(NET.layout.length, 0.5))
    logs = jnp.asarray(np.log(flat(rows_of(rng, NET))), float)
    none = jnp.zeros(0)
    assert prior.size == 0
    np.testing.assert_allclose(
        prior.log_prob(logs, none, MIXED), 0.5 * logs.sum(), rtol=1e-6
    )
    assert (prior.cells(logs, none) == prior.centre).all()


def test_parameters_are_shared_as_far_as_the_rows_agree():
    """One variable has equal rows, with a mean that `unknown` knows; one has not."""
    prior = SharedPrior(NET, jnp.full(NET.layout.length, 0.5))
    alike = np.tile([0.7, 0.2, 0.1], (3, 2, 1))
    unlike = np.array([[0.999, 0.001], [0.001, 0.999], [0.5, 0.5]])
    tables = {"a": [0.5, 0.3, 0.2], "b": unlike, "c": alike}
    mean = np.log([0.7, 0.2, 0.1])
    unknown = np.concatenate([np.zeros(5), mean - mean.mean() + 3 / np.sqrt(3)])
    logs = jnp.asarray(np.log(flat(tables)), float)
    cells = np.asarray(prior.cells(logs, jnp.asarray(unknown, float)))
    np.testing.assert_allclose(cells[:3], 0.5, rtol=1e-6)
    np.testing.assert_allclose(cells[3:9], 0.5, rtol=1e-6)
    expected = np.tile(1.5 * np.exp(3) * np.array([0.7, 0.2, 0.1]), 6)
    np.testing.assert_allclose(cells[9:], expected, rtol=1e-2)


def noiseless(net, counts, stack=()):
    """A release with so little noise that it is of the counts themselves."""
    statistic = NetworkCounts(net)
    mechanism = DiscreteLaplace.of(statistic, budget_of(25, "replace-one"))
    counts = np.broadcast_to(counts, (*stack, counts.size))
    n = int(counts.sum() / counts[..., 0].size)
    return Released(jnp.asarray(counts, jnp.int32), statistic, mechanism, n)


def test_rows_that_agree_are_estimated_with_less_error(rng):
    """24 rows of 10 records each: the prior 1/2 leaves noise of the sample."""
    row = np.array([0.7, 0.2, 0.1])
    counts = rng.multinomial(10, row, 24)
    released = noiseless(WIDE, counts.ravel())
    tables = [
        np.asarray(point_estimate(released, prior, steps=STEPS).mean()["c"])
        for prior in (0.5, "hierarchical")
    ]
    errors = [float(np.mean(special.rel_entr(row, x).sum(-1))) for x in tables]
    assert errors[1] < 0.5 * errors[0]


def test_rows_that_differ_are_estimated_as_alone(rng):
    rows = np.eye(3)[rng.integers(3, size=24)]
    released = noiseless(WIDE, (1000 * rows).ravel())
    alone, found = (
        point_estimate(released, prior, steps=STEPS) for prior in (0.5, "hierarchical")
    )
    np.testing.assert_allclose(found.theta, alone.theta, atol=1e-3)


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


@pytest.mark.parametrize("mechanism", ["laplace", "k-norm", "fourier"])
def test_the_method_is_the_point_estimate(mechanism):
    found = dp.posterior(released(mechanism), "hierarchical")
    assert found.method == "point-estimate"


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
