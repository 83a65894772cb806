"""The law of the tables, in exact arithmetic, and what happens to a wrong one."""

import itertools
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpjax.noise import tables

RATES = [
    Fraction(30),
    Fraction(21),
    Fraction(12),
    Fraction(5, 2),
    Fraction(1),
    Fraction(1, 2),
    Fraction(1, 10),
    Fraction(1, 36),
    Fraction(3, 1000),
    Fraction(1, 10**5),
    Fraction(1, 2**23),
]


@pytest.mark.parametrize("rho", RATES, ids=str)
def test_every_table_certifies_and_wastes_nothing(rho):
    table = tables.build(rho)
    worst = tables.certify(table, rho)
    with mpmath.workdps(60):
        loss = mpmath.log(mpmath.mpf(worst.numerator) / worst.denominator)
        relative = loss / (mpmath.mpf(rho.numerator) / rho.denominator)
    assert 1 - 2**-36 < relative <= 1


@pytest.mark.slow
@pytest.mark.parametrize("rho", [Fraction(3), Fraction(1, 2), Fraction(1, 36)], ids=str)
def test_the_certificate_covers_every_pair_of_neighbouring_integers(rho):
    table = tables.build(rho)
    law = [tables.probability(table, z) for z in range(3000)]
    ratios = {a / b for a, b in itertools.pairwise(law)}
    assert max(max(ratios), 1 / min(ratios)) == tables.certify(table, rho)


@pytest.mark.parametrize("rho", [Fraction(2), Fraction(1, 7)], ids=str)
def test_the_law_is_the_discrete_laplace(rho):
    table = tables.build(rho)
    with mpmath.workdps(50):
        rate = mpmath.mpf(rho.numerator) / rho.denominator
        for z in (0, 1, -1, 15, 16, 17, -100, 700):
            implemented = tables.probability(table, z)
            ideal = mpmath.tanh(rate / 2) * mpmath.exp(-rate * abs(z))
            ratio = mpmath.mpf(implemented.numerator) / implemented.denominator / ideal
            assert abs(ratio - 1) < 2**-39 * (1 + rate * abs(z))


def test_the_law_sums_to_one():
    table = tables.build(Fraction(1, 3))
    total = sum(tables.probability(table, z) for z in range(-400, 401))
    assert 1 - Fraction(1, 10**50) < total < 1


def test_padding_changes_nothing():
    lengths = tables.lengths_needed(Fraction(1, 1000), Fraction(5))
    for rho in (Fraction(5), Fraction(1, 1000)):
        own, padded = tables.build(rho), tables.build(rho, lengths)
        assert own.largest.shape != padded.largest.shape or rho < 1
        for z in (0, 1, 16, 17, 300, 5000, -5000):
            assert tables.probability(own, z) == tables.probability(padded, z)


