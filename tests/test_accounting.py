"""(ε, δ) of many releases against what can be computed exactly."""

import itertools
import math
from fractions import Fraction

import dp_accounting
import numpy as np
import pytest
from dp_accounting import rdp
from scipy import optimize, stats

from dpjax import privacy
from dpjax.privacy import (
    ADD_REMOVE,
    REPLACE_ONE,
    ZCDP,
    PureDP,
    accounting,
    advanced,
    basic,
)
from dpjax.privacy.accounting import total_epsilon


def costs_of(epsilon, times, adjacency=ADD_REMOVE):
    return [PureDP(Fraction(epsilon), adjacency)] * times


def response_pair(epsilon):
    """Randomised response of two levels, on two inputs."""
    yes = 1 / (1 + math.exp(-epsilon))
    return np.array([yes, 1 - yes]), np.array([1 - yes, yes])


def independent(*pairs):
    """The pair of laws of independent outputs."""
    one, other = np.ones(1), np.ones(1)
    for p, q in pairs:
        one, other = np.outer(one, p).ravel(), np.outer(other, q).ravel()
    return one, other


def divergence(pair, epsilon):
    """δ at ε of two laws."""
    one, other = pair
    return float(np.sum(np.maximum(0, one - math.exp(epsilon) * other)))


def epsilon_of(delta_at, delta, most):
    return optimize.brentq(lambda e: delta_at(e) - delta, 0, most, xtol=1e-12)


def responses(epsilon, times):
    """δ(ε) of so many randomised responses, by the number of ones."""
    ones = np.arange(times + 1)
    loss = epsilon * (2 * ones - times)
    chance = stats.binom.pmf(ones, times, 1 / (1 + math.exp(-epsilon)))
    return lambda total: np.sum(chance * np.maximum(0, -np.expm1(total - loss)))


def test_the_closed_form_is_what_enumeration_gives():
    closed = responses(0.7, 4)
    pair = independent(*[response_pair(0.7)] * 4)
    for total in (0.0, 0.5, 1.4, 2.5):
        assert closed(total) == pytest.approx(divergence(pair, total), rel=1e-12)


@pytest.mark.parametrize(
    ("epsilon", "times", "delta"),
    [
        ("1/10", 100, 1e-5),
        ("1/10", 100, 1e-10),
        ("1/3", 50, 1e-6),
        ("1", 7, 1e-3),
        ("1/10", 500, 1e-10),
    ],
)
def test_loss_distributions_are_exact_for_the_worst_pure_mechanism(
    epsilon, times, delta
):
    costs = costs_of(epsilon, times)
    at = responses(float(Fraction(epsilon)), times)
    exact = epsilon_of(at, delta, float(basic(*costs).epsilon))
    found = total_epsilon(costs, delta)
    assert exact < found <= exact * (1 + 1e-4)


def test_different_costs_are_added_up_together():
    losses = ["1/10", "3/10", "1/2", "7/10", "1/7", "1"]
    costs = [PureDP(Fraction(x), REPLACE_ONE) for x in losses]
    pair = independent(*(response_pair(float(Fraction(x))) for x in losses))
    exact = epsilon_of(lambda e: divergence(pair, e), 1e-3, 3)
    assert exact * (1 - 1e-9) <= total_epsilon(costs, 1e-3) <= exact * (1 + 1e-5)


def test_incommensurable_costs_are_rounded_up():
    losses = ["0.5000000017", "0.7000000913", "0.3333333319"]
    costs = [PureDP(Fraction(x), REPLACE_ONE) for x in losses]
    pair = independent(*(response_pair(float(x)) for x in losses))
    exact = epsilon_of(lambda e: divergence(pair, e), 1e-2, 1.5)
    assert exact <= total_epsilon(costs, 1e-2) <= exact * (1 + 1e-4)


def two_laplace(epsilon):
    """δ(ε) of two releases with Laplace noise: by hand, see `total_epsilon`."""
    return lambda total: (
        1 - math.exp((total - 2 * epsilon) / 2) * (1 + epsilon / 2 - total / 4)
    )


@pytest.mark.parametrize("epsilon", ["1/2", "2"])
def test_laplace_noise_agrees_with_the_closed_form(epsilon):
    loss = float(Fraction(epsilon))
    exact = epsilon_of(two_laplace(loss), 0.01, 2 * loss)
    found = total_epsilon(costs_of(epsilon, 2), 0.01, noise="laplace")
    assert exact <= found <= exact * (1 + 1e-4)


def discrete_pair(rho, shift, reach=60):
    z = np.arange(-reach, reach + shift + 1)
    law = math.tanh(rho / 2) * np.exp(-rho * np.abs(z))
    return law, math.tanh(rho / 2) * np.exp(-rho * np.abs(z - shift))


@pytest.mark.parametrize("sensitivity", [1, 2, 5])
def test_discrete_noise_agrees_with_enumeration(sensitivity):
    pair = independent(*[discrete_pair(1 / sensitivity, sensitivity, 150)] * 2)
    exact = epsilon_of(lambda e: divergence(pair, e), 0.01, 2)
    found = total_epsilon(
        costs_of("1", 2), 0.01, noise="discrete-laplace", sensitivity=sensitivity
    )
    assert exact * (1 - 1e-9) <= found <= exact * (1 + 1e-4)


