"""The contract of guarantees, and a kind of a test's own that the package has not.

Zero-concentrated privacy bounds the Rényi divergence of every order α by ρ α; here at
the whole orders 2 and 3, whose divergences are logarithms of rational sums.
"""

import json
import math
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import ClassVar

import jax.random as jr
import numpy as np
import pytest

import dpjax as dp
from dpjax.audits import audit_exactly
from dpjax.privacy import (
    ADD_REMOVE,
    GUARANTEES,
    REPLACE_ONE,
    ZCDP,
    ApproximateDP,
    BudgetExceeded,
    Guarantee,
    Ledger,
    PureDP,
    basic,
    budget_of,
    exponential_above,
    guarantee_of,
    joint,
)

HALF, THIRD, TENTH = Fraction(1, 2), Fraction(1, 3), Fraction(1, 10)


@GUARANTEES.add
@dataclass(frozen=True)
class OwnZCDP(Guarantee):
    kind: ClassVar[str] = "test-zcdp"
    rho: Fraction
    adjacency: str

    @classmethod
    def implied_by(cls, other):
        if isinstance(other, PureDP):
            return cls(other.epsilon**2 / 2, other.adjacency)
        return None

    @property
    def bound(self):
        return self.rho

    def divergence(self, one, other):
        pairs = joint(one, other)
        swapped = [(q, p) for p, q in pairs]
        return max(
            renyi(x, order) / order for x in (pairs, swapped) for order in (2, 3)
        )


def renyi(pairs, order):
    if any(p and not q for p, q in pairs):
        return math.inf
    return math.log(sum(p**order / q ** (order - 1) for p, q in pairs if q)) / (
        order - 1
    )


EXAMPLES = {
    "pure-dp": PureDP(HALF, REPLACE_ONE),
    "approximate-dp": ApproximateDP(HALF, TENTH, ADD_REMOVE),
    "test-zcdp": OwnZCDP(THIRD, REPLACE_ONE),
    "zcdp": ZCDP(THIRD, ADD_REMOVE),
}


@pytest.fixture(params=sorted(GUARANTEES))
def guarantee(request):
    return EXAMPLES[request.param]


def geometric(ones):
    """Counts of a coin of four records, noise of ratio 1/2 a unit, by enumeration."""
    weights = [Fraction(1, 2) ** abs(y - ones) for y in range(-6, 11)]
    return [[x / sum(weights) for x in weights]]


# --- the contract, over all kinds ---


def test_a_description_is_plain_text_and_gives_the_guarantee_back(guarantee):
    described = json.loads(json.dumps(guarantee.describe()))
    assert guarantee_of(described) == guarantee
    assert described["kind"] == guarantee.kind
    for changed in (
        {**described, "more": "1"},
        {x: y for x, y in described.items() if x != "adjacency"},
        {**described, "adjacency": "unbounded"},
        {**described, "kind": "no-such-kind"},
        *({**described, x: y} for x in guarantee.numbers for y in ("-1", 0.5, "0.5")),
        {**described, **dict.fromkeys(guarantee.numbers, "0")},
        None,
    ):
        with pytest.raises(ValueError, match="must be") as error:
            guarantee_of(changed)
        assert str(error.value).isprintable()


def test_composition_is_exact_addition(guarantee):
    cost = replace(guarantee, **{x: y / 9 for x, y in guarantee.numbers.items()})
    assert basic(*[cost] * 9) == cost.repeated(9) == guarantee
    assert cost.composed() == cost
    assert guarantee.nothing().composed(cost) == cost
    assert set(guarantee.remaining(guarantee).values()) == {0}
    assert guarantee.remaining(cost.repeated(10)) == {
        name: -number for name, number in cost.numbers.items()
    }
    with pytest.raises(ValueError, match="`times` must be an integer of at least 1"):
        cost.repeated(0)


def test_a_guarantee_fits_one_that_is_no_stronger(guarantee):
    assert guarantee.fits(guarantee)
    for name, number in guarantee.numbers.items():
        less = replace(guarantee, **{name: number * (1 - TENTH)})
        assert less.fits(guarantee)
        assert not guarantee.fits(less)