MUTANTS = {
    "a threshold one unit of its first word away": lambda t: t.low[3].__setitem__(
        0, t.low[3, 0] + 1
    ),
    "two thresholds swapped": lambda t: t.low.__setitem__([2, 5], t.low[[5, 2]]),
    "a row shifted": lambda t: t.high[0].__setitem__(
        slice(1, None), t.high[0][:-1].copy()
    ),
    "the redraw shifted": lambda t: t.redraw.__setitem__(
        slice(1, None), t.redraw[:-1].copy()
    ),
    "zero too likely": lambda t: t.low[0].__setitem__(0, t.low[0, 0] * 2),
    "a digit that is always the last": lambda t: t.high[0].fill(0),
    "zero's threshold above all": lambda t: t.low.__setitem__(
        slice(None), np.roll(t.low, 1, axis=0)
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_damaged_table_does_not_certify(name):
    table = tables.build(Fraction(1, 10))
    MUTANTS[name](table)
    with pytest.raises(ValueError, match="must keep the ratio"):
        tables.certify(table, Fraction(1, 10))


def test_thresholds_that_fall_are_no_law():
    """Their differences are below 0, and so are ratios that should be at least 1."""
    table = tables.build(Fraction(1))
    table.low[:] = np.roll(table.low, 1, axis=0)
    with pytest.raises(ValueError, match="must keep the ratio"):
        tables.certify(table, Fraction(1))


def test_a_table_does_not_certify_for_less_than_its_own_rate():
    table = tables.build(Fraction(1))
    with pytest.raises(ValueError, match="must keep the ratio"):
        tables.certify(table, Fraction(999_999, 1_000_000))


@pytest.mark.parametrize(
    "rho", [Fraction(0), Fraction(31), Fraction(1, 2**24)], ids=str
)
def test_rates_outside_the_certified_range_are_refused(rho):
    with pytest.raises(ValueError, match=r"between 2\^-23 and 30"):
        tables.build(rho)


def test_fingerprints_tell_tables_apart():
    one, other = tables.build(Fraction(1)), tables.build(Fraction(2))
    assert tables.fingerprint(one) == tables.fingerprint(tables.build(Fraction(1)))
    assert tables.fingerprint(one) != tables.fingerprint(other)
    assert np.asarray(one.low).dtype == np.uint32


def made_of(rho, zero=1, low=(), top=(), overflow=1, redraw=(), again=1):
    """The table of a rate, some of its probabilities times a factor.

    Of the lowest digit, the top digit and the redrawn top digit from the eighth value
    on; of zero; and of an overflow, the first time and again.
    """
    [nothing, *digit], high, last = tables._exact_laws(rho)
    digit = [p / (1 - nothing) for p in digit]
    scaled = []
    for law, factors, end in (
        (digit, low, 1),
        (high, top, overflow),
        (last, redraw, again),
    ):
        factors = [1] * 8 + [*factors] + [1] * (len(law) - 8 - len(factors))
        law = [p * f for p, f in zip(law, factors, strict=True)]
        law[-1] *= end
        scaled.append([p / sum(law) for p in law])
    digit, high, last = scaled
    nothing *= zero
    lowest = [nothing, *((1 - nothing) * p for p in digit)]
    return tables.build(rho)._replace(
        low=tables._thresholds(lowest, 127, 16),
        high=(tables._thresholds(high, 128, len(high) - 1),),
        redraw=tables._thresholds(last, 128, len(last) - 1),
    )


RATE, LESS = Fraction(1, 10), Fraction(99, 100)
DAMAGES = {
    "zero too likely": {"zero": Fraction(101, 100)},
    "zero too rare": {"zero": Fraction(4, 5)},
    "a low digit too rare": {"low": [LESS] * 8},
    "a top digit too rare": {"top": [LESS] * 6},
    "an overflow too rare": {"overflow": LESS},
    "a redrawn digit too rare": {"redraw": [LESS] * 6},
    "an overflow after an overflow too rare": {"again": LESS},
}


def test_a_table_made_of_its_laws_certifies():
    assert tables.certify(made_of(RATE), RATE) > 1


@pytest.mark.parametrize("name", DAMAGES)
def test_each_ratio_alone_is_certified(name):
    """Damages that show in one ratio, of one direction, and in no other one."""
    table = made_of(RATE, **DAMAGES[name])
    bound = tables.exp_lower_bound(RATE)
    broken = [r > bound or 1 / r > bound for r in tables._neighbouring_ratios(table)]
    assert sum(broken) == 1
    with pytest.raises(ValueError, match="must keep the ratio"):
        tables.certify(table, RATE)


@pytest.mark.parametrize("x", RATES, ids=str)
def test_the_bound_of_an_exponential_is_below_it(x):
    with mpmath.workdps(120):
        exact = mpmath.exp(mpmath.mpf(x.numerator) / x.denominator)
        bound = tables.exp_lower_bound(x)
        ratio = mpmath.mpf(bound.numerator) / bound.denominator / exact
        assert 1 - mpmath.mpf(10) ** -70 < ratio < 1
