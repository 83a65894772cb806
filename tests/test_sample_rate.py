"""Releases from a secret random sample: the law of the sample, and what it costs."""

import itertools
import json
import os
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import dpjax as dp
from dpjax.cli.main import main
from dpjax.data.sampling import poisson_sample, sample_of_fixed_size
from dpjax.noise import tables
from dpjax.privacy import ZCDP, ApproximateDP, Ledger, PureDP, zcdp_budget
from dpjax.privacy.composition import for_sample, subsampled
from dpjax.privacy.kinds import hockey_stick
from dpjax.privacy.rounding import exponential_above
from dpjax.releases import InconsistentRelease
from dpjax.releases.sampled import Sampled
from tests.helpers.checker import checker
from tests.helpers.release_files import rehashed

BOTH = ["replace-one", "add-remove"]
WAYS = {"replace-one": "fixed-size", "add-remove": "poisson"}
BIT = dp.BayesNet.from_parents({"x": [0, 1]}, {"x": []})
NET = dp.BayesNet.from_parents({"x": [0, 1], "y": [0, 1, 2]}, {"x": [], "y": ["x"]})
REACH = 40  # of noise that is enumerated


def rows_of(*bits):
    return np.array(bits, np.uint8).reshape(-1, 1)


# ---- The law of the sample.


