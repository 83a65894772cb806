"""What posterior samples cost in zero-concentrated privacy, by enumeration."""

import functools
import itertools
import json
import math
from fractions import Fraction

import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

import dpjax as dp
from dpjax.cli.main import main
from dpjax.event_logs import event_network
from dpjax.families import Bernoulli, Poisson
from dpjax.mechanisms import (
    CellMass,
    FamilyPosteriorSampler,
    HiddenMarkovSampler,
    NetworkPosteriorSampler,
)
from dpjax.mechanisms.recipes import HiddenMarkovSample, Map, MapCells, PosteriorSample
from dpjax.mechanisms.sampling_loss import sample_cost
from dpjax.mechanisms.tilted_variance import largest_share
from dpjax.privacy import ZCDP, ApproximateDP, Ledger, PureDP, zcdp_budget
from dpjax.releases import release
from dpjax.releases.entries import InconsistentRelease
from dpjax.statistics import NetworkCounts, Sufficient
from tests.helpers.cases import mostly_thorough
from tests.helpers.neighbours import (
    all_records,
    data_sets,
    neighbouring_pairs,
    records_array,
)
from tests.helpers.networks import TINY
from tests.helpers.release_files import rehashed

ADJACENCIES = ["replace-one", "add-remove"]
COIN = dp.BayesNet.from_parents({"x": [0, 1]}, {"x": []})
NETS = {**TINY, "binary coin": COIN}
ORDERS = 1 + np.geomspace(1e-4, 1e4, 200)
HALF = Fraction(1, 2)


def rho(number, adjacency, **options):
    return ZCDP(Fraction(number), adjacency, **options)


def curve(one, other):
    """Rényi divergences of two laws given by logarithms, over their orders."""
    powers = one + (ORDERS[:, None] - 1) * (one - other)
    return np.logaddexp.reduce(powers, axis=1) / (ORDERS - 1) / ORDERS


def normalised(logs):
    return logs - np.logaddexp.reduce(logs)


# ---- Networks.


def divergence_of(net, mechanism, n):
    """The largest divergence over its order, of all data sets of n records."""
    statistic = NetworkCounts(net, "all")
    records = all_records(net)
    sets = data_sets(records, {n, n + (mechanism.adjacency == "add-remove")})

    @functools.cache
    def laws(data):
        counts = statistic.measure(records_array(data, net))
        rows = mechanism.law(jnp.asarray(counts))
        return [
            normalised(np.array([mpmath.log(int(w)) for w in row], float))
            for row in rows
        ]

    @functools.cache
    def of(one, other):
        rows = zip(laws(one), laws(other), strict=True)
        return max(sum(curve(p, q) for p, q in rows))

    pairs = neighbouring_pairs(sets, records, mechanism.adjacency)
    return max(max(of(a, b), of(b, a)) for a, b in pairs)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("name", mostly_thorough(NETS))
@pytest.mark.parametrize("prior", ["1", "1/2"])
def test_no_divergence_exceeds_rho(name, adjacency, prior):
    net = NETS[name]
    for n in (1, 2):
        mechanism = NetworkPosteriorSampler.of(
            net.layout, rho("1/3", adjacency), n=n, omega="1/8", units=8, prior=prior
        )
        worst = divergence_of(net, mechanism, n)
        assert worst <= mechanism.guarantee().rho
        assert worst >= mechanism.guarantee().rho / 20


@pytest.mark.parametrize("n", [1, 5, 40])
@pytest.mark.parametrize("prior", ["1/2", "1", "7"])
@pytest.mark.parametrize("heat", ["1/3", 1, 8])
def test_of_one_binary_variable_rho_is_nearly_exact(n, prior, heat):
    """At a public n: of all neighbours, the worst have 3/4 of it or more."""
    mechanism = NetworkPosteriorSampler.of(
        COIN.layout, rho(1000, "replace-one"), n=n, omega="1/10", units=40,
        prior=prior, temperature=heat,
    )  # fmt: skip
    cost, limit = (
        mechanism.guarantee(),
        4 * math.log(9) ** 2 / float(Fraction(heat)) ** 2 / 8,
    )

    @functools.cache
    def law(ones):
        logs = np.log(np.arange(4, 37) / 40)
        powers = [
            float(Fraction(prior)) - 1 + k / float(Fraction(heat))
            for k in (ones, n - ones)
        ]
        return normalised(powers[0] * logs + powers[1] * logs[::-1])

    curves = (
        max(curve(law(a), law(b)))
        for k in range(n)
        for a, b in ((k, k + 1), (k + 1, k))
    )
    assert 0.75 * cost.rho <= max(curves) <= cost.rho * (1 + 1e-9)
    assert cost.rho < limit * 0.6


