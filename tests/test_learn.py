"""A network that is learned: the law and the cost of its edges, and its release."""

import functools
import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import dpjax as dp
from dpjax.posteriors.several import cost_of, tables_of
from dpjax.privacy import ZCDP, ApproximateDP, PureDP, zcdp_budget
from dpjax.releases import InconsistentRelease, candidates, learning, learning_plans
from dpjax.releases.candidates import chosen, distance_sensitivity, scores_of
from dpjax.releases.learned import Learned
from tests.helpers.checker import checker
from tests.helpers.release_files import rehashed

BOTH = ["replace-one", "add-remove"]
SCHEMA = dp.Schema({"x": [0, 1], "y": [0, 1, 2]})
EMPTY = dp.BayesNet.from_parents(SCHEMA, {"x": [], "y": []})
EDGES = [(0, 1), (1, 0)]
POINTS = 4096  # of a grid over the random numbers of a draw


def tables(n):
    """All tables of n records, up to their order."""
    cells = list(itertools.product(range(2), range(3)))
    for rows in itertools.combinations_with_replacement(cells, n):
        yield np.array(rows, np.uint8).reshape(n, 2)


def pairs(adjacency, n=3):
    """All pairs of neighbours of a few records."""
    for rest in tables(n - 1):
        for one in tables(1):
            if adjacency == "add-remove":
                yield rest, np.concatenate([rest, one])
            else:
                for other in tables(1):
                    yield np.concatenate([rest, one]), np.concatenate([rest, other])


EXPECTED = [
    (np.array(rows, np.uint8), 3.0)
    for rows in ([(0, 0)], [(1, 2), (0, 0)], [(0, 1), (1, 1), (1, 2)])
]


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", BOTH)
def test_the_sensitivity_of_scores_is_exact(adjacency):
    most, found = 0, {}
    for i, one_or_other in itertools.product(range(len(EXPECTED)), pairs(adjacency)):
        first, second = (np.sort(rows @ (3, 1)) for rows in one_or_other)
        for rows in (first, second):
            if (i, *rows) not in found:
                records = np.stack(np.divmod(rows, 3), axis=1).astype(np.uint8)
                scores = scores_of(EMPTY, EDGES, records, EXPECTED[i], 0.3)
                found[i, *rows] = np.array([scores[edge] for edge in EDGES])
        most = max(most, *abs(found[i, *first] - found[i, *second]))
    assert most == distance_sensitivity(adjacency)


def test_scores_are_distances_minus_what_is_usual_and_noise():
    records = np.array([(0, 0), (0, 1), (1, 2), (1, 2)], np.uint8)
    expected = np.array([(0, 0), (1, 2)], np.uint8), 4.0
    # Counts 1, 1, 0 | 0, 0, 2 and 2, 0, 0 | 0, 0, 2; a parent adds 4 or 3 cells. Two
    # counts of mean 2 are usually at a distance of √(4 / π) each.
    found = scores_of(EMPTY, EDGES, records, expected, 10.0)
    assert found == {(0, 1): 2 - 2 - 40, (1, 0): 2 - 2 - 30}
    few = expected[0], 0.5  # two counts of mean 1/4 are at most at 1/2 each
    found = scores_of(EMPTY, EDGES, records, few, 0.0)
    assert found == {(0, 1): 4 - 1, (1, 0): 4 - 1}
    child = dp.BayesNet.from_parents(SCHEMA, {"x": ["y"], "y": []})
    assert scores_of(child, [], records, expected, 1.0) == {}


def test_drawn_records_may_have_levels_beyond_the_type_of_the_records():
    schema = dp.Schema({"x": [0, 1], "y": list(range(300))})
    net = dp.BayesNet.from_parents(schema, {"x": [], "y": []})
    records, drawn = np.zeros((4, 2), np.uint8), np.array([(0, 299)], np.int32)
    usual = 2  # the distance of a count of mean 4 from 4, √(8 / π)
    found = scores_of(net, EDGES, records, (drawn, 4.0), 0.0)
    assert found == {edge: 8 - usual for edge in EDGES}
    found = scores_of(net, EDGES, records, (drawn - (0, 299), 4.0), 0.0)
    assert found == {edge: 0 - usual for edge in EDGES}
    wrapped = np.array([(0, 256)], np.int32)  # 0 in eight bits
    found = scores_of(net, EDGES, records, (wrapped, 4.0), 0.0)
    assert found == {edge: 8 - usual for edge in EDGES}


def test_the_table_of_an_edge_has_all_parents():
    levels = {"x": [0, 1], "y": [0, 1], "z": [0, 1]}
    net = dp.BayesNet.from_parents(levels, {"x": ["y"], "y": [], "z": []})
    records = np.array([(0, 0, 0), (1, 1, 0)], np.uint8)
    expected = np.array([(1, 0, 0), (0, 1, 0)], np.uint8), 2.0
    # The pairs of x with z agree, and the triples with y do not.
    assert scores_of(net, [(0, 2)], records, expected, 1.0) == {(0, 2): 4 - 2 - 4}


def test_edges_with_too_large_a_table_are_left_out(monkeypatch):
    monkeypatch.setattr(candidates, "MOST_CELLS", 5)
    assert scores_of(EMPTY, EDGES, np.zeros((2, 2), int), EXPECTED[0], 1.0) == {}