def test_a_row_is_kept_with_the_rate_to_the_last_bit(monkeypatch):
    """2^64 q of all words are below the limit, which is rounded down."""
    rate = Fraction(1, 3)
    limit = 2**64 // 3
    words = [0, limit - 1, limit, 2**64 - 1]

    def given(size):
        return np.array([words.pop(0) for _ in range(size // 8)], np.uint64).tobytes()

    monkeypatch.setattr(os, "urandom", given)
    batches = [rows_of(0, 1), rows_of(0, 1)]
    assert poisson_sample(batches, rate).tolist() == [[0], [1]]
    assert words == []


def _next_words(words, size):
    return np.array(next(words), np.uint64).tobytes()


@pytest.mark.parametrize("size", [1, 2, 3])
def test_all_samples_of_a_size_are_drawn_by_as_many_orders(size, monkeypatch):
    found = Counter()
    for order in itertools.permutations(range(4)):
        words = iter([[7, 7, 1, 2], order])  # two equal words are drawn again
        drawn = partial(_next_words, words)
        monkeypatch.setattr(os, "urandom", drawn)
        rows = np.arange(4).reshape(4, 1)
        found[tuple(sample_of_fixed_size(rows, size)[:, 0].tolist())] += 1
    subsets = [*itertools.combinations(range(4), size)]
    assert found == dict.fromkeys(subsets, 24 // len(subsets))


# ---- What it costs, by enumeration of all samples and of all values.


def samples_of(bits, rate, adjacency):
    """Each sample, as its counts of zeros and ones, with its probability."""
    if adjacency == "replace-one":
        chosen = [*itertools.combinations(bits, int(rate * len(bits)))]
        many = Counter((x.count(0), x.count(1)) for x in chosen)
        return {x: Fraction(times, len(chosen)) for x, times in many.items()}
    law = Counter()
    for taken in itertools.product((0, 1), repeat=len(bits)):
        kept = [x for x, one in zip(bits, taken, strict=True) if one]
        chance = rate ** len(kept) * (1 - rate) ** (len(bits) - len(kept))
        law[kept.count(0), kept.count(1)] += chance
    return law


def law_of(bits, rate, adjacency, probability):
    """Probabilities of both released counts, of records that are sampled first."""
    law = np.zeros((2 * REACH, 2 * REACH), object)
    for counts, chance in samples_of(bits, rate, adjacency).items():
        first, second = (
            [probability(z - count) for z in range(-REACH, REACH)] for count in counts
        )
        law = law + chance * np.outer(first, second)
    return law


def neighbours(adjacency):
    """Two tables of bits, of at most three records."""
    for size in (1, 2, 3):
        for bits in itertools.combinations_with_replacement((0, 1), size):
            if adjacency == "add-remove":
                yield bits[1:], bits
            else:
                yield bits, (1 - bits[0], *bits[1:])


@pytest.mark.slow
@pytest.mark.parametrize(("adjacency", "rate"), [(BOTH[0], "2/3"), (BOTH[1], "1/4")])
def test_the_loss_is_at_most_epsilon_and_nearly_attained(adjacency, rate):
    table = rows_of(0, 1, 1)
    made = dp.release(BIT, table, epsilon=1, adjacency=adjacency, sample_rate=rate)
    assert made.guarantee() == PureDP(Fraction(1), adjacency)
    assert made.n == (2 if adjacency == "replace-one" else None)
    whole = made.sampled.rate
    noise = made.mechanism.table

    def probability(z):
        return tables.probability(noise, z)

    worst = 0
    for one, other in neighbours(adjacency):
        if adjacency == "replace-one" and int(whole * len(one)) < 1:
            continue
        p, q = (law_of(x, whole, adjacency, probability) for x in (one, other))
        ratios = (p / q).ravel()
        worst = max(worst, *ratios, *(1 / ratios))
    most = exponential_above(Fraction(1))
    assert 0.98 * float(most) < worst <= most


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", BOTH)
def test_gaussian_noise_on_a_sample_has_its_delta(adjacency):
    cost = ApproximateDP(Fraction(1), Fraction(1, 100), adjacency)
    rate = Fraction(1, 2)
    made = dp.release(
        BIT, rows_of(0, 1), budget=cost, mechanism="gaussian", sample_rate=rate
    )
    assert made.guarantee() == cost
    factor, worst = exponential_above(Fraction(1)), 0
    pairs = [((0, 0), (0, 1)), ((0,), ()), ((0, 1), (1,))]
    for one, other in pairs[:1] if adjacency == "replace-one" else pairs[1:]:
        laws = [
            law_of(x, rate, adjacency, made.mechanism.probability) for x in (one, other)
        ]
        worst = max(worst, hockey_stick(*([x.ravel().tolist()] for x in laws), factor))
    assert cost.delta / 100 < worst <= cost.delta


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("epsilon", ["1e-9", "0.1", "1", "12", "400"])
@pytest.mark.parametrize("rate", ["1e-6", "1/3", "0.999"])
def test_what_a_sample_may_cost_uses_the_cost_up(epsilon, rate, adjacency):
    way = WAYS[adjacency]
    for cost in (
        PureDP(Fraction(epsilon), adjacency),
        ApproximateDP(Fraction(epsilon), Fraction(1, 10**9), adjacency),
    ):
        spent = subsampled(for_sample(cost, rate, way), rate, way)
        assert type(spent) is type(cost)
        assert 1 - 1e-9 <= spent.numbers["epsilon"] / Fraction(epsilon) <= 1
        assert spent.numbers.get("delta") == cost.numbers.get("delta")


def test_costs_of_samples_are_of_known_kinds():
    with pytest.raises(ValueError, match="`cost` must be a guarantee of kind approx"):
        subsampled(zcdp_budget("add-remove", rho=1), "1/2", "poisson")
    large = ApproximateDP(Fraction(1), Fraction(1, 2), "add-remove")
    with pytest.raises(ValueError, match="`delta` must be"):
        for_sample(large, "1/3", "poisson")


# ---- Releases.

TABLE = {"x": [0, 1] * 500, "y": [0, 1, 2, 2] * 250}
CASES = {
    "counts": {"epsilon": "1/2", "adjacency": "add-remove"},
    "public n": {"epsilon": "1/2", "adjacency": "replace-one"},
    "contrasts": {"epsilon": 1, "adjacency": "add-remove", "mechanism": "k-norm"},
    "samples": {
        "epsilon": 1, "adjacency": "replace-one", "mechanism": "posterior-sample",
    },
    "persons": {"epsilon": 3, "adjacency": "add-remove", "contributions": 3},
    "rho": {
        "budget": zcdp_budget("add-remove", rho="1/8"), "mechanism": "laplace",
    },
    "delta": {
        "budget": ApproximateDP(Fraction(2), Fraction(1, 10**6), "replace-one"),
        "mechanism": "gaussian",
    },
}  # fmt: skip


@pytest.mark.parametrize("what", CASES)
def test_a_release_of_a_sample_is_charged_saved_and_verified(what, tmp_path):
    given = CASES[what]
    budget = given.get("budget")
    near = given.get("adjacency") or budget.adjacency
    k = given.get("contributions", 1)
    most = budget or PureDP(Fraction(given["epsilon"]), near, contributions=k)
    ledger = Ledger(budget=most)
    made = dp.release(NET, TABLE, sample_rate="1/10", ledger=ledger, **given)
    cost = made.guarantee()
    assert ledger.cost == type(ledger.cost).of(cost)
    assert cost.fits(most)
    spent = made.mechanism.guarantee()
    assert made.n == (100 if near == "replace-one" else None)
    if what == "delta":
        least = spent.approximate(10 * Fraction(1, 10**6)).epsilon
        assert isinstance(spent, ZCDP)
    else:
        least = spent.epsilon
    row = cost.per_record().numbers["epsilon"]
    assert 1 + (np.exp(float(least)) - 1) / 10 == pytest.approx(np.exp(float(row)))
    made.save(tmp_path / "r.json")
    again = dp.load(tmp_path / "r.json")
    assert again.to_text() == made.to_text()
    assert again.sampled == made.sampled
    assert (again.guarantee(), again.n) == (cost, made.n)
    stated = json.loads(made.to_text())
    assert stated["version"] == 3
    assert ("records" in stated["content"]["sampled"]) == (near == "replace-one")


def test_a_mechanism_that_costs_less_than_it_may_is_charged_what_it_costs():
    """At a high temperature a sample is cheap, and of half of the records more so."""
    recipe = dp.recipes.PosteriorSample(omega="0.2", temperature=4)
    given = {"epsilon": 5, "adjacency": "replace-one", "mechanism": recipe}
    ledger = Ledger(budget=PureDP(Fraction(5), "replace-one"))
    made = dp.release(
        BIT, rows_of(0, 1, 1, 0), sample_rate="1/2", ledger=ledger, **given
    )
    cost = made.guarantee().epsilon
    assert ledger.cost.epsilon == cost
    row = float(made.mechanism.guarantee().epsilon)
    assert float(cost) == pytest.approx(np.log1p(np.expm1(row) / 2))
    assert type(made).from_text(made.to_text()).guarantee().epsilon == cost


@pytest.mark.slow
def test_the_counts_are_those_of_the_sample():
    made = dp.release(NET, TABLE, epsilon=20, adjacency="add-remove", sample_rate="1/4")
    total = float(np.sum(made.tables()["x"]))
    assert total == pytest.approx(250, abs=82)  # six standard deviations
    fixed = dp.release(
        NET, TABLE, epsilon=20, adjacency="replace-one", sample_rate="1/4"
    )
    assert float(np.sum(fixed.tables()["x"])) == pytest.approx(250, abs=4)
    assert dp.posterior(fixed).mean()["x"][0] == pytest.approx(0.5, abs=0.2)


@pytest.mark.parametrize("adjacency", BOTH)
def test_every_release_has_a_sample_of_its_own(adjacency):
    plan = Sampled(Fraction(1, 4), PureDP(Fraction(1), adjacency))
    rows = np.arange(1000).reshape(-1, 1)
    one, other = (plan.draw([rows])[0] for _ in range(2))
    common = len(np.intersect1d(one, other))
    assert common == pytest.approx(1000 / 16, abs=46)  # six standard deviations
    assert len(np.unique(one)) == len(one)


@pytest.mark.slow
def test_several_releases_of_a_table_have_a_posterior_only_if_all_rows_are_in_them():
    whole, part, other = (
        dp.release(NET, TABLE, epsilon=1, adjacency="add-remove", sample_rate=rate)
        for rate in (None, "1/2", "1/2")
    )
    for several in ([whole, part], [part, other]):
        with pytest.raises(ValueError, match="`released` must have one release of a t"):
            dp.posterior(several, disjoint=False)
    apart = dp.posterior([part, other], disjoint=True)
    assert apart.guarantee() == PureDP(Fraction(1), "add-remove")


def test_tables_in_batches_are_sampled_as_a_whole():
    parts = [{name: np.array(x[i::4]) for name, x in TABLE.items()} for i in range(4)]
    made = dp.release(
        NET, parts, epsilon=1, adjacency="replace-one", sample_rate="1/10"
    )
    assert (made.sampled.records, made.n) == (1000, 100)


WRONG = {
    "zero": ({"sample_rate": 0}, "`sample_rate` must be a finite number > 0"),
    "one": ({"sample_rate": 1}, "`sample_rate` must be below 1"),
    "text": ({"sample_rate": "half"}, "`sample_rate` must be a finite number > 0"),
    "no record": ({"sample_rate": "1/2000"}, "`sample_rate` must be at least 1 / n"),
    "a rho": (
        {"budget": zcdp_budget("replace-one", rho=1), "mechanism": "gaussian"},
        "`sample_rate` must come with a budget of an (ε, δ) for gaussian",
    ),
    "an id": (
        {"id": "z", "adjacency": "add-remove", "contributions": 2},
        "`sample_rate` must come with a table of records alone",
    ),
    "multiplicities": (
        {"multiplicity": "z"}, "`sample_rate` must come with a table of records alone",
    ),
    "a grouped table": (
        {"table": dp.data.Grouped([TABLE], "n")},
        "`sample_rate` must come with a table of records alone",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_a_sample_that_cannot_be_is_refused_and_costs_nothing(what):
    changed, message = WRONG[what]
    near = changed.get("adjacency", "replace-one")
    k = changed.get("contributions", 1)
    limit = changed.get("budget") or PureDP(Fraction(9), near, contributions=k)
    ledger = Ledger(budget=limit)
    given = {
        "what": NET, "table": TABLE, "sample_rate": "1/10", "ledger": ledger,
        **({} if "budget" in changed else {"epsilon": 1, "adjacency": near}),
    } | changed  # fmt: skip
    with pytest.raises(ValueError, match=r".") as error:
        dp.release(given.pop("what"), given.pop("table"), **given)
    assert message in str(error.value)
    assert not any(ledger.cost.numbers.values())


EXCLUDED = dp.BayesNet.from_parents(
    dp.Schema({"x": [0, 1], "y": [0, 1, 2]}, impossible=[{"x": [0], "y": [0]}]),
    {"x": [], "y": ["x"]},
)


def test_an_impossible_row_is_refused_in_and_outside_of_the_sample():
    table = {"x": np.ones(1000, int), "y": np.ones(1000, int)}
    table["x"][7] = table["y"][7] = 0
    with pytest.raises(ValueError, match="impossible"):
        dp.release(
            EXCLUDED, table, epsilon=1, adjacency="replace-one", sample_rate="1/500"
        )


# ---- Files.


def documents():
    pure = dp.release(
        NET, TABLE, epsilon="1/2", adjacency="replace-one", sample_rate="1/10"
    )
    both = dp.release(
        NET, TABLE, budget=ApproximateDP(Fraction(1), Fraction(1, 10**6), "add-remove"),
        mechanism="gaussian", sample_rate="1/5",
    )  # fmt: skip
    persons = dp.release(
        NET, TABLE, epsilon="3/2", adjacency="add-remove", contributions=3,
        sample_rate="1/10",
    )  # fmt: skip
    return {"pure": pure, "delta": both, "persons": persons}


@pytest.fixture(scope="module")
def files():
    return {name: json.loads(x.to_text()) for name, x in documents().items()}


def sampled(content):
    return content["sampled"]


ALTERED = {
    "a smaller cost": ("pure", lambda x: x["guarantee"].update(epsilon="49/100")),
    "a person of more rows": (
        "persons", lambda x: x["guarantee"].update(contributions=4),
    ),
    "a larger rate": ("pure", lambda x: sampled(x).update(rate="1/9")),
    "no sample": ("pure", lambda x: x.pop("sampled")),
    "no rate": ("pure", lambda x: sampled(x).pop("rate")),
    "all records": ("pure", lambda x: sampled(x).update(rate="1")),
    "more records": ("pure", lambda x: sampled(x).update(records=1010)),
    "a fraction of a record": ("pure", lambda x: sampled(x).update(records=1000.5)),
    "no records": ("pure", lambda x: sampled(x).pop("records")),
    "records that are private": ("delta", lambda x: sampled(x).update(records=9)),
    "an entry more": ("pure", lambda x: sampled(x).update(note="n")),
    "less noise": ("pure", lambda x: sampled(x)["guarantee"].update(epsilon="2")),
    "another unit": ("pure", lambda x: sampled(x)["guarantee"].update(contributions=2)),
    "the other adjacency": (
        "pure", lambda x: sampled(x)["guarantee"].update(adjacency="add-remove"),
    ),
    "a smaller δ": ("delta", lambda x: x["guarantee"].update(delta="1/2000000")),
    "no δ": (
        "delta",
        lambda x: x.update(
            guarantee={"kind": "pure-dp", "epsilon": "1", "adjacency": "add-remove"}
        ),
    ),
    "a smaller ε": ("delta", lambda x: x["guarantee"].update(epsilon="99/100")),
    "a larger rate with a δ": ("delta", lambda x: sampled(x).update(rate="1/4")),
}  # fmt: skip


@pytest.mark.parametrize("what", ALTERED)
def test_an_altered_file_is_refused_although_it_is_rehashed(what, files):
    name, alter = ALTERED[what]
    checker.check(json.dumps(files[name]))
    altered = json.loads(json.dumps(files[name]))
    alter(altered["content"])
    text = json.dumps(rehashed(altered))
    with pytest.raises(InconsistentRelease):
        dp.Released.from_text(text)
    with pytest.raises(checker.Refused):
        checker.check(text)


def test_the_checker_states_the_sample(files):
    facts = dict(checker.check(json.dumps(files["pure"])))
    assert facts["guarantee"].startswith("ε = 1/2, replace-one")
    assert facts["sample"].startswith("stated rate 1/10, for which a row costs ε = ")


@pytest.mark.slow
def test_a_network_that_is_learned_has_no_sample():
    found = dp.learn(
        dp.Schema({"x": [0, 1], "y": [0, 1, 2]}), TABLE, epsilon=1,
        adjacency="add-remove", degree=1,
    )  # fmt: skip
    with pytest.raises(ValueError, match="`sampled` must be of a network that is not"):
        replace(found, sampled=Sampled(Fraction(1, 2), found.guarantee()))


# ---- The command line.


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = ["x,y", *(f"{x},{y}" for x, y in zip(*TABLE.values(), strict=True))]
    (tmp_path / "data.csv").write_text("\n".join(lines))
    levels = {"x": {"levels": [0, 1]}, "y": {"levels": [0, 1, 2]}}
    (tmp_path / "schema.json").write_text(json.dumps({"variables": levels}))
    return tmp_path


def release(*more):
    line = ["release", "data.csv", "--schema", "schema.json", "--network"]
    line += ["naive-bayes:x", "--adjacency", "replace-one", "--out", "r.json"]
    return main([*line, *more])


@pytest.mark.slow
@pytest.mark.parametrize(
    "loss",
    [
        ("--epsilon", "1/2"),
        ("--epsilon", "1/2", "--delta", "1e-6", "--mechanism", "gaussian"),
        ("--rho", "1/8", "--mechanism", "auto"),
    ],
)
def test_a_sample_is_released_and_verified(loss, folder, capsys):
    spent = ("--ledger", "l.jsonl", "--budget", "1/2")
    assert release(*loss, "--sample-rate", "1/10", *spent) == 0
    capsys.readouterr()
    assert main(["verify", "r.json", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["epsilon"], facts["sample_rate"]) == ("1/2", "1/10")
    assert facts["records"] == 100
    assert main(["report", "r.json", "--out", "r.html"]) == 0
    page = " ".join((folder / "r.html").read_text().split())
    assert "secret random sample of the rows, with a share of 1/10" in page
    assert ("in the other case, plus δ" in page) == ("--delta" in loss)


def test_a_wrong_rate_is_one_clear_line(folder, capsys):
    for rate, message in (
        ("2", "`sample_rate` must be below 1"),
        ("x", "`sample_rate`"),
    ):
        assert release("--epsilon", "1", "--sample-rate", rate) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert message in error
    gaussian = ("--rho", "1", "--mechanism", "gaussian")
    assert release(*gaussian, "--sample-rate", "1/10") == 2
    assert "--epsilon E with --delta D" in capsys.readouterr().err
    assert not (folder / "r.json").exists()
