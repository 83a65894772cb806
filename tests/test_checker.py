"""The checker of files, which shares no code with the package."""

import ast
import copy
import hashlib
import itertools
import json
import pathlib
import random
import shutil
import subprocess
import sys
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import dpjax as dp
from dpjax._documents import canonical_json, escaped_json
from dpjax.mechanisms import DiscreteGaussian, KNorm, WideGaussian
from dpjax.privacy import ZCDP, PureDP, Sensitivity, zcdp_budget
from dpjax.privacy.ledger_lines import read_on
from dpjax.releases import Released
from dpjax.releases.entries import InconsistentRelease, UnreadableRelease
from dpjax.statistics import (
    Contrasts,
    FourierCoefficients,
    MarginalContrasts,
    NetworkCounts,
    PrintedFourier,
)
from tests.fuzz.builders import chain, noisy, released
from tests.fuzz.corpus import seeds
from tests.helpers.alterations import (
    ALTERED,
    CHAIN,
    DOCUMENTS,
    IN_LEDGERS,
    LEDGERS,
    ODD,
    both,
    drop,
    newest,
    put,
)
from tests.helpers.cases import mostly_thorough
from tests.helpers.checker import CHECKER, checker, run
from tests.helpers.release_files import rehashed
from tests.recorded.cases import FORMATS, RELEASES

ROOT = pathlib.Path(__file__).parents[1]
COUNTED = {
    *("family-counts", "marginal-counts", "fourier-coefficients"),
    "fourier-coefficients-as-printed",
}
NOISES = {"discrete-laplace", "split-discrete-laplace", "discrete-gaussian"}
BLOCKS = {"contrasts", "marginal-contrasts"}


def is_covered(document):
    content = document["content"]
    kinds = content["statistic"]["kind"], content["mechanism"]["kind"]
    if kinds[1] == "k-norm":
        return kinds[0] in BLOCKS
    return kinds[0] in COUNTED and kinds[1] in NOISES


COVERED = sorted(name for name, x in DOCUMENTS.items() if is_covered(x))
OTHERS = sorted(set(DOCUMENTS) - {*COVERED})


# ---- What the checker accepts, and what it does not know.


@pytest.mark.parametrize("name", COVERED)
def test_a_release_that_is_covered_is_verified(name):
    done = run(RELEASES[name])
    assert (done.returncode, done.stderr) == (0, "")
    facts = dict(line.split(":", 1) for line in done.stdout.splitlines())
    assert {"hash", "guarantee", "variables", "values", "verified"} <= set(facts)
    assert {"certificate", "certificates"} & set(facts)


@pytest.mark.parametrize("name", OTHERS)
def test_nothing_is_verified_of_a_release_that_is_not_covered(name, tmp_path):
    shutil.copy(RELEASES[name], tmp_path / "r.json")
    done = run(tmp_path / "r.json")
    assert (done.returncode, done.stderr) == (2, "")
    assert done.stdout.startswith("not covered: ")
    assert done.stdout.endswith("Nothing is verified.\n")
    assert len(done.stdout.splitlines()) == 1


def test_a_release_with_impossible_combinations_is_not_covered():
    schema = dp.Schema({"t": [0, 1], "x": [0, 1]}, impossible=[{"t": [0], "x": [1]}])
    net = dp.BayesNet.from_parents(schema, {"x": ["t"]})
    with pytest.raises(checker.NotCovered, match="impossible"):
        checker.check(noisy(NetworkCounts(net)).decode())


@pytest.mark.parametrize("name", ["ledger_2", "ledger_3", "ledger_4"])
def test_a_ledger_is_verified(name):
    done = run(FORMATS / f"{name}.jsonl")
    assert (done.returncode, done.stderr) == (0, "")
    assert "spent:         ε = 13/30\n" in done.stdout


def test_a_ledger_that_the_package_wrote_is_verified(tmp_path):
    path = tmp_path / "ledger.jsonl"
    ledger = dp.Ledger(2, adjacency="add-remove", path=path, period="month")
    for part in ("north", "south", None):
        cost = dp.privacy.budget_of("1/2", "add-remove")
        ledger.charge(cost, f"é {part}", part=part)
    facts = dict(checker.check(path.read_text("utf-8")))
    assert facts["spent"].startswith("ε = 1 in the month of")
    assert ledger.spent == 1
    chained = dp.Ledger(budget=ledger.limit, path=tmp_path / "other", period=None)
    chained.charge(cost.repeated(4))
    assert dict(checker.check((tmp_path / "other").read_text()))["spent"] == "ε = 2"


