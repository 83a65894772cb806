"""Persons with up to k rows: what they lose, by enumeration, and what is charged.

Noise and samples are those of one row at ε / k. Every pair of data sets that differ by
the rows of one person is listed, and the exact laws of the outputs are compared.
"""

import functools
import importlib
import itertools
import json
import math
import re
from dataclasses import replace
from fractions import Fraction

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import dpjax as dp
from dpjax.audits import audit_exactly
from dpjax.chains import charged_chain, choice, price_of
from dpjax.event_logs import event_network
from dpjax.event_logs.charged import charged_hidden_markov
from dpjax.families import Categorical, Exponential, Gaussian, Poisson
from dpjax.mechanisms import recipes
from dpjax.mechanisms.recipes import RECIPES
from dpjax.noise import tables
from dpjax.noise.exact_choice import exponentials
from dpjax.privacy import (
    ZCDP,
    ApproximateDP,
    PureDP,
    advanced,
    basic,
    budget_of,
    converged_within,
    guarantee_of,
    hockey_stick,
    parallel,
    subsampled,
)
from dpjax.releases import publish
from dpjax.releases.entries import InconsistentRelease
from dpjax.statistics import FourierCoefficients, NetworkCounts
from tests.helpers.families import FAMILIES
from tests.helpers.neighbours import (
    all_records,
    assert_spends_exactly,
    data_sets,
    group_pairs,
    records_array,
    worst_ratio,
)
from tests.helpers.networks import TINY, measure
from tests.helpers.release_files import rehashed

from .test_open_guarantee import OwnZCDP
from .test_sufficient import sufficient

BOTH = ("replace-one", "add-remove")
ROWS = (1, 2, 3)
HALF, TENTH = Fraction(1, 2), Fraction(1, 10)
LOG = event_network(
    [dp.Variable(x, (0, 1)) for x in ("place", "month", "kind")], "place", "month"
)


# --- noise: the loss of a person is ε, and no less ---

STATISTICS = {
    "counts": lambda _: NetworkCounts(TINY["chain"]),
    "counts of all tables": lambda _: NetworkCounts(TINY["two roots"], "all"),
    "fourier": functools.partial(FourierCoefficients.of_network, TINY["chain"]),
    "event log": lambda _: NetworkCounts(LOG),
    "bernoulli": functools.partial(sufficient, FAMILIES["bernoulli"]),
    "poisson": functools.partial(sufficient, Poisson(3)),
    "categorical": functools.partial(sufficient, Categorical(3)),
    "exponential": lambda a: sufficient(Exponential(2.0, 1.0), a, 6),
    "gaussian": lambda a: sufficient(Gaussian(-1.0, 1.0), a, 4),
}


def single_column(data):
    return np.array(data, np.float32).reshape(-1, 1)


@functools.cache
def measured(kind, adjacency):
    """The exact vector of every data set of at most three rows."""
    statistic = STATISTICS[kind](adjacency)
    if statistic.network is not None:
        rows = all_records(statistic.network)
        encode = functools.partial(records_array, net=statistic.network)
    else:
        ((lower, upper),) = statistic.family.bounds
        rows = [(float(x),) for x in np.linspace(lower, upper, 4, dtype=np.float32)]
        encode = single_column
    most = 3
    found = {}
    for data in data_sets(rows, range(most + 1)):
        # One shape for all: the rows of a data set are measured one by one.
        each = [_of_one(statistic, encode([row])) for row in data]
        found[data] = tuple(np.sum([_of_none(statistic), *each], axis=0).tolist())
    return statistic, found


@functools.cache
def _of_none(statistic):
    return np.zeros(statistic.length, int)


def _of_one(statistic, row):
    return _of_one_row(statistic, row.tobytes(), row.dtype.str, row.shape)


@functools.cache
def _of_one_row(statistic, data, dtype, shape):
    return np.asarray(measure(statistic, np.frombuffer(data, dtype).reshape(shape)))