def law(scores, epsilon, adjacency):
    """Probabilities of `chosen`, to 1 / POINTS: random numbers are on a grid."""

    def bits_of(point):
        left, drawn = Fraction(2 * point + 1, 2 * POINTS), 0

        def bits(k):
            nonlocal left, drawn
            scaled = left * 2**k
            left = scaled - int(scaled)
            return int(scaled)

        return bits

    drawn = [chosen(scores, epsilon, adjacency, bits_of(i)) for i in range(POINTS)]
    return np.bincount(drawn, minlength=len(scores)) / POINTS


@pytest.mark.slow
def test_an_edge_is_drawn_with_the_stated_probability():
    for adjacency, unit in (("replace-one", 0.25), ("add-remove", 0.5)):
        scores = [3, 0, -2]
        weights = np.exp(unit * np.array(scores))
        found = law(scores, Fraction(1), adjacency)
        assert found == pytest.approx(weights / weights.sum(), abs=2 / POINTS)


@pytest.mark.parametrize("adjacency", BOTH)
def test_a_draw_loses_at_most_epsilon_and_much_of_it(adjacency):
    """Of scores with opposite changes, the worst that the sensitivity allows."""
    epsilon, step = Fraction(2), distance_sensitivity(adjacency)
    losses, divergences = [], []
    cost = ZCDP(Fraction(1), adjacency).of_choice(epsilon)
    assert cost.rho == Fraction(1, 2)
    for size, base in itertools.product((2, 3), (-2, 0, 1)):
        for signs in itertools.product((-1, 0, 1), repeat=size):
            one = [base * i for i in range(size)]
            other = [x + step * sign for x, sign in zip(one, signs, strict=True)]
            laws = [exact(scores, epsilon / (2 * step)) for scores in (one, other)]
            p, q = ([x] for x in laws)
            losses.append(PureDP(epsilon, adjacency).divergence(p, q))
            divergences.append(cost.divergence(p, q))
    assert 0.7 * float(epsilon) <= max(losses) <= float(epsilon) + 1e-12
    assert 0.7 * float(cost.rho) <= max(divergences) <= float(cost.rho)


def exact(scores, unit):
    """Probabilities proportional to exponentials of scores, as fractions."""
    weights = [Fraction(math.exp(float(unit) * score)) for score in scores]
    return [weight / sum(weights) for weight in weights]


def test_what_a_draw_costs_and_what_a_budget_pays_for():
    pure = PureDP(Fraction(1, 3), "add-remove")
    assert pure.choice_epsilon == Fraction(1, 3)
    assert pure.of_choice(Fraction(1, 5)) == PureDP(Fraction(1, 5), "add-remove")
    for rho in (Fraction(1, 2), Fraction(1, 7), Fraction(1, 10**9)):
        cost = ZCDP(rho, "add-remove", contributions=2)
        epsilon = cost.choice_epsilon
        paid = cost.of_choice(epsilon)
        assert paid == ZCDP(epsilon**2 / 8, "add-remove", contributions=2)
        assert rho * (1 - Fraction(1, 10**8)) <= paid.rho <= rho
    other = ApproximateDP(Fraction(1), Fraction(1, 10), "add-remove")
    with pytest.raises(ValueError, match="`budget` must be of kind pure-dp or zcdp"):
        _ = other.choice_epsilon
    with pytest.raises(ValueError, match="`budget` must be of kind pure-dp or zcdp"):
        other.of_choice(Fraction(1))


# ---- Whole releases.

CHAIN = dp.Schema({name: [0, 1] for name in "abcde"})


def chain(n=4000, seed=0):
    """Records of a chain e - a - d - b - c: each equals the one before in 9 of 10."""
    rng = np.random.default_rng(seed)
    columns = {"e": rng.random(n) < 0.5}
    for before, name in itertools.pairwise("eadbc"):
        columns[name] = columns[before] ^ (rng.random(n) < 0.1)
    return {name: columns[name].astype(int) for name in "abcde"}


def learned(**options):
    given = {"epsilon": 8, "adjacency": "replace-one", "degree": 1} | options
    return dp.learn(CHAIN, chain(), **given)


def read(text):
    """A release; None if its file is refused."""
    try:
        return dp.Released.from_text(text)
    except InconsistentRelease:
        return None


def edges_of(net):
    names = net.names
    every = zip(names, net.parents, strict=True)
    return {frozenset((name, names[i])) for name, group in every for i in group}


TRUE = {frozenset(pair) for pair in ("ea", "ad", "db", "bc")}
RHO = zcdp_budget("add-remove", rho="0.8", contributions=2)
CASES = {
    "pure": ({"epsilon": 8, "adjacency": "replace-one"}, PureDP),
    "private n": ({"epsilon": 8, "adjacency": "add-remove"}, PureDP),
    "persons": (
        {
            "epsilon": 16,
            "adjacency": "add-remove",
            "contributions": 2,
            "mechanism": "laplace",  # whose file states no budget of its own
        },
        PureDP,
    ),
    "concentrated": ({"budget": zcdp_budget("replace-one", rho="0.4")}, ZCDP),
    "concentrated persons": ({"budget": RHO}, ZCDP),
}


@pytest.fixture(autouse=True)
def fewer_drawn_records(monkeypatch):
    """To draw a million records for each expected table takes most of a test's time."""
    monkeypatch.setattr(candidates, "_DRAWN", 1 << 14)