def test_the_checker_needs_nothing_but_the_standard_library():
    tree = ast.parse(CHECKER.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert str(node.module) in sys.stdlib_module_names
        if isinstance(node, ast.Import):
            assert {x.name for x in node.names} <= sys.stdlib_module_names
    assert "dpjax" not in {x.id for x in ast.walk(tree) if isinstance(x, ast.Name)}


def pieces(path):
    """All runs of three lines, without blank lines and indentation."""
    lines = [x.strip() for x in path.read_text("utf-8").splitlines() if x.strip()]
    runs = zip(lines, lines[1:], lines[2:], strict=False)
    return {x for x in runs if sum(map(len, x)) > 60}


def test_the_checker_has_no_text_of_the_package():
    own = pieces(CHECKER)
    assert len(own) > 400
    for path in sorted((ROOT / "dpjax").rglob("*.py")):
        assert not own & pieces(path), path


def test_the_checker_runs_on_python_3_9():
    """By its grammar and, where there is such a Python, by it."""
    ast.parse(CHECKER.read_text("utf-8"), feature_version=(3, 9))
    file = str(RELEASES["counts-all"])
    found = shutil.which("python3.9")
    if found and subprocess.run([found, "-c", ""], capture_output=True).returncode == 0:
        subprocess.run([found, "-I", "-S", str(CHECKER), file], check=True)


# ---- Levels, and sensitivities for networks of all kinds.


@pytest.mark.parametrize("unit", ["year", "quarter", "month", "week", "day", "hour"])
@pytest.mark.parametrize("days", ["2023-12-30 2024-03-02", "0999-12-31 1000-01-08"])
def test_periods_have_the_labels_of_the_package(unit, days):
    lower, upper = days.split()
    declared = {"lower": lower, "upper": upper, "unit": unit}
    levels = dp.Schema({"t": declared})["t"].levels
    assert checker.labels({"name": "t", **declared}, "t") == [*levels]


@pytest.mark.parametrize("edges", [[0.5, 1e15, 2e15], [-2.5, -0.0, 3], [1e-7, 1e-5]])
def test_bins_have_the_labels_of_the_package(edges):
    declared = {"lower": -4, "upper": 5e22, "edges": edges}
    levels = dp.Schema({"t": declared})["t"].levels
    assert checker.labels({"name": "t", **declared}, "t") == [*levels]


def random_networks(number):
    rng = random.Random(5)
    for _ in range(number):
        sizes = [rng.choice([2, 2, 2, 3, 4]) for _ in range(rng.randint(1, 8))]
        names = [f"v{i}" for i in range(len(sizes))]
        above = [
            rng.sample(names[:i], min(i, rng.randint(0, 3))) for i in range(len(names))
        ]
        schema = dp.Schema(
            {x: list(range(k)) for x, k in zip(names, sizes, strict=True)}
        )
        parents = dict(zip(names, above, strict=False))
        yield dp.BayesNet.from_parents(schema, parents), rng.randint(1, len(names))


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("case", mostly_thorough([*random_networks(30)], 6))
def test_the_checker_and_the_package_agree_on_sensitivities(case, adjacency):
    net, order = case
    for statistic in (
        NetworkCounts(net),
        NetworkCounts(net, "all"),
        FourierCoefficients.of_network(net, adjacency),
        FourierCoefficients(net.variables, adjacency, order=order),
    ):
        text = noisy(statistic, adjacency).decode()
        facts = dict(checker.check(text))
        value = int(statistic.sensitivity(adjacency).value)
        assert facts["sensitivity"] == f"{value}, exact"
        for wrong in (value - 1, value + 1):
            made = consistent(json.loads(text), wrong)
            with pytest.raises(checker.Refused, match=r"sensitivity|out of range"):
                checker.check(json.dumps(made))


def consistent(document, sensitivity):
    """What follows from a sensitivity, as who tampers would compute it."""
    content = copy.deepcopy(document["content"])
    content["sensitivity"]["value"] = sensitivity
    if sensitivity:
        rho = Fraction(content["guarantee"]["epsilon"]) / sensitivity
        noise = {"scale": str(1 / rho)}
        noise["table"] = checker.fingerprint(*checker.noise_table(rho))
        content["mechanism"].update(noise)
    return rehashed({**document, "content": content})


def test_a_table_without_its_margin_has_no_certificate():
    """Thresholds that are moved by little have another fingerprint, and fail too."""
    rho = Fraction(1, 2)
    digits, redraw = checker.noise_table(rho)
    checker.certify(digits, redraw, rho)
    digits[0][0] += 1 << 90
    with pytest.raises(checker.Refused, match="ratio"):
        checker.certify(digits, redraw, rho)
    with pytest.raises(checker.Refused, match="ratio"):
        checker.certify(*checker.noise_table(rho), rho * (1 - Fraction(1, 2**38)))


# ---- K-norm noise.


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("case", mostly_thorough([*random_networks(30)], 6))
def test_the_checker_and_the_package_agree_on_points_of_balls(case, adjacency):
    net, order = case
    order = min(order, 2)
    for statistic in (
        Contrasts.of_network(net, adjacency),
        MarginalContrasts.of_order(net.variables, order, adjacency),
    ):
        budget = PureDP(Fraction(2, 3), adjacency, contributions=2)
        noise = KNorm.of(statistic, budget.per_record())
        document = json.loads(released(statistic, noise, rows=2))
        facts = dict(checker.check(json.dumps(document)))
        dimensions = [str(law.dimension) for law in noise.laws]
        assert facts["points"].endswith(" " + ", ".join(dimensions))
        assert facts["values"] == f"{statistic.length} integers"
        groups = document["content"]["mechanism"]["groups"]
        for group, law in zip(groups, noise.laws, strict=True):
            others = [law.newton, (1, *law.newton[1:-1], law.newton[-1] + 1)]
            same, group["points"] = group["points"], points_digest(others[1])
            with pytest.raises(checker.Refused, match="numbers of points differ"):
                checker.check(json.dumps(rehashed(document)))
            group["points"] = points_digest(others[0])
            assert group["points"] == same


def points_digest(coefficients):
    return hashlib.sha256(",".join(map(str, coefficients)).encode()).hexdigest()


def test_points_of_balls_are_those_of_an_enumeration():
    """Of two blocks with a common margin, by their norm alone."""
    blocks, sizes = [((), (0, 1)), ((0,), (2,)), ((0,), (3,))], [2, 2, 3, 2]
    for near, steps in (("replace-one", 2), ("add-remove", 1)):
        series, found = checker.star_ball([1, 2], blocks, sizes, near)
        assert found == steps
        for radius in range(4):
            inside = 0
            span = range(-2 * radius, 2 * radius + 1)
            one = [
                max(median_distance(a, b), median_distance(c))
                for a, b, c in itertools.product(span, repeat=3)
            ]
            for distance in one:
                inside += sum(distance + other <= radius for other in one)
            assert checker.lattice_points(series, radius) == inside


def median_distance(*differences):
    cells = [0, *differences]
    return min(sum(abs(x - center) for x in cells) for center in cells)


# ---- Gaussian noise.

MIXED = dp.BayesNet.from_parents(
    dp.Schema({"t": [0, 1], "x": [0, 1, 2], "z": [0, 1]}), {"x": ["t"], "z": ["x"]}
)


def gaussian(statistic, adjacency, rho="1/10", rows=1):
    """A release with Gaussian noise, for a person with so many rows."""
    budget = zcdp_budget(adjacency, rho=rho, contributions=rows)
    noise = DiscreteGaussian.of(statistic, budget.per_record())
    return json.loads(released(statistic, noise, rows=rows))


ONE, ANY = "replace-one", "add-remove"
GAUSSIAN = {
    "counts": gaussian(NetworkCounts(MIXED), ONE),
    "all counts": gaussian(NetworkCounts(MIXED, "all"), ANY),
    "persons": gaussian(NetworkCounts(MIXED), ONE, "9/10", 3),
    "Fourier": gaussian(FourierCoefficients.of_network(MIXED, ONE), ONE),
    "private n": gaussian(FourierCoefficients.of_network(MIXED, ANY), ANY),
    "order": gaussian(FourierCoefficients(MIXED.variables, ANY, order=2), ANY),
}
SQUARED = dict(zip(GAUSSIAN, (4, 3, 4, 18, 9, 10), strict=True))


@pytest.mark.parametrize("name", GAUSSIAN)
def test_gaussian_noise_is_verified(name, tmp_path):
    text = json.dumps(GAUSSIAN[name])
    (tmp_path / "r.json").write_text(text)
    done = run(tmp_path / "r.json")
    assert (done.returncode, done.stderr) == (0, "")
    facts = dict(line.split(":", 1) for line in done.stdout.splitlines())
    assert facts["sensitivity"].strip() == f"√{SQUARED[name]}, exact"
    assert facts["certificate"].endswith("order α ≤ α · 1/10")
    Released.from_text(text)


@pytest.mark.parametrize("adjacency", [ONE, ANY])
@pytest.mark.parametrize("case", mostly_thorough([*random_networks(30)], 6))
def test_the_checker_and_the_package_agree_on_squared_sensitivities(case, adjacency):
    net, order = case
    for statistic in (
        NetworkCounts(net),
        NetworkCounts(net, "all"),
        FourierCoefficients.of_network(net, adjacency),
        FourierCoefficients(net.variables, adjacency, order=order),
    ):
        document = gaussian(statistic, adjacency)
        value = int(statistic.squared_sensitivity(adjacency).value)
        facts = dict(checker.check(json.dumps(document)))
        assert facts["sensitivity"] == f"√{value}, exact"
        for wrong in (value - 1, value + 1):
            made = gaussian_consistent(document, wrong)
            with pytest.raises(checker.Refused, match=r"sensitivity|out of range"):
                checker.check(json.dumps(made))


@pytest.mark.parametrize("adjacency", [ONE, ANY])
def test_wide_gaussian_noise_is_verified_and_its_alterations_are_refused(adjacency):
    statistic, rho = NetworkCounts(MIXED), Fraction(1, 10**8)
    budget = zcdp_budget(adjacency, rho=rho)
    document = json.loads(released(statistic, WideGaussian.of(statistic, budget)))
    facts = dict(checker.check(json.dumps(document)))
    squared = 4 if adjacency == ONE else 2
    assert facts["variance"] == f"{squared * 10**8 // 2} = {squared} / (2 · {rho})"
    for altered, why in (
        ({"guarantee": {**budget.describe(), "rho": str(rho / 2)}}, "variance"),
        ({"guarantee": {**budget.describe(), "rho": "1/100"}}, "out of range"),
        ({"guarantee": {**budget.describe(), "rho": str(rho / 2**30)}}, "out of range"),
        ({"mechanism": {"kind": "wide-gaussian", "variance": "100"}}, "variance"),
        ({"mechanism": {**GAUSSIAN["counts"]["content"]["mechanism"]}}, "out of range"),
    ):
        text = json.dumps(rehashed(document, **altered))
        with pytest.raises(checker.Refused, match=why):
            checker.check(text)
        with pytest.raises(InconsistentRelease):
            Released.from_text(text)


def gaussian_consistent(document, squared):
    """What follows from a squared sensitivity, as who tampers would compute it."""
    content = copy.deepcopy(document["content"])
    content["sensitivity"]["squared_l2"] = squared
    if squared:
        rate = Fraction(content["guarantee"]["rho"]) / squared
        h = rate * (1 - Fraction(1, 2**20))
        table = checker.gaussian_fingerprint(*checker.gaussian_table(h))
        content["mechanism"].update({"variance": str(1 / (2 * h)), "table": table})
    return rehashed({**document, "content": content})


def test_coefficients_as_printed_are_not_halved(monkeypatch):
    """So their squared sensitivity is four times as large."""
    statistic = PrintedFourier.of_network(chain(3), ONE)
    monkeypatch.setattr(DiscreteGaussian, "accepts", lambda *_: True)
    true = Sensitivity(4 * statistic.length, ONE, tight=False)
    halved = FourierCoefficients.of_network(chain(3), ONE).squared_sensitivity(ONE)
    for squared in (true, halved, Sensitivity(4 * int(halved.value), ONE)):
        file = released(statistic, DiscreteGaussian.calibrate("1/10", squared))
        if squared is true:
            assert dict(checker.check(file.decode()))["sensitivity"].startswith("√24")
        else:
            with pytest.raises(checker.Refused, match="the sensitivity differs"):
                checker.check(file.decode())


OTHER_GAUSSIAN = GAUSSIAN["Fourier"]["content"]["mechanism"]
IN_GAUSSIAN = {
    "half the rho": put("guarantee", "rho", "1/20"),
    "a rho not reduced": put("guarantee", "rho", "2/20"),
    "a rho as a decimal": put("guarantee", "rho", "0.1"),
    "a rho as a number": put("guarantee", "rho", 0.1),
    "a negative rho": put("guarantee", "rho", "-1/10"),
    "rho zero": put("guarantee", "rho", "0"),
    "no rho": drop("guarantee", "rho"),
    "an epsilon beside rho": put("guarantee", "epsilon", "1/10"),
    "pure privacy": put(
        "guarantee", {"adjacency": ONE, "epsilon": "1/10", "kind": "pure-dp"}
    ),
    "persons of two rows": put("guarantee", "contributions", 2),
    "a guarantee for others": put("guarantee", "adjacency", ANY),
    "half the squared sensitivity": put("sensitivity", "squared_l2", 2),
    "double the squared sensitivity": put("sensitivity", "squared_l2", 8),
    "a squared sensitivity as text": put("sensitivity", "squared_l2", "4"),
    "an L1 sensitivity": put(
        "sensitivity", {"adjacency": ONE, "tight": True, "value": 4}
    ),
    "an L1 sensitivity beside it": put("sensitivity", "value", 4),
    "a bound that is exact": put("sensitivity", "tight", False),
    "a sensitivity for others": put("sensitivity", "adjacency", ANY),
    "no sensitivity": drop("sensitivity"),
    "half the variance": put("mechanism", "variance", "10485760/1048575"),
    "no margin": put("mechanism", "variance", "20"),
    "a variance not reduced": put("mechanism", "variance", "41943040/2097150"),
    "a variance as a number": put("mechanism", "variance", 20),
    "no variance": drop("mechanism", "variance"),
    "a scale beside it": put("mechanism", "scale", "40"),
    "another noise table": put("mechanism", "table", OTHER_GAUSSIAN["table"]),
    "other noise": both(
        put("mechanism", "table", OTHER_GAUSSIAN["table"]),
        put("mechanism", "variance", OTHER_GAUSSIAN["variance"]),
    ),
    "no noise table": drop("mechanism", "table"),
    "the kind of Laplace noise": put("mechanism", "kind", "discrete-laplace"),
    "tables that are not measured": put("statistic", "families", "all"),
    "a value too large": put("values", 0, 2**29 + 1),
    "a value too small": put("values", 0, -(2**29) - 1),
    "a value that is no integer": put("values", 0, 0.5),
    "a value less": drop("values", 0),
}


@pytest.mark.parametrize("change", IN_GAUSSIAN.values(), ids=IN_GAUSSIAN)
def test_altered_gaussian_noise_is_refused_although_it_is_rehashed(change):
    document = GAUSSIAN["counts"]
    content = copy.deepcopy(document["content"])
    change(content)
    text = json.dumps(rehashed({**document, "content": content}))
    with pytest.raises(checker.Refused) as refusal:
        checker.check(text)
    assert "hash" not in str(refusal.value)
    with pytest.raises(InconsistentRelease):
        Released.from_text(text)


@pytest.mark.parametrize("value", [2**29, -(2**29)])
def test_gaussian_noise_may_be_clipped(value):
    document = GAUSSIAN["counts"]
    values = [value, *document["content"]["values"][1:]]
    text = json.dumps(rehashed(document, values=values))
    assert dict(checker.check(text))["values"] == f"{len(values)} integers"
    Released.from_text(text)


@pytest.mark.parametrize("version", [1, 2])
def test_gaussian_noise_is_in_no_file_of_an_earlier_version(version):
    text = json.dumps(rehashed({**GAUSSIAN["counts"], "version": version}))
    with pytest.raises(checker.Refused, match="version 3"):
        checker.check(text)
    with pytest.raises(InconsistentRelease, match="version"):
        Released.from_text(text)


def sampled():
    net = dp.BayesNet.from_parents({"a": [0, 1]}, {"a": []})
    records = np.zeros((30, 1), np.uint8)
    paid = {"epsilon": 1, "adjacency": "add-remove", "sample_rate": "1/2"}
    return json.loads(dp.release(net, records, **paid).to_text())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("document", "version"),
    [
        (sampled, 1),
        (sampled, 2),
        (partial(newest, "learned-laplace"), 2),
        (lambda: json.loads(seeds("release")["persons.json"]), 1),
    ],
    ids=["sample", "sample", "learned", "persons"],
)
def test_what_a_version_does_not_know_is_in_no_file_of_it(document, version):
    document = document()
    checker.check(json.dumps(document))
    text = json.dumps(rehashed({**document, "version": version}))
    with pytest.raises(checker.Refused, match=r"needs? version"):
        checker.check(text)
    with pytest.raises(InconsistentRelease):
        Released.from_text(text)


