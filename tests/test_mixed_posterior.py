"""Posteriors and predictions of networks with numeric leaves."""

import csv
import functools
import json
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.special import softmax

import dpjax as dp
from dpjax.cli.main import main
from dpjax.data import MixedNet
from dpjax.families import (
    Gaussian,
    NormalInverseGammaParameters,
    conjugate_posterior,
)
from dpjax.mechanisms import Laplace
from dpjax.noise.keys import study_key
from dpjax.posteriors import MixedPosterior, family_posterior, mixed_posterior
from dpjax.posteriors.laws import laplace_scale
from dpjax.posteriors.mixed.parts import counts_of
from dpjax.privacy import Sensitivity
from dpjax.releases.released import Released
from dpjax.statistics import Sufficient
from tests.helpers.mixed import BAYES, MEANS, SHARES, drawn
from tests.helpers.statistical import assert_binomial, assert_follows

pytestmark = pytest.mark.relaxed  # NumPyro's diagnostics; host arrays of doubles


@functools.cache
def released(n=400, adjacency="replace-one", split=False):
    table = drawn(np.random.default_rng(0), n)
    shares = {"s": "1", "age": "1/4", "age squared": "1/4"}
    shares |= {"hours": "1/4", "hours squared": "1/4"}
    recipe = dp.recipes.Laplace(shares) if split else "laplace"
    return dp.release(BAYES, table, epsilon=2, adjacency=adjacency, mechanism=recipe)


@functools.cache
def made(aware=False):
    return dp.posterior(released(), noise_aware=aware)


# ---- each leaf's rows


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_a_row_without_noise_awareness_is_that_of_its_three_numbers(adjacency):
    what = released(adjacency=adjacency)
    found = dp.posterior(what, noise_aware=False)
    assert found.method == found.discrete.method == "plug-in"
    _, numbers = what.statistic.split(what.values)
    for leaf, rows in zip(BAYES.leaves, numbers, strict=True):
        statistic = Sufficient.of("gaussian", (leaf,), "add-remove")
        mean, variance = (jnp.ravel(found.mean()[leaf.name][x]) for x in PARAMETERS)
        for i, row in enumerate(rows):
            total, n = statistic.decode(row)
            wanted = conjugate_posterior(statistic.family, total, n).mean()
            np.testing.assert_allclose(mean[i], wanted["mean"], rtol=1e-4)
            np.testing.assert_allclose(variance[i], wanted["variance"], rtol=1e-3)


PARAMETERS = ("mean", "variance")


@pytest.mark.thorough
@pytest.mark.parametrize("split", [False, True])
def test_a_noise_aware_row_is_the_posterior_of_a_family_with_these_numbers(split, key):
    what = released(split=split)
    found = dp.posterior(what)
    assert found.method == "mixed"
    assert found.discrete.method == "exact"
    assert all(x["accepted"] > 0.4 for x in found.diagnostics().values())
    _, numbers = what.statistic.split(what.values)
    leaf = BAYES.leaves[0]
    statistic = Sufficient.of("gaussian", (leaf,), "add-remove")
    rho = 0.25 / 2048 if split else 2 / 10240
    for i in range(2):
        noise = Laplace(rho, Sensitivity(1, "add-remove", True))
        one = Released(numbers[0][i], statistic, noise, None)
        alone = family_posterior(key, one, Gaussian(0.0, 100.0).prior())
        for x in PARAMETERS:
            ours, other = found.mean()["age"][x][i], alone.mean()[x]
            error = np.sqrt(1 / 200 + 1 / 200) * alone.sd()[x]  # draws that count
            assert abs(ours - other) < 4 * error
            for q in (0.1, 0.9):
                ours, other = found.quantile(q)["age"][x][i], alone.quantile(q)[x]
                assert abs(ours - other) < 0.35 * alone.sd()[x]


