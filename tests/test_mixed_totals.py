"""Counts and totals of networks with numeric leaves: loss, files, what they hold."""

import itertools
import json
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpjax as dp
from dpjax.audits import largest_loss
from dpjax.audits.noisy_cases import NOISY_CASES
from dpjax.cli.main import main
from dpjax.data import MixedNet
from dpjax.mechanisms import DiscreteLaplace, SplitLaplace
from dpjax.privacy import ADJACENCIES, Ledger
from dpjax.releases.entries import InconsistentRelease
from dpjax.statistics import MixedTotals, NetworkCounts, Sufficient
from tests.helpers.mixed import BAYES, TINY, drawn
from tests.helpers.release_files import rehashed

NAIVE = MixedNet.naive_bayes(
    {
        "a": {"lower": 0, "upper": 1},
        "y": [0, 1],
        "b": {"lower": -5, "upper": 7},
        "s": [0, 1, 2],
    },
    "y",
)
ALONE = MixedNet.from_parents(
    {"x": {"lower": 0, "upper": 1}, "y": [0, 1]}, {"x": [], "y": []}
)
NETS = {"naive Bayes": NAIVE, "of one leaf": TINY, "no parents": ALONE}
GRID = np.array([0, 0.12, 0.25, 0.4, 0.5, 0.77, 1])


def every_record(net):
    """One of each, with numbers on a grid that has the bounds and the middle."""
    columns = [
        x.lower + GRID * (x.upper - x.lower) if hasattr(x, "lower") else range(x.size)
        for x in net.variables
    ]
    return np.array(list(itertools.product(*columns)), np.float32)


def one_by_one(statistic):
    """The statistic of every record alone."""
    records = jnp.asarray(every_record(statistic.net))
    return np.asarray(jax.jit(jax.vmap(statistic.measure))(records[:, None]))


def changes(adjacency, each):
    """What a record adds, or what another record in its place changes."""
    if adjacency == "add-remove":
        return each
    return (each[:, None] - each[None]).reshape(-1, each.shape[1])


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("units", [1, 4, 7])
def test_the_sensitivity_is_the_largest_change_of_any_record(name, adjacency, units):
    statistic = MixedTotals(NETS[name], adjacency, units=units)
    found = np.abs(changes(adjacency, one_by_one(statistic)))
    stated = statistic.sensitivity(adjacency)
    largest = found.sum(axis=1).max()
    assert stated.tight == (name != "no parents" or adjacency == "add-remove")
    assert largest == stated.value if stated.tight else largest <= stated.value
    ends = np.cumsum([0, *statistic.parts.values()])
    assert ends[-1] == statistic.length
    for start, end in itertools.pairwise(ends):
        most = found[:, start:end].sum(axis=1).max()
        assert most == statistic.part_sensitivity(adjacency).value


def test_a_record_adds_no_more_than_is_said_whatever_it_holds():
    statistic = MixedTotals(TINY, "add-remove", units=5)
    values = [np.nan, np.inf, -np.inf, 1e30, -1e30, 3 + 1e-6]
    records = jnp.array([[x, 1, 2, 0] for x in values], np.float32)
    each = np.asarray(jax.jit(jax.vmap(statistic.measure))(records[:, None]))
    assert (np.abs(each).sum(axis=1) <= statistic.sensitivity("add-remove").value).all()
    assert np.abs(each).max() == statistic.most_per_record
    one = jnp.array([[1, 1, 2, 0]], np.float32)  # `missing`
    middle = jax.jit(statistic.measure)(one)
    np.testing.assert_array_equal(each[0], middle)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_the_loss_is_the_budget_by_enumeration(adjacency):
    [case] = [x for x in NOISY_CASES if x[:2] == ("mixed-totals", adjacency)]
    subject = case.make(Fraction(1), adjacency)
    loss, _ = largest_loss(subject.law, subject.pairs)
    assert loss == pytest.approx(1, abs=1e-9)


