"""Stochastic Lipschitz constants of Beta priors, and how little Theorem 4 says."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy import optimize, special, stats

from dpjax.theory import (
    beta_constant,
    beta_likelihood_ratio,
    beta_mass,
    lemma_3,
    theorem_4,
)
from tests.helpers.statistical import assert_binomial

PRIORS = [(1, 1), (0.5, 0.6), (5, 5), (30, 1), (0.1, 20), (3, 900), (60, 80)]


def log_outside(alpha, beta, bound):
    """ln(1 - ξ(Θ_L)) to many digits."""
    with mpmath.workdps(40):
        x = 1 / (1 + mpmath.exp(mpmath.mpf(bound)))
        tails = [
            mpmath.betainc(a, b, 0, x, regularized=True)
            for a, b in ((alpha, beta), (beta, alpha))
        ]
        return float(mpmath.log(sum(tails)))


@pytest.mark.parametrize(("alpha", "beta"), PRIORS)
def test_the_mass_of_smooth_parameters(alpha, beta, rng):
    draws = rng.beta(alpha, beta, 20_000)
    for bound in (0.01, 0.5, 3.0):
        mass = beta_mass(float(alpha), float(beta), bound)
        assert mass == pytest.approx(
            -math.expm1(log_outside(alpha, beta, bound)), rel=1e-9
        )
        inside = np.abs(np.log(draws) - np.log1p(-draws)) <= bound
        assert_binomial(inside.sum(), len(draws), min(mass, 1.0))


@pytest.mark.parametrize(("alpha", "beta"), PRIORS)
@pytest.mark.parametrize("least", [0.1, 1.0, 7.0, 1000.0])
def test_the_stochastic_constant_holds_from_there_on_and_no_larger_one_does(
    alpha, beta, least
):
    constant = beta_constant(float(alpha), float(beta), least)
    rates = [
        -log_outside(alpha, beta, bound) / bound
        for bound in (*(least * np.geomspace(1, 50, 12)), 1e6)
    ]
    assert constant <= min(rates) * (1 + 1e-9)
    assert min(rates) <= constant * (1 + 1e-4)


@pytest.mark.parametrize(
    ("alpha", "beta", "least"), [(1e5, 1e5, 1.0), (1e5, 2e5, 2.0), (1e9, 1e9, 0.01)]
)
def test_the_constant_of_a_very_concentrated_prior(alpha, beta, least):
    """Outside is a mass of e^-10000 and less, all of it next to an edge."""
    tails = []
    for a, b in ((alpha, beta), (beta, alpha)):
        x = float(special.expit(-least))
        slope = (a - 1) / x - (b - 1) / (1 - x)  # of the log-density, which is concave
        t = np.linspace(x - 60 / slope, x, 100_001)
        log_density = (a - 1) * np.log(t) + (b - 1) * np.log1p(-t)
        mass = np.trapezoid(np.exp(log_density - log_density[-1]), t)
        tails.append(log_density[-1] + math.log(mass) - special.betaln(a, b))
    exact = -np.logaddexp(*tails) / least
    assert beta_constant(alpha, beta, least) == pytest.approx(exact, rel=1e-7)


def test_a_network_has_a_smaller_constant():
    priors = [(3.0, 4.0), (5.0, 5.0), (3.0, 4.0), (2.0, 9.0)]
    least = 3.0
    constants = [beta_constant(a, b, least) for a, b in priors]
    together = lemma_3(constants, least)
    assert together == pytest.approx(min(constants) - math.log(4) / 3)
    for bound in np.linspace(least, 20, 50):
        mass = math.prod(beta_mass(a, b, bound) for a, b in priors)
        assert mass >= -math.expm1(-together * bound) - 1e-15


def test_rows_must_be_counted_and_not_variables():
    rows, least = 8, 3.0
    constant = beta_constant(1.0, 1.0, least)
    mass = beta_mass(1.0, 1.0, least) ** rows  # of one variable with three parents
    assert mass < -math.expm1(-constant * least)
    assert mass >= -math.expm1(-lemma_3([constant] * rows, least) * least)


@pytest.mark.parametrize(("alpha", "beta"), [(1, 1), (0.3, 2.5), (40, 40)])
def test_the_likelihood_ratio_is_the_largest_over_all_data_sets(alpha, beta):
    found = []
    for n in range(1, 7):
        ratios = []
        for records in itertools.product((0, 1), repeat=n):
            ones = sum(records)
            most = (ones / n) ** ones * (1 - ones / n) ** (n - ones)
            predictive, seen = 1.0, [alpha, beta]
            for record in records:
                predictive *= seen[1 - record] / sum(seen)
                seen[1 - record] += 1
            ratios.append(most / predictive)
        found.append(beta_likelihood_ratio(n, float(alpha), float(beta)))
        assert found[-1] == pytest.approx(max(ratios), rel=1e-9)
    assert found == sorted(found)
    assert beta_likelihood_ratio(10**5, 1e5, 1e-3) > 10.0**100


def printed_m(c, least, ratio, s):
    kappa, omega = 4.91081, 1.25643
    return ratio * (
        kappa / c
        + least * (1 / (1 - math.exp(-omega)) + 1)
        + math.log(ratio)
        + math.log(
            math.exp(-least * s * c) / (math.exp(-omega * (1 - s)) - math.exp(-omega))
            + math.exp(least * (1 - s) * c)
        )
    )


def test_m_is_the_printed_formula():
    for c, least, ratios, s in [(1.5, 2.0, [2.0], 0.3), (9.0, 0.5, [1.5, 1.2], 0.8)]:
        result = theorem_4(c, least, ratios, rho=0.5, split=s)
        assert pytest.approx(result.M) == printed_m(c, least, math.prod(ratios), s)
        assert result.delta == math.sqrt(result.M / 2)
        assert (result.holds, result.epsilon) == (True, 0.0)


@pytest.mark.parametrize(("c", "least"), [(1.5, 2.0), (9.0, 0.5), (40.0, 0.01)])
def test_the_best_split_is_chosen(c, least):
    best = theorem_4(c, least, [1.7])
    assert best.holds
    assert best.split == pytest.approx(1 - 1 / c)
    for s in np.linspace(0.001, best.split, 200):
        other = theorem_4(c, least, [1.7], split=float(s))
        assert other.holds
        assert other.M >= best.M * (1 - 1e-12)
    beyond = theorem_4(c, least, [1.7], split=(1 + best.split) / 2)
    assert not beyond.holds
    assert beyond.vacuous
    assert beyond.M < best.M


@pytest.mark.parametrize(("alpha", "beta"), [(1, 1), (0.5, 7), (1, 1000), (0.1, 0.1)])
def test_the_hypothesis_fails_with_a_small_parameter(alpha, beta):
    for least in np.geomspace(0.01, 100, 9):
        constant = beta_constant(float(alpha), float(beta), float(least))
        ratio = beta_likelihood_ratio(1, float(alpha), float(beta))
        result = theorem_4(constant, float(least), [ratio])
        assert (result.holds, result.split, result.vacuous) == (False, None, True)
        assert result.M == result.delta == math.inf


def test_from_two_records_on_it_is_vacuous_for_every_beta_prior():
    held = 0
    for alpha, beta in itertools.product(np.geomspace(0.01, 1e7, 8), repeat=2):
        ratios = [beta_likelihood_ratio(n, alpha, beta) for n in (2, 3, 50)]
        assert min(ratios) * math.log(min(ratios)) > 2  # C ≥ 2.346, whatever else
        for least in np.geomspace(1e-3, 10, 4):
            constant = beta_constant(alpha, beta, least)
            for ratio in ratios:
                result = theorem_4(constant, least, [ratio], rho=1e-3)
                assert result.vacuous
                assert result.delta > 1
                held += result.holds
    assert held > 200  # so often it is vacuous although its hypothesis holds


def test_two_records_are_least_telling_under_one_prior():
    def ratio(log_parameters):
        return beta_likelihood_ratio(2, *map(float, np.exp(log_parameters)))

    best = optimize.minimize(ratio, [0.3, -0.4], method="Nelder-Mead", tol=1e-9)
    assert best.fun == pytest.approx(2.5, rel=1e-6)  # at α = β = 1/3


def test_one_record_and_a_concentrated_prior_are_promised_something():
    a, least = 1e7, 3e-3
    result = theorem_4(
        beta_constant(a, a, least), least, [beta_likelihood_ratio(1, a, a)]
    )
    assert result.holds
    assert not result.vacuous
    assert 0.8 < result.delta < 0.9
    grid = np.linspace(0.498, 0.502, 20_001)
    one, other = stats.beta(a + 1, a).pdf(grid), stats.beta(a, a + 1).pdf(grid)
    assert np.abs(one - other).sum() / one.sum() / 2 < 1e-3 < result.delta


def test_what_overflows_is_vacuous():
    ratio = beta_likelihood_ratio(10**4, 1e5, 1e-3)
    assert ratio == math.inf
    assert theorem_4(5.0, 1.0, [ratio, 2.0]).vacuous
    assert theorem_4(5.0, 1000.0, [2.0], rho=4.0).M > 1000


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: beta_mass(0.0, 1.0, 1.0), "`alpha` must be positive"),
        (lambda: beta_mass(1.0, 1.0, -1.0), "`bound` must be at least 0"),
        (lambda: beta_constant(1.0, 1.0, 0.0), "`least` must be positive"),
        (lambda: lemma_3([], 1.0), "`constants` must be one or more"),
        (
            lambda: lemma_3([1.0] * 3, 1.0),
            r"`least` must be above ln\|I\| / min c, 1.0",
        ),
        (lambda: beta_likelihood_ratio(0, 1.0, 1.0), "`n` must be an integer"),
        (lambda: theorem_4(1.0, 1.0, []), "`ratios` must be one or more"),
        (lambda: theorem_4(1.0, 1.0, [0.5]), "`ratios` must be one or more"),
        (lambda: theorem_4(1.0, 1.0, [2.0], split=1.0), "`split` must be between"),
        (lambda: theorem_4(-1.0, 1.0, [2.0]), "`constant` must be at least 0"),
    ],
)
def test_bad_arguments_are_refused(call, match):
    with pytest.raises(ValueError, match=match):
        call()
