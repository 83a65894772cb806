"""Synthetic records are compared with their release, never with other records."""

import itertools
import json
from typing import Any

import jax.random as jr
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dpjax as dp
from dpjax.cli.main import main
from dpjax.exports import quality, synthesize
from dpjax.exports.reports.levels import Levels
from dpjax.exports.reports.quality import expected_difference
from dpjax.noise.keys import study_key
from tests.helpers.mixed import BAYES, drawn
from tests.test_reports import Page

SCHEMA = dp.Schema(
    {
        "ill": {"levels": ["no", "yes"], "missing": "unknown"},
        "<b>": [False, True],
        "age": {"lower": 0, "upper": 90, "edges": [30, 60]},
        "town": ["n", "s", "w"],
    }
)
NET = dp.BayesNet.from_parents(
    SCHEMA, {"ill": ["<b>", "age"], "<b>": [], "age": ["<b>"], "town": []}
)


@pytest.fixture(scope="module")
def released(module_rng):
    records = np.stack([module_rng.integers(k, size=600) for k in NET.sizes], 1)
    records[:400, 1] = records[:400, 2] == 2  # variables depend on each other
    records[:400, 0] = records[:400, 2]
    return dp.release(NET, records.astype(np.int32), epsilon=4, adjacency="add-remove")


@pytest.fixture(scope="module")
def posterior(released):
    return dp.posterior(released, noise_aware=False)


def columns(made, name):
    return {x: np.array(y) for x, y in made.content["results"]["tables"][name].items()}


@pytest.mark.parametrize("n", [1, 2, 7, 100])
def test_what_sampling_alone_does_is_the_exact_expectation(n):
    p = np.array([0, 1e-9, 0.01, 0.3, 0.5, 2 / 7, 0.99, 1])
    counts = np.arange(n + 1)[:, None]
    wanted = (stats.binom.pmf(counts, n, p) * abs(counts / n - p)).sum(axis=0)
    np.testing.assert_allclose(expected_difference(p, n), wanted, rtol=1e-9, atol=1e-15)


def joint_of(net, tables):
    """The probabilities of all records, an array with an axis for each variable."""
    names, joint = net.names, np.ones(net.sizes)
    for own, parents in zip(names, net.parents, strict=True):
        axes = [*parents, names.index(own)]
        shape = [net.sizes[i] if i in axes else 1 for i in range(len(names))]
        table = np.asarray(tables[own], float)
        joint = joint * table.transpose(np.argsort(axes)).reshape(shape)
    return joint


def pairs_of(joint):
    """The joint table of two variables, for all pairs of them, side by side."""
    axes = range(joint.ndim)
    blocks = [
        [
            np.diag(joint.sum(tuple(k for k in axes if k != i)))
            if i == j
            else np.einsum(joint, [*axes], [i, j])
            for j in axes
        ]
        for i in axes
    ]
    return np.block(blocks)


@pytest.mark.parametrize("given", [{}, {"age": 70, "<b>": True}])
def test_probabilities_of_pairs_are_sums_over_all_records(posterior, given):
    joint = joint_of(NET, posterior.mean())
    if given:
        known = np.zeros_like(joint)
        known[:, 1, 2] = joint[:, 1, 2]
        joint = known
    found = Levels.of(posterior).probabilities(posterior, given)
    np.testing.assert_allclose(found, pairs_of(joint / joint.sum()), atol=2e-6)


@pytest.mark.thorough
@pytest.mark.relaxed
@pytest.mark.parametrize("given", [{}, {"s": "c"}])
def test_leaves_are_in_bins_of_their_predictive_law(rng, given):
    made = dp.release(BAYES, drawn(rng, 200), epsilon=2, adjacency="replace-one")
    posterior: Any = dp.posterior(made, noise_aware=False)
    levels = Levels.of(posterior)
    assert levels.names == ("y", "s", "age", "hours")
    assert levels.labels[2][:2] == ("0 to 10", "10 to 20")
    age, hours = (
        posterior.leaves[name].in_bins(edges)
        for name, edges in zip(("age", "hours"), levels.edges, strict=True)
    )
    discrete = joint_of(posterior.discrete.net, posterior.discrete.mean())
    if given:
        discrete = discrete * (np.arange(3) == 2)
    discrete /= discrete.sum()
    joint = np.einsum("ys,ya,ysh->ysah", discrete, age, hours.reshape(2, 3, -1))
    found = levels.probabilities(posterior, given)
    np.testing.assert_allclose(found, pairs_of(joint), atol=2e-6)
    records = np.array([[9.99, 1, 2, 0], [10, 0, 1, 10]])  # age, y, s, hours
    assert levels.codes(records).tolist() == [[1, 2, 0, 0], [0, 1, 1, 9]]