@pytest.fixture
def with_pairs(monkeypatch):
    """Learners give some variables a second parent, whatever the number of records."""

    def most(plans, net, n):
        return max(plans, key=lambda plan: plan.pairs)

    monkeypatch.setattr(learning, "best_plan", most)


@pytest.mark.slow
@pytest.mark.usefixtures("with_pairs")
@pytest.mark.parametrize("degree", [1, 2, None])
@pytest.mark.parametrize("what", CASES)
def test_the_cost_is_the_budget_and_counts_every_draw(what, degree, monkeypatch):
    """The draws that are made, with their ε, and the tables cost the budget exactly."""
    given, kind = CASES[what]
    drawn, made = [], []
    plain, publish = learning.chosen, learning.release

    def counted(scores, epsilon, adjacency):
        drawn.append(epsilon)
        return plain(scores, epsilon, adjacency)

    def kept(*arguments, **options):
        made.append(publish(*arguments, **options))
        return made[-1]

    monkeypatch.setattr(learning, "chosen", counted)
    monkeypatch.setattr(learning, "release", kept)
    ledger = dp.Ledger(budget=given["budget"]) if "budget" in given else None
    options = {k: x for k, x in given.items() if k != "adjacency" or ledger is None}
    found = dp.learn(CHAIN, chain(), degree=degree, ledger=ledger, **options)
    cost = found.guarantee()
    k = given["budget"].contributions if ledger else given.get("contributions", 1)
    assert isinstance(cost, kind)
    zero = made[0].mechanism.guarantee().nothing()
    parts = [zero.of_choice(epsilon) for epsilon in drawn]
    parts += [one.mechanism.guarantee() for one in made]
    assert cost == parts[0].composed(*parts[1:]).of_group(k)
    assert len(made) == {1: 2, 2: 3, None: 3}[degree] == len(found.chain)
    assert len(drawn) == {1: 4, 2: 4 + 3, None: 4 + 1}[degree]
    if ledger is None:
        number = Fraction(given["epsilon"])
        assert cost == PureDP(number, given["adjacency"], contributions=k)
    else:
        assert cost == given["budget"] == ledger.cost
    again = read(found.to_text())
    assert again is not None
    assert again.guarantee() == cost
    assert again.mechanism.guarantee() == found.mechanism.guarantee()
    assert edges_of(found.chain[1].net) == TRUE
    assert max(map(len, found.net.parents)) <= (degree or 2)
    assert again.net == found.net


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", BOTH)
def test_the_degree_is_the_most_whose_errors_are_small_beside_the_records(adjacency):
    """Of Laplace noise, whose scale is a quotient, on a network without data."""
    net = dp.BayesNet.from_parents(CHAIN, {name: () for name in CHAIN})
    step = distance_sensitivity(adjacency)
    plans = learning_plans.plans_of(
        net, PureDP(Fraction(4), adjacency), None, "laplace"
    )
    assert [(len(plan.epsilons), plan.pairs) for plan in plans] == [
        (1, 0), (2, 1), (2, 0), (3, 0)
    ]  # fmt: skip
    assert len({plan.tables[0] for plan in plans}) == 1

    def error(plan, degree, often=1):
        cells = sum(2 ** min(i + 1, degree + 1) for i in range(5))
        scale = step * (5 - degree) / plan.tables[degree].epsilon  # of maximal tables
        return float(scale * cells / 5 + often * step / plan.epsilons[degree - 1])

    def best(n):
        return plans.index(learning_plans.best_plan(plans, net, n))

    often = math.log(5 / 2)
    last, pairs = plans[1].tables[-1].epsilon, plans[1].epsilons[-1]
    pair = float(step / last * 4 + step / pairs)
    limits = [
        max(error(plans[1], 1, often) - error(plans[0], 1, often), pair) / 0.03,
        error(plans[2], 2) / 0.045,
        error(plans[3], 3) / 0.045,
    ]
    assert limits == sorted(limits)
    assert best(1.0) == 0
    for place, n in enumerate(limits):
        assert best(0.99 * n) == place
        assert best(1.01 * n) == place + 1


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize(
    ("many", "degree"), [(5, 1), (5, 3), (12, 1), (40, 1), (40, 2)]
)
def test_draws_of_edges_get_the_share_with_the_least_errors(many, degree, adjacency):
    """Of Laplace noise on binary variables; a draw among more edges counts more."""
    schema = dp.Schema({f"x{i}": [0, 1] for i in range(many)})
    net = dp.BayesNet.from_parents(schema, {name: () for name in schema})
    budget = PureDP(Fraction(2), adjacency)
    (plan,) = learning_plans.plans_of(net, budget, degree, "laplace")
    assert plan.tables[0].epsilon == budget.epsilon * Fraction(3, 20)
    step = distance_sensitivity(adjacency)

    def error(share):
        share = float(share)
        last = (1 - share - 0.15) * 3 ** (degree - 1) / sum(3**i for i in range(degree))
        cells = sum(2 ** min(i + 1, degree + 1) for i in range(many)) / many
        table = step * (many - degree) / (2 * last) * cells
        draw = step * degree * (many - degree) / (2 * share)
        return table + math.log(many / 2) * draw

    shares = [Fraction(x, 10) for x in (3, 4, 5)]
    drawn = sum(x * (many - 1 - i) for i, x in enumerate(plan.epsilons)) / 2
    nearest = min(shares, key=lambda x: abs(x - drawn))
    assert nearest * Fraction(99, 100) <= drawn <= nearest
    assert nearest == min(shares, key=error)


