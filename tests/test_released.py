import copy
import json
from fractions import Fraction

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpjax as dp
from dpjax.mechanisms import DiscreteGaussian, DiscreteLaplace, WideGaussian
from dpjax.posteriors import plug_in_posterior
from dpjax.privacy import ZCDP, budget_of
from dpjax.releases.entries import InconsistentRelease, UnreadableRelease
from tests.helpers.networks import random_records
from tests.helpers.release_files import rehashed


@pytest.fixture
def net():
    schema = {
        "t": dp.Variable("t", ("no", "yes")),
        "é": dp.Variable("é", (0.5, 1, True), other=1),
        "z": dp.Variable("z", (0, 1)),
    }
    return dp.BayesNet.from_parents(schema, {"z": ["é", "t"], "é": ["t"]})


@pytest.fixture(params=["replace-one", "add-remove"])
def released(request, net, rng):
    records = random_records(rng, net, 40)
    return dp.release(net, records, epsilon="1/3", adjacency=request.param)


def test_a_release_goes_through_its_file(released, tmp_path):
    path = tmp_path / "release.json"
    released.save(path)
    loaded = dp.load(path)
    np.testing.assert_array_equal(loaded.values, released.values)
    assert loaded.net == released.net
    assert list(loaded.schema) == ["t", "é", "z"]
    assert loaded.net.variables[1].other == 1
    assert loaded.guarantee() == released.guarantee()
    assert (
        loaded.n == released.n == (40 if released.adjacency == "replace-one" else None)
    )
    first = path.read_text()
    loaded.save(path)
    assert path.read_text() == first


def test_a_file_shows_no_number_of_records_where_it_is_private(net, rng, tmp_path):
    records = random_records(rng, net, 1234)
    dp.release(net, records, epsilon=1, adjacency="add-remove").save(tmp_path / "r")
    document = json.loads((tmp_path / "r").read_text())
    assert document["content"]["records"] is None
    assert "1234" not in json.dumps({**document["content"], "values": []})


def alter(content, path, value):
    *folders, last = path
    for folder in folders:
        content = content[folder]
    content[last] = value


ALTERATIONS = {
    "less noise claimed": (["mechanism", "scale"], "1"),
    "no noise claimed": (["mechanism", "scale"], "0"),
    "a scale that is none": (["mechanism", "scale"], "1/0"),
    "a scale of another type": (["mechanism", "scale"], 9.0),
    "a scale without end": (["mechanism", "scale"], "1e99999999"),
    "a cost without end": (["guarantee", "epsilon"], "1e99999999"),
    "one entry more": (["guarantee", "delta"], 0),
    "something more": (["more"], "approved"),
    "a library that is none": (["library"], ["approved"]),
    "more privacy claimed": (["guarantee", "epsilon"], "1/4"),
    "cost in other words": (["guarantee", "epsilon"], "2/6"),
    "another sensitivity": (["sensitivity", "value"], 7),
    "a bound for tight": (["sensitivity", "tight"], False),
    "other neighbours": (["sensitivity", "adjacency"], "unbounded"),
    "unknown neighbours": (["guarantee", "adjacency"], "unbounded"),
    "another kind of guarantee": (["guarantee", "kind"], "zcdp"),
    "another table": (["mechanism", "table"], "0" * 64),
    "another law": (["mechanism", "kind"], "gaussian"),
    "more families": (["statistic", "families"], "all"),
    "unknown families": (["statistic", "families"], "some"),
    "unknown statistic": (["statistic", "kind"], "moments"),
    "statistic with more": (["statistic", "more"], 1),
    "another parent": (["parents", "z"], []),
    "a cycle": (["parents", "t"], ["z"]),
    "one level more": (["variables", 2, "levels"], [0, 1, 2]),
    "no levels": (["variables", 2, "levels"], None),
    "a value that is no integer": (["values", 0], 1.5),
    "a value that is true": (["values", 0], True),
    "a value beyond the range": (["values", 0], 2**53 + 1),
    "a value too few": (["values"], [1, 2]),
    "a number of records": (["records"], 0),
    "half a record": (["records"], 1.5),
}


@pytest.mark.parametrize("name", ALTERATIONS)
def test_an_altered_file_is_inconsistent_even_if_rehashed(name, released, tmp_path):
    path = tmp_path / "release.json"
    released.save(path)
    original = json.loads(path.read_text())
    content = copy.deepcopy(original["content"])
    alter(content, *ALTERATIONS[name])
    altered = {**original, "content": content}
    path.write_text(json.dumps(altered))
    with pytest.raises(InconsistentRelease, match="content hash"):
        dp.load(path)
    path.write_text(json.dumps(rehashed(altered)))
    with pytest.raises(InconsistentRelease, match="`") as error:
        dp.load(path)
    assert "\n" not in str(error.value)