@functools.cache
def changes(kind, adjacency, k):
    """What data sets of neighbours differ by; the noise is the same everywhere."""
    statistic, vectors = measured(kind, adjacency)
    zero = (0,) * statistic.length
    pairs = group_pairs(vectors, adjacency, k)
    first, other = (np.array([vectors[pair[i]] for pair in pairs]) for i in (0, 1))
    distinct = np.unique(other - first, axis=0).tolist()
    return statistic, [(zero, tuple(change)) for change in distinct]


def law_of(table, reach=12):
    @functools.cache
    def law(number):
        return {z: tables.probability(table, z - number) for z in range(-reach, reach)}

    return law


def mechanism_of(recipe, statistic, epsilon, adjacency, k, n=None):
    budget = budget_of(epsilon, adjacency, contributions=k)
    recipe, each = recipe.paid_by(budget)
    return recipe.mechanism(statistic, each, n)


def loss_of(kind, adjacency, k, epsilon="1", noise_of=None):
    """Exact factor between the probabilities of an output for neighbours of k rows."""
    statistic, pairs = changes(kind, adjacency, k)
    rows = noise_of or k
    made = mechanism_of(recipes.Laplace(), statistic, epsilon, adjacency, rows)
    return statistic, worst_ratio([law_of(made.table)] * statistic.length, pairs)


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("kind", STATISTICS)
@pytest.mark.parametrize("k", ROWS)
@pytest.mark.parametrize(
    "epsilon",
    ["1", *(pytest.param(x, marks=pytest.mark.thorough) for x in ("1/10", "3"))],
)
def test_a_person_loses_epsilon_and_no_less(kind, adjacency, k, epsilon):
    statistic, worst = loss_of(kind, adjacency, k, epsilon)
    if statistic.sensitivity(adjacency).tight:
        assert_spends_exactly(epsilon, worst)
    else:
        assert worst <= tables.exp_lower_bound(Fraction(epsilon))


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("kind", ["counts", "fourier", "event log"])
def test_k_forgotten_and_k_twice_are_noticed(kind, adjacency):
    for noise_of, match in ((1, "more than ε"), (4, "noise is wasted")):
        worst = loss_of(kind, adjacency, 2, noise_of=noise_of)[1]
        with pytest.raises(AssertionError, match=match):
            assert_spends_exactly("1", worst)


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("k", ROWS)
def test_a_split_is_of_the_budget_of_a_person(adjacency, k):
    statistic, pairs = changes("counts of all tables", adjacency, k)
    split = {"x": "1/4", "y": "3/4"}
    made = mechanism_of(recipes.Laplace(split), statistic, 1, adjacency, k)
    laws = [law_of(x.table) for x in made.parts.values() for _ in range(2)]
    assert_spends_exactly("1", worst_ratio(laws, pairs))
    assert made.guarantee().of_group(k) == budget_of(1, adjacency, contributions=k)


# --- posterior samples: at most ε ---


def coins(adjacency, most=5):
    """The counts of all data sets of a coin, as multisets of 0 and 1."""
    sizes = [most] if adjacency == "replace-one" else range(most + 1)
    return [(0,) * (n - ones) + (1,) * ones for n in sizes for ones in range(n + 1)]


