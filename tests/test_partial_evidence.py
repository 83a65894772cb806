"""Queries with partial evidence, against sums over the joint distribution."""

import itertools

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import dpjax as dp
from dpjax.cli.main import main
from dpjax.data.evidence import encode_evidence
from dpjax.posteriors.queries import complete, log_joint
from tests.helpers.cases import mostly_thorough
from tests.helpers.networks import random_network
from tests.helpers.statistical import ALPHA, chi_square_pvalue

NET = dp.BayesNet.from_parents(
    {"a": ["no", "yes"], "b": [0, 1, 2], "c": [0, 1], "d": ["x", "y", "z"]},
    {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"]},
)


def tables(rng, net, zeros=0.0):
    cells = rng.gamma(0.7, size=net.layout.length)
    cells = np.where(rng.random(cells.size) < zeros, 0, cells) + 1e-9 * (zeros == 0)
    firsts = np.flatnonzero(np.diff(net.layout.rows, prepend=-1))
    cells[firsts] += 1e-3  # no row is 0
    return np.asarray(net.layout.normalise(jnp.asarray(cells, float)))


def all_records(net):
    return np.array(list(np.ndindex(*net.sizes)), np.int32)


def law(net, theta):
    """The probability of every record, in double precision."""
    places = np.asarray(net.layout.cells(all_records(net)))
    return np.asarray(theta, float)[places].prod(axis=1)


def known(rng, net, n, share):
    records = rng.integers(0, net.sizes, (n, len(net.sizes)))
    unknown = rng.random(records.shape) < share
    return np.where(unknown, -1, records).astype(np.int32)


def brute_force(net, theta, evidence, group):
    """Probability of the evidence with each cell of the group, record by record."""
    records, weights = all_records(net), law(net, theta)
    shape = [net.sizes[i] for i in group]
    cells = np.ravel_multi_index(records[:, group].T, shape)
    found = []
    for row in evidence:
        fits = ((row < 0) | (records == row)).all(axis=1)
        found.append(np.bincount(cells[fits], weights[fits], np.prod(shape)))
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize("seed", mostly_thorough(range(8), 2))
def test_queries_equal_sums_over_the_joint_distribution(seed):
    """One target and several, in any order, with no evidence and with much."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, variables=5, most_parents=3, most_levels=3)
    theta = tables(rng, net)
    for share, group in ((1.0, (2,)), (0.6, (3, 1)), (0.2, (4, 0, 2))):
        evidence = known(rng, net, 20, share)
        found = np.exp(log_joint(jnp.asarray(theta), evidence, net, group))
        wanted = brute_force(net, theta, evidence, list(group))
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6)
        wanted /= wanted.sum(axis=1, keepdims=True)
        found /= found.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6)


@pytest.mark.parametrize("seed", mostly_thorough(range(6), 2))
def test_the_most_probable_records_are_those_of_a_search(seed):
    rng = np.random.default_rng(seed)
    net = random_network(rng, variables=5, most_parents=2, most_levels=3)
    theta = tables(rng, net)
    evidence = known(rng, net, 20, 0.6)
    found = np.asarray(
        complete(jr.key(0), jnp.asarray(theta), evidence, net, largest=True)
    )
    records, weights = all_records(net), law(net, theta)
    for row, record in zip(evidence, found, strict=True):
        fits = ((row < 0) | (records == row)).all(axis=1)
        assert np.all((row < 0) | (record == row))
        best = weights[(records == record).all(axis=1)][0]
        assert best >= weights[fits].max() * (1 - 1e-4)


def test_completed_records_follow_their_law(rng):
    """A false alarm has a probability of 1e-6."""
    theta = tables(rng, NET)
    evidence = np.tile(np.array([[-1, 1, -1, -1]], np.int32), (4_000, 1))
    found = np.asarray(
        complete(jr.key(1), jnp.asarray(theta), evidence, NET, largest=False)
    )
    records, weights = all_records(NET), law(NET, theta)
    weights = np.where(records[:, 1] == 1, weights, 0)
    weights /= weights.sum()
    numbers = np.ravel_multi_index(found.T, NET.sizes)
    assert np.all(weights[numbers] > 0)
    support = range(len(weights))
    assert chi_square_pvalue(numbers, lambda x: weights[x], support) > ALPHA


@pytest.fixture(scope="module")
def fitted(module_rng):
    records = module_rng.integers(0, NET.sizes, (300, 4)).astype("u1")
    released = dp.release(NET, records, epsilon=2, adjacency="replace-one")
    return dp.posterior(released, method="point-estimate")


@pytest.mark.slow
def test_a_posterior_answers_by_names_and_levels(fitted):
    theta = fitted._mean()
    evidence = np.array([[1, -1, 0, -1]], np.int32)
    wanted = brute_force(NET, theta, evidence, [3, 1]).reshape(3, 3)
    for given in ({"a": "yes", "c": 0}, {"a": ["yes"], "c": [0]}, evidence):
        found = fitted.query(["d", "b"], given)
        assert found.shape == (1, 3, 3)
        np.testing.assert_allclose(found[0], wanted / wanted.sum(), rtol=1e-4)
    nothing = fitted.query("d")
    np.testing.assert_allclose(nothing.sum(), 1, rtol=1e-5)
    np.testing.assert_array_equal(fitted.query("d", {}), nothing)
    drawn = fitted.query("d", {"a": "yes"}, draws=5)
    assert drawn.shape == (5, 1, 3)
    assert np.ptp(np.asarray(drawn), axis=0).min() > 0


def test_a_table_without_records_or_without_known_columns(fitted, tmp_path):
    path = tmp_path / "evidence.csv"
    for text in ("a,b,c,d\n", "a\n"):
        path.write_text(text)
        assert encode_evidence(str(path), NET.schema).shape == (0, 4)
        assert fitted.query("d", str(path)).shape == (0, 3)
    path.write_text("other\n1\n")
    with pytest.raises(ValueError, match="must have a column of the schema, got none"):
        encode_evidence(str(path), NET.schema)


def test_absent_columns_and_missing_cells_are_summed_out(fitted):
    table = {"a": ["yes", None, "no"], "d": ["x", "z", float("nan")]}
    found = fitted.predict_proba(table, "b")
    codes = np.array([[1, -1, -1, 0], [-1, -1, -1, 2], [0, -1, -1, -1]], np.int32)
    wanted = brute_force(NET, fitted._mean(), codes, [1])
    wanted /= wanted.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, wanted, rtol=1e-4)
    np.testing.assert_allclose(fitted.predict_proba(codes, "b"), found, rtol=1e-5)
    assert fitted.predict(table, "b").tolist() == wanted.argmax(axis=1).tolist()


def test_complete_records_are_predicted_as_before(fitted):
    """Those among others too, by the prediction of the posterior itself."""
    table = {"a": ["yes", "no"], "b": [0, 2], "c": [1, 0], "d": ["x", "z"]}
    whole = fitted.predict_proba(table, "a")
    some = {**table, "c": [1, None]}
    np.testing.assert_allclose(fitted.predict_proba(some, "a")[0], whole[0], rtol=1e-6)


def test_a_declared_level_for_missing_cells_is_a_level():
    schema = dp.Schema({"x": {"levels": [0, 1], "missing": "none"}, "y": [0, 1]})
    found = encode_evidence({"x": [None, 1], "y": [None, 0]}, schema)
    assert found.tolist() == [[2, -1], [1, 0]]


def test_files_with_gaps_are_evidence(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("d,a,other\nx,yes,1\n,no,2\nz,,3\n", "utf-8")
    found = encode_evidence(str(path), NET.schema)
    assert found.tolist() == [[1, -1, -1, 0], [0, -1, -1, -1], [-1, -1, -1, 2]]


@pytest.mark.slow
def test_samples_average_their_joint_probabilities(rng):
    records = rng.integers(0, NET.sizes, (60, 4)).astype("u1")
    recipe = dp.recipes.PosteriorSample(samples=3)
    released = dp.release(
        NET, records, epsilon=3, adjacency="replace-one", mechanism=recipe
    )
    made = dp.posterior(released)
    evidence = np.array([[1, -1, -1, 2]], np.int32)
    each = [brute_force(NET, x, evidence, [1]) for x in np.asarray(made.samples)]
    wanted = np.mean(each, axis=0)
    found = made.query("b", evidence)
    np.testing.assert_allclose(found, wanted / wanted.sum(), rtol=1e-4)


@pytest.mark.slow
def test_synthetic_records_have_the_levels_that_are_given(fitted, key):
    records = np.asarray(fitted.sample_records(key, 50, given={"a": "yes", "d": "z"}))
    assert records.shape == (50, 4)
    assert np.all(records[:, 0] == 1)
    assert np.all(records[:, 3] == 2)
    assert len({*records[:, 1].tolist()}) > 1


def test_the_best_explanation_keeps_what_is_known(fitted):
    found = np.asarray(fitted.most_probable({"a": ["yes", None], "d": [None, "z"]}))
    assert found[0, 0] == 1
    assert found[1, 3] == 2
    weights = law(NET, fitted._mean())
    records = all_records(NET)
    fits = records[:, 3] == 2
    best = records[fits][weights[fits].argmax()]
    np.testing.assert_array_equal(found[1], best)


@pytest.mark.slow
def test_contradictory_evidence_is_refused(rng):
    net = dp.BayesNet.from_parents({"x": [0, 1], "y": [0, 1]}, {"x": [], "y": ["x"]})
    theta = jnp.asarray([0.5, 0.5, 1.0, 0.0, 0.3, 0.7])
    evidence = jnp.asarray([[0, 1]], jnp.int32)
    assert float(log_joint(theta, evidence, net, (0,)).max()) < -1e5
    records = rng.integers(0, 2, (30, 2)).astype("u1")
    released = dp.release(net, records, epsilon=1, adjacency="replace-one")
    made = dp.posterior(released, method="point-estimate")
    object.__setattr__(made, "theta", theta)
    for ask in (
        lambda: made.query("x", {"x": 0, "y": 1}),
        lambda: made.most_probable({"x": 0, "y": 1}),
    ):
        with pytest.raises(ValueError, match="`evidence` must be possible"):
            ask()


def test_text_for_a_number_gets_a_message_unless_it_is_empty():
    schema = dp.Schema({"x": dp.Interval("x", 0.0, 10.0)})
    assert encode_evidence({"x": "3"}, schema).tolist() == [[3.0]]
    assert np.isnan(encode_evidence({"x": ""}, schema)).all()
    with pytest.raises(
        ValueError, match=r"^`evidence`, or `given`, must give 'x' a number"
    ):
        encode_evidence({"x": "three"}, schema)


@pytest.mark.parametrize(
    ("target", "evidence", "message"),
    [
        ("z", None, "`target` must be one of"),
        ([], None, "`target` must be different"),
        (["a", "a"], None, "`target` must be different"),
        ("a", {"z": 1}, "`evidence`, or `given`, must name variables"),
        ("a", {"b": 7}, "must hold only declared levels"),
        ("a", {"b": "7"}, "`evidence`, or `given`, must give 'b' one of its levels"),
        ("a", {"other": [1]}, "`evidence`, or `given`, must name"),
        ("a", {"b": [0, 1], "c": [1]}, "`evidence` must have columns of one length"),
        ("a", np.zeros((2, 3), np.int32), "`evidence` must be signed integers"),
        ("a", np.full((1, 4), 5, np.int32), "`evidence` must hold indices"),
        ("a", np.full((1, 4), -2, np.int32), "`evidence` must hold indices"),
    ],
)
def test_each_mistake_gets_a_message(fitted, target, evidence, message):
    with pytest.raises(ValueError, match=message):
        fitted.query(target, evidence)


def test_traced_records_are_taken_as_complete(fitted):
    records = jnp.zeros((3, 4), jnp.int32)
    found = jax.jit(lambda x: fitted.predict_proba(x, "a"))(records)
    np.testing.assert_allclose(found, fitted.predict_proba(records, "a"), rtol=1e-5)


def test_one_program_serves_all_patterns_of_evidence(rng):
    theta = jnp.asarray(tables(rng, NET))
    before = log_joint._cache_size()
    for pattern in itertools.product((-1, 0), repeat=4):
        log_joint(theta, jnp.asarray([pattern], jnp.int32), NET, (1, 2))
    assert log_joint._cache_size() == before + 1


@pytest.fixture(scope="module")
def files(tmp_path_factory, module_rng):
    folder = tmp_path_factory.mktemp("query")
    records = module_rng.integers(0, NET.sizes, (300, 4)).astype("u1")
    released = dp.release(NET, records, epsilon=2, adjacency="replace-one")
    released.save(folder / "r.json")
    (folder / "gaps.csv").write_text("a,d\nyes,x\n,z\n", "utf-8")
    return folder


def numbers(text):
    return [float(line.rpartition(",")[2]) for line in text.splitlines()[1:]]


@pytest.mark.slow
def test_the_command_line_asks(files, capsys):
    path, made = str(files / "r.json"), dp.posterior(dp.load(files / "r.json"))
    command = ["query", path, "--target", "d", "--target", "c", "--given", "a=yes"]
    assert main(command) == 0
    out = capsys.readouterr().out
    assert out.startswith("d,c,probability\nx,0,")
    wanted = np.ravel(made.query(["d", "c"], {"a": "yes"}))
    np.testing.assert_allclose(numbers(out), wanted, rtol=1e-5)
    assert main(["query", path, str(files / "gaps.csv"), "--target", "c"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("p_0,p_1\n")
    wanted = made.query("c", str(files / "gaps.csv"))[:, 1]
    np.testing.assert_allclose(numbers(out), wanted, rtol=1e-5)


@pytest.mark.slow
def test_the_command_line_predicts_records_with_gaps(files, capsys):
    path, made = str(files / "r.json"), dp.posterior(dp.load(files / "r.json"))
    assert main(["predict", path, str(files / "gaps.csv"), "--target", "b"]) == 0
    wanted = made.predict_proba(str(files / "gaps.csv"), "b")[:, 2]
    found = numbers(capsys.readouterr().out)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "z"], "`target` must be one of"),
        (["--target", "a", "--given", "b"], "`given` must be NAME=LEVEL"),
        (
            ["--target", "a", "--given", "z=1"],
            "`evidence`, or `given`, must name variables",
        ),
        (["gaps.csv", "--target", "c", "--given", "a=yes"], "`given` must be left out"),
    ],
)
def test_the_command_line_refuses_in_one_line(options, message, files, capsys):
    assert main(["query", str(files / "r.json"), *options]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.slow
def test_the_likelihood_of_known_levels(fitted):
    theta = np.asarray(fitted._mean())
    evidence = np.array([[1, -1, 0, -1], [0, 2, 1, 1], [-1] * 4], np.int32)
    wanted = brute_force(NET, theta, evidence, [0]).sum(axis=1)
    found = np.exp(fitted.log_likelihood(evidence))
    np.testing.assert_allclose(found, wanted, rtol=1e-4)
    whole = np.exp(fitted.log_likelihood(evidence[1:2].astype("u1")))
    np.testing.assert_allclose(found[1:2], whole, rtol=1e-6)
    table = {"c": [0, 1], "a": ["yes", None], "other": [5, 6]}
    wanted = brute_force(NET, theta, np.array([[1, -1, 0, -1], [-1, -1, 1, -1]]), [0])
    found = np.exp(fitted.log_likelihood(table))
    np.testing.assert_allclose(found, wanted.sum(axis=1), rtol=1e-4)
