"""Posteriors from marginal tables without a network, against sums over all records."""

import itertools
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from pyarrow import parquet
from scipy import special, stats

import dpjax as dp
from dpjax.cli.main import main
from dpjax.mechanisms import DiscreteLaplace
from dpjax.mechanisms.recipes import recipe_of
from dpjax.posteriors import field_posterior
from dpjax.posteriors.random_fields.field import RandomField, field_of
from dpjax.posteriors.random_fields.fit import FieldModel, fit_field
from dpjax.posteriors.random_fields.observed import noise_of
from dpjax.posteriors.random_fields.posterior import _given
from dpjax.releases.released import Released
from dpjax.statistics import FourierCoefficients, Sufficient
from dpjax.study import combine_synthetic
from tests.helpers.cases import mostly_thorough
from tests.helpers.statistical import assert_binomial

pytestmark = pytest.mark.relaxed  # NumPyro mixes dtypes

SCHEMA = dp.Schema({"a": [0, 1], "b": [0, 1, 2], "c": [0, 1], "d": [0, 1]})
FIELDS = {
    "pairs": [*itertools.combinations(range(4), 2)],
    "chain": [(0, 1), (1, 2), (2, 3)],
    "circle": [(0, 1), (1, 2), (2, 3), (0, 3)],
    "apart": [(0, 1), (3,)],  # one variable is in no table
    "whole": [(0, 1, 2, 3)],
    "two levels": [(0, 1), (1, 2), (0, 2)],  # of a, c and d
}
LONG = {"chains": 4, "warmup": 300, "samples": 2000}


def field_named(name):
    variables = tuple(SCHEMA.values())
    if name == "two levels":
        variables = variables[:1] + variables[2:]
    return RandomField(variables, tuple(FIELDS[name]))


def states_of(field):
    return np.array([*np.ndindex(*field.layout.sizes)], np.int32)


def law_of(field, eta):
    """The probabilities of all records, in double precision."""
    features = field.feature_matrix(states_of(field)).astype(float)
    return special.softmax(features @ np.asarray(eta, float))


def random_eta(rng, field):
    return jnp.asarray(rng.normal(0, 0.7, len(field)), float)


def close(found, wanted, atol=2e-6):
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), atol=atol)