COIN = dp.BayesNet.from_parents({"x": [0, 1]}, {"x": []})
SAMPLERS = {
    "posterior-sample": recipes.PosteriorSample(omega="1/10", units=40),
    "two samples": recipes.PosteriorSample(omega="1/10", units=20, samples=2),
    "map": recipes.Map(omega="1/10", units=40),
    "map-cells": recipes.MapCells(omega="1/10", units=8),
}


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("k", ROWS)
def test_a_sample_loses_at_most_epsilon_for_a_person(name, adjacency, k):
    statistic = NetworkCounts(COIN, "all")
    n = 5 if adjacency == "replace-one" else None
    made = mechanism_of(SAMPLERS[name], statistic, 1, adjacency, k, n)
    samples = getattr(made, "samples", 1)

    @functools.cache
    def law(data):
        counts = jnp.asarray([data.count(0), data.count(1)])
        found = made.law(counts)
        return [found.tolist()] if name == "map-cells" else found * samples

    claim = made.guarantee().of_group(k)
    assert claim.fits(budget_of(1, adjacency, contributions=k))
    pairs = list(group_pairs(coins(adjacency), adjacency, k))
    found = audit_exactly(law, pairs, claim=claim)
    assert found.consistent
    if name == "posterior-sample":  # k forgotten would be noticed
        assert k * found.loss > found.bound or k == 1


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("k", ROWS)
def test_a_sample_of_a_family_loses_at_most_epsilon_for_a_person(adjacency, k):
    statistic = sufficient(Poisson(3), adjacency)
    n = 5 if adjacency == "replace-one" else None
    recipe = recipes.PosteriorSample(points=40)
    made = mechanism_of(recipe, statistic, 1, adjacency, k, n)

    @functools.cache
    def law(data):
        rows = np.array(data, np.float32)[:, None]
        exact = np.sum(
            [_of_none(statistic), *(_of_one(statistic, row[None]) for row in rows)],
            axis=0,
        )
        return [exponentials(*made.scores(exact.tolist()), 96).lower.tolist()]

    pairs = list(group_pairs(coins(adjacency), adjacency, k))
    assert audit_exactly(law, pairs, claim=made.guarantee().of_group(k)).consistent


# --- chains ---


def _log_likelihood(state, record, _):
    return jnp.where(record == jnp.arange(2, dtype=jnp.int32), 0.0, -1.0)


def _log_prior(state):
    return jnp.zeros(2)


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("k", ROWS)
def test_a_chain_costs_a_person_k_times_as_much(adjacency, k, key):
    step = choice(
        "v", _log_likelihood, (-1, 0), "1/2", adjacency=adjacency, log_prior=_log_prior
    )
    start = {"v": jnp.int32(0)}
    ledger = dp.Ledger(20, adjacency=adjacency, contributions=k)
    records = jnp.zeros(4, jnp.int32)
    made = charged_chain(
        key, records, [step], start, sweeps=3, contributions=k, ledger=ledger
    )
    assert (
        ledger.cost == made.cost == budget_of(k * 3 * HALF, adjacency, contributions=k)
    )
    assert made.approximate(TENTH).contributions == k

    @functools.cache
    def law(data):
        return jax.nn.log_softmax(step.law(jnp.array(data, jnp.int32), start))

    pairs = [
        (a, b) for a, b in group_pairs(coins(adjacency, 4), adjacency, k) if a and b
    ]
    worst = max(float(jnp.abs(law(a) - law(b)).max()) for a, b in pairs)
    bound = float(step.each.of_group(k).bound)
    assert worst <= bound * (1 + 1e-5)
    assert worst >= bound * 0.4  # k forgotten would be noticed


@pytest.mark.parametrize("adjacency", BOTH)
def test_an_update_is_tempered_for_a_person(adjacency):
    width = Fraction(2)
    person = price_of(width, TENTH, adjacency, contributions=3)
    row = price_of(width, TENTH / 3, adjacency)
    assert person.temperature == row.temperature > 3
    assert person.cost == budget_of(TENTH, adjacency, contributions=3)
    cost, temperature = price_of(width, 50, adjacency, contributions=3)
    assert temperature == 1  # less than ε is enough
    assert cost == price_of(width, 50, adjacency).cost.of_group(3)


@pytest.mark.thorough
@pytest.mark.parametrize("adjacency", BOTH)
def test_event_logs_are_tempered_for_a_person(adjacency, key):
    records, options = np.zeros((3, 3), np.int32), {"epsilon": TENTH, "sweeps": 2}
    ledgers = {
        1: dp.Ledger(9, adjacency=adjacency),
        3: dp.Ledger(9, adjacency=adjacency, contributions=3),
    }
    row, person = (
        charged_hidden_markov(
            key_chain, LOG, records, 1, contributions=k, ledger=ledger,
            adjacency=adjacency, **options,
        )
        for key_chain, (k, ledger) in zip(jr.split(key), ledgers.items(), strict=True)
    )  # fmt: skip
    assert person.cost == budget_of("4/10", adjacency, contributions=3)
    assert row.cost.numbers == person.cost.numbers
    assert person.cost == ledgers[3].cost
    assert person.approximate(TENTH).contributions == 3
    assert person.temperature == pytest.approx(3 * row.temperature, rel=1e-6)