def test_few_large_tables_leave_less_for_the_draws():
    shares = []
    for levels in (2, 5):
        schema = dp.Schema({f"x{i}": list(range(levels)) for i in range(20)})
        net = dp.BayesNet.from_parents(schema, {name: () for name in schema})
        budget = PureDP(Fraction(1), "add-remove")
        (plan,) = learning_plans.plans_of(net, budget, 1, "laplace")
        shares.append(float(plan.epsilons[0] * 19))
    assert shares == pytest.approx([0.4, 0.3], rel=0.01)


def test_pairs_need_a_precise_tree_and_precise_pairs():
    net = dp.BayesNet.from_parents(CHAIN, {name: () for name in CHAIN})
    tree, plan, *_ = learning_plans.plans_of(
        net, PureDP(Fraction(4), "add-remove"), None, "laplace"
    )
    little = PureDP(Fraction(1, 100), "add-remove")
    first, second, last = plan.tables
    of_tree = plan._replace(tables=(first, little, last))
    of_pairs = plan._replace(tables=(first, second, little))
    for one, best in ((plan, plan), (of_tree, tree), (of_pairs, tree)):
        assert learning_plans.best_plan([tree, one], net, 1e4) == best
    worse = tree._replace(tables=(first, little))  # no more is lost by pairs
    assert learning_plans.best_plan([worse, of_tree], net, 1e4) == of_tree


@pytest.mark.slow
def test_there_are_at_most_so_many_pairs_as_a_quarter_of_the_variables():
    for many, most in ((2, 0), (3, 1), (5, 1), (6, 2), (9, 2), (10, 3)):
        schema = dp.Schema({f"x{i}": [0, 1] for i in range(many)})
        net = dp.BayesNet.from_parents(schema, {name: () for name in schema})
        plans = learning_plans.plans_of(
            net, PureDP(Fraction(1), "add-remove"), None, "auto"
        )
        assert max(plan.pairs for plan in plans) == most


def test_a_degree_with_too_large_tables_is_not_chosen():
    schema = dp.Schema({name: list(range(12)) for name in "abcd"})
    net = dp.BayesNet.from_parents(schema, {name: () for name in schema})
    plans = learning_plans.plans_of(
        net, PureDP(Fraction(1), "add-remove"), None, "laplace"
    )
    best = learning_plans.best_plan(plans, net, 1e9)
    assert (len(best.epsilons), best.pairs) == (2, 0)


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", BOTH)
def test_a_degree_that_is_not_given_follows_from_the_number_of_records(adjacency):
    for epsilon, steps in ((1, 2), (40, 4)):
        ledger = dp.Ledger(epsilon=epsilon, adjacency=adjacency)
        found = dp.learn(CHAIN, chain(400), epsilon=epsilon, ledger=ledger)
        assert len(found.chain) == steps
        assert found.guarantee() == ledger.cost == PureDP(Fraction(epsilon), adjacency)


# ---- Second parents, by tables of pairs.

THREE = dp.Schema({name: [0, 1, 2] for name in "abcde"})