@pytest.mark.parametrize(("shift", "other"), [(1, 1), (2, 1), (2, 2), (1, 4), (3, 3)])
def test_a_vector_loses_most_where_one_number_takes_the_whole_change(shift, other):
    rho = 0.4
    split = independent(discrete_pair(rho, shift), discrete_pair(rho, other))
    whole = discrete_pair(rho, shift + other)
    for epsilon in np.linspace(0, rho * (shift + other), 41):
        assert divergence(split, epsilon) <= divergence(whole, epsilon) + 1e-9
    middle = rho * (shift + other) / 2
    assert divergence(split, middle) < 0.99 * divergence(whole, middle)


def test_less_is_charged_the_more_is_known():
    costs, delta = costs_of("1/10", 200), "1e-6"
    by = {
        (method, noise): total_epsilon(costs, delta, method, noise)
        for method, noise in itertools.product(("pld", "rdp"), ("any", "laplace"))
    }
    discrete = total_epsilon(costs, delta, noise="discrete-laplace", sensitivity=34)
    assert (
        by["pld", "laplace"]
        < discrete
        < by["pld", "any"]
        < by["rdp", "any"]
        < float(advanced(costs[0], 200, delta).epsilon)
        < float(basic(*costs).epsilon)
    )
    assert by["pld", "laplace"] < by["rdp", "laplace"] < by["rdp", "any"]


def test_a_sensitivity_of_one_is_the_worst_case():
    costs = costs_of("1/2", 20)
    discrete = total_epsilon(costs, 1e-6, noise="discrete-laplace", sensitivity=1)
    assert discrete == pytest.approx(total_epsilon(costs, 1e-6), rel=1e-6)


@pytest.mark.parametrize("method", ["pld", "rdp"])
@pytest.mark.parametrize("epsilon", ["0.000001", "1", "100"])
def test_it_is_never_above_the_sum(method, epsilon):
    assert total_epsilon(costs_of(epsilon, 2), 1e-10, method) <= 2 * float(epsilon)


def test_a_large_sensitivity_is_as_good_as_a_continuous_law():
    costs = costs_of("1", 3)
    large = total_epsilon(costs, 1e-6, noise="discrete-laplace", sensitivity=9973)
    assert large == pytest.approx(total_epsilon(costs, 1e-6, noise="laplace"), rel=1e-3)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"delta": 0}, "`delta` must be a finite number > 0"),
        ({"delta": 1}, "`delta` must be at least 1e-10 and below 1"),
        ({"delta": "1e-11"}, "`delta` must be at least 1e-10 and below 1"),
        ({"method": "gdp"}, "`method` must be 'pld' or 'rdp'"),
        ({"noise": "gauss"}, "`noise` must be 'any' or 'laplace' or"),
        ({"noise": "discrete-laplace", "method": "rdp"}, "`noise` must be 'any' or"),
        ({"sensitivity": 0}, "`sensitivity` must be an integer of at least 1"),
        ({"sensitivity": 10**6}, "`sensitivity` must be at most 100000"),
        ({"costs": []}, "`costs` must be one or more"),
        ({"costs": costs_of("1e-7", 3)}, "`costs` must be between 1e-6 and 100"),
        ({"costs": costs_of(101, 3)}, "`costs` must be between 1e-6 and 100"),
        (
            {"costs": costs_of(1, 1, ADD_REMOVE) + costs_of(1, 1, REPLACE_ONE)},
            "`costs` must be one or more, all for one adjacency",
        ),
    ],
)
def test_bad_arguments_are_refused(arguments, match):
    with pytest.raises(ValueError, match=match):
        total_epsilon(**{"costs": costs_of(1, 2), "delta": 1e-5} | arguments)


def test_a_missing_package_names_its_extra(monkeypatch):
    monkeypatch.setattr(accounting, "dp_accounting", None)
    with pytest.raises(ImportError, match=r'pip install "dpjax\[accounting\]"'):
        total_epsilon(costs_of(1, 2), 1e-5)


def test_the_module_is_reached_by_name():
    assert privacy.accounting is accounting
    with pytest.raises(AttributeError, match="has no attribute 'unknown'"):
        _ = privacy.unknown


@pytest.mark.parametrize("delta", ["1e-9", "1e-5", "0.01"])
@pytest.mark.parametrize("rho", ["0.001", "0.1", "1", "5"])
def test_rho_implies_what_dp_accounting_finds(rho, delta):
    """Which tries some orders of Rényi divergences; the library takes the best one."""
    orders = [*(1 + np.arange(1, 3000) / 1000), *range(4, 3000)]
    relation = dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE
    accountant = rdp.RdpAccountant(orders, neighboring_relation=relation)
    accountant.compose(dp_accounting.ZCDpEvent(rho=float(rho)))
    theirs = accountant.get_epsilon(float(delta))
    ours = float(ZCDP(Fraction(rho), ADD_REMOVE).approximate(delta).epsilon)
    assert 0.99 * theirs < ours <= theirs * (1 + 1e-9)