@pytest.mark.slow
def test_the_numbers_are_counts_and_sums_of_the_records_of_each_row():
    table = drawn(np.random.default_rng(0), 500)
    statistic = MixedTotals(BAYES, "add-remove")
    exact = jax.jit(statistic.measure)(BAYES.schema.encode(table))
    assert exact.shape == (statistic.length,)
    counts, rows = statistic.split(exact)
    discrete = BAYES.discrete
    codes = discrete.schema.encode(table, ignore="*")
    np.testing.assert_array_equal(counts, NetworkCounts(discrete).measure(codes))
    for leaf, found in zip(BAYES.leaves, rows, strict=True):
        of_all = Sufficient.of("gaussian", (leaf,), "add-remove")
        column = table[leaf.name][:, None, None].astype(np.float32)
        of_each = np.asarray(jax.jit(jax.vmap(of_all.measure))(column))
        where = np.asarray(codes)[:, list(BAYES.leaf_parents[BAYES.leaves.index(leaf)])]
        shape = BAYES.shape(BAYES.leaves.index(leaf))
        assert found.shape == (np.prod(shape), 3)
        for row, levels in enumerate(np.ndindex(shape)):
            wanted = of_each[(where == levels).all(axis=1)].sum(axis=0)
            np.testing.assert_allclose(found[row], wanted, atol=2)  # of rounding


def test_parts_of_one_name_are_refused_before_the_cost():
    """A variable may be called as the squares of another, unless budgets are split."""
    schema = {"c": [0, 1], "age": {"lower": 0, "upper": 9}, "age squared": [0, 1]}
    net = MixedNet.from_parents(schema, {"c": [], "age": ["c"], "age squared": []})
    table = {"c": [0, 1], "age": [2, 5], "age squared": [1, 0]}
    ledger = Ledger(5, adjacency="replace-one")
    given = {"epsilon": 5, "adjacency": "replace-one", "ledger": ledger}
    split = dp.recipes.Laplace(split={"c": 1, "age": 1, "age squared": 3})
    with pytest.raises(ValueError, match=r"`split` .* two 'age squared': rename"):
        dp.release(net, table, mechanism=split, **given)
    assert ledger.spent == 0
    assert dp.release(net, table, **given).guarantee() == ledger.cost


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_a_release_goes_through_its_file_and_the_ledger(adjacency, tmp_path, capsys):
    table = drawn(np.random.default_rng(0), 50)
    ledger, path = Ledger(2, adjacency=adjacency), tmp_path / "release.json"
    split = {"s": 1, "age": "1/4", "age squared": "1/4", "hours": "3/8"}
    split["hours squared"] = "1/8"
    for recipe in ("laplace", "auto", dp.recipes.Laplace(split)):
        options = {"epsilon": 2, "mechanism": recipe}
        if recipe == "laplace":
            options["ledger"] = ledger
        released = dp.release(BAYES, table, adjacency=adjacency, **options)
        kind = DiscreteLaplace if isinstance(recipe, str) else SplitLaplace
        assert isinstance(released.mechanism, kind)
        released.save(path)
        again = dp.load(path)
        np.testing.assert_array_equal(again.values, released.values)
        assert again.statistic == released.statistic == MixedTotals(BAYES, adjacency)
        assert again.schema == BAYES.schema
        assert again.guarantee() == released.guarantee()
    assert ledger.spent == 2
    assert main(["verify", "--json", str(path)]) == 0
    assert json.loads(capsys.readouterr().out)["split"]["age squared"] == "1/4"


@pytest.mark.slow
def test_a_file_that_contradicts_itself_is_refused(tmp_path):
    path = tmp_path / "release.json"
    released = dp.release(
        TINY, np.array([[0.5, 1, 2, 0]]), epsilon=1, adjacency="replace-one"
    )
    released.save(path)
    for change in (
        lambda x: x["statistic"].update(units=512),
        lambda x: x["statistic"]["parents"].update(x=[]),
        lambda x: x["statistic"].update(families="all"),
        lambda x: x["variables"][0].update(upper=-2),
        lambda x: x["guarantee"].update(epsilon="1/2"),
        lambda x: x["values"].pop(),
    ):
        document = json.loads(path.read_text())
        change(document["content"])
        other = tmp_path / "other.json"
        other.write_text(json.dumps(rehashed(document)))
        with pytest.raises(InconsistentRelease):
            dp.load(other)