@pytest.mark.thorough
def test_intervals_of_leaf_means_cover_and_those_without_noise_do_not():
    """Every row is a repeat of its own: 120 of them, with 150 records each."""
    rows, rng = 120, np.random.default_rng(3)
    net = MixedNet.naive_bayes(
        {"y": list(range(rows)), "x": {"lower": 0, "upper": 1}}, "y"
    )
    prior = NormalInverseGammaParameters(0.5, 2.0, 5.0, 0.03)
    variance = prior.scale / rng.gamma(prior.shape, size=rows)
    mean = rng.normal(prior.mean, np.sqrt(variance / prior.strength))
    y = rng.integers(0, rows, 150 * rows)
    table = {"y": y, "x": rng.normal(mean[y], np.sqrt(variance[y]))}
    what = dp.release(net, table, epsilon=1, adjacency="replace-one")
    covered = {}
    for aware in (True, False):
        found = dp.posterior(what, {"x": prior}, noise_aware=aware).leaves["x"]
        low, high = found.quantile(0.025), found.quantile(0.975)
        for name, truth in (("mean", mean), ("variance", variance)):
            inside = (low[name] <= truth) & (truth <= high[name])
            covered[aware, name] = int(inside.sum())
    for name in PARAMETERS:
        assert_binomial(covered[True, name], rows, 0.95)
        assert covered[False, name] < 0.8 * rows


@pytest.mark.slow
@pytest.mark.parametrize("split", [False, True])
def test_the_noise_of_counts_is_in_records(split):
    what = released(split=split)
    part = counts_of(what)
    scale = 2 / 1 if split else 5 * 2 / 2
    np.testing.assert_allclose(laplace_scale(part), np.full(6, scale), rtol=1e-5)
    np.testing.assert_allclose(part.values * 1024, what.values[:6], rtol=1e-5)
    assert (part.n, part.statistic.net) == (400, BAYES.discrete)
    assert part.guarantee() == what.guarantee()
    drawn = part.mechanism.sample(study_key(1), jnp.zeros((4000, 6), int))
    assert_follows(drawn, stats.laplace(scale=scale))


# ---- predictions


EVIDENCE = {
    "age": [30.0, np.nan, 95.0, 200.0, np.nan],
    "s": ["a", None, "c", None, None],
    "hours": [3.0, 9.5, np.nan, -4.0, np.nan],
}


def by_hand(found, age, s, hours):
    """Log-probabilities of each (y, s) with what is known, by the rule of Bayes."""
    tables = {k: np.asarray(v, float) for k, v in found.mean().items() if k in "ys"}
    logs = np.log(tables["y"])[:, None] + np.log(tables["s"])
    if s is not None:
        logs[:, np.arange(3) != "abc".index(s)] = -np.inf

    def density(name, value):
        p = found.leaves[name].parameters
        p = NormalInverseGammaParameters(*(np.asarray(x, float)[0, 0] for x in p))
        spread = np.sqrt(p.scale * (1 + 1 / p.strength) / p.shape)
        value = np.clip(value, *found.leaves[name].family.bounds[0])
        return stats.t.logpdf(value, 2 * p.shape, p.mean, spread)

    if not np.isnan(age):
        logs += density("age", age)[:, None]
    if not np.isnan(hours):
        logs += density("hours", hours)
    return logs


def expected(found):
    return np.stack(
        [by_hand(found, *row) for row in zip(*EVIDENCE.values(), strict=True)]
    )


@pytest.mark.slow
def test_a_class_is_predicted_from_levels_and_numbers_some_unknown():
    found = made()
    wanted = softmax(expected(found), axis=(1, 2))
    np.testing.assert_allclose(
        found.predict_proba(EVIDENCE, "y"), wanted.sum(axis=2), atol=1e-4
    )
    both = found.query(["y", "s"], EVIDENCE)
    np.testing.assert_allclose(both, wanted, atol=1e-4)
    np.testing.assert_array_equal(
        found.predict(EVIDENCE, "y"), wanted.sum(axis=2).argmax(axis=1)
    )
    unread = {**EVIDENCE, "y": ["no", "yes", "no", "yes", "no"]}
    again = found.predict_proba(unread, "y")
    np.testing.assert_allclose(again, wanted.sum(axis=2), atol=1e-4)
    given = found.query("s", unread)  # where the class is known
    row = wanted[0, 0] / wanted[0, 0].sum()
    np.testing.assert_allclose(given[0], row, atol=1e-4)
    one = found.query("y", {"age": 30.0, "s": "a", "hours": 3.0})
    np.testing.assert_allclose(one[0], wanted[0].sum(axis=1), atol=1e-4)
    nothing = found.query("y")[0]
    np.testing.assert_allclose(nothing, found.mean()["y"], atol=1e-5)