# --- guarantees of persons ---


@pytest.mark.parametrize("k", [2, 3, 10**6])
def test_pure_costs_of_a_group_are_exact(k):
    person = PureDP(HALF, "add-remove", contributions=k)
    row = person.per_record()
    assert row == PureDP(HALF / k, "add-remove")
    assert row.of_group(k) == person
    assert row.of_group(1) is row is row.per_record()
    assert row != replace(row, contributions=2)
    assert len({row, person, replace(person, epsilon=row.epsilon)}) == 3
    for again in (1, 2, k):
        with pytest.raises(ValueError, match="must be for one row, got one for a pers"):
            person.of_group(again)


@pytest.mark.parametrize("k", [2, 3, 7])
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**5), Fraction(1, 300)])
@pytest.mark.parametrize("epsilon", [Fraction(0), HALF])
def test_approximate_costs_of_a_group(k, delta, epsilon):
    row = ApproximateDP(epsilon, delta, "replace-one")
    person = row.of_group(k)
    expected = float(delta) * sum(math.exp(i * float(epsilon)) for i in range(k))
    assert person.epsilon == k * epsilon
    assert float(person.delta) == pytest.approx(expected, rel=1e-11)
    assert person.delta >= delta * k
    for whole in (person, replace(person, delta=Fraction(1, 3))):
        assert whole.per_record().of_group(k).fits(whole)
    each = person.per_record()
    assert float(each.delta) == pytest.approx(float(row.delta), rel=1e-10)


@pytest.mark.parametrize(
    "row",
    [
        PureDP(TENTH, "add-remove"),
        ZCDP(TENTH, "add-remove"),
        *(ApproximateDP(x, TENTH / 9, "add-remove") for x in (TENTH, Fraction(1))),
    ],
)
def test_fewer_rows_of_a_person_cost_less_in_proportion(row):
    """So that rows in several parts cost at most what the largest part costs."""
    most = 5
    whole = row.of_group(most).numbers
    for k in range(1, most):
        part = row.of_group(k).numbers
        assert all(part[x] <= Fraction(k, most) * whole[x] for x in whole)


def test_the_delta_of_a_group_is_reached():
    """A walk of k steps, each of which is as far as (ε, δ) allows."""
    epsilon, delta, k = HALF, TENTH / 10, 3
    growth = Fraction(math.exp(0.5))
    chances = [TENTH / 2]
    for _ in range(k):
        chances.append(growth * chances[-1] + delta)
    first, last = ([[x, 1 - x]] for x in (chances[0], chances[-1]))
    claim = ApproximateDP(epsilon, delta, "add-remove").of_group(k)
    reached = hockey_stick(first, last, Fraction(math.exp(1.5)))
    assert float(reached) == pytest.approx(float(claim.delta), rel=1e-9)


def test_a_group_beyond_any_bound_is_refused():
    with pytest.raises(ValueError, match="`delta` must be a Fraction"):
        ApproximateDP(HALF, TENTH, "add-remove").of_group(9)
    with pytest.raises(ValueError, match="`contributions` must be at most 1000 / ε"):
        ApproximateDP(HALF, TENTH, "add-remove").of_group(2001)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "2", True, 2**29 + 1, None])
def test_the_rows_of_a_person_are_an_integer(wrong, as_for_a_user):
    row = PureDP(HALF, "add-remove")
    described = {**row.describe(), "contributions": wrong}
    for attempt in (
        lambda: replace(row, contributions=wrong),
        lambda: row.of_group(wrong),
        lambda: guarantee_of(described),
    ):
        with pytest.raises(ValueError, match="`contributions` must be"):
            attempt()