@pytest.mark.parametrize("rows", [1, 2, 4])
def test_gaussian_noise_for_other_persons_is_refused(rows):
    document = GAUSSIAN["persons"]
    assert dict(checker.check(json.dumps(document)))["guarantee"].endswith("3 rows")
    content = copy.deepcopy(document["content"])
    content["guarantee"]["contributions"] = rows
    if rows == 1:
        del content["guarantee"]["contributions"]
    with pytest.raises(checker.Refused, match="variance"):
        checker.check(json.dumps(rehashed({**document, "content": content})))


@pytest.mark.parametrize("rho", ["9", "1/100000000"])
def test_gaussian_noise_outside_the_certified_range_is_refused(rho):
    stated = {"adjacency": ONE, "kind": "zcdp", "rho": rho}
    text = json.dumps(rehashed(GAUSSIAN["counts"], guarantee=stated))
    with pytest.raises(checker.Refused, match="out of range"):
        checker.check(text)
    with pytest.raises(InconsistentRelease, match=r"between 2\^-25 and 2"):
        Released.from_text(text)


RATES = [Fraction(2), Fraction(1, 40), Fraction(3, 7), Fraction(1, 12345)]


@pytest.mark.parametrize(
    "rate", [*RATES, pytest.param(Fraction(1, 2**25), marks=pytest.mark.thorough)]
)
def test_a_gaussian_table_without_its_margin_has_no_certificate(rate):
    h = rate * (1 - Fraction(1, 2**20))
    weights, step = checker.gaussian_table(h)
    made = DiscreteGaussian.calibrate(rate, Sensitivity(1, ONE))
    digest = checker.gaussian_fingerprint(weights, step)
    assert made.describe()["table"] == digest
    checker.certify_gaussian(weights, step, h, rate)
    for other in (rate * (1 - Fraction(1, 2**21)), h):
        with pytest.raises(checker.Refused, match="a Rényi divergence is above"):
            checker.certify_gaussian(weights, step, h, other)
    moved = [weights[0], weights[1] + (1 << 105), *weights[2:]]
    with pytest.raises(checker.Refused, match="a Rényi divergence is above"):
        checker.certify_gaussian(moved, step, h, rate)
    with pytest.raises(checker.Refused, match="begin before"):
        checker.certify_gaussian(weights[:-2], step, h, rate)
    for wrong in (step - 1, 2**128 - 1):
        with pytest.raises(checker.Refused, match="slope"):
            checker.certify_gaussian(weights, wrong, h, rate)


