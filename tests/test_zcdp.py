"""Zero-concentrated privacy: divergences, groups, and the (ε, δ) that it implies."""

import math
from fractions import Fraction

import mpmath
import pytest

from dpjax.data import BayesNet
from dpjax.mechanisms.recipes import Gaussian, Laplace
from dpjax.privacy import ZCDP, ApproximateDP, Ledger, PureDP, zcdp_budget
from dpjax.releases import release

TENTH = Fraction(1, 10)


def binary(p):
    return [[p, 1 - p]]


def test_the_divergence_is_the_largest_over_all_orders():
    """Of randomised response, by a fine search in multiple precision."""
    p, q = Fraction(3, 4), Fraction(1, 4)
    found = ZCDP(TENTH, "add-remove").divergence(binary(p), binary(q))
    with mpmath.workdps(30):
        best = max(
            mpmath.log(0.75**a * 0.25 ** (1 - a) + 0.25**a * 0.75 ** (1 - a))
            / (a - 1)
            / a
            for a in (1 + mpmath.mpf(i) / 500 for i in range(1, 3000))
        )
    assert best < found == pytest.approx(math.log(3) / 2)  # at orders near 1
    pure = math.log(3)
    assert found <= pure**2 / 2


def test_independent_parts_add_up_and_impossible_outputs_are_infinite():
    one, other = binary(Fraction(3, 5)), binary(Fraction(2, 5))
    made = ZCDP(TENTH, "add-remove")
    twice = made.divergence(one * 2, other * 2)
    assert twice == pytest.approx(2 * made.divergence(one, other))
    far = binary(Fraction(1, 100))  # whose worst order is not near 1
    three = made.divergence(one * 2 + far, other * 2 + binary(Fraction(1, 2)))
    alone = made.divergence(far, binary(Fraction(1, 2)))
    assert twice + alone * 0.9 < three <= twice + alone
    swapped = made.divergence(far + one * 2, binary(Fraction(1, 2)) + other * 2)
    assert three == pytest.approx(swapped)
    assert made.divergence(one, binary(Fraction(1))) == math.inf
    assert made.divergence(one + one, other + binary(Fraction(0))) == math.inf
    assert made.divergence(one, one) == pytest.approx(0, abs=1e-10)


def test_divergences_count_in_both_directions():
    one, other = binary(Fraction(1, 100)), binary(Fraction(1, 2))
    made = ZCDP(TENTH, "add-remove")
    found = made.divergence(one, other)
    assert found == made.divergence(other, one)
    with mpmath.workdps(30):  # Kullback–Leibler divergences, at order 1
        p, q = mpmath.mpf("0.01"), mpmath.mpf("0.5")
        most = q * mpmath.log(q / p) + (1 - q) * mpmath.log((1 - q) / (1 - p))
        least = p * mpmath.log(p / q) + (1 - p) * mpmath.log((1 - p) / (1 - q))
    assert least < most <= found * (1 + 1e-9)


def test_a_pure_guarantee_implies_half_its_square():
    pure = PureDP(Fraction(1, 3), "add-remove", contributions=4)
    assert ZCDP.of(pure) == ZCDP(Fraction(1, 18), "add-remove", contributions=4)
    approximate = ApproximateDP(Fraction(1), TENTH, "add-remove")
    with pytest.raises(ValueError, match="of kind zcdp or one that implies it"):
        ZCDP.of(approximate)
    with pytest.raises(ValueError, match="of kind pure-dp"):
        PureDP.of(ZCDP(TENTH, "add-remove"))


def test_a_group_of_k_costs_k_squared():
    one = ZCDP(TENTH, "add-remove")
    assert one.of_group(5) == ZCDP(Fraction(5, 2), "add-remove", contributions=5)
    assert one.of_group(5).per_record() == one


@pytest.mark.parametrize("rho", ["0.001", "0.1", "2"])
@pytest.mark.parametrize("delta", ["1e-9", "1e-5", "0.01"])
def test_the_epsilon_is_the_smallest_over_all_orders(rho, delta):
    made = zcdp_budget("replace-one", rho=rho)
    found = float(made.approximate(delta).epsilon)
    with mpmath.workdps(30):
        r, d = mpmath.mpf(rho), mpmath.mpf(delta)

        def epsilon(a):
            rest = mpmath.log(1 / d) - mpmath.log(a)
            return r * a + mpmath.log(1 - 1 / a) + rest / (a - 1)

        # In steps that shift the smallest value by one part in 10^9 at most.
        first = min(
            range(-20, 100), key=lambda i: epsilon(1 + mpmath.exp(mpmath.mpf(i) / 10))
        )
        near = (
            mpmath.mpf(first) / 10 + mpmath.mpf(i) / 20_000 for i in range(-2000, 2001)
        )
        best = min(epsilon(1 + mpmath.exp(x)) for x in near)
    assert best * (1 - 1e-8) <= found <= best * (1 + 1e-8)
    assert found < float(r + 2 * mpmath.sqrt(r * mpmath.log(1 / d)))