def test_a_person_is_described_and_a_row_is_not(as_for_a_user):
    row, person = (budget_of(1, "add-remove", contributions=k) for k in (1, 3))
    assert "contributions" not in row.describe()
    assert list(person.describe().items())[-1] == ("contributions", 3)
    assert guarantee_of(json.loads(json.dumps(person.describe()))) == person
    assert (row.unit, person.unit) == ("one row", "a person with up to 3 rows")
    for wrong in (1, 3.0):
        with pytest.raises(ValueError, match="must be"):
            guarantee_of({**row.describe(), "contributions": wrong})


def test_units_do_not_mix():
    row, person = (budget_of(1, "add-remove", contributions=k) for k in (1, 2))
    other = budget_of(1, "add-remove", contributions=3)
    assert basic(person, person) == person.repeated(2)
    assert ApproximateDP.of(person).contributions == 2
    assert person.nothing().contributions == 2
    assert not any(
        a.fits(b) for a, b in itertools.permutations((row, person, other), 2)
    )
    for pair in itertools.permutations((row, person, other), 2):
        with pytest.raises(ValueError, match="all for one unit of protection, got"):
            basic(*pair)
    assert advanced(replace(person, epsilon=TENTH), 900, TENTH).contributions == 2
    assert advanced(person, 2, TENTH).contributions == 2
    assert converged_within(person, "1/100").contributions == 2
    for attempt in (
        lambda: subsampled(person, "1/2", "poisson"),
        lambda: parallel([person], "value", "add-remove"),
    ):
        with pytest.raises(ValueError, match="must be for one row"):
            attempt()


def test_a_kind_without_groups_is_refused_and_keeps_the_unit():
    own = OwnZCDP(HALF, "add-remove")
    assert own.of_group(1) is own is own.per_record()
    assert own.describe() == {"kind": own.kind, "rho": "1/2", "adjacency": "add-remove"}
    person = PureDP(HALF, "add-remove", contributions=2)
    assert OwnZCDP.of(person) == OwnZCDP(HALF**3, "add-remove", contributions=2)
    for attempt in (
        lambda: own.of_group(2),
        replace(own, contributions=2).per_record,
    ):
        with pytest.raises(ValueError, match="must be 1 for a guarantee of kind test-"):
            attempt()


# --- ledgers ---


@pytest.mark.parametrize("where", ["memory", "file"])
def test_a_ledger_is_of_one_unit(where, tmp_path):
    path = tmp_path / "ledger.jsonl" if where == "file" else None
    ledger = dp.Ledger(2, adjacency="add-remove", contributions=3, path=path)
    cost = budget_of(HALF, "add-remove", contributions=3)
    ledger.charge(cost, "first")
    assert (ledger.cost, ledger.contributions) == (cost, 3)
    assert "a person with up to 3 rows" in repr(ledger)
    for k in (1, 2, 4):
        wrong = budget_of(TENTH, "add-remove", contributions=k)
        for attempt in (ledger.charge, ledger.require):
            with pytest.raises(ValueError, match="`contributions` must be that of the"):
                attempt(wrong)
    assert ledger.cost == cost
    with pytest.raises(dp.BudgetExceeded):
        ledger.charge(cost.repeated(4))
    if path is not None:
        again = dp.Ledger(adjacency="add-remove", contributions=3, path=path)
        assert (again.limit, again.cost) == (ledger.limit, cost)
        header = json.loads(path.read_text().splitlines()[0])
        assert header["format"] == "dpjax-ledger-4"
        assert header["budget"]["contributions"] == 3
        for rows in ({}, {"contributions": 1}, {"contributions": 2}):
            for budget in (None, 2):
                with pytest.raises(ValueError, match="`contributions` must be that of"):
                    dp.Ledger(budget, adjacency="add-remove", path=path, **rows)


def test_a_ledger_of_rows_says_nothing_of_persons(tmp_path):
    path = tmp_path / "ledger.jsonl"
    ledger = dp.Ledger(2, adjacency="add-remove", contributions=1, path=path)
    ledger.charge(budget_of(HALF, "add-remove"))
    text = path.read_text()
    assert text.startswith('{"budget":{"adjacency":"add-remove","epsilon":"2","kind"')
    assert "contributions" not in text
    assert dp.Ledger(adjacency="add-remove", path=path).contributions == 1
    with pytest.raises(
        ValueError, match="`contributions` must be that of the ledger, 1"
    ):
        dp.Ledger(adjacency="add-remove", contributions=2, path=path)
    limit = PureDP(HALF, "add-remove", contributions=2)
    assert dp.Ledger(budget=limit).contributions == 2
    for wrong in (1, 3):
        with pytest.raises(ValueError, match="`budget` must be given alone"):
            dp.Ledger(budget=limit, contributions=wrong)