@pytest.mark.slow
@pytest.mark.parametrize("name", FIELDS)
def test_a_field_is_its_law_over_all_records(name, rng):
    field = field_named(name)
    eta, states = random_eta(rng, field), states_of(field)
    law = law_of(field, eta)
    cells = np.asarray(field.layout.cells(states))
    tables = np.bincount(
        cells.ravel(), np.repeat(law, cells.shape[1]), field.layout.length
    )
    close(jax.jit(field.marginals)(eta), tables)
    features = field.feature_matrix(states)
    close(jax.jit(field.features)(jnp.asarray(tables, float)), features.T @ law)
    theta = np.asarray(jax.jit(field.tables)(eta), float)
    close(theta[np.asarray(field.net.layout.cells(states))].prod(axis=1), law)
    close(jax.jit(field.parameters)(jnp.asarray(theta)), eta, atol=2e-4)
    counts = np.asarray(field.net.layout.cells(states))
    counts = np.bincount(counts.ravel(), minlength=field.net.layout.length)
    sums = jax.jit(field.features_of_net)(jnp.asarray(counts, float))
    close(sums, features.sum(axis=0), atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", FIELDS)
def test_sums_over_all_records_are_those_of_a_junction_tree(name, rng):
    whole, tree = field_named(name), field_named(name)
    tree.__dict__["is_dense"] = False
    eta = random_eta(rng, whole)
    assert whole.is_dense
    law, features = law_of(whole, eta), whole.feature_matrix(states_of(whole))
    np.testing.assert_array_equal(whole.possible(), features.T)
    assert tree.possible() is None
    sums = "mean", "covariance", "log_partition"

    def found(field):  # at once, by one program
        possible = field.possible()
        quantities = {x: partial(getattr(field, x), possible=possible) for x in sums}
        quantities["tables"] = field.tables
        return jax.jit(lambda eta: {x: f(eta) for x, f in quantities.items()})(eta)

    dense = found(whole)
    close(dense["covariance"], np.cov(features.T, aweights=law, bias=True))
    jax.tree.map(close, dense, found(tree))


def test_a_field_of_many_variables_needs_no_sum_over_all_records():
    schema = dp.Schema({f"x{i}": [0, 1] for i in range(40)})
    chain = RandomField(tuple(schema.values()), tuple(itertools.pairwise(range(40))))
    assert not chain.is_dense


@pytest.mark.parametrize("name", FIELDS)
def test_no_parameter_is_a_function_of_others(name):
    field = field_named(name)
    features = field.feature_matrix(states_of(field))
    whole = np.column_stack([np.ones(len(features)), features])
    assert np.linalg.matrix_rank(whole) == len(field) + 1


def release_of(records, kind, epsilon, adjacency, order=2, schema=SCHEMA):
    statistic = recipe_of(kind).marginals(schema, order, adjacency)
    options = {"epsilon": epsilon, "adjacency": adjacency, "mechanism": kind}
    return dp.release(statistic, records, **options)


def records_of(rng, n=300):
    field = field_named("pairs")
    law = law_of(field, random_eta(rng, field))
    return states_of(field)[rng.choice(len(law), n, p=law)].astype(np.uint8)


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    mostly_thorough(
        itertools.product(["k-norm", "fourier"], ["replace-one", "add-remove"])
    ),
)
def test_without_noise_the_estimate_has_the_tables_of_the_records(case, rng):
    """And those of the prior: the equations of the largest posterior density."""
    kind, adjacency = case
    records = records_of(rng, 3000)
    made = release_of(records, kind, "30", adjacency)
    found = dp.posterior(made, prior=200.0)
    assert found.method == "random-field"
    field, uniform = field_of(made), 200 * 3  # records in the prior
    cells = np.asarray(field.layout.cells(records))
    counts = np.bincount(cells.ravel(), minlength=field.layout.length)
    widths = np.diff(field.layout.offsets)
    prior = np.repeat(uniform / widths, widths)
    wanted = (counts + prior) / (len(records) + uniform)
    close(field.marginals(found.fit.mode), wanted, atol=0.003)
    assert np.abs(np.asarray(found.n) - len(records)).max() < 9


SATURATED = dp.Schema({"x": [0, 1], "y": [0, 1]})


@pytest.mark.slow
def test_with_all_interactions_and_no_noise_it_is_a_dirichlet_distribution(key):
    """So the prior has the stated number of records, and the likelihood its n.

    Where a strong prior contradicts the records, deviations are those of a likelihood
    that is normal in the numbers and not in the parameters: within 10 %.
    """
    counts = np.array([1200, 500, 800, 1500])  # large: the likelihood is about normal
    records = np.repeat(np.array([*np.ndindex(2, 2)], np.uint8), counts, axis=0)
    made = release_of(records, "k-norm", "30", "replace-one", schema=SATURATED)
    for prior, within in ((1.0, 0.04), (600.0, 0.1)):
        found = field_posterior(key, made, prior, **LONG)
        joint = jax.vmap(joint_law)(found.samples.reshape(-1, 6))
        beta = counts + prior / 2  # for each of two levels
        law = stats.beta(beta, beta.sum() - beta)
        close(joint.mean(axis=0), law.mean(), atol=0.001)
        np.testing.assert_allclose(joint.std(axis=0), law.std(), rtol=within)


