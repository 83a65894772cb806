"""Lipschitz constants against brute force over parameters and records."""

import functools
import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import special

from dpjax.theory import (
    bernoulli_constant,
    lemma_2,
    linear_regression_constant,
    network_constant,
    posterior_sample_cost,
    row_constant,
    truncation,
)
from tests.helpers.neighbours import data_sets, neighbouring_pairs, worst_loss

# networks as levels and parents of each variable
NETWORKS = {
    "coin": ((2,), ((),)),
    "die": ((4,), ((),)),
    "chain": ((2, 2), ((), (0,))),
    "categorical chain": ((3, 2), ((), (0,))),
    "fork": ((2, 2, 3), ((), (0,), (0,))),
}
OMEGA = Fraction(1, 10)


def extreme_rows(levels, omega):
    """Vertices of the simplex whose entries are at least ω."""
    return omega + (1 - levels * omega) * np.eye(levels)


def log_likelihoods(name, omega=float(OMEGA)):
    """ln p(x_i | x_parents), one entry a (parameter, record, variable): all of them."""
    sizes, parents = NETWORKS[name]
    rows = [
        (i, row)
        for i, group in enumerate(parents)
        for row in itertools.product(*(range(sizes[j]) for j in group))
    ]
    records = list(itertools.product(*map(range, sizes)))
    for choice in itertools.product(*(range(sizes[i]) for i, _ in rows)):
        table = {
            row: extreme_rows(sizes[row[0]], omega)[vertex]
            for row, vertex in zip(rows, choice, strict=True)
        }
        yield [
            [
                math.log(table[i, tuple(x[j] for j in parents[i])][x[i]])
                for i in range(len(sizes))
            ]
            for x in records
        ]


@pytest.mark.parametrize("name", NETWORKS)
def test_the_constant_of_a_network_is_attained(name):
    sizes, _ = NETWORKS[name]
    total = np.array(list(log_likelihoods(name))).sum(-1)  # parameters, records
    largest = (total.max(1) - total.min(1)).max()
    range_of_a_record = (total.max(0) - total.min(0)).max()
    constant = network_constant([row_constant(levels, OMEGA) for levels in sizes])
    assert float(constant) == pytest.approx(largest, rel=1e-11)
    assert float(constant) == pytest.approx(range_of_a_record, rel=1e-11)


@pytest.mark.parametrize("levels", [2, 3, 7])
def test_constants_are_rounded_up_and_hardly(levels):
    with mpmath.workdps(40):
        omega = mpmath.mpf("0.01")
        exact = mpmath.log((1 - (levels - 1) * omega) / omega)
        found = mpmath.mpf(row_constant(levels, "0.01"))
        assert exact < found < exact * (1 + mpmath.mpf("1e-12"))
    assert bernoulli_constant("0.01") == row_constant(2, 0.01)


def loss_of_a_sample(omega, temperature, n, adjacency):
    """Of one sample from a posterior on the two points ω and 1 - ω, over all data."""
    support = np.log([[1 - omega, omega], [omega, 1 - omega]])  # parameter, record

    @functools.cache
    def log_posterior(data):
        weights = support @ [len(data) - sum(data), sum(data)] / temperature
        return special.log_softmax(weights)

    sizes = [n] if adjacency == "replace-one" else [n - 1, n]
    pairs = neighbouring_pairs(data_sets((0, 1), sizes), (0, 1), adjacency)
    return worst_loss(log_posterior, pairs)


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("temperature", ["1", "5/2"])
def test_a_posterior_sample_costs_what_it_loses_on_many_records(adjacency, temperature):
    cost = posterior_sample_cost(bernoulli_constant("0.2"), adjacency, temperature)
    losses = [
        loss_of_a_sample(0.2, float(Fraction(temperature)), n, adjacency)
        for n in (3, 100)
    ]
    assert losses[0] < 0.999 * losses[1]
    assert losses[1] == pytest.approx(float(cost.epsilon), rel=1e-9)
    three = posterior_sample_cost(
        bernoulli_constant("0.2"), adjacency, temperature, samples=3
    )
    assert float(three.epsilon) == pytest.approx(3 * float(cost.epsilon), rel=1e-11)