# --- releases and their files ---

CHAIN = TINY["chain"]
RECORDS = np.array([[0, 0], [1, 2], [1, 1], [0, 2]], np.uint8)
MADE = {**SAMPLERS, **{x: RECIPES[x]() for x in ("laplace", "fourier")}}


@pytest.mark.slow
@pytest.mark.usefixtures("recipes_alone")
@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("name", MADE)
def test_a_release_is_made_for_a_person(name, adjacency, tmp_path):
    """The mechanism is that of ε / k; ledger, file, words and verification say so."""
    net, records = (COIN, RECORDS[:, :1]) if name in SAMPLERS else (CHAIN, RECORDS)
    ledger = dp.Ledger(9, adjacency=adjacency, contributions=3)
    made = dp.release(
        net, records, epsilon=1, adjacency=adjacency, contributions=3,
        mechanism=MADE[name], ledger=ledger,
    )  # fmt: skip
    expected = mechanism_of(
        MADE[name], made.statistic, 1, adjacency, 3,
        len(records) if adjacency == "replace-one" else None,
    )  # fmt: skip
    assert made.mechanism.describe() == expected.describe()
    assert made.guarantee() == expected.guarantee().of_group(3) == ledger.cost
    assert made.guarantee().fits(budget_of(1, adjacency, contributions=3))
    assert "unit: a person with up to 3 rows" in repr(made)
    path = tmp_path / "r.json"
    made.save(path)
    assert is_consistent(path)
    assert dp.load(path).contributions == 3
    assert dp.load(path).guarantee() == made.guarantee()
    document = json.loads(path.read_text())
    assert document["version"] == 3
    assert document["content"]["guarantee"]["contributions"] == 3
    for k in (4, 30, 0, True, "3"):
        document["content"]["guarantee"]["contributions"] = k
        path.write_text(json.dumps(rehashed(document)))
        assert not is_consistent(path)


def is_consistent(path):
    try:
        dp.load(path)
    except InconsistentRelease:
        return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("name", ["laplace", "fourier"])
def test_a_file_that_states_fewer_rows_is_inconsistent(name, tmp_path):
    made = dp.release(
        CHAIN, RECORDS, epsilon=1, adjacency="add-remove", contributions=3,
        mechanism=name,
    )  # fmt: skip
    path = tmp_path / "r.json"
    made.save(path)
    document = json.loads(path.read_text())
    for k in (2, None):
        document["content"]["guarantee"]["contributions"] = k
        if k is None:
            del document["content"]["guarantee"]["contributions"]
        path.write_text(json.dumps(rehashed(document)))
        with pytest.raises(InconsistentRelease, match="differs"):
            dp.load(path)


def test_a_release_of_rows_says_nothing_new(tmp_path):
    path = tmp_path / "r.json"
    made = dp.release(CHAIN, RECORDS, epsilon="1/3", adjacency="add-remove")
    made.save(path)
    document = json.loads(path.read_text())
    assert document["version"] == 3
    assert "contributions" not in path.read_text()
    assert "unit: one row" in repr(made)
    document["version"] = 2  # which came with what is not in this release
    path.write_text(json.dumps(rehashed(document)))
    with pytest.raises(InconsistentRelease, match="version"):
        dp.load(path)


class Untouched(dict):
    """A table that nobody may read."""

    def __getitem__(self, name):
        raise AssertionError("a record was read")

    def __iter__(self):
        raise AssertionError("the table was read")