# ---- Alterations, each with the right hash, so that the hash finds none.


@pytest.mark.parametrize("version", ["as recorded", "newest"])
@pytest.mark.parametrize("what", ALTERED)
def test_an_alteration_is_refused_although_it_is_rehashed(what, version):
    name, change = ALTERED[what]
    document = DOCUMENTS[name] if version == "as recorded" else newest(name)
    checker.check(json.dumps(document))
    content = copy.deepcopy(document["content"])
    change(content)
    assert escaped_json(content) != escaped_json(document["content"])
    with pytest.raises(checker.Refused) as refusal:
        checker.check(json.dumps(rehashed({**document, "content": content})))
    assert "hash" not in str(refusal.value)
    with pytest.raises(InconsistentRelease):
        Released.from_text(json.dumps(rehashed({**document, "content": content})))
    with pytest.raises(checker.Refused, match="the hash differs"):
        checker.check(json.dumps({**document, "content": content}))


def places(node):
    """Yield every list or dictionary within a node, and the keys of its entries."""
    keys = node if isinstance(node, dict) else range(len(node))
    for key in keys:
        yield node, key
        if isinstance(node[key], dict | list):
            yield from places(node[key])


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [None, 1, "x", [], {}], ids=str)
@pytest.mark.parametrize("name", ["learned-laplace", "learned-k-norm", CHAIN])
def test_an_entry_of_another_type_ends_in_one_line(name, wrong, tmp_path, capsys):
    document, path = newest(name), tmp_path / "r.json"
    for node, key in list(places(document["content"])):
        before, node[key] = node[key], wrong
        path.write_text(json.dumps(rehashed(document)))
        status, printed = checker.main([str(path)]), capsys.readouterr().out
        assert status == 0 or printed.count("\n") == 1
        node[key] = before