@pytest.mark.slow
def test_without_information_parameters_have_the_variances_of_the_prior(key):
    """A record in the prior has the precision 1 for each parameter of two levels.

    The learned precision t of the interaction solves t = (2 / (2 + t) + 2) / 2: the
    two records in the prior determine 2 / (2 + t) parameters, and two parameters are
    the weight of the first precision, 1.
    """
    records = np.zeros((10, 2), np.uint8)
    made = release_of(records, "k-norm", "0.0001", "replace-one", schema=SATURATED)
    found = field_posterior(key, made, 1.0, samples=4, warmup=4)
    orders = field_of(made).orders
    np.testing.assert_array_equal(np.sort(orders), [1, 1, 2])
    wanted = np.where(orders == 2, (13**0.5 - 1) / 2, 0.01)
    np.testing.assert_allclose(found.fit.prior, wanted, rtol=0.002)
    variances = np.diagonal(found.fit.covariance)
    np.testing.assert_allclose(variances, 1 / (2 + wanted), rtol=0.002)
    field, eta = field_of(made), jnp.array([0.3, -0.5, 0.8])
    logs = [found.log_prob(tables_of(field.tables(x))) for x in (eta, 0 * eta)]
    law = law_of(field, eta)  # half a record of each kind, and the normal prior
    law = np.log(4 * law).sum() / 2 - (wanted * np.asarray(eta) ** 2).sum() / 2
    close(logs[0] - logs[1], law, atol=0.002)


@pytest.mark.slow
def test_the_precision_of_interactions_is_that_of_the_ones_without_noise(rng, key):
    """With K known interactions e: (K + 2) / (sum of e² + 2), in each order."""
    field = field_named("whole")
    orders = field.orders
    eta = rng.normal(size=len(field)) * np.where(orders == 2, 0.4, 0.1)
    counts = np.round(law_of(field, eta) * 4_000_000).astype(int)
    records = np.repeat(states_of(field).astype(np.uint8), counts, axis=0)
    made = release_of(records, "k-norm", "30", "replace-one", order=4)
    found = field_posterior(key, made, 0.01, samples=4, warmup=4)
    for order in (2, 3, 4):
        alike = eta[orders == order]
        wanted = (alike.size + 2) / ((alike**2).sum() + 2)
        np.testing.assert_allclose(found.fit.prior[orders == order], wanted, rtol=0.02)
    np.testing.assert_allclose(found.fit.prior[orders == 1], 0.01)


@pytest.mark.slow
def test_noise_below_the_rounding_of_counts_is_no_noise(rng):
    """The mode is that of exact counts, also of forty million records."""
    field = field_named("whole")
    made = release_of(records_of(rng, 10), "k-norm", "30", "replace-one", order=4)
    _, moments, problem, _ = _given(made, field.prior_counts(0.01), True)
    for n in (4e6, 4e7):
        eta = random_eta(rng, field) / 5  # no cell is rare
        values = n * moments.mean(field.marginals(eta))
        many = problem._replace(values=values, n=jnp.asarray(n))
        found = fit_field(field, moments, many, True)
        close(found.mode, eta, atol=0.001)


def tables_of(theta):
    return {"x": theta[:2], "y": theta[2:].reshape(2, 2)}


def joint_law(theta):
    return (theta[:2, None] * theta[2:].reshape(2, 2)).ravel()


@pytest.mark.slow
@pytest.mark.parametrize("scale", mostly_thorough([40.0, 3.0]))
def test_with_noise_it_is_the_sum_over_the_hidden_count(scale, key):
    """One binary variable: the exact posterior is a sum, and prior 1 is uniform."""
    schema, n, value = dp.Schema({"x": [0, 1]}), 100, 30
    statistic = FourierCoefficients(tuple(schema.values()), "replace-one", order=1)
    assert statistic.sensitivity("replace-one").value == 1
    mechanism = DiscreteLaplace.calibrate(
        str(1 / scale), statistic.sensitivity("replace-one")
    )
    made = Released(jnp.array([value], jnp.int32), statistic, mechanism, n)
    counts, grid = np.arange(n + 1), (np.arange(4000) + 0.5) / 4000
    noise = np.exp(-np.abs(value - counts) / scale)
    density = (stats.binom.pmf(counts[:, None], n, grid) * noise[:, None]).sum(axis=0)
    density /= density.sum()
    mean = density @ grid
    sd = np.sqrt(density @ grid**2 - mean**2)
    found = field_posterior(key, made, **LONG)
    ones = np.asarray(found.samples)[..., 1]
    assert ones.mean() == pytest.approx(mean, abs=0.2 * sd)
    assert ones.std() == pytest.approx(sd, rel=0.2)
    plain = field_posterior(key, made, noise_aware=False, **LONG)
    narrow = np.asarray(plain.samples)[..., 1].std()
    assert narrow == pytest.approx(np.sqrt(0.3 * 0.7 / n), rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["k-norm", "fourier", "laplace"])