@pytest.mark.slow
def test_distances_are_those_of_the_shares(posterior, key):
    key_records, key_further = jr.split(key)
    frame = synthesize(key_records, posterior, 300)
    made = quality(key_further, posterior, frame, tables=3)
    codes = np.asarray(NET.schema.encode(frame))
    joint = np.zeros(NET.sizes)
    np.add.at(joint, tuple(codes.T), 1 / 300)
    off = abs(pairs_of(joint) - pairs_of(joint_of(NET, posterior.mean())))
    starts = np.cumsum([0, *NET.sizes])
    of = {
        (a, b): off[slice(*starts[i : i + 2]), slice(*starts[j : j + 2])].sum() / 2
        for (i, a), (j, b) in itertools.product(enumerate(NET.names), repeat=2)
    }
    single, pairs = columns(made, "Variables"), columns(made, "Pairs of variables")
    wanted = [of[name, name] for name in single["variable"]]
    np.testing.assert_allclose(single["distance"], wanted, atol=2e-6)
    wanted = [of[x] for x in zip(pairs["first"], pairs["second"], strict=True)]
    np.testing.assert_allclose(pairs["distance"], wanted, atol=2e-6)
    assert len(pairs["first"]) == 6
    for found in (single, pairs):
        assert (found["sampling"] < found["usual"]).all()
        assert (found["usual"] <= found["largest"]).all()
    excess = pairs["distance"] - pairs["usual"]
    assert (np.diff(excess) <= 0).all()
    towns = columns(made, "Levels of town")
    assert [*towns["level"]] == ["n", "s", "w"]
    shares = [(frame.town == level).mean() for level in "nsw"]
    np.testing.assert_allclose(towns["records"], shares)
    np.testing.assert_allclose(towns["release"], posterior.mean()["town"], atol=2e-6)


@pytest.mark.slow
def test_a_shuffled_column_is_found_by_its_pairs(posterior, key, rng):
    keys = jr.split(key, 2)
    records = np.array(posterior.sample_records(keys[0], 4000))
    records[:, 2] = rng.permutation(records[:, 2])
    made = quality(keys[1], posterior, records)
    pairs = columns(made, "Pairs of variables")
    changed = (pairs["first"] == "age") | (pairs["second"] == "age")
    above = pairs["distance"] > pairs["largest"]
    assert above[changed & (pairs["first"] != "age")].all()  # with its parent and child
    assert "of 4 variables" in made.to_html()


def test_a_page_is_whole_and_only_a_release_has_a_registry(posterior, key, tmp_path):
    keys = jr.split(key, 2)
    records = posterior.sample_records(keys[0], 20, {"town": "s"})
    made = quality(keys[1], posterior, records, {"town": "s"}, tables=2)
    page = Page(made.to_html())
    assert [tag for tag, _ in page.found if tag in ("h1", "h2")] == ["h1"] + ["h2"] * 5
    assert not {tag for tag, _ in page.found} & {"script", "link", "img", "a", "b"}
    assert {"town = s", "<b>", "Levels of <b>"} <= {*page.text}
    assert all(attrs["scope"] == "col" for attrs in page.all("th"))
    for name in ("q.html", "q.json", "q.csv"):
        made.save(tmp_path / name)
    again = json.loads((tmp_path / "q.json").read_text())
    assert again["compared"]["given"] == {"town": "s"}
    assert (tmp_path / "q.csv").read_text().startswith("table,variable,distance,")
    with pytest.raises(ValueError, match=r"end in \.html or \.json or \.csv, got"):
        made.save(tmp_path / "q.yaml")