@pytest.mark.slow
def test_encoded_evidence_is_that_of_a_table():
    found = made()
    records = np.array([[30, -1, 0, 3], [np.nan, -1, -1, 9.5]])
    table = {name: column[:2] for name, column in EVIDENCE.items()}
    for array in (records, jnp.asarray(records)):
        np.testing.assert_allclose(
            found.predict_proba(array, "y"), found.predict_proba(table, "y"), atol=1e-6
        )
    for wrong in (3, 0.5, -2, np.nan):
        bad = np.array([[30, 0, wrong, 3.0]])
        with pytest.raises(ValueError, match="`records` must hold indices of levels"):
            found.predict_proba(bad, "y")


@pytest.mark.slow
def test_densities_far_below_those_of_a_float_still_decide():
    """A leaf says no by a factor e^300, another says yes by e^200: the answer is no."""
    net = MixedNet.naive_bayes(
        {"y": [0, 1], "a": {"lower": 0, "upper": 1}, "b": {"lower": 0, "upper": 1}}, "y"
    )
    what = dp.release(net, np.array([[0, 0.5, 0.5]]), epsilon=1, adjacency="add-remove")
    found = dp.posterior(what, noise_aware=False)

    def row(means, sd):
        spread = np.full((1, 1, 2), 1e6)
        return NormalInverseGammaParameters(
            *map(
                jnp.asarray,
                (np.reshape(means, (1, 1, 2)), spread, spread, spread * sd**2),
            )
        )

    def leaf(name, means, sd):
        own = found.leaves[name]
        return type(own)(own.family, row(means, sd), own.accepted, False)

    sharp = {"a": leaf("a", [0.2, 0.8], 0.0245), "b": leaf("b", [0.8, 0.2], 0.03)}
    sure = MixedPosterior(found.released, found.discrete, sharp, found.priors)
    a, b = 0.2, 0.2
    off = [((a - m) / 0.0245) ** 2 / 2 + ((b - k) / 0.03) ** 2 / 2
           for m, k in ((0.2, 0.8), (0.8, 0.2))]  # fmt: skip
    assert min(off) > 150
    assert abs(off[0] - off[1]) > 90
    wanted = [1.0, 0.0] if off[0] < off[1] else [0.0, 1.0]
    given = sure.predict_proba({"a": [a], "b": [b]}, "y")[0]
    np.testing.assert_allclose(given, wanted, atol=1e-6)


@pytest.mark.slow
def test_a_number_is_predicted_from_what_is_known():
    found = made()
    logs = np.stack([
        by_hand(found, age, s, np.nan)
        for age, s in zip(EVIDENCE["age"], EVIDENCE["s"], strict=True)
    ])  # fmt: skip
    rows = softmax(logs, axis=(1, 2))
    means = np.asarray(found.mean()["hours"]["mean"])
    given = {**EVIDENCE}  # in which the hours are not read
    np.testing.assert_allclose(
        found.predict(given, "hours"), (rows * means).sum(axis=(1, 2)), rtol=1e-3
    )
    lower, upper = found.interval(given, "hours", 0.8)
    p = NormalInverseGammaParameters(
        *(np.asarray(x, float)[0, 0] for x in found.leaves["hours"].parameters)
    )
    spread = np.sqrt(p.scale * (1 + 1 / p.strength) / p.shape)
    for ends, q in ((lower, 0.1), (upper, 0.9)):
        below = stats.t.cdf(ends[:, None, None], 2 * p.shape, p.mean, spread)
        np.testing.assert_allclose((rows * below).sum(axis=(1, 2)), q, atol=1e-3)


@pytest.mark.slow
def test_the_density_of_a_record_is_that_of_its_parts():
    found = made()
    table = {
        "y": ["no", "yes"],
        "s": ["a", "c"],
        "age": [30.0, 80.0],
        "hours": [3.0, 4.0],
    }
    logs = [by_hand(found, 30.0, "a", 3.0)[0, 0], by_hand(found, 80.0, "c", 4.0)[1, 2]]
    np.testing.assert_allclose(found.log_likelihood(table), logs, rtol=1e-4)
    encoded = BAYES.schema.encode(table)
    np.testing.assert_allclose(found.log_likelihood(encoded), logs, rtol=1e-4)
    for name in ("age", "hours"):  # what is unknown is summed out, and not invented
        unknown = found.log_likelihood({**table, name: [np.nan, table[name][1]]})
        one = found.leaves[name].log_density(jnp.asarray(table[name][:1]))
        np.testing.assert_allclose(unknown[0], logs[0] - one[0, 0], rtol=1e-4)
        np.testing.assert_allclose(unknown[1], logs[1], rtol=1e-4)