def test_a_private_number_has_the_law_of_its_estimate(kind, rng, key):
    """Normal, around the estimate of least variance, however wide the noise is."""
    of_kind = recipe_of("fourier" if kind == "fourier" else "k-norm")
    made = dp.release(
        of_kind.marginals(SCHEMA, 2, "add-remove"),
        records_of(rng, 500),
        epsilon="1/4",
        adjacency="add-remove",
        mechanism=kind,
    )
    problem, public = _given(made, field_of(made).prior_counts(1), True)[2:]
    statistic, values = made.statistic, np.asarray(made.values, float)
    noise = np.asarray(noise_of(problem.scale, problem.weights), float)
    if kind == "fourier":  # the first coefficient
        direct, variance = values[0], noise[0]
    else:  # the sum of the first block, which has all of its cells
        cells = statistic.starts[1]
        direct, variance = values[:cells].sum(), noise[:cells].sum()
    assert not public
    np.testing.assert_allclose(problem.n, direct, rtol=1e-5)
    np.testing.assert_allclose(problem.deviation, np.sqrt(variance), rtol=1e-5)
    found = field_posterior(key, made, chains=2, warmup=50, samples=500)
    drawn = np.asarray(found.n).ravel()  # independent of one another: 5 deviations
    sd = float(problem.deviation)
    law = stats.truncnorm(-direct / sd, np.inf, direct, sd)
    within = 5 * law.std() / np.sqrt(drawn.size)
    assert drawn.min() >= 0
    assert drawn.mean() == pytest.approx(law.mean(), abs=within)
    assert drawn.std() == pytest.approx(law.std(), rel=0.15)


@pytest.mark.slow
def test_parameters_move_with_a_private_number(rng, key):
    """As the mode does if another number is public, but for what is learned anew."""
    made = release_of(records_of(rng, 2000), "k-norm", "1", "add-remove")
    field, moments, problem, _ = _given(made, field_of(made).prior_counts(1), True)
    fit = fit_field(field, moments, problem, False)
    step = float(problem.deviation)
    less, more = (
        fit_field(field, moments, problem._replace(n=problem.n + x), True).mode
        for x in (-step, step)
    )
    moved = np.asarray(more - less) / 2
    close(fit.along * step, moved, atol=0.2 * np.abs(moved).max())
    found = field_posterior(key, made, chains=2, warmup=100, samples=500)
    theta = found.samples.reshape(-1, found.samples.shape[-1])
    eta = np.asarray(jax.lax.map(field.parameters, theta), float)
    off = np.asarray(found.n, float).ravel() - float(problem.n)
    slope = off @ (eta - eta.mean(axis=0)) / (off @ off)
    spread = 5 * eta.std(axis=0) / np.sqrt(off @ off)
    assert (np.abs(slope - np.asarray(fit.along)) < spread).all()
    assert (np.abs(fit.along) > spread).any()  # or the test sees nothing