@pytest.mark.slow
def test_rows_of_persons_multiplicities_and_batches_are_measured(tmp_path):
    rng = np.random.default_rng(1)
    table = drawn(rng, 40)
    times = rng.integers(0, 4, 40)
    many = {name: np.repeat(column, times) for name, column in table.items()}
    exact = MixedTotals(BAYES, "add-remove").measure(BAYES.schema.encode(many))
    options = {"epsilon": "60000", "adjacency": "add-remove"}  # noise of 0 or ±1

    def assert_near(released):
        off = np.asarray(released.values) - np.asarray(exact)
        assert np.abs(off).max() <= 10

    given = {**table, "times": times}
    assert_near(dp.release(BAYES, given, multiplicity="times", **options))
    halves = [{k: v[i::2] for k, v in many.items()} for i in (0, 1)]
    assert_near(dp.release(BAYES, iter(halves), **options))
    persons = {**many, "id": [f"p{i}" for i in range(len(many["age"]))]}
    options["contributions"] = 1
    assert_near(dp.release(BAYES, persons, id="id", **options))


@pytest.mark.slow
def test_a_sweep_takes_the_statistic(key):
    statistic = MixedTotals(TINY, "replace-one")
    records = jnp.asarray(every_record(TINY))

    def experiment(key, mechanism, records):
        exact = statistic.measure(records)
        noise = mechanism.sample(key, exact) - exact
        return jnp.abs(noise).astype(float).mean() / statistic.steps

    sensitivity = statistic.sensitivity("replace-one")
    swept = dp.sweep(
        key, experiment, records, epsilons=[1, 4], repeats=200,
        mechanisms=lambda x: DiscreteLaplace.calibrate_many(x, sensitivity),
    )["value"]  # fmt: skip
    scale = sensitivity.value / statistic.steps
    np.testing.assert_allclose(swept.mean(axis=-1), [scale, scale / 4], rtol=0.1)


WRONG = {
    "'x' is a parent of 's'": ({"s": ["x"]}, {}),
    "'x' is a parent of 'z'": ({"z": ["x"]}, {"z": {"lower": 0, "upper": 1}}),
    "must declare the number 'x' by": ({"x": ["y"]}, {"x": {"lower": 0}}),
    "only variables of the schema, got 'q'": ({"x": ["q"]}, {}),
    "got 0 for 0 leaves": ({"s": ["y"]}, {}),
    "of 'x' must be different indices": ({"x": ["y", "y"]}, {}),
    "must be acyclic": ({"x": ["y"], "y": ["s"], "s": ["y"]}, {}),
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_networks_get_one_clear_line(message):
    parents, more = WRONG[message]
    levels = {"x": {"lower": 0, "upper": 1}, "y": [0, 1], "s": [0, 1], **more}
    with pytest.raises(ValueError, match=message) as error:
        MixedNet.from_parents(levels, parents)
    assert len(str(error.value).splitlines()) == 1


def test_wrong_releases_get_one_clear_line():
    schema = dp.Schema(
        {"x": {"lower": 0, "upper": 1}, "y": [0, 1], "s": [0, 1]},
        impossible=[{"y": 0, "s": 1}],
    )
    with pytest.raises(ValueError, match="must have no impossible combinations"):
        MixedNet.from_parents(schema, {"x": ["y"], "s": ["y"]})
    with pytest.raises(ValueError, match="`network` must have categorical variables"):
        dp.BayesNet.from_parents(schema, {"x": ["y"]})
    records, public = np.array([[0.5, 1, 2, 0]]), {"epsilon": 1}
    for recipe in ("k-norm", "fourier", "posterior-sample", "map"):
        with pytest.raises(ValueError, match="`mechanism` must be one for mixed-"):
            dp.release(
                TINY, records, adjacency="add-remove", mechanism=recipe, **public
            )
    with pytest.raises(ValueError, match="`adjacency` must be given"):
        dp.release(TINY, records, **public)
    for units in (0, 1 << 17):
        with pytest.raises(ValueError, match="`units`"):
            MixedTotals(TINY, "add-remove", units=units)
    with pytest.raises(ValueError, match="`families`"):
        MixedTotals(TINY, "add-remove", "some")
    with pytest.raises(ValueError, match="`adjacency`"):
        MixedTotals(TINY, "add-remove").sensitivity("replace-one")
    wrong = np.array([[0.5, 2, 2, 0]])
    with pytest.raises(ValueError, match="`records` must hold indices of levels"):
        dp.release(TINY, wrong, adjacency="add-remove", **public)