def test_a_field_too_few_is_inconsistent(released, tmp_path):
    path = tmp_path / "release.json"
    released.save(path)
    original = json.loads(path.read_text())
    for field in original["content"]:
        if field == "library":
            continue
        content = {k: v for k, v in original["content"].items() if k != field}
        path.write_text(json.dumps(rehashed({**original, "content": content})))
        with pytest.raises(InconsistentRelease):
            dp.load(path)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: text[: len(text) // 2], "It is no release, or damaged"),
        (lambda text: "", "It is no release, or damaged"),
        (lambda text: "[]", "must be a file of format"),
        (
            lambda text: text.replace("dpjax-release", "other"),
            "must be a file of format",
        ),
        (lambda text: text.replace('"version":3', '"version":4'), "install a newer"),
        (lambda text: text.replace('"content":{', '"content":[],"x":{'), "content"),
        (lambda text: text.replace('"version":3', '"version":0'), "version from 1"),
        (lambda text: text.replace('"version":3', '"version":true'), "version from 1"),
        (lambda text: text.replace('"version":3', '"version":1e999'), "finite numbers"),
        (lambda text: text.replace('"version":3', '"version":' + "9" * 9999), "finite"),
    ],
)
def test_what_is_no_release_file_is_unreadable(damage, message, released, tmp_path):
    path = tmp_path / "release.json"
    released.save(path)
    path.write_text(damage(path.read_text()))
    with pytest.raises(UnreadableRelease, match=message):
        dp.load(path)
    with pytest.raises(UnreadableRelease, match="must be a readable file"):
        dp.load(tmp_path / "none.json")


def test_nothing_half_written_is_left(released, tmp_path):
    with pytest.raises(ValueError, match=r"none/release.json: No such file"):
        released.save(tmp_path / "none" / "release.json")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ValueError, match=r"folder: Is a directory"):
        released.save(tmp_path / "folder")
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


def test_simulated_noise_cannot_be_saved(released, tmp_path):
    simulated = dp.mechanisms.Laplace(1.0, released.mechanism.sensitivity)
    fake = dp.Released(released.values, released.statistic, simulated, released.n)
    with pytest.raises(ValueError, match="must be exact to be saved, got Laplace"):
        fake.save(tmp_path / "release.json")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_repr_shows_no_numbers_that_were_released(released):
    assert "Array" not in repr(released)
    assert "ε=1/3" in repr(released)
    kind = type(released.mechanism).__name__
    assert repr(released.mechanism) == f"{kind}(ε=1/3, {released.adjacency})"
    assert f"given {released!r}" in repr(dp.posterior(released))


def test_a_release_of_another_length_is_none(released):
    with pytest.raises(ValueError, match="must be the 12 numbers of the statistic"):
        dp.Released(released.values[:2], released.statistic, released.mechanism, None)


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_noise_for_a_smaller_sensitivity_makes_no_release(net, adjacency):
    """Its guarantee would not hold for the statistic."""
    n = 40 if adjacency == "replace-one" else None
    part = dp.BayesNet.from_parents({"t": ["no", "yes"]}, {"t": []})
    one = dp.statistics.NetworkCounts(part)
    many = dp.statistics.NetworkCounts(net, "all")
    values = np.zeros(many.length, np.int32)
    for kind, budget in (
        (DiscreteLaplace, budget_of(1, adjacency)),
        (DiscreteGaussian, ZCDP(Fraction(1), adjacency)),
        (WideGaussian, ZCDP(Fraction(1, 2**40), adjacency)),
    ):
        with pytest.raises(ValueError, match="must be one for what was measured"):
            dp.Released(values, many, kind.of(one, budget), n)
        made = dp.Released(values, many, kind.of(many, budget), n)
        counts = jax.jit(lambda x, noise: dp.Released(x, many, noise, n).counts())
        np.testing.assert_array_equal(counts(values, made.mechanism), made.counts())


def test_noise_for_several_budgets_makes_stacked_releases(net):
    """Each of them must be for what was measured."""
    many = dp.statistics.NetworkCounts(net, "all")
    values = np.zeros((2, many.length), np.int32)
    for change, enough in ((0, True), (-1, False)):
        noise = DiscreteLaplace.calibrate_many([1, 2], many.sensitivity("replace-one"))
        value = noise.sensitivity.value + np.array([0, change])
        noise = eqx.tree_at(lambda x: x.sensitivity.value, noise, value)
        if enough:
            assert dp.Released(values, many, noise, 40).values.shape == values.shape
        else:
            with pytest.raises(ValueError, match="must be one for what was measured"):
                dp.Released(values, many, noise, 40)


@pytest.mark.slow
def test_releases_are_pytrees_that_stack(released):
    many = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), released)
    assert "stacked" in repr(many)
    assert "stacked" in repr(many.mechanism)
    assert many.adjacency == released.adjacency
    means = jax.vmap(lambda one: plug_in_posterior(one).mean()["z"])(many)
    np.testing.assert_allclose(
        means[1], plug_in_posterior(released).mean()["z"], rtol=1e-6
    )


def test_tables_carry_the_noise_of_the_families(released):
    tables = released.tables()
    assert tables["z"].shape == (3, 2, 2)
    np.testing.assert_array_equal(tables["z"].sum((0, 2)), tables["t"])
    np.testing.assert_array_equal(tables["z"].sum(2).T, tables["é"])