@pytest.mark.slow
def test_densities_are_integrals_over_a_private_number(rng, key):
    """Of the density given n, at parameters that are moved with n, by a fine grid."""
    made = release_of(records_of(rng, 400), "k-norm", "1/2", "add-remove")
    found = field_posterior(key, made, samples=4, warmup=4)
    field, moments, problem, _ = _given(made, found.prior, True)
    given = FieldModel.of(field, moments, problem, False).density(found.fit)
    sd, along = float(problem.deviation), found.fit.along
    moves = jnp.linspace(-6 * sd, 6 * sd, 241)
    law = np.asarray(stats.norm(0, sd).logpdf(moves)) + np.log(moves[1] - moves[0])
    logs = []
    for eta in (found.fit.mode, found.fit.mode + 2 * sd * along):
        each = np.asarray(jax.lax.map(given, eta[None] - moves[:, None] * along[None]))
        wanted = special.logsumexp(each.astype(float) + law)
        logs.append(float(found.log_prob(tables_by_name(found, eta))) - wanted)
        assert float(given(eta)) != pytest.approx(wanted, abs=0.1)
    assert logs[0] == pytest.approx(logs[1], abs=0.01)


def tables_by_name(found, eta):
    return found._by_name(field_of(found.released).tables(eta))


@pytest.mark.slow
def test_further_records_are_in_the_prior(rng, key):
    made = release_of(records_of(rng), "k-norm", "1", "replace-one")
    found = dp.posterior(made, key=key)
    more = records_of(rng, 5000)
    after = found.update(more, key)
    assert after.method == "random-field"
    wanted = np.bincount(more[:, 3], minlength=2) / len(more)
    close(after.query("d")[0], wanted, atol=0.03)
    assert after.sd()["a"].max() < found.sd()["a"].max()


@pytest.mark.thorough
def test_densities_are_those_of_the_draws(rng, key):
    """Density ratios of a normal reference average to 1 under the draws."""
    made = release_of(records_of(rng, 2000), "k-norm", "5", "replace-one")
    found = field_posterior(key, made, **LONG)
    field = field_of(made)
    theta = found.samples.reshape(-1, found.samples.shape[-1])[::8]
    eta = np.asarray(jax.lax.map(field.parameters, theta), float)
    named = found._by_name(theta)
    ours = np.asarray(jax.lax.map(found.log_prob, named), float)
    narrow = np.cov(eta.T) * 0.7
    reference = stats.multivariate_normal(eta.mean(axis=0), narrow).logpdf(eta)
    ratios = np.exp(reference - ours)
    assert ratios.mean() == pytest.approx(1, abs=0.25)


@pytest.mark.slow
def test_a_release_of_a_network_is_refused_and_others_too(rng, key):
    net = dp.BayesNet.naive_bayes(SCHEMA, "a")
    options = {"epsilon": "1", "adjacency": "replace-one"}
    of_network = dp.release(net, records_of(rng, 20), **options)
    with pytest.raises(
        ValueError, match="must be of marginal tables without a network"
    ):
        field_posterior(key, of_network)
    made = release_of(records_of(rng, 20), "k-norm", "1", "replace-one")
    with pytest.raises(ValueError, match="`chains` must be"):
        field_posterior(key, made, chains=0)
    with pytest.raises(ValueError, match="`prior` must be positive"):
        dp.posterior(made, prior=-1.0)
    with pytest.raises(ValueError, match="`increment` must be left out for marginal"):
        dp.posterior(made, noise_aware=False, increment=1.0)
    assert dp.posterior(made, noise_aware=False).method == "plug-in"