def test_the_figures_of_foulds_et_al():
    for omega, temperature, epsilon in [("0.2", 2.7726, 1), ("0.05", 58.89, 0.1)]:
        constant = bernoulli_constant(omega)
        cost = posterior_sample_cost(constant, "replace-one", temperature)
        assert float(cost.epsilon) == pytest.approx(epsilon, rel=1e-4)


@pytest.mark.parametrize("levels", [2, 3, 10])
@pytest.mark.parametrize("constant", ["1/1000", "1/3", "1", "17", "3000"])
def test_a_truncation_keeps_its_constant_and_wastes_nothing(levels, constant):
    limit = Fraction(constant)
    omega = truncation(levels, constant)
    exact = 1 / (levels - 1 + math.exp(min(limit, 34)))
    assert float(omega) == pytest.approx(exact, rel=1e-9)
    assert min(limit, 34) - Fraction(1, 10**9) < row_constant(levels, omega) <= limit


@pytest.mark.parametrize(("attributes", "epsilon"), [(2, "1"), (16, "1/3"), (16, "10")])
def test_naive_bayes_keeps_its_budget(attributes, epsilon):
    budget, variables = Fraction(epsilon), attributes + 1
    omega = truncation(2, budget / (2 * variables))
    assert float(omega) == pytest.approx(
        1 / (1 + math.exp(budget / (2 * variables))), rel=1e-9
    )
    constant = network_constant([bernoulli_constant(omega)] * variables)
    assert float(constant) == pytest.approx(
        variables * math.log((1 - omega) / omega), rel=1e-9
    )
    cost = posterior_sample_cost(constant, "replace-one")
    assert budget * (1 - Fraction(1, 10**8)) < cost.epsilon <= budget


def distances(name, on_families):
    """0-1 distances of all pairs of records, one a variable."""
    sizes, parents = NETWORKS[name]
    records = list(itertools.product(*map(range, sizes)))
    scopes = [(i, *group) if on_families else (i,) for i, group in enumerate(parents)]
    return [
        [[float(any(x[j] != y[j] for j in scope)) for scope in scopes] for y in records]
        for x in records
    ]


def excess(name, on_families):
    """By how much log-ratios exceed Lemma 2's bound, at the most."""
    sizes, _ = NETWORKS[name]
    constants = [row_constant(levels, OMEGA) for levels in sizes]
    bound = np.array(
        [
            [lemma_2(constants, rho) for rho in row]
            for row in distances(name, on_families)
        ]
    )
    total = np.array(list(log_likelihoods(name))).sum(-1)
    return (np.abs(total[:, :, None] - total[:, None, :]) - bound).max()


@pytest.mark.parametrize("name", NETWORKS)
def test_lemma_2_holds_with_distances_of_families(name):
    assert excess(name, on_families=True) <= 1e-12


@pytest.mark.parametrize("name", ["chain", "categorical chain", "fork"])
def test_lemma_2_fails_with_distances_of_variables(name):
    """E3: the parents differ, the child does not, and still the factor of it does."""
    assert excess(name, on_families=False) > 1
    sizes, parents = NETWORKS["chain"]
    same_child = np.array(distances("chain", on_families=False))[0, 2]  # 00 and 10
    assert (sizes, parents, same_child.tolist()) == ((2, 2), ((), (0,)), [1.0, 0.0])


@pytest.mark.parametrize("name", NETWORKS)
def test_the_sum_is_never_above_the_papers_form(name):
    sizes, _ = NETWORKS[name]
    constants = [row_constant(levels, OMEGA) for levels in sizes]
    assert float(network_constant(constants)) <= lemma_2(constants, [1.0] * len(sizes))