def test_other_neighbours_are_another_promise(guarantee):
    here = guarantee.adjacency
    other = replace(
        guarantee, adjacency=ADD_REMOVE if here == REPLACE_ONE else REPLACE_ONE
    )
    assert not guarantee.fits(other)
    with pytest.raises(ValueError, match="`costs` must be one or more, all for one"):
        guarantee.composed(other)
    with pytest.raises(ValueError, match="`adjacency` must be 'replace-one' or"):
        replace(guarantee, adjacency="unbounded")


def test_numbers_are_exact(guarantee):
    for name in guarantee.numbers:
        for wrong in (0.5, 1, "1/2", None, -HALF):
            with pytest.raises(Exception, match="Fraction"):
                replace(guarantee, **{name: wrong})
    with pytest.raises(AttributeError):
        guarantee.adjacency = ADD_REMOVE


def test_words_are_for_people(guarantee):
    assert str(guarantee).count(" = ") == len(guarantee.numbers)
    assert "Fraction" not in str(guarantee)
    assert fields(guarantee)[-1].name == "adjacency"


def test_pure_is_described_as_releases_are():
    described = {"kind": "pure-dp", "epsilon": "1/2", "adjacency": "replace-one"}
    assert budget_of("0.5", REPLACE_ONE).describe() == described
    assert list(EXAMPLES["pure-dp"].describe()) == list(described)
    assert str(EXAMPLES["approximate-dp"]) == "ε = 1/2, δ = 1/10"


# --- divergences that are known ---


def test_divergences_are_what_they_are_called():
    """Randomised response, twice: an answer has the log-ratio ln 3, both ln 9."""
    law = [[Fraction(3, 4), Fraction(1, 4)]] * 2
    other = [part[::-1] for part in law]
    assert budget_of(1, REPLACE_ONE).divergence(law, other) == math.log(9)
    for epsilon in (Fraction(0), HALF, Fraction(2)):
        claim = ApproximateDP(epsilon, HALF, REPLACE_ONE)
        worst = sum(
            max(Fraction(0), p - exponential_above(epsilon) * q)
            for p, q in zip(
                (Fraction(9, 16), Fraction(6, 16), Fraction(1, 16)),
                (Fraction(1, 16), Fraction(6, 16), Fraction(9, 16)),
                strict=True,
            )
        )
        assert claim.divergence(law, other) == worst
        assert claim.divergence(other, law) == worst
    impossible = [[Fraction(1), Fraction(0)]]
    possible = [[HALF, HALF]]
    for one, two in ((impossible, possible), (possible, impossible)):
        assert budget_of(1, REPLACE_ONE).divergence(one, two) == math.inf
        assert (
            ApproximateDP(Fraction(9), HALF, REPLACE_ONE).divergence(one, two) == HALF
        )
        assert EXAMPLES["test-zcdp"].divergence(one, two) == math.inf


def test_the_larger_of_both_directions_is_taken():
    one, other = (
        [[Fraction(1, 10), Fraction(9, 10)]],
        [[Fraction(1, 5), Fraction(4, 5)]],
    )
    assert budget_of(1, REPLACE_ONE).divergence(one, other) == pytest.approx(
        math.log(2)
    )
    claim = ApproximateDP(Fraction(1, 100), HALF, REPLACE_ONE)
    ratio = exponential_above(claim.epsilon)
    exact = max(Fraction(9, 10) - ratio * Fraction(4, 5), Fraction(1, 5) - ratio / 10)
    assert claim.divergence(one, other) == claim.divergence(other, one) == exact


def test_an_event_shows_no_more_than_the_law(guarantee):
    p, q = np.array([0.5, 0.2, 0.1, 0.3]), np.array([0.25, 0.2, 0.2, 1e-3])
    shown = guarantee.divergence_of_events(p, q)
    for least, a, b in zip(shown, p.tolist(), q.tolist(), strict=True):
        laws = ([[Fraction(x), 1 - Fraction(x)]] for x in (a, b))
        assert least <= float(guarantee.divergence(*laws)) + 1e-12
    assert (shown[[0, 3]] > 0).all()
    assert (shown[[1, 2]] <= 0).all()