def test_a_row_of_few_records_costs_more_than_one_of_all():
    """Row counts are private: of 20 records, one may be alone in a row."""
    net = dp.BayesNet.from_parents({"x": [0, 1], "y": [0, 1]}, {"x": [], "y": ["x"]})
    made = NetworkPosteriorSampler.of(
        net.layout, rho(99, "replace-one"), n=20, omega="1/10", units=40, temperature=1
    )
    alone = [
        made.law(jnp.array([19, 1, 10, 9, *counts]))[2] for counts in ((0, 1), (1, 0))
    ]
    one, other = (
        normalised(np.array([mpmath.log(int(w)) for w in row], float)) for row in alone
    )
    root, row = (
        sample_cost(made.grids[i:][:1], Fraction(1), made.cost, n=20).rho
        for i in (0, 1)
    )
    assert 3 * root < max(curve(one, other)) <= row
    assert made.guarantee().rho >= root + row


def test_variables_add_up_and_records_of_many_rows_do():
    """ρ is Σ r² / 8, and not (Σ r)² / 8; of k rows, 1 / k² of it for each."""
    levels = {name: [0, 1] for name in "abcdefgh"}
    net = dp.BayesNet.from_parents(levels, {x: [] for x in levels})
    for adjacency, times in (("replace-one", 2), ("add-remove", 1)):
        made = NetworkPosteriorSampler.of(
            net.layout, rho(9, adjacency), omega="1/10", temperature=2
        )
        each = times * math.log(9) / 2
        assert float(made.loss) == pytest.approx(8 * each**2 / 8, rel=1e-9)
        three = NetworkPosteriorSampler.of(
            net.layout, rho(99, adjacency), omega="1/10", temperature=2, samples=3
        )
        assert float(three.loss) == pytest.approx(3 * float(made.loss), rel=1e-9)
    budget = rho(1, "add-remove", contributions=3)
    recipe, each = PosteriorSample(omega="1/10").paid_by(budget)
    assert each == rho("1/9", "add-remove")
    made = recipe.mechanism(NetworkCounts(net, "all"), each, None)
    assert made.guarantee().of_group(3) == budget
    with pytest.raises(ValueError, match="`budget` must be for one row"):
        NetworkPosteriorSampler.of(net.layout, budget)
    with pytest.raises(ValueError, match="`budget` must be for one row"):
        CellMass.of(COIN.layout, budget, omega="1/10")


def test_a_colder_sample_than_by_epsilon():
    """Of 37 binary variables in a chain, T falls by a factor of more than ten."""
    names = [f"x{i}" for i in range(37)]
    parents = {x: names[i - 1 : i] if i else [] for i, x in enumerate(names)}
    net = dp.BayesNet.from_parents({x: [0, 1] for x in names}, parents)
    budget = rho("1/10", "replace-one")
    pure = PureDP(budget.pure_epsilon, "replace-one")
    recipe, statistic = PosteriorSample(omega="1/10"), NetworkCounts(net, "all")
    new, old = (recipe.mechanism(statistic, x, 1000) for x in (budget, pure))
    assert new.temperature < old.temperature / 10
    assert new.guarantee() == budget


# ---- Families of one parameter.

SAMPLED = {
    "bernoulli": (Bernoulli(), (1, 0), {"probability": (0.1, 0.9)}),
    "bernoulli, rare": (Bernoulli(), (1, 0), {"probability": (0.02, 0.4)}),
    "poisson": (Poisson(3), (3, 0), {"rate": (0.4, 3.0)}),
}


