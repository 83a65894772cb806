"""Approximate privacy, irrational costs rounded up, and what a ledger refuses."""

import inspect
import itertools
from fractions import Fraction

import mpmath
import pytest

from dpjax.privacy import (
    ApproximateDP,
    Ledger,
    PureDP,
    converged_within,
    exact_epsilon,
    exponential_above,
    logarithm_above,
    root_above,
    rounded_up,
)

HALF = PureDP(Fraction(1, 2), "replace-one")
ARGUMENTS = [
    Fraction(n, d)
    for n, d in [(1, 3), (1, 10), (7, 5), (3, 1), (355, 113), (10**9, 7), (1, 10**40)]
]
FUNCTIONS = [
    *(
        (exponential_above, mpmath.exp, s * x)
        for x in ARGUMENTS
        if x < 9
        for s in (1, -1)
    ),
    *((logarithm_above, mpmath.log, x) for x in ARGUMENTS),
    *((root_above, mpmath.sqrt, x) for x in ARGUMENTS),
]


@pytest.mark.parametrize(("function", "exact", "x"), FUNCTIONS)
def test_an_irrational_number_is_rounded_up_and_hardly(function, exact, x):
    with mpmath.workdps(150):
        truth = exact(mpmath.mpf(x.numerator) / x.denominator)
        above = function(x)
        above = mpmath.mpf(above.numerator) / above.denominator
        assert truth < above < truth + 1e-90 * (abs(truth) + 1)


def test_what_is_rational_stays_so():
    assert logarithm_above(Fraction(1)) == root_above(Fraction(0)) == 0


def test_very_small_exponentials_are_still_bounded():
    assert 0 < exponential_above(Fraction(-(10**30))) < Fraction(1, 10**400)


def test_outside_their_range_functions_refuse():
    for function, x in [
        (exponential_above, Fraction(1001)),
        (logarithm_above, Fraction(0)),
        (root_above, Fraction(-1)),
    ]:
        with pytest.raises(ValueError, match="`x` must be"):
            function(x)


@pytest.mark.parametrize("x", [x for x in ARGUMENTS if x > 10**-30], ids=str)
def test_a_shortened_fraction_is_above_and_fits_a_ledger_file(x):
    short = rounded_up(x)
    assert x <= short < x * (1 + Fraction(1, 10**12))
    assert rounded_up(short) == short == exact_epsilon(str(short))


def test_the_shortest_fraction_above_is_taken():
    assert rounded_up(Fraction(1, 3)) == Fraction("0.3333333333334")
    assert rounded_up(Fraction(-1, 3)) == Fraction("-0.3333333333333")


def test_the_extremes_of_a_ledger_fit_its_file():
    for x in (Fraction(1, 3 * 10**17), Fraction(10**30, 3)):
        assert exact_epsilon(str(rounded_up(x))) == rounded_up(x)


@pytest.mark.parametrize(
    ("epsilon", "delta", "adjacency", "match"),
    [
        (Fraction(-1), Fraction(0), "replace-one", "`epsilon` must be a Fraction"),
        (Fraction(1), Fraction(1), "replace-one", "`delta` must be a Fraction"),
        (Fraction(1), Fraction(-1, 9), "replace-one", "`delta` must be a Fraction"),
        (Fraction(1), Fraction(0), "unbounded", "`adjacency` must be 'replace-one'"),
    ],
)
def test_a_guarantee_that_is_none_is_refused(epsilon, delta, adjacency, match):
    with pytest.raises(ValueError, match=match):
        ApproximateDP(epsilon, delta, adjacency)


@pytest.mark.parametrize("method", ["require", "charge"])
def test_a_ledger_refuses_all_but_pure_losses(method):
    ledger = Ledger(1, adjacency="replace-one")
    ledger.require = inspect.unwrap(Ledger.require).__get__(ledger)  # without beartype
    ask = inspect.unwrap(getattr(Ledger, method))
    for cost in (ApproximateDP(Fraction(1, 2), Fraction(0), "replace-one"), 0.5, None):
        with pytest.raises(
            ValueError, match="`cost` must be a guarantee of kind pure-dp"
        ) as error:
            ask(ledger, cost)
        assert "\n" not in str(error.value)
    ask(ledger, HALF)
    assert ledger.spent == (0.5 if method == "charge" else 0)


@pytest.mark.parametrize(
    "epsilon",
    [Fraction(0), Fraction(10**50 + 1, 10**50 + 7), Fraction(10**9 + 1, 10**35)],
)
def test_a_ledger_refuses_what_its_file_could_not_hold(epsilon, tmp_path):
    ledger = Ledger(2, adjacency="replace-one", path=tmp_path / "ledger.jsonl")
    with pytest.raises(ValueError, match="`epsilon` must be a finite number > 0"):
        ledger.charge(PureDP(epsilon, "replace-one"))
    ledger.charge(HALF)
    assert ledger.spent == HALF.epsilon


PARTS = 24  # probabilities of the little laws are multiples of 1/24
LAWS = [(a, b, PARTS - a - b) for a in range(PARTS + 1) for b in range(PARTS + 1 - a)]
ONE, OTHER = (12, 8, 4), (4, 8, 12)  # an exact sampler's laws: ln 3-DP is attained
LN_3 = PureDP(rounded_up(logarithm_above(Fraction(3))), "replace-one")


def l1(one, other):
    return sum(abs(a - b) for a, b in zip(one, other, strict=True))


def worst_delta(distance):
    """sup P'(S) - 3 Q'(S) over samplers within `distance`/24 in L1, in 24ths."""
    near_one = [law for law in LAWS if l1(law, ONE) <= distance]
    near_other = [law for law in LAWS if l1(law, OTHER) <= distance]
    ways = [*itertools.product(near_one, near_other)]
    ways += [(other, one) for one, other in ways]
    return max(
        sum(max(0, a - 3 * b) for a, b in zip(one, other, strict=True))
        for one, other in ways
    )


def test_the_exact_sampler_is_pure():
    assert worst_delta(0) == 0
    assert max(a / b for a, b in zip(ONE, OTHER, strict=True)) == 3


@pytest.mark.parametrize("variation", [1, 2, 3])
def test_proposition_3_is_attained_for_total_variation(variation):
    guarantee = converged_within(LN_3, Fraction(variation, PARTS))
    exact = Fraction(worst_delta(2 * variation), PARTS)
    assert exact <= guarantee.delta < exact * (1 + Fraction(1, 10**11))
    assert exact > guarantee.delta / 2  # the bug: a total variation taken for L1
    assert guarantee.epsilon == LN_3.epsilon


def test_proposition_3_with_the_papers_norm_is_true_and_wastes_a_half():
    l1_distance = 4
    printed = (1 + 3) * l1_distance
    assert 2 * worst_delta(l1_distance) == printed


def test_an_irrational_delta_is_rounded_up():
    delta = converged_within(PureDP(Fraction(1), "add-remove"), "1e-6").delta
    with mpmath.workdps(40):
        exact = (1 + mpmath.e) * mpmath.mpf("1e-6")
        assert (
            exact
            < mpmath.mpf(delta.numerator) / delta.denominator
            < exact * (1 + mpmath.mpf("1e-12"))
        )


@pytest.mark.parametrize("epsilon", [Fraction(3), Fraction(10**9)])
def test_a_distance_that_would_promise_nothing_is_refused(epsilon):
    cost = PureDP(epsilon, "add-remove")
    with pytest.raises(ValueError, match=r"`total_variation` must be below 1 / \(1"):
        converged_within(cost, 0.1)
    with pytest.raises(ValueError, match="`total_variation` must be a finite number"):
        converged_within(cost, 0)