def test_a_frame_has_the_labels_of_the_schema(posterior, key):
    frame: Any = synthesize(jr.clone(key), posterior, 500, {"<b>": True})
    assert [*frame] == [*SCHEMA]
    assert {*frame.ill} == {"no", "yes", "unknown"}
    assert frame["<b>"].all()
    assert frame.age.between(0, 90).all()
    assert frame.age.nunique() > 100  # numbers and not labels of bins
    own, _ = jr.split(key)
    records = posterior.sample_records(own, 500, {"<b>": True})
    np.testing.assert_array_equal(SCHEMA.encode(frame), records)


@pytest.mark.slow
def test_the_command_writes_the_same_records_and_their_quality(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    net = dp.BayesNet.from_parents(SCHEMA, {"town": [], "age": ["town"]})
    released = dp.release(
        net,
        {"town": [*"nsw"] * 9, "age": [20, 40, 80] * 9},
        epsilon=1,
        adjacency="replace-one",
        mechanism="posterior-sample",
    )
    released.save("r.json")
    command = ["synthesize", "r.json", "--n", "50", "--copies", "2", "--seed", "3"]
    command += ["--out", "s.csv", "--quality", "q.html"]
    assert main(command) == 0
    assert "q-1.html, q-2.html: Synthetic records of" in capsys.readouterr().out
    fitted = dp.posterior(released)
    for i in range(2):
        wanted = synthesize(jr.fold_in(study_key(3), i), fitted, 50)
        found = pd.read_csv(f"s-{i + 1}.csv", dtype=wanted.dtypes.to_dict())
        pd.testing.assert_frame_equal(found, wanted)
        assert "Shares of all levels" in {
            *Page((tmp_path / f"q-{i + 1}.html").read_text()).text
        }
    before = sorted(tmp_path.iterdir())
    command += ["--out", "t.csv"]
    assert main([*command, "--quality", "q.yaml"]) == 2
    assert "`quality` must end in .html" in capsys.readouterr().err
    for taken in ("r.json", "t.csv"):
        assert main([*command, "--copies", "1", "--quality", taken]) == 2
        assert "`quality` must not be an input or" in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == before


def test_what_has_no_synthetic_records_is_refused(posterior, key):
    family = dp.families.Bernoulli()
    other = family.posterior(family.prior())
    with pytest.raises(ValueError, match="`posterior` must be of a network or of marg"):
        synthesize(key, other, 5)
    with pytest.raises(ValueError, match="`posterior` must be of a network or of marg"):
        quality(key, other, np.zeros((3, 1), int))
    with pytest.raises(ValueError, match="`records` must be at least one record"):
        quality(key, posterior, np.zeros((0, 4), int))
    with pytest.raises(ValueError, match="`tables` must be"):
        quality(key, posterior, np.zeros((3, 4), int), tables=0)


@pytest.mark.thorough
@pytest.mark.relaxed
def test_marginal_tables_without_a_network_have_a_quality(key, rng):
    schema = dp.Schema({"a": [0, 1], "b": [0, 1, 2], "c": [0, 1]})
    records = np.stack([rng.integers(k, size=300) for k in (2, 3, 2)], 1)
    pairs = dp.statistics.MarginalContrasts.of_order(schema, 2, "replace-one")
    cost = {"epsilon": 2, "adjacency": "replace-one", "mechanism": "k-norm"}
    made = dp.release(pairs, records.astype(np.uint8), **cost)
    posterior: Any = dp.posterior(made, noise_aware=False)
    keys = jr.split(key, 2)
    found = quality(keys[0], posterior, synthesize(keys[1], posterior, 200))
    joint = joint_of(posterior.net, posterior.mean())
    levels = Levels.of(posterior)
    wanted = pairs_of(joint)
    np.testing.assert_allclose(levels.probabilities(posterior, {}), wanted, atol=2e-6)
    assert len(columns(found, "Pairs of variables")["distance"]) == 3