@pytest.mark.slow
def test_synthetic_records_have_the_laws_of_the_posterior(key):
    found = made()
    n = 20_000
    records = np.asarray(found.sample_records(key, n))
    assert records.shape == (n, 4)
    columns = BAYES.schema.decode(records)
    assert set(columns["s"]) == set("abc")
    for name, (lower, upper) in {"age": (0, 100), "hours": (0, 10)}.items():
        assert (columns[name] >= lower).all()
        assert (columns[name] <= upper).all()
    yes = columns["y"] == "yes"
    average = found.mean()
    ages = average["age"]["mean"]
    for group, mean in ((~yes, ages[0]), (yes, ages[1])):
        assert abs(columns["age"][group].mean() - mean) < 5 * 12 / np.sqrt(90) + 2
    assert abs(yes.mean() - average["y"][1]) < 0.15
    off = [columns[x] - columns[x][yes].mean() for x in ("age", "hours")]
    correlation = np.corrcoef(*(x[yes] for x in off))[0, 1]
    assert abs(correlation) < 6 / np.sqrt(yes.sum())


# ---- more records, and what is drawn


@pytest.mark.slow
def test_more_records_are_added_to_what_was_released():
    found = made()
    more = drawn(np.random.default_rng(5), 3000)
    after = found.update(more)
    codes = np.stack([more["y"] == "yes", np.searchsorted(list("abc"), more["s"])], 1)
    assert type(after) is MixedPosterior
    assert after.method == "plug-in"
    for i, leaf in enumerate(BAYES.leaves):
        before, now = (x.leaves[leaf.name].parameters for x in (found, after))
        strength = np.asarray(now.strength) - np.asarray(before.strength)
        assert strength.sum() == pytest.approx(3000, rel=1e-4)
        assert strength.shape[2:] == BAYES.shape(i)
        numbers = np.clip(more[leaf.name], float(leaf.lower), float(leaf.upper))
        for group in np.ndindex(BAYES.shape(i)):
            inside = (codes[:, : len(group)] == group).all(1)
            added = (x.strength * np.asarray(x.mean) for x in (now, before))
            added = np.subtract(*added)[0, 0][group]
            assert added == pytest.approx(numbers[inside].sum(), rel=1e-3)
    np.testing.assert_allclose(after.mean()["s"], SHARES, atol=0.1)
    prior = {"age": NormalInverseGammaParameters(50.0, 2.0, 3.0, 100.0)}
    strong = dp.posterior(released(), prior, noise_aware=False)
    usual = found.leaves["age"].parameters.strength
    np.testing.assert_allclose(strong.leaves["age"].parameters.strength, usual + 1)


@pytest.mark.thorough
def test_more_records_are_added_to_a_noise_aware_posterior():
    more = drawn(np.random.default_rng(5), 3000)
    after = made(True).update(more)
    assert after.method == "mixed"
    for leaf in BAYES.leaves:
        mean, sd = after.mean()[leaf.name]["mean"], after.sd()[leaf.name]["mean"]
        assert (np.abs(mean - MEANS[leaf.name]) < 5 * sd).all()
        assert (np.asarray(sd) < made(True).sd()[leaf.name]["mean"]).all()