# --- one of one's own through composition, ledgers and audits ---


def test_pure_costs_enter_a_concentrated_sum_and_others_do_not():
    own, pure = EXAMPLES["test-zcdp"], EXAMPLES["pure-dp"]
    total = OwnZCDP(THIRD + Fraction(1, 8), REPLACE_ONE)
    assert basic(own, pure) == basic(pure, own) == total
    assert pure.fits(OwnZCDP(Fraction(1, 8), REPLACE_ONE))
    assert not own.fits(pure)
    with pytest.raises(ValueError, match="`costs` must be of kinds that compose"):
        basic(own, ApproximateDP(HALF, TENTH, REPLACE_ONE))


BUDGETS = [
    (OwnZCDP(Fraction(1), REPLACE_ONE), OwnZCDP(THIRD, REPLACE_ONE)),
    (
        ApproximateDP(Fraction(2), HALF, REPLACE_ONE),
        ApproximateDP(HALF, Fraction(1, 5), REPLACE_ONE),
    ),
]


@pytest.mark.parametrize(("budget", "cost"), BUDGETS)
@pytest.mark.parametrize("where", ["memory", "file"])
def test_a_ledger_adds_up_its_own_currency(where, budget, cost, tmp_path):
    path = tmp_path / "ledger.jsonl" if where == "file" else None
    ledger = Ledger(budget=budget, path=path)
    ledger.charge(cost, "own")
    ledger.charge(budget_of("1/10", REPLACE_ONE), "pure")
    assert ledger.cost == cost.composed(budget_of("1/10", REPLACE_ONE))
    if path is not None:
        (first, *lines) = map(json.loads, path.read_text().splitlines())
        assert first["format"] == "dpjax-ledger-4"
        assert first["budget"] == budget.describe()
        assert [line["cost"]["kind"] for line in lines] == [cost.kind, "pure-dp"]
        again = Ledger(adjacency=REPLACE_ONE, path=path)
        assert (again.limit, again.cost) == (budget, ledger.cost)
        assert Ledger(budget=budget, path=path).cost == ledger.cost
        for wrong in ({"budget": cost}, {"epsilon": 1, "adjacency": REPLACE_ONE}):
            with pytest.raises(ValueError, match="`budget` must be that of the ledger"):
                Ledger(**wrong, path=path)
        again.charge(cost)
    else:
        ledger.charge(cost)
    spent = ledger.cost
    with pytest.raises(
        BudgetExceeded, match="must be at most what the ledger has left"
    ):
        ledger.charge(cost.repeated(2))
    foreign = OwnZCDP(TENTH, REPLACE_ONE), ApproximateDP(HALF, TENTH, REPLACE_ONE)
    for other in foreign:
        if other.kind != budget.kind:
            with pytest.raises(
                ValueError, match=f"must be a guarantee of kind {budget.kind}"
            ):
                ledger.charge(other)
    with pytest.raises(ValueError, match="`adjacency` must be that of the ledger"):
        ledger.charge(replace(cost, adjacency=ADD_REMOVE))
    assert ledger.cost == spent


def test_what_is_left_names_the_number_that_is_too_large():
    ledger = Ledger(budget=ApproximateDP(Fraction(2), HALF, REPLACE_ONE))
    ledger.charge(ApproximateDP(HALF, TENTH, REPLACE_ONE))
    with pytest.raises(BudgetExceeded, match="left, 2/5 of 1/2, got 9/10"):
        ledger.charge(ApproximateDP(HALF, Fraction(9, 10), REPLACE_ONE))
    with pytest.raises(BudgetExceeded, match="`epsilon` must be at most"):
        ledger.require(budget_of(2, REPLACE_ONE))
    with pytest.raises(ValueError, match="`ledger` must have a budget of one number"):
        _ = ledger.spent
    own = Ledger(budget=OwnZCDP(Fraction(1), REPLACE_ONE))
    own.charge(OwnZCDP(THIRD, REPLACE_ONE))
    assert (own.budget, own.spent, own.remaining) == (1, THIRD, 1 - THIRD)