def test_an_entry_beside_the_content_is_refused():
    text = json.dumps(rehashed({**newest(CHAIN), "note": "true"}))
    with pytest.raises(checker.Refused, match="unknown member"):
        checker.check(text)
    with pytest.raises(UnreadableRelease, match="no entry beside"):
        Released.from_text(text)


@pytest.mark.parametrize("rows", [2, 4])
def test_another_number_of_rows_of_a_person_is_refused(rows):
    document = json.loads(seeds("release")["persons.json"])
    assert dict(checker.check(json.dumps(document)))["guarantee"].endswith("3 rows")
    content = copy.deepcopy(document["content"])
    content["guarantee"]["contributions"] = rows
    with pytest.raises(checker.Refused, match="scale"):
        checker.check(json.dumps(rehashed({**document, "content": content})))


def test_noise_for_another_sensitivity_is_refused_however_consistent():
    document = newest(CHAIN)
    for wrong in (1, 2, 3, 8):
        made = consistent(document, wrong)
        with pytest.raises(checker.Refused, match="the sensitivity differs"):
            checker.check(json.dumps(made))


TEXTS = {
    "a value that is no longer hashed": lambda x: x.replace(
        '"values":[', '"values":[1', 1
    ),
    "a new version": lambda x: x.replace('"version":3', '"version":4'),
    "an old version": lambda x: x.replace('"version":3', '"version":2'),
    "a version that is true": lambda x: x.replace('"version":3', '"version":true'),
    "another format": lambda x: x.replace("dpjax-release", "other"),
    "a hash in capitals": lambda x: x.replace(
        json.loads(x)["sha256"], json.loads(x)["sha256"].upper()
    ),
    "an entry twice": lambda x: x.replace('"version":3', '"version":3,"version":3'),
    "no number": lambda x: x.replace('"version":3', '"version":NaN'),
    "half of it": lambda x: x[: len(x) // 2],
    "more behind it": lambda x: x + "{}",
    "an entry more": lambda x: x.replace('"version":3', '"version":3,"note":1'),
    "a list": lambda x: f"[{x}]",
    "nothing": lambda x: "",
    "beyond doubles": lambda x: x.replace('"records":30', '"records":9007199254740993'),
    "too long a number": lambda x: x.replace('"records":30', '"records":' + "9" * 101),
}


@pytest.mark.parametrize("change", TEXTS.values(), ids=TEXTS)
def test_an_altered_text_is_refused(change, tmp_path):
    text = json.dumps(newest(CHAIN), separators=(",", ":"))
    checker.check(text)
    altered = change(text)
    assert altered != text
    with pytest.raises((InconsistentRelease, UnreadableRelease)):
        Released.from_text(altered)
    (tmp_path / "r.json").write_text(altered)
    done = run(tmp_path / "r.json")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("refused: ")


def test_spaces_and_the_order_of_entries_are_free():
    document = newest(ODD)
    turned = dict(reversed(document.items()))
    assert checker.check(json.dumps(turned, indent=3)) == checker.check(
        canonical_json(document)
    )


def test_a_file_that_is_not_there_is_refused(tmp_path):
    assert run(tmp_path / "none.json").returncode == 1
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe")
    assert run(tmp_path / "bytes.json").returncode == 1


# ---- Alterations of ledgers, each with the right chain of hashes.


def rechained(lines, form):
    chain = form(lines[0])
    text = [chain]
    for line in lines[1:]:
        body = {x: entry for x, entry in line.items() if x != "chain"}
        chain = hashlib.sha256((chain + form(body)).encode()).hexdigest()
        text.append(form({"chain": chain, **body}))
    return "\n".join([*text, ""])


@pytest.mark.parametrize("change", IN_LEDGERS.values(), ids=IN_LEDGERS)
def test_an_altered_ledger_is_refused_although_it_is_rechained(change):
    lines = [json.loads(x) for x in LEDGERS["ledger_4"].splitlines()]
    assert rechained(lines, canonical_json) == LEDGERS["ledger_4"]
    change(lines)
    text = rechained(lines, canonical_json)
    with pytest.raises(checker.Refused) as refusal:
        checker.check(text)
    assert "hash" not in str(refusal.value)
    with pytest.raises((ValueError, LookupError)):
        read_on(None, text.encode())


def test_a_ledger_of_three_parts_is_refused_when_one_of_them_overspends():
    lines = [json.loads(x) for x in LEDGERS["ledger_4"].splitlines()]
    parts = [{**lines[1], "part": f"{i % 2}"} for i in range(16)]
    checker.check(rechained([lines[0], *parts], canonical_json))
    more = [lines[0], *parts, {**parts[0]}, {**parts[0]}]
    with pytest.raises(checker.Refused, match="overspends"):
        checker.check(rechained(more, canonical_json))
    with pytest.raises(ValueError, match="more is spent than the budget"):
        read_on(None, rechained(more, canonical_json).encode())


def zcdp_ledger(*costs):
    """The lines of a ledger in ρ, without hashes."""
    budget = {"adjacency": ONE, "kind": "zcdp", "rho": "1/2"}
    first = {"budget": budget, "format": "dpjax-ledger-4", "inode": "7"}
    charge = {"date": "2026-11-26", "purpose": ""}
    kinds = {"rho": "zcdp", "epsilon": "pure-dp", "delta": "approximate-dp"}
    made = ({"adjacency": ONE, "kind": kinds[[*x][-1]], **x} for x in costs)
    return [first, *({"cost": x, **charge} for x in made)]


@pytest.mark.parametrize("form", ["dpjax-ledger-3", "dpjax-ledger-4"])
def test_a_ledger_in_rho_is_verified(form):
    lines = zcdp_ledger({"rho": "1/3"}, {"epsilon": "1/3"}, {"rho": "1/9"})
    if form == "dpjax-ledger-3":
        lines[0].update({"format": form, "inode": 7})
        lines[1:] = [{"cost": x["cost"], "purpose": ""} for x in lines[1:]]
    written = canonical_json if form == "dpjax-ledger-4" else escaped_json
    text = rechained(lines, written)
    facts = dict(checker.check(text))
    assert facts["budget"] == "ρ = 1/2, replace-one, for one row"
    assert facts["spent"] == "ρ = 1/2"
    assert read_on(None, text.encode()).spent == ZCDP(Fraction(1, 2), ONE)


def test_a_ledger_in_rho_that_the_package_wrote_is_verified(tmp_path):
    path = tmp_path / "ledger.jsonl"
    ledger = dp.Ledger(budget=zcdp_budget(ANY, rho=1, contributions=2), path=path)
    ledger.charge(zcdp_budget(ANY, rho="1/4", contributions=2))
    ledger.charge(dp.privacy.budget_of("1/2", ANY, contributions=2), part="north")
    facts = dict(checker.check(path.read_text("utf-8")))
    assert facts["budget"] == "ρ = 1, add-remove, for a person with up to 2 rows"
    assert facts["spent"] == "ρ = 3/8"


@pytest.mark.parametrize(
    ("costs", "reason"),
    [
        ([{"rho": "1/3"}, {"rho": "1/4"}], "overspends"),
        ([{"epsilon": "11/10"}], "overspends"),
        ([{"epsilon": "1/9", "delta": "1/9"}], "of another kind"),
        ([{"epsilon": "1/9", "delta": "0"}], "of another kind"),
        ([{"rho": "-1/3"}], "no reduced fraction"),
        ([{"rho": "0"}], "promises nothing"),
    ],
)
def test_a_wrong_ledger_in_rho_is_refused(costs, reason):
    text = rechained(zcdp_ledger(*costs), canonical_json)
    with pytest.raises(checker.Refused, match=reason):
        checker.check(text)
    with pytest.raises((ValueError, LookupError)):
        read_on(None, text.encode())


@pytest.mark.parametrize("name", ["ledger_2", "ledger_3", "ledger_4"])
def test_a_cost_in_rho_is_refused_by_a_ledger_in_epsilon(name):
    lines = [json.loads(x) for x in LEDGERS[name].splitlines()]
    lines[1].pop("epsilon", None)
    lines[1]["cost"] = {"adjacency": ONE, "kind": "zcdp", "rho": "1/9"}
    text = rechained(lines, canonical_json if name == "ledger_4" else escaped_json)
    with pytest.raises(checker.Refused, match=r"another kind|lacks|others"):
        checker.check(text)
    with pytest.raises((ValueError, LookupError)):
        read_on(None, text.encode())


@pytest.mark.parametrize("name", ["ledger_2", "ledger_3", "ledger_4"])
def test_lines_of_a_ledger_stay_as_and_where_they_are(name):
    header, one, two = LEDGERS[name].splitlines()
    for lines in (
        [header, two, one],
        [header, two],
        [header, one, one, two],
        [header + " ", one, two],
        [header, one.replace(":", ": "), two],
        [header, one.replace('"1/3"', '"1/4"'), two],
        [header.replace('"3"', '"4"'), one, two],
        [one, two],
    ):
        with pytest.raises(checker.Refused):
            checker.check("\n".join([*lines, ""]))
    with pytest.raises(checker.Refused, match="whole"):
        checker.check("\n".join([header, one, two]))