@pytest.mark.slow
def test_the_command_line_predicts_queries_and_synthesizes(tmp_path, capsys, rng):
    path, out = str(tmp_path / "r.json"), tmp_path / "new.csv"
    release_of(records_of(rng), "k-norm", "3", "add-remove").save(path)
    assert main(["query", path, "--target", "d", "--given", "a=1"]) == 0
    given = capsys.readouterr().out.splitlines()
    assert given[0] == "d,probability"
    (tmp_path / "x.csv").write_text("a,b\n1,\n")
    assert main(["predict", path, str(tmp_path / "x.csv"), "--target", "d"]) == 0
    found = capsys.readouterr().out.splitlines()[1].split(",")
    wanted = [line.split(",")[1] for line in given[1:]]
    np.testing.assert_allclose(np.array(found, float), np.array(wanted, float), 1e-4)
    command = ["synthesize", path, "--out", str(out)]
    assert main(command) == 2
    assert "`n` must be given" in capsys.readouterr().err
    command += ["--n", "400", "--given", "c=1"]
    assert main([*command, "--copies", "2"]) == 0
    tables = [(tmp_path / f"new-{i}.csv").read_text() for i in (1, 2)]
    assert tables[0] != tables[1]
    rows = np.array([x.split(",") for x in tables[0].splitlines()[1:]], int)
    assert rows.shape == (400, 4)
    assert (rows[:, 2] == 1).all()
    assert not out.exists()
    assert main([*command, "--seed", "1"]) == 0
    assert len(out.read_text().splitlines()) == 401
    columnar = tmp_path / "new.parquet"
    assert main([*command, "--seed", "1", "--out", str(columnar)]) == 0
    assert parquet.read_table(columnar).to_pylist() == [
        dict(zip("abcd", map(int, line.split(",")), strict=True))
        for line in out.read_text().splitlines()[1:]
    ]
    before = sorted(tmp_path.iterdir())
    for wrong in (["--copies", "0"], ["--given", "c"], ["--out", "x.txt"]):
        assert main([*command, *wrong]) == 2
    family = Sufficient.of("poisson", (dp.Interval("x", 0, 9),), "replace-one")
    made = dp.release(family, np.ones((5, 1)), epsilon="1", adjacency="replace-one")
    made.save(path)
    new = str(tmp_path / "another.csv")
    for command in (["query", path], ["synthesize", path, "--out", new]):
        capsys.readouterr()
        assert main([*command, *["--target", "x"][: 2 * (command[0] == "query")]]) == 2
        assert "`released` must be for a network" in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == before


def test_rubins_rules_have_the_stated_coverage(rng):
    """Normal data: each table has its own mean, which its records have."""
    trials, tables, n, n_synthetic = 2000, 300, 50, 200
    hits = 0
    means = rng.normal(0, 1 / np.sqrt(n), trials)
    for mean in means:
        own = rng.normal(mean, 1 / np.sqrt(n), tables)
        estimates = rng.normal(own, 1 / np.sqrt(n_synthetic))
        variances = np.full(tables, 1 / n_synthetic)
        found = combine_synthetic(estimates, variances, n=n, n_synthetic=n_synthetic)
        hits += found.lower <= 0 <= found.upper
    assert_binomial(hits, trials, 0.95)


def test_rubins_rules_are_those_of_the_paper():
    estimates, variances = np.array([1.0, 2.0, 4.0]), np.array([0.1, 0.2, 0.3])
    found = combine_synthetic(estimates, variances, n=10, n_synthetic=20, level=0.9)
    across = (1 + 1 / 3) * estimates.var(ddof=1)
    assert found.variance == pytest.approx(across - 0.2)
    assert found.degrees == pytest.approx(2 * (1 - 0.2 / across) ** 2)
    half = stats.t.ppf(0.95, found.degrees) * np.sqrt(found.variance)
    assert found.upper - found.mean == pytest.approx(half)
    equal = combine_synthetic(np.ones(2), np.array([0.1, 0.3]), n=10, n_synthetic=20)
    assert equal.variance == pytest.approx(0.2 * 2)
    for wrong in ({"estimates": np.ones(1)}, {"variances": np.ones(2)}, {"level": 2.0}):
        given = {"estimates": estimates, "variances": variances, "level": 0.9} | wrong
        with pytest.raises(ValueError, match="must"):
            combine_synthetic(**given, n=10, n_synthetic=10)
    with pytest.raises(ValueError, match="`variances` must be at least 0 and finite"):
        combine_synthetic(np.ones(2), np.array([-0.1, 0.1]), n=10, n_synthetic=10)