def test_the_conversion_holds_for_the_gaussian_law():
    """δ of continuous Gaussian noise of this ρ, which is smaller than promised."""
    made = zcdp_budget("replace-one", rho="0.1")
    epsilon, mu = float(made.approximate("1e-6").epsilon), math.sqrt(0.2)
    delta = mpmath.ncdf(mu / 2 - epsilon / mu)
    delta -= mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)
    assert 1e-8 < delta < 1e-6


@pytest.mark.parametrize(("epsilon", "delta"), [(1, "1e-9"), (10, 1e-6), ("0.01", 0.1)])
def test_a_budget_of_epsilon_and_delta_is_spent_and_not_exceeded(epsilon, delta):
    made = zcdp_budget("add-remove", epsilon=epsilon, delta=delta, contributions=2)
    assert made.contributions == 2
    found = made.approximate(delta)
    assert 1 - 1e-6 < float(found.epsilon) / float(epsilon) <= 1


def test_wrong_budgets_are_refused():
    for given in ({}, {"epsilon": 1}, {"delta": 0.1}, {"rho": 1, "delta": 0.1}):
        with pytest.raises(ValueError, match="`rho` must be given"):
            zcdp_budget("add-remove", **given)
    for delta in (0, 1, "1e-31", "1e-40"):
        with pytest.raises(ValueError, match="`delta` must be from 1e-30 to below 1"):
            zcdp_budget("add-remove", epsilon=1, delta=delta)
    with pytest.raises(ValueError, match="`rho` must be a finite number > 0"):
        zcdp_budget("add-remove", rho=0)


@pytest.mark.parametrize("rho", ["1/10", "1/8", "2", "1e-20", "7e12"])
@pytest.mark.parametrize("k", [1, 3])
def test_a_pure_mechanism_spends_nearly_the_whole_budget(rho, k):
    """Its ε for one row implies the ρ of a person, to within one part in 10^12."""
    budget = zcdp_budget("add-remove", rho=rho, contributions=k)
    recipe, each = Laplace().paid_by(budget)
    assert recipe == Laplace()
    assert isinstance(each, PureDP)
    spent = ZCDP.of(each.of_group(k)).rho
    assert 1 - Fraction(1, 10**12) <= spent / budget.rho <= 1
    assert (spent == budget.rho) == (k == 1 and rho in ("1/8", "2"))


def test_a_row_may_cost_its_share_of_what_a_person_may():
    budget = zcdp_budget("add-remove", rho="0.9", contributions=3)
    assert Gaussian().paid_by(budget) == (Gaussian(), budget.per_record())


def test_a_budget_that_no_mechanism_of_a_recipe_can_spend_is_refused():
    both = ApproximateDP(Fraction(1), TENTH, "add-remove")
    pure = PureDP(Fraction(1), "add-remove")
    assert Laplace().paid_by(both) == (Laplace(), pure)
    rho = zcdp_budget("add-remove", epsilon=1, delta="0.1")
    assert Gaussian().paid_by(both) == (Gaussian(), rho)
    for budget in (ApproximateDP.of(pure), pure):
        with pytest.raises(ValueError, match="the mechanism gaussian can spend, of k"):
            Gaussian().paid_by(budget)


def test_a_ledger_in_rho_takes_pure_releases_too(tmp_path):
    path = tmp_path / "ledger.json"
    ledger = Ledger(budget=zcdp_budget("add-remove", rho="0.5"), path=path)
    ledger.charge(zcdp_budget("add-remove", rho="0.25"))
    ledger.charge(PureDP(Fraction(1, 2), "add-remove"))
    assert Ledger(path=path).spent == Fraction(1, 4) + Fraction(1, 8)
    assert ledger.remaining == Fraction(1, 8)


def test_a_ledger_is_asked_for_the_cost_before_records_are_read():
    """ρ is spent by a pure mechanism as ε; ρ for an (ε, δ) is no cost of this kind."""
    net = BayesNet.naive_bayes({"t": [0, 1], "x": [0, 1, 2]}, "t")
    table = {"t": [0, 1], "x": [1, 2]}
    budget = zcdp_budget("add-remove", rho="1/8")
    pure = Ledger(epsilon=1, adjacency="add-remove")
    release(net, table, budget=budget, mechanism="laplace", ledger=pure)
    assert pure.cost == PureDP(Fraction(1, 2), "add-remove")
    both = ApproximateDP(Fraction(1), TENTH, "add-remove")
    ledger = Ledger(budget=both)
    with pytest.raises(ValueError, match="of kind approximate-dp or one that implies"):
        release(net, "no such file.csv", budget=both, ledger=ledger)
    assert ledger.cost == both.nothing()