def with_two_causes(n=6000):
    """Records where c depends on a and b, which are independent, and d on c."""
    rng = np.random.default_rng(1)
    a, b, e = rng.integers(0, 3, (3, n))
    c = np.minimum((a + b + (rng.random(n) < 0.2)) // 2, 2)
    d = np.where(rng.random(n) < 0.9, c, e)
    return dict(zip("abcde", (a, b, c, d, e), strict=True))


def paired(**options):
    given = {"epsilon": 40, "adjacency": "replace-one"} | options
    return dp.learn(THREE, with_two_causes(), **given)


PAIRED = {
    "pure": {},
    "private n": {"adjacency": "add-remove", "mechanism": "laplace"},
    "concentrated": {
        "epsilon": None,
        "adjacency": None,
        "budget": zcdp_budget("add-remove", rho=5),
    },
}


@pytest.mark.slow
@pytest.mark.usefixtures("with_pairs")
@pytest.mark.parametrize("what", PAIRED)
def test_the_last_tables_are_of_variables_with_their_new_parents(what):
    found, table = paired(**PAIRED[what]), with_two_causes()
    before = found.chain[-2].net
    assert found.statistic.network is None
    assert found.network == found.net != before
    new = [
        {found.net.names[i], found.net.names[j]}
        for i, (x, y) in enumerate(zip(before.parents, found.net.parents, strict=True))
        for j in y[len(x) :]
    ]
    assert len(new) == 1 == found.learned.draws
    tables = found.tables()
    assert [{*key} for key in tables] == new
    for (x, y), noisy in tables.items():
        exact = np.zeros((3, 3), int)
        np.add.at(exact, (table[x], table[y]), 1)
        np.testing.assert_allclose(noisy, exact, atol=12)
    ends = {frozenset("ac"), frozenset("bc"), frozenset("cd")}
    assert ends < edges_of(found.net)


@pytest.mark.slow
@pytest.mark.usefixtures("with_pairs")
@pytest.mark.parametrize("what", PAIRED)
def test_the_posterior_agrees_with_the_tables_of_pairs(what):
    found, table = paired(**PAIRED[what]), with_two_causes()
    posterior = dp.posterior(found)
    assert posterior.method == "point-estimate"
    assert posterior.net == found.net
    assert posterior.guarantee() == found.guarantee()
    for pair in ("ac", "bc"):
        x, y = (table[name] for name in pair)
        for level in range(3):
            (law,) = posterior.query(pair[1], {pair[0]: level})
            exact = np.bincount(y[x == level], minlength=3) / np.sum(x == level)
            np.testing.assert_allclose(law, exact, atol=0.03)


@pytest.mark.slow
def test_pairs_are_left_out_where_no_noise_is_known():
    """Of a large ρ, a table of one pair would have noise below the least."""
    net = dp.BayesNet.from_parents(CHAIN, {name: () for name in CHAIN})
    for rho, pairs in ((5, 1), (12, 0)):
        budget = zcdp_budget("add-remove", rho=rho)
        plans = learning_plans.plans_of(net, budget, None, "auto")
        assert max(plan.pairs for plan in plans) == pairs
    plans = learning_plans.plans_of(
        net, PureDP(Fraction(1), "add-remove"), None, "fourier"
    )
    assert max(plan.pairs for plan in plans) == 0


@pytest.mark.slow
def test_a_plan_is_not_chosen_if_no_noise_is_known_for_its_tables():
    """Of a large ρ, noise would be below the least, which is an error at a release."""
    net = dp.BayesNet.from_parents(CHAIN, {name: () for name in CHAIN})
    budget = zcdp_budget("add-remove", rho=16)
    tree, *_, last = learning_plans.plans_of(net, budget, None, "auto")
    assert learning_plans.best_plan([tree, last], net, 1e9) == last
    large = last._replace(tables=(*last.tables[:-1], budget))
    assert learning_plans._error(large, net, 3) == math.inf
    assert learning_plans.best_plan([tree, large], net, 1e9) == tree
    shares = (
        learning_plans._divided(tree.recipe, 4, budget, 1, share)
        for share in learning_plans._CHOICES
    )
    errors = [learning_plans._error(plan, net, 1) for plan in shares]
    assert min(errors) < max(errors) == math.inf
    assert learning_plans._error(tree, net, 1) < math.inf
    assert dp.learn(CHAIN, chain(), budget=budget, degree=1).guarantee() == budget


@pytest.mark.parametrize("rho", [32, 100])
def test_a_budget_without_noise_for_a_table_is_refused_at_once(rho):
    """Of the first table if ρ is 100, and of the last one if ρ is 32."""
    budget = zcdp_budget("add-remove", rho=rho)
    ledger = dp.Ledger(budget=budget)
    with pytest.raises(ValueError, match="take a smaller `rho`"):
        dp.learn(CHAIN, chain(), budget=budget, ledger=ledger, degree=1)
    assert ledger.cost == budget.nothing()


@pytest.mark.slow
@pytest.mark.usefixtures("with_pairs")
def test_pairs_must_fit_the_network_and_the_draws():
    found = paired(mechanism="laplace")
    make, known = (found.values, found.statistic, found.mechanism), found.learned
    tree, epsilon = known.earlier, known.epsilon
    pairs = [*found.tables()]
    rest = next(x for x in itertools.combinations("abcde", 2) if {*x} != {*pairs[0]})
    other = dp.statistics.MarginalCounts.of_tables(THREE, [*pairs, rest])
    more = dp.release(other, with_two_causes(), epsilon=1, adjacency="replace-one")
    again = (more.values, more.statistic, more.mechanism)
    whole = (tree.values, tree.statistic, tree.mechanism)
    for numbers, learned, message in (
        (make, Learned(tree, epsilon, 1, tree.net), "new edges' tables"),
        (again, Learned(tree, epsilon, 1, found.net), "new edges' tables"),
        (make, Learned(tree, epsilon, 0, found.net), "`draws` must be"),
        (make, Learned(tree, epsilon, None, found.net), "if tables have none"),
        (whole, Learned(tree, epsilon, 1, tree.net), "if tables have none"),
        (make, Learned(tree, epsilon, 1), "the same variables"),
        (whole, Learned(tree.learned.earlier, epsilon, 3), "for each draw"),
        (make, Learned(found, epsilon, 1, found.net), "not continue a release"),
    ):
        with pytest.raises(ValueError, match=message):
            dp.Released(*numbers, found.n, learned=learned)


@pytest.mark.slow
@pytest.mark.usefixtures("with_pairs")
def test_tables_are_released_again_if_no_pair_is_drawn(monkeypatch):
    plain, steps = learning.chosen, itertools.count()

    def none(scores, epsilon, adjacency):
        last = next(steps) >= len(THREE) - 1
        return len(scores) - 1 if last else plain(scores, epsilon, adjacency)

    monkeypatch.setattr(learning, "chosen", none)
    found = paired(mechanism="laplace")
    assert found.net == found.chain[-2].net == found.statistic.network
    assert found.learned.draws == 1
    assert read(found.to_text()).to_text() == found.to_text()
    checker.check(found.to_text())
    assert found.guarantee() == PureDP(Fraction(40), "replace-one")
    assert dp.posterior(found).method == "point-estimate"


@pytest.mark.slow
@pytest.mark.usefixtures("with_pairs")
def test_pairs_whose_family_has_too_many_cells_are_left_out(monkeypatch):
    monkeypatch.setattr(learning, "MOST_CELLS", 26)  # the families have 27
    found = paired()
    assert max(map(len, found.net.parents)) == 1
    assert found.learned.net is None


@pytest.mark.slow
@pytest.mark.usefixtures("with_pairs")
def test_draws_of_pairs_without_an_edge_cost_as_much(monkeypatch):
    schema = dp.Schema({name: [0, 1] for name in "abcdef"})
    table = {name: np.arange(500) // 5 % 2 for name in "abcdef"}
    monkeypatch.setattr(learning, "chosen", lambda scores, *_, **__: len(scores) - 1)
    found = dp.learn(schema, table, epsilon=2, adjacency="add-remove")
    assert not any(found.net.parents)
    assert found.learned.draws == 2
    assert found.guarantee() == PureDP(Fraction(2), "add-remove")


@pytest.mark.slow
@pytest.mark.usefixtures("with_pairs")
def test_of_one_variable_one_edge_is_drawn(monkeypatch):
    """Two draws of the first candidate, where that of most edges comes first."""
    scores, plain = learning.scores_of, learning.chosen
    pairs = []

    def sorted_scores(net, edges, *rest):
        pairs.append(len(edges) < 6 * 5)
        many = [sum(x == edge[0] for x, _ in edges) for edge in edges]
        return scores(net, [edges[i] for i in np.argsort(many)[::-1]], *rest)

    def first(among, epsilon, adjacency):
        return 0 if pairs[-1] else plain(among, epsilon, adjacency)

    monkeypatch.setattr(learning, "scores_of", sorted_scores)
    monkeypatch.setattr(learning, "chosen", first)
    schema = dp.Schema({name: [0, 1] for name in "abcdef"})
    table = {name: np.arange(500) // 5 % 2 for name in "abcdef"}
    found = dp.learn(schema, table, epsilon=2, adjacency="add-remove")
    old, new = found.chain[-2].net.parents, found.net.parents
    added = [len(y) - len(x) for x, y in zip(old, new, strict=True)]
    assert sorted(added) == [0, 0, 0, 0, 1, 1]


@pytest.mark.slow
@pytest.mark.usefixtures("with_pairs")
def test_there_is_one_method_for_a_network_with_tables_of_pairs(key):
    found = paired()
    posterior = dp.posterior(found, "hierarchical", method="point-estimate")
    assert posterior.sample_records(key, 50).shape == (50, 5)
    again = posterior.update(np.zeros((5, 5), np.uint8))
    assert again.net == found.net
    for options in ({"noise_aware": False}, {"method": "gibbs"}, {"increment": 1.0}):
        with pytest.raises(ValueError, match="`method` must be 'point-estimate' for a"):
            dp.posterior(found, **options)
    with pytest.raises(ValueError, match="without a network"):
        dp.posteriors.field_posterior(key, found)


@pytest.mark.slow
def test_later_networks_contain_earlier_ones_and_one_file_holds_all(tmp_path):
    found = learned(degree=3)
    for old, new in itertools.pairwise(found.chain):
        for a, b in zip(old.net.parents, new.net.parents, strict=True):
            assert b[: len(a)] == a
            assert len(b) <= len(a) + 1
    found.save(tmp_path / "r.json")
    again = dp.load(tmp_path / "r.json")
    assert again.to_text() == found.to_text()
    assert [x.guarantee() for x in again.chain] == [x.guarantee() for x in found.chain]
    assert json.loads(found.to_text())["version"] == 3


@pytest.mark.slow
def test_a_release_that_others_were_learned_from_counts_once():
    """Also if it was read from a file of its own, and described there."""
    found = learned()
    first = found.chain[0]
    again = dp.Released.from_text(replace(first, about={"title": "t"}).to_text())
    for releases in ([found, first], [again, found], [again, first, found]):
        (table,) = tables_of(releases, False)
        assert [x.net for x in table] == [x.net for x in found.chain]
        assert cost_of((table,)) == found.guarantee()


@pytest.mark.slow
def test_the_posterior_is_that_of_the_whole_chain():
    found = learned()
    assert [x.mechanism.kind for x in found.chain] == ["k-norm"] * 2
    posterior = dp.posterior(found)
    assert posterior.method == "point-estimate"
    pooled = dp.posterior(list(found.chain), disjoint=False)
    assert pooled.guarantee() == dp.posterior([found], disjoint=False).guarantee()
    for name, table in posterior.mean().items():
        assert np.allclose(table, pooled.mean()[name])
    assert posterior.guarantee() == found.guarantee()
    truth = dp.posterior(found, noise_aware=False).mean()["d"]
    assert np.allclose(posterior.mean()["d"], truth, atol=0.05)


@pytest.mark.slow
def test_rows_of_persons_are_limited_once():
    table = chain(900) | {"who": np.repeat(np.arange(300), 3)}
    found = dp.learn(
        CHAIN, table, epsilon=40, adjacency="add-remove", id="who", contributions=2,
        ignore="*", degree=2,
    )  # fmt: skip
    totals = [float(np.sum(x.tables()["a"])) for x in found.chain]
    assert totals == pytest.approx([600] * 3, abs=120)  # 900 rows are given


def test_all_batches_are_read():
    batches = [chain(300, seed=i) for i in range(3)]
    found = dp.learn(CHAIN, batches, epsilon=9, adjacency="replace-one", degree=1)
    assert [x.n for x in found.chain] == [900, 900]


def test_an_empty_table_can_be_learned_from_where_n_is_private():
    none = {name: np.zeros(0, int) for name in "abcde"}
    found = dp.learn(CHAIN, none, epsilon=1, adjacency="add-remove", degree=1)
    assert found.guarantee() == PureDP(Fraction(1), "add-remove")


NUMBER = dp.Schema([dp.Interval("x", 0, 1), dp.Interval("y", 0, 1)])
EXCLUDED = dp.Schema(
    {"x": [0, 1], "y": [0, 1]}, impossible=[{"x": [0], "y": [0]}]
)  # fmt: skip
WRONG = {
    "no degree": ({"degree": 0}, "`degree` must be"),
    "too many parents": ({"degree": 5}, "`degree` must be at most 4 for 5 variables"),
    "samples": ({"mechanism": "map"}, "`mechanism` must add noise to tables"),
    "a pure cost of rho": (
        {
            "epsilon": None,
            "adjacency": None,
            "budget": zcdp_budget("add-remove", rho=1),
            "mechanism": "laplace",
        },
        "`mechanism` must be one whose cost is of the budget's kind, zcdp",
    ),
    "no such mechanism": ({"mechanism": "noise"}, "`mechanism` must be .*'auto' or "),
    "no budget": ({"epsilon": None}, "`epsilon` must be given"),
    "no adjacency": ({"adjacency": None}, "`adjacency` must be given"),
    "delta": (
        {
            "epsilon": None,
            "adjacency": None,
            "budget": ApproximateDP(Fraction(1), Fraction(1, 9), "add-remove"),
        },
        "must be of kind pure-dp or zcdp",
    ),
    "numbers": ({"schema": NUMBER}, "numeric|levels"),
    "impossible": ({"schema": EXCLUDED}, "`schema` must have no impossible"),
    "a part": ({"part": "north"}, "`part` must be given with a `ledger`"),
    "a fact": ({"about": {"colour": "red"}}, "`about` must have facts"),
    "persons": (
        {"id": "a", "adjacency": "add-remove", "contributions": 2},
        "`id` must name a column that is no variable",
    ),
    "one variable": (
        {"schema": dp.Schema({"a": [0, 1]})},
        "`schema` must have at least two variables",
    ),
    "no records": (
        {"table": {name: np.zeros(0, int) for name in "abcde"}},
        "`table` must not be empty",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_argument_is_refused_and_nothing_is_charged(what):
    changed, message = WRONG[what]
    near = changed.get("adjacency", "replace-one") or "replace-one"
    rows = changed.get("contributions", 1)
    ledger = dp.Ledger(epsilon=20, adjacency=near, contributions=rows)
    needs_none = what in ("no adjacency", "a part", "delta")
    given = {
        "schema": CHAIN,
        "table": chain(50),
        "epsilon": 1,
        "adjacency": "replace-one",
        "ledger": None if needs_none else ledger,
        **changed,
    }
    schema, table = given.pop("schema"), given.pop("table")
    with pytest.raises(Exception, match=message) as refusal:  # a crash is no refusal
        dp.learn(schema, table, **given)
    assert isinstance(refusal.value, ValueError)
    assert ledger.cost.epsilon == 0


def test_a_ledger_without_enough_budget_is_asked_before_records_are_read():
    ledger = dp.Ledger(epsilon="1/2", adjacency="replace-one")
    with pytest.raises(ValueError, match=r".") as refusal:
        dp.learn(CHAIN, "no such file.csv", epsilon=1, ledger=ledger)
    assert isinstance(refusal.value, dp.BudgetExceeded)


ALTERED = {
    "a smaller draw": lambda x: x["learned"].update(epsilon="1/1000"),
    "a draw as a number": lambda x: x["learned"].update(epsilon=1),
    "a smaller cost": lambda x: x["guarantee"].update(epsilon="7"),
    "a smaller earlier cost": lambda x: earlier(x)["guarantee"].update(epsilon="1/9"),
    "another adjacency": lambda x: earlier(x)["guarantee"].update(
        adjacency="add-remove"
    ),
    "persons before": lambda x: earlier(x)["guarantee"].update(contributions=2),
    "an edge before": lambda x: earlier(x)["parents"].update(b=["a"]),
    "no earlier release": lambda x: x["learned"].pop("earlier"),
    "an entry beside it": lambda x: x["learned"].update(note=1),
    "facts before": lambda x: earlier(x).update(about={"title": "t"}),
    "records before": lambda x: earlier(x).update(records=4000),
    "two new parents": lambda x: x["parents"].update(
        {next(k for k, y in x["parents"].items() if len(y) == 0): ["a", "b"]}
    ),
    "nothing learned": lambda x: x.pop("learned"),
    "a value less": lambda x: earlier(x)["values"].pop(),
    "more releases than variables": lambda x: nested(x, 6),
    "many releases": lambda x: nested(x, 60),
}


def earlier(content):
    return content["learned"]["earlier"]


def nested(content, times):
    for _ in range(times):
        inside = json.loads(json.dumps(earlier(content)))
        content["learned"]["earlier"] = inside | {
            "learned": {"epsilon": "1/9", "earlier": earlier(content)}
        }


@pytest.fixture(scope="module")
def document():
    return json.loads(learned(mechanism="laplace").to_text())


def assert_refused(document, alter):
    """An altered file is refused, although its hash is right."""
    checker.check(json.dumps(document))
    altered = json.loads(json.dumps(document))
    alter(altered["content"])
    text = json.dumps(rehashed(altered))
    assert text != json.dumps(document)
    with pytest.raises(InconsistentRelease):
        dp.Released.from_text(text)
    with pytest.raises(checker.Refused):
        checker.check(text)


@pytest.mark.parametrize("what", ALTERED)
def test_an_altered_file_is_refused_although_it_is_rehashed(what, document):
    assert_refused(document, ALTERED[what])


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_nothing_is_learned_from_a_sample(adjacency):
    """Its records are others than those of the later steps."""
    schema, records = dp.Schema({"a": [0, 1], "b": [0, 1]}), np.eye(2, dtype="u1")
    paid = {"adjacency": adjacency, "mechanism": "laplace"}
    known = np.repeat(records, 20, axis=0)
    found = dp.learn(schema, known, epsilon=4, degree=1, **paid)
    empty = dp.BayesNet.from_parents(schema, {"a": [], "b": []})
    sample = dp.release(empty, known, epsilon=1, sample_rate="1/2", **paid)
    document, before = (json.loads(x.to_text()) for x in (found, sample))
    content, earlier = document["content"], before["content"]
    first = Fraction(content["learned"]["earlier"]["guarantee"]["epsilon"])
    whole = Fraction(content["guarantee"]["epsilon"]) - first + 1
    content["guarantee"]["epsilon"] = str(whole)
    content["records"] = earlier["records"]
    content["learned"]["earlier"] = {
        name: entry for name, entry in earlier.items() if name not in SHARED
    }
    text = json.dumps(rehashed(document))
    with pytest.raises(checker.Refused, match="of sampled records"):
        checker.check(text)
    with pytest.raises(InconsistentRelease, match="must not continue a release of a s"):
        dp.Released.from_text(text)


PAIRS_ALTERED = {
    "fewer draws": lambda x: x["learned"].update(draws=0),
    "more draws": lambda x: x["learned"].update(draws=2),
    "draws as a text": lambda x: x["learned"].update(draws="1"),
    "no draws": lambda x: x["learned"].pop("draws"),
    "no network": lambda x: x.update(parents=None),
    "another pair": lambda x: x["statistic"].update(tables=[["d", "e"], ["a", "c"]]),
    "a variable alone": lambda x: x["statistic"].update(tables=[["a"]]),
    "a pair turned around": lambda x: x["statistic"]["tables"][0].reverse(),
    "no table": lambda x: x["statistic"].update(tables=[]),
    "the earlier network": lambda x: x.update(parents=earlier(x)["parents"]),
    "nothing learned": lambda x: x.pop("learned"),
    "a value less": lambda x: x["values"].pop(),
    "draws before": lambda x: earlier(x)["learned"].update(draws=1),
    "pairs before": lambda x: x["learned"].update(
        earlier=json.loads(json.dumps({k: x[k] for k in x if k not in SHARED}))
    ),
}
SHARED = {"library", "records", "variables"}


@functools.cache
def text_of_pairs():
    return paired(mechanism="laplace").to_text()


@pytest.fixture
def of_pairs(with_pairs):
    return json.loads(text_of_pairs())


@pytest.mark.parametrize("what", PAIRS_ALTERED)
def test_an_altered_file_of_pairs_is_refused(what, of_pairs):
    assert_refused(of_pairs, PAIRS_ALTERED[what])


def test_the_checker_states_what_is_left_for_tables(document):
    facts = dict(checker.check(json.dumps(document)))
    found = dp.Released.from_text(json.dumps(document))
    left = found.mechanism.guarantee().epsilon
    assert facts["draws"].endswith(f"{left} is for the tables")
    assert facts["earlier guarantee"].startswith("ε = ")


@pytest.mark.slow
def test_a_release_continues_only_what_it_was_learned_from():
    found = learned()
    first = found.chain[0]
    other = dp.release(
        dp.BayesNet.from_parents(SCHEMA, {"x": [], "y": []}),
        np.zeros((3, 2), int),
        epsilon=1,
        adjacency="replace-one",
    )
    make = (found.values, found.statistic, found.mechanism)
    for wrong, n in ((other, found.n), (first, 7)):
        with pytest.raises(ValueError, match="`learned` must"):
            dp.Released(*make, n, learned=Learned(wrong, Fraction(1, 9)))
    two = dp.BayesNet.from_parents(CHAIN, {"a": ["b", "c"], "d": [], "e": []})
    more = dp.release(two, chain(), epsilon=1, adjacency="replace-one")
    with pytest.raises(ValueError, match="must add at most one parent"):
        dp.Released(
            more.values,
            more.statistic,
            more.mechanism,
            more.n,
            learned=Learned(first, Fraction(1, 9)),
        )
    single = dp.release(
        dp.BayesNet.from_parents({"x": [0, 1]}, {"x": []}),
        np.zeros((3, 1), int),
        epsilon=1,
        adjacency="replace-one",
    )
    with pytest.raises(ValueError, match="must leave a variable"):
        dp.Released(
            single.values,
            single.statistic,
            single.mechanism,
            3,
            learned=Learned(single, Fraction(1, 9)),
        )


@pytest.mark.slow
def test_an_edge_whose_table_would_be_noise_is_not_drawn():
    """Tables of 3,600 cells for 500 records: a penalty far above any distance."""
    rng = np.random.default_rng(1)
    schema = dp.Schema({"a": [*range(60)], "b": [*range(60)], "c": [0, 1]})
    table = {"a": rng.integers(0, 60, 500), "c": rng.integers(0, 2, 500)}
    table["b"] = table["a"]  # an edge that would be drawn if it cost nothing
    found = dp.learn(schema, table, epsilon=5, adjacency="add-remove", degree=1)
    assert frozenset("ab") not in edges_of(found.net)