REGRESSION = [(1, 1, 1, 10), (1, 1, 1, 1), (2, 0.5, 3, 1), (1, 2, 3, 0.5)]


def log_densities(precision, features, target, weights):
    """Of y given x: an entry a (record, weight) on a grid that has all corners."""
    grid = np.linspace(-1, 1, 9)
    x, y, w = np.meshgrid(features * grid, target * grid, weights * grid, indexing="ij")
    return (-precision / 2 * (y - w * x) ** 2).reshape(-1, len(grid))


@pytest.mark.parametrize("bounds", REGRESSION)
def test_the_constants_of_linear_regression_are_attained(bounds):
    logs = log_densities(*bounds)
    replaced = (logs.max(0) - logs.min(0)).max()
    c = float(linear_regression_constant(*bounds, "replace-one"))
    assert c == pytest.approx(replaced, rel=1e-12)
    precision, features, target, weights = bounds
    edge = np.concatenate(
        [  # the best y is at its bound, the weight often inside
            -precision / 2 * (target - np.linspace(-1, 1, 2001) * weights * x) ** 2
            for x in np.linspace(0, features, 3)
        ]
    ).reshape(3, -1)
    removed = max(np.ptp(logs, axis=1).max(), np.ptp(edge, axis=1).max())
    c_prime = float(linear_regression_constant(*bounds, "add-remove"))
    assert removed * (1 - 1e-12) <= c_prime <= removed * (1 + 1e-5)
    assert c_prime <= c


@pytest.mark.parametrize("bounds", REGRESSION)
def test_no_vectors_exceed_the_constants_of_linear_regression(bounds, rng):
    precision, features, target, weights = bounds

    def ball(radius, shape):
        direction = rng.normal(size=shape)
        return radius * direction / np.linalg.norm(direction, axis=-1, keepdims=True)

    x, w = (
        ball(features, (200, 4)),
        ball(weights, (300, 4)) * rng.uniform(size=(300, 1)),
    )
    y = rng.uniform(-target, target, (200, 1))
    logs = -precision / 2 * (y - x @ w.T) ** 2
    assert np.ptp(logs, axis=0).max() <= linear_regression_constant(
        *bounds, "replace-one"
    )
    assert np.ptp(logs, axis=1).max() <= linear_regression_constant(
        *bounds, "add-remove"
    )


def test_the_privacy_of_the_papers_regression():
    for b, epsilon in [(1, 121), (100, 4)]:
        for adjacency, share in [("replace-one", 1), ("add-remove", Fraction(1, 2))]:
            constant = linear_regression_constant(
                1, 1, 1, 10 / math.isqrt(b), adjacency
            )
            cost = posterior_sample_cost(constant, adjacency)
            assert cost.epsilon == epsilon * share


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: row_constant(1, "0.1"), "`levels` must be an integer of at least 2"),
        (lambda: row_constant(4, "1/4"), "`omega` must be below 1/4 for 4 levels"),
        (lambda: row_constant(2, 0), "`omega` must be a finite number > 0"),
        (lambda: truncation(2, 1e-13), "`constant` must be larger to leave any"),
        (lambda: network_constant([]), "`constants` must be one or more"),
        (lambda: network_constant([Fraction(-1)]), "`constants` must be one or more"),
        (lambda: lemma_2([Fraction(1)], []), "`distances` must be 1 numbers"),
        (lambda: lemma_2([Fraction(1)], [-1.0]), "`distances` must be 1 numbers"),
        (lambda: linear_regression_constant(1, 0, 1, 1, "add-remove"), "`features`"),
        (lambda: linear_regression_constant(1, 1, 1, 1, "both"), "`adjacency` must"),
        (lambda: posterior_sample_cost(Fraction(1), "add-remove", 0), "`temperature`"),
        (lambda: posterior_sample_cost(Fraction(1), "add-remove", 1, 0), "`samples`"),
    ],
)
def test_bad_arguments_are_refused(call, match):
    with pytest.raises(ValueError, match=match):
        call()