WRONG = {
    "must be of type NormalInverseGamma": {"age": 2.0},
    "of 'age' must be numbers or arrays of shape": {
        "age": NormalInverseGammaParameters(np.zeros(3), 1.0, 1.0, 1.0)
    },
    "`shape` must be positive": {"age": NormalInverseGammaParameters(0, 1, -1.0, 1)},
    "`prior` must name variables, got 'q'": {"q": jnp.ones(2)},
    "`prior` must be positive": -1.0,
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_priors_get_one_clear_line(message):
    with pytest.raises(ValueError, match=message) as error:
        dp.posterior(released(), WRONG[message], noise_aware=False)
    assert len(str(error.value).splitlines()) == 1


def test_wrong_questions_get_one_clear_line():
    found = made()
    for ask in (found.predict, found.predict_proba):
        with pytest.raises(ValueError, match="`target` must be one of the network's"):
            ask(EVIDENCE, "q")
    for ask in (
        lambda: found.predict_proba(EVIDENCE, "age"),
        lambda: found.query("age"),
        lambda: found.query(["y", "age"]),
    ):
        with pytest.raises(ValueError, match="`target` must have levels, got 'age', a"):
            ask()
    with pytest.raises(ValueError, match="`target` must be a numeric leaf, got 'y'"):
        found.interval(EVIDENCE, "y")
    with pytest.raises(ValueError, match="`level` must be between 0 and 1"):
        found.interval(EVIDENCE, "age", 1.0)
    with pytest.raises(ValueError, match="`evidence`, or `given`, must name variables"):
        found.query("y", {"q": 1})
    with pytest.raises(ValueError, match="hold only numbers in column 'age'"):
        found.predict_proba({"age": ["old"]}, "y")
    with pytest.raises(ValueError, match="`increment` must be left out"):
        dp.posterior(released(), noise_aware=False, increment=1.0)
    with pytest.raises(ValueError, match="`released` must be of a network with num"):
        mixed_posterior(study_key(0), dp.release(
            BAYES.discrete, np.zeros((1, 2), int), epsilon=1, adjacency="add-remove"
        ))  # fmt: skip
    with pytest.raises(ValueError, match="`update` must be asked of another"):
        found.leaves["age"].update(np.zeros((1, 1)))


# ---- the command line


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = drawn(np.random.default_rng(0), 300)
    with open("table.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(table)
        rows.writerows(zip(*table.values(), strict=True))
    Path("schema.json").write_text(json.dumps(BAYES.schema.to_json()))
    Path("network.json").write_text(json.dumps({"parents": BAYES.parent_names()}))
    Path("new.csv").write_text("age,s,hours\n60,a,\n,c,9\n")
    return ["--schema", "schema.json", "--epsilon", "2", "--adjacency", "add-remove"]


def printed(capsys):
    return [row.split(",") for row in capsys.readouterr().out.split()]


@pytest.mark.slow
def test_the_command_line_releases_and_predicts(files, capsys):
    for net, out in (("network.json", "s.json"), ("naive-bayes:y", "r.json")):
        command = ["release", "table.csv", "--network", net, *files, "--out", out]
        assert main(command) == 0
        what = dp.load(out)
        assert what.statistic.net.leaves == BAYES.leaves
    assert what.statistic.net == MixedNet.naive_bayes(BAYES.schema, "y")
    found = dp.posterior(what, noise_aware=False)
    capsys.readouterr()
    ask = ["predict", "r.json", "new.csv", "--no-noise-aware", "--target"]
    assert main([*ask, "y"]) == 0
    header, *rows = printed(capsys)
    assert header == ["p_no", "p_yes"]
    wanted = found.predict_proba("new.csv", "y")
    np.testing.assert_allclose(np.array(rows, float), wanted, atol=1e-5)
    assert main([*ask, "age", "--level", "0.5"]) == 0
    header, *rows = printed(capsys)
    assert header == ["mean", "lower", "upper"]
    wanted = found.predict("new.csv", "age"), *found.interval("new.csv", "age", 0.5)
    np.testing.assert_allclose(np.array(rows, float), np.transpose(wanted), rtol=1e-4)
    assert main([*ask, "age", "--also", "./r.json", "--tables", "one"]) == 2
    assert "or a copy, twice" in capsys.readouterr().err
    assert main([*ask, "q"]) == 2
    assert "`target` must be one of the network's variables" in capsys.readouterr().err
    wrong = ["release", "table.csv", "--network", "naive-bayes:age", *files]
    assert main([*wrong, "--out", "other.json"]) == 2
    assert "'age' is a parent of 'y'" in capsys.readouterr().err
    assert main(["query", "r.json", "--target", "age"]) == 2
    assert "`target` must have levels, got 'age', a number" in capsys.readouterr().err


@pytest.mark.thorough
def test_the_command_line_queries_and_synthesizes(files, capsys):
    command = ["release", "table.csv", "--network", "naive-bayes:y", *files]
    assert main([*command, "--out", "r.json"]) == 0
    capsys.readouterr()
    found = dp.posterior(dp.load("r.json"))
    assert main(["query", "r.json", "--target", "y", "--given", "age=70"]) == 0
    shown = [float(row[1]) for row in printed(capsys)[1:]]
    np.testing.assert_allclose(shown, found.query("y", {"age": 70})[0], atol=1e-5)
    made = ["synthesize", "r.json", "--n", "30", "--out", "o.csv"]
    assert main([*made, "--given", "y=yes"]) == 0
    encoded = np.asarray(BAYES.schema.encode("o.csv"))
    assert encoded.shape == (30, 4)
    assert (encoded[:, BAYES.names.index("y")] == 1).all()