def family_sampler(name, adjacency, number=1000, **options):
    family, scale, limits = SAMPLED[name]
    return FamilyPosteriorSampler.of(
        family, *scale, rho(number, adjacency), truncation=limits, points=25, **options
    )


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("name", SAMPLED)
@pytest.mark.parametrize("heat", ["1/2", 1, 6])
@pytest.mark.parametrize("prior", [None, ((0.2,), 5.0)])
@pytest.mark.parametrize("tempered", [False, True])
def test_no_divergence_of_a_family_exceeds_rho(name, adjacency, heat, prior, tempered):
    replaced = adjacency == "replace-one"
    for n in (1, 4, 30):
        made = family_sampler(
            name, adjacency, n=n if replaced else None, temperature=heat,
            prior=prior, tempered_prior=tempered,
        )  # fmt: skip
        units = made.grid.units

        @functools.cache
        def law(total, number, made=made, units=units):
            vector = [total] if replaced else [total, number * units - total]
            scores, unit = made.scores(vector)
            return normalised(np.array([float(unit * (x - scores[0])) for x in scores]))

        sums = [law(total, n) for total in range(n * units + 1)]
        near = itertools.permutations(range(len(sums)), 2)
        pairs = [(sums[a], sums[b]) for a, b in near if abs(a - b) <= units]
        if not replaced:
            more = [
                (one, law(total + x, n + 1))
                for total, one in enumerate(sums)
                for x in range(units + 1)
            ]
            pairs = more + [(b, a) for a, b in more]
        worst = max(max(curve(a, b)) for a, b in pairs)
        assert worst <= made.guarantee().rho * (1 + Fraction(1, 10**9))
        if replaced and n > 1:
            assert worst >= 0.75 * made.guarantee().rho


@pytest.mark.slow
def test_a_sample_of_a_thousand_records_needs_no_temperature():
    """At ρ = 1/10 the posterior itself, at a small part of ρ; or T ≈ 12 for √(2ρ)."""
    budget = rho("1/10", "replace-one")
    statistic = Sufficient.of("bernoulli", (dp.Variable("x", (0, 1)),), "replace-one")
    made = PosteriorSample().mechanism(statistic, budget, 1000)
    assert made.temperature == 1
    assert made.guarantee().rho < budget.rho / 10
    pure = PureDP(budget.pure_epsilon, "replace-one")
    assert PosteriorSample().mechanism(statistic, pure, 1000).temperature > 10
    hot = Map().mechanism(statistic, budget, 1000)
    assert hot.temperature < 1
    assert hot.guarantee() == budget


# ---- The largest variance of tilted laws.


def brute_share(numbers, scores, denominator, reach):
    x = np.array(numbers, float)
    x = (2 * x - x.max() - x.min()) / (x.max() - x.min())
    t = np.linspace(-reach, reach, 40_001)[:, None]
    logs = t * x + np.array(scores) / denominator
    law = np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))
    mean = law @ x
    return max((law * (x - mean[:, None]) ** 2).sum(axis=1))