PERSON = {"contributions": 2, "id": "p"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"contributions": 0}, "`contributions` must be an integer of at least 1"),
        ({"contributions": 2.5}, "`contributions` must be an integer"),
        ({"contributions": 2**40}, "`contributions` must be at most 2^29"),
        ({"id": "p"}, "`contributions` must be given with an `id`"),
        (PERSON | {"adjacency": "replace-one"}, "`id` must be left out under"),
        (PERSON | {"id": "x"}, "`id` must name a column that is no variable"),
        (PERSON | {"id": 3}, "`id` must be the name of a column"),
        (PERSON | {"id": ""}, "`id` must be the name of a column"),
        ({"contributions": 3}, "`contributions` must be that of the ledger, 2, got 3"),
        ({}, "`contributions` must be that of the ledger, 2, got 1"),
        (
            {"contributions": 2, "budget": budget_of(1, "add-remove"), "epsilon": None,
             "adjacency": None},
            "`budget` must come without `epsilon`, `adjacency` and `contributions`",
        ),
        (
            {"contributions": 2, "epsilon": "1/1000000000"},
            "must",
        ),
        (
            {"contributions": 2, "mechanism": recipes.Laplace({"x": "1/2"})},
            "`split` must add up to the budget, ε = 1/2, exactly, got ε = 1/4, for one",
        ),
    ],
)  # fmt: skip
def test_mistakes_show_before_any_record(options, message, as_for_a_user):
    adjacency = options.get("adjacency") or "add-remove"
    ledger = dp.Ledger(2, adjacency=adjacency, contributions=2)
    given = {"epsilon": 1, "adjacency": adjacency, "ledger": ledger, **options}
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        dp.release(COIN, Untouched(), **given)
    assert "\n" not in str(error.value)
    assert ledger.spent == 0


def test_a_budget_of_a_person_is_one():
    budget = budget_of(1, "add-remove", contributions=2)
    table = {"x": [0, 0, 1], "y": ["a"] * 3, "p": ["a"] * 3}
    given = {"epsilon": 1, "adjacency": "add-remove", "contributions": 2}
    for options in ({"budget": budget}, given):
        assert dp.release(CHAIN, table, id="p", **options).guarantee() == budget


def test_a_release_reads_k_rows_of_a_person(monkeypatch):
    seen, measured = [], publish.measured

    def measure(statistic, table, *arguments, **options):
        seen.extend(np.asarray(batch).tolist() for batch in table)
        return measured(statistic, table, *arguments, **options)

    monkeypatch.setattr(publish, "measured", measure)
    persons = ["a"] * 50 + ["b", "c", "b"]
    table = {"x": [0] * 50 + [1] * 3, "y": ["a"] * 53, "p": persons, "z": persons}
    dp.release(
        CHAIN, table, epsilon=1, adjacency="add-remove", contributions=3, id="p",
        ignore="z",
    )  # fmt: skip
    assert seen == [[[0, 0]] * 3 + [[1, 0]] * 3]


@pytest.mark.slow
def test_a_plan_is_for_a_person(key, monkeypatch):
    """Every mechanism has the ε of one row, a recipe's own budgets too."""
    module, asked = importlib.import_module("dpjax.study.plan"), []

    learner, every = module.of_recipe, module._candidates

    def of_recipe(recipe, net, budget, n, prior):
        asked.append((recipe, budget))
        return learner(recipe, net, budget, n, prior)

    def candidates(net, n, epsilon, adjacency, prior):
        asked.append(epsilon)
        found = every(net, n, epsilon, adjacency, prior)
        return {name: found[name] for name in ("non-private", "laplace")}

    errors = np.zeros((2, 3))
    monkeypatch.setattr(module, "errors_of_each", lambda *x: [errors] * len(x[2]))
    monkeypatch.setattr(module, "_candidates", candidates)
    monkeypatch.setattr(module, "of_recipe", of_recipe)
    planned = dp.plan(
        COIN, 50, 2, "add-remove", contributions=4, key=key, repeats=2,
        mechanisms=[recipes.Laplace({"x": 2})],
    )  # fmt: skip
    split = recipes.Laplace({"x": HALF})
    assert asked == [HALF, (split, budget_of(HALF, "add-remove"))]
    assert (planned.epsilon, planned.contributions) == ("2", 4)