def test_the_bytes_of_a_file_in_another_currency_count(tmp_path):
    path = tmp_path / "ledger.jsonl"
    ledger = Ledger(budget=OwnZCDP(Fraction(1), REPLACE_ONE), path=path)
    ledger.charge(OwnZCDP(THIRD, REPLACE_ONE))
    sound = path.read_bytes()
    for place, byte in list(enumerate(sound))[::4]:
        path.write_bytes(sound[:place] + bytes([byte ^ 1]) + sound[place + 1 :])
        with pytest.raises(ValueError, match="must be an undamaged file"):
            Ledger(adjacency=REPLACE_ONE, path=path)


def test_a_pure_ledger_is_written_like_any_other(tmp_path):
    """In the canonical form of RFC 8785."""
    files = [tmp_path / name for name in ("one", "other")]
    one = Ledger("1", adjacency=REPLACE_ONE, path=files[0])
    other = Ledger(budget=PureDP(Fraction(1), REPLACE_ONE), path=files[1])
    for ledger in (one, other):
        ledger.charge(EXAMPLES["pure-dp"], "é")
    for file in files:
        header, line = file.read_text().splitlines()
        assert header == (
            '{"budget":{"adjacency":"replace-one","epsilon":"1","kind":"pure-dp"},'
            f'"format":"dpjax-ledger-4","inode":"{file.stat().st_ino}"}}'
        )
        cost = '{"adjacency":"replace-one","epsilon":"1/2","kind":"pure-dp"}'
        date = ledger.charges[0].date
        assert line.endswith(f'","cost":{cost},"date":"{date}","purpose":"é"}}')
        assert line.startswith('{"chain":"')


@pytest.mark.parametrize(
    "arguments",
    [
        {"epsilon": 1, "budget": EXAMPLES["pure-dp"]},
        {"adjacency": ADD_REMOVE, "budget": EXAMPLES["pure-dp"]},
        {"budget": PureDP(Fraction(0), REPLACE_ONE)},
        {"adjacency": REPLACE_ONE},
        {},
    ],
)
def test_a_budget_is_given_once(arguments):
    with pytest.raises(ValueError, match="must be") as error:
        Ledger(**arguments)
    assert "\n" not in str(error.value)


def test_an_exact_audit_judges_a_claim_of_any_kind(guarantee):
    """The claim that is tight is consistent, and a slightly stronger one is not."""
    pairs = [(x, x + 1) for x in range(4)]
    number = list(guarantee.numbers)[-1]
    loss = max(guarantee.divergence(geometric(a), geometric(b)) for a, b in pairs)
    for factor, consistent in ((Fraction(101, 100), True), (Fraction(99, 100), False)):
        claim = replace(guarantee, **{number: Fraction(loss) * factor})
        found = audit_exactly(geometric, pairs, claim=claim)
        assert found.consistent == consistent
        assert found.loss == pytest.approx(float(loss))
        assert str(found).startswith("consistent" if consistent else "violates")
        assert found.reached == pytest.approx(1 / float(factor))


def test_draws_judge_a_claim_of_any_kind(guarantee, key):
    """A bit that is told outright, and one that is not told at all."""
    data, neighbour = np.zeros(1, np.int32), np.ones(1, np.int32)
    options = {"draws": 1000, "batched": True}
    for release, consistent in (
        (lambda key, data, size: np.repeat(data[None], size, 0), False),
        (lambda key, data, size: np.zeros((size, 1), np.int32), True),
    ):
        found = dp.audit(
            jr.clone(key), release, data, neighbour, claim=guarantee, **options
        )
        assert found.consistent == consistent


def test_a_claim_is_given_once():
    for wrong in ({}, {"claim": EXAMPLES["pure-dp"], "epsilon": 1}):
        with pytest.raises(ValueError, match="`claim` must be a guarantee"):
            audit_exactly(geometric, [(0, 1)], **wrong)