@pytest.mark.parametrize(
    ("numbers", "scores", "reach"),
    [
        ([0, 1], [0, 0], 9),
        ([0, 1], [5, -40], 60),
        ([0, 1, 2], [0, 40, 0], 60),  # two steps, each a quarter of the range
        ([0, 1, 2, 3, 100], [0, 0, 0, 0, -70], 99),
        ([-7, 3, 4, 9], [1, 2, -9, 4], 30),
        (range(50), [-(x**2) // 9 for x in range(50)], 300),
        (range(30), [0] * 30, 40),
    ],
)
def test_the_largest_share_is_a_bound_and_tight(numbers, scores, reach):
    numbers = list(numbers)
    found = float(largest_share(numbers, scores, 2))
    brute = brute_share(numbers, scores, 2, reach)
    assert brute <= found <= brute * 1.01
    shifted = largest_share([3 * x - 7 for x in numbers], [x + 99 for x in scores], 2)
    assert float(shifted) == pytest.approx(found, rel=0.01)


@pytest.mark.slow
def test_weights_that_are_too_steep_cost_the_whole_range():
    assert largest_share([0, 1, 2], [0, 1 << 60, 0], 1) == 1
    points = range(3000)  # between any two of them is a narrow peak
    assert largest_share(points, [-40 * x**2 for x in points], 1) == 1


def test_a_share_lowers_rho_alone():
    cost, pure = rho(1, "add-remove"), PureDP(Fraction(1), "add-remove")
    two, asked = Fraction(2), []

    def number(name, value):
        return lambda: asked.append(name) or Fraction(value)

    known = number("largest", "3/2"), number("share", "1/3")
    assert cost.of_choice(two, *known).rho == Fraction(1, 6)
    assert pure.of_choice(two, *known).epsilon == Fraction(3, 2)
    assert asked == ["share", "largest"]
    assert cost.of_choice(two, known[0]).rho == HALF
    assert pure.of_choice(two, None, known[1]).epsilon == 2


# ---- Cells and hidden Markov models.


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("number", ["1/10", "2"])
def test_no_divergence_of_cells_exceeds_rho(adjacency, number):
    budget = rho(number, adjacency)
    made = CellMass.of(COIN.layout, budget, omega="1/4", units=4, temperature=3)
    law = functools.cache(lambda k, n: np.log(made.law(jnp.array([k, n - k]))))
    pairs = [(law(k, 8), law(k + 1, 8)) for k in range(8)]
    if adjacency == "add-remove":
        pairs = [(law(k, 8), law(k + x, 9)) for k in range(9) for x in (0, 1)]
    worst = max(max(curve(*x)) for a, b in pairs for x in ((a, b), (b, a)))
    assert budget.rho / 6 <= worst <= budget.rho * (1 + 1e-9)
    pure = CellMass.calibrate(
        COIN.layout, budget.pure_epsilon, adjacency, omega="1/4", units=4, temperature=3
    )
    assert pure.rate * Fraction(11, 10) < made.rate <= 2 * pure.rate


def test_samples_of_a_hidden_markov_model_spend_half_of_the_square():
    variables = [dp.Variable(x, (0, 1)) for x in ("place", "month", "kind")]
    statistic = NetworkCounts(event_network(variables, "place", "month"))
    recipe, budget = (
        HiddenMarkovSample(points=16, samples=2),
        rho("1/50", "replace-one"),
    )
    made = recipe.mechanism(statistic, budget, 100)
    assert made.guarantee() == budget
    widest = float(made.candidates.widest("replace-one") / made.temperature)
    assert 2 * widest**2 / 8 == pytest.approx(1 / 50, rel=1e-3)
    again = HiddenMarkovSampler.from_description(
        made.describe(), statistic, made.guarantee(), 100
    )
    assert again == made


# ---- Files, recipes and the command line.

CHAIN = dp.BayesNet.from_parents({"a": [0, 1], "b": [0, 1, 2]}, {"a": [], "b": ["a"]})
TABLE = {"a": [0, 1, 1, 0, 1] * 8, "b": [0, 1, 2, 2, 1] * 8}
RECIPES = {
    "posterior": PosteriorSample(samples=2),
    "map": Map(),
    "heat": PosteriorSample(temperature="12.34567890123", omega="1/15"),
    "cells": MapCells(omega="1/4", units=4),
}


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("name", RECIPES)
def test_a_file_is_verified_and_an_altered_one_refused(name, adjacency):
    rows = 2 if adjacency == "replace-one" else 1
    budget = zcdp_budget(adjacency, rho="0.7", contributions=rows)
    ledger = Ledger(budget=budget)
    made = release(CHAIN, TABLE, budget=budget, mechanism=RECIPES[name], ledger=ledger)
    text = made.to_text()
    assert dp.releases.Released.from_text(text).to_text() == text
    assert made.guarantee().kind == "zcdp"
    assert made.guarantee().rho == ledger.spent <= budget.rho
    posterior = dp.posterior(made)
    assert [*posterior.mean()] == ["a", "b"]
    document = json.loads(text)
    cost, law = (document["content"][x] for x in ("guarantee", "mechanism"))
    changes = {"less": (cost, "rho", "1/1000"), "cold": (law, "temperature", "1/9")}
    if name == "posterior":
        changes["many"] = (law, "samples", 3)
    for entries, key, value in changes.values():
        kept = entries[key]
        entries[key] = value
        with pytest.raises(InconsistentRelease):
            dp.releases.Released.from_text(json.dumps(rehashed(document)))
        entries[key] = kept
    for version in (1, 2):
        old = json.dumps(rehashed({**document, "version": version}))
        with pytest.raises(InconsistentRelease):
            dp.releases.Released.from_text(old)


def test_a_cost_of_many_digits_is_rounded_up_to_fit_a_file():
    made = NetworkPosteriorSampler.of(
        CHAIN.layout, rho(1, "add-remove"), temperature="12.34567890123", omega="1/15"
    )
    cost = made.guarantee().rho
    assert len(str(made.loss)) > 60 >= len(str(cost))
    assert made.loss < cost < made.loss * (1 + Fraction(1, 10**11))


def test_a_budget_of_epsilon_and_delta_pays_for_samples_by_epsilon():
    both = ApproximateDP(Fraction(1), Fraction(1, 10**6), "add-remove")
    pure = PureDP(Fraction(1), "add-remove")
    for recipe in (PosteriorSample(), Map(), MapCells(), HiddenMarkovSample()):
        assert recipe.paid_by(both) == (recipe, pure)
        assert recipe.paid_by(rho(1, "add-remove")) == (recipe, rho(1, "add-remove"))
    with pytest.raises(ValueError, match="`budget` must be of kind pure-dp or zcdp"):
        PosteriorSample().mechanism(NetworkCounts(CHAIN, "all"), both, None)


@pytest.mark.slow
def test_the_command_line_spends_rho_on_samples(tmp_path, capsys):
    rows = "\n".join(f"{a},{b}" for a, b in zip(*TABLE.values(), strict=True))
    (tmp_path / "data.csv").write_text(f"a,b\n{rows}\n")
    (tmp_path / "schema.json").write_text(json.dumps(CHAIN.schema.to_json()))
    common = [
        *("release", str(tmp_path / "data.csv"), "--network", "naive-bayes:a"),
        *("--schema", str(tmp_path / "schema.json"), "--adjacency", "replace-one"),
        *("--mechanism", "posterior-sample"),
    ]
    for given, wanted in (
        (("--rho", "0.1"), rho("1/10", "replace-one")),
        (
            ("--epsilon", "1", "--delta", "1e-6"),
            zcdp_budget("replace-one", epsilon=1, delta="1e-6"),
        ),
    ):
        out = tmp_path / f"{given[0]}.json"
        assert main([*common, *given, "--out", str(out)]) == 0
        assert main(["verify", str(out)]) == 0
        assert dp.load(out).guarantee() == wanted
    assert "rho" in capsys.readouterr().out


# ---- What attacks found.


def test_a_public_number_of_records_is_no_fact_where_it_is_private():
    """Under add-remove one record may be all there is, whatever n is stated."""
    over = (dp.Interval("x", 0, 3),)
    statistic = Sufficient.of("poisson", over, "add-remove")
    of_family = statistic.family, statistic.steps, statistic.lowest
    made = FamilyPosteriorSampler.of(
        *of_family,
        rho(100, "add-remove"),
        truncation={"rate": (0.4, 3.0)},
        points=25,
        temperature=1,
    )
    parts = made.grid, made.temperature, None, 1
    with pytest.raises(ValueError, match="`temperature` must be at least"):
        FamilyPosteriorSampler(*parts, 1000, rho("1/250", "add-remove"))
    FamilyPosteriorSampler(*parts, 1000, made.guarantee())


def test_the_tempered_prior_is_not_taken_for_another_one():
    """The variance at a public n is that of a prior that is not tempered."""
    options = {"prior": 100, "omega": "1/10", "temperature": 20, "n": 10}
    budget = rho(100, "replace-one")
    made = NetworkPosteriorSampler.of(
        COIN.layout, budget, tempered_prior=True, **options
    )
    plain = NetworkPosteriorSampler.of(COIN.layout, budget, **options)
    assert plain.loss < made.loss
    parts = made.layout, made.grids, made.temperature, made.prior, 1
    with pytest.raises(ValueError, match="`temperature` must be at least"):
        NetworkPosteriorSampler(*parts, True, 10, plain.guarantee())


def test_samples_that_only_many_records_pay_for_are_released():
    budget, few = rho("1/10", "replace-one"), {"a": [0, 1]}
    net = dp.BayesNet.from_parents({"a": [0, 1]}, {"a": []})
    recipe = PosteriorSample(omega="1/100", temperature=1)
    made = release(net, {"a": [0, 1] * 500}, budget=budget, mechanism=recipe)
    assert made.guarantee().rho < Fraction(3, 100)
    with pytest.raises(ValueError, match="`temperature` must be at least"):
        release(net, few, budget=budget, mechanism=recipe)
    lower = PosteriorSample(omega="1/100", temperature="1/100")
    with pytest.raises(ValueError, match="`temperature` must be at least"):
        release(
            net, "no such file.csv", epsilon=1, adjacency="add-remove", mechanism=lower
        )
