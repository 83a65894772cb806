"""Squared L2 sensitivities against all neighbours of tiny domains."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpjax as dp
from dpjax.audits import neighbouring
from dpjax.privacy import Sensitivity
from dpjax.statistics import (
    Contrasts,
    FourierCoefficients,
    MarginalContrasts,
    NetworkCounts,
    Statistic,
)
from dpjax.statistics.fourier_sensitivity import (
    SQUARES,
    elementary,
    largest_change_of_order,
)
from dpjax.statistics.printed_fourier import PrintedFourier

LEVELS = {2: [0, 1], 3: [0, 1, 2]}
NETS = {
    "binary chain": dp.BayesNet.from_parents(
        {x: LEVELS[2] for x in "abc"}, {"a": [], "b": ["a"], "c": ["b"]}
    ),
    "three levels": dp.BayesNet.from_parents(
        {"a": LEVELS[3], "b": LEVELS[2], "c": LEVELS[3]},
        {"a": [], "b": ["a"], "c": ["a", "b"]},
    ),
    "overlapping": dp.BayesNet.from_parents(
        {"a": LEVELS[2], "b": LEVELS[3], "c": LEVELS[2], "d": LEVELS[2]},
        {"a": [], "b": ["a"], "c": ["b"], "d": ["a", "c"]},
    ),
}


def largest(statistic, sizes, adjacency):
    """The largest squared change over all pairs of neighbours with a record more."""
    n = 1 if adjacency == "replace-one" else 0
    measure = jax.jit(statistic.measure)
    return max(
        int(((np.asarray(measure(x)) - np.asarray(measure(y))) ** 2).sum())
        for x, y in neighbouring(sizes, n, adjacency)
    )


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("name", NETS)
def test_of_counts_and_fourier_coefficients_it_is_exact(name, adjacency):
    net = NETS[name]
    for statistic in (
        NetworkCounts(net),
        FourierCoefficients.of_network(net, adjacency),
        FourierCoefficients(net.variables, adjacency, order=2),
    ):
        stated = statistic.squared_sensitivity(adjacency)
        assert stated.tight
        assert stated.adjacency == adjacency
        assert int(stated.value) == largest(statistic, net.sizes, adjacency)


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("name", NETS)
def test_of_other_statistics_it_is_an_upper_bound(name, adjacency):
    net = NETS[name]
    for statistic in (
        Contrasts.of_network(net, adjacency),
        MarginalContrasts.of_order(net.variables, 2, adjacency),
    ):
        stated = statistic.squared_sensitivity(adjacency)
        assert not stated.tight
        assert int(stated.value) >= largest(statistic, net.sizes, adjacency)


def test_of_coefficients_as_printed_it_counts_whole_changes():
    """They are not halved, unlike others of binary variables."""
    net = NETS["binary chain"]
    statistic = PrintedFourier.of_network(net, "replace-one")
    stated = int(statistic.squared_sensitivity("replace-one").value)
    found = largest(statistic, net.sizes, "replace-one")
    assert found <= stated == 4 * statistic.length
    halved = FourierCoefficients.of_network(net, "replace-one")
    assert found == 4 * int(halved.squared_sensitivity("replace-one").value)


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_of_a_network_with_numbers_it_is_an_upper_bound(adjacency):
    variables = {"y": [0, 1], "x": {"lower": -1, "upper": 1}}
    net = dp.data.MixedNet.naive_bayes(variables, "y")
    statistic = dp.statistics.MixedTotals(net, adjacency, units=4)
    values = (-1.0, -0.4, 0.0, 0.6, 1.0)
    records = [jnp.array([[y, x]], jnp.float32) for y in (0, 1) for x in values]
    sums = [np.asarray(statistic.measure(x)) for x in records]
    others = sums if adjacency == "replace-one" else [0 * sums[0]]
    bound = int(statistic.squared_sensitivity(adjacency).value)
    assert bound >= max(((a - b) ** 2).sum() for a in sums for b in others)


def test_of_a_family_it_bounds_records_at_all_values():
    for adjacency in ("replace-one", "add-remove"):
        over = (dp.Interval("x", -1.0, 1.0),)
        statistic = dp.statistics.Sufficient.of("gaussian", over, adjacency, 4)
        bound = int(statistic.squared_sensitivity(adjacency).value)
        grid = np.linspace(-1, 1, 17, dtype=np.float32)[:, None, None]
        sums = [np.asarray(statistic.measure(x)) for x in grid]
        others = sums if adjacency == "replace-one" else [0 * sums[0]]
        assert bound >= max(((a - b) ** 2).sum() for a in sums for b in others)


def test_of_a_statistic_that_states_none_it_is_the_square():
    """One record may change one number by all of the L1 sensitivity."""

    class Sum(NetworkCounts):
        squared_sensitivity = Statistic.squared_sensitivity

        def sensitivity(self, adjacency):
            return Sensitivity(100, adjacency, tight=True)

    stated = Sum(NETS["binary chain"]).squared_sensitivity("add-remove")
    assert (int(stated.value), stated.tight) == (100**2, False)


def test_a_bound_that_is_too_expensive_to_maximise_counts_every_change():
    sizes = [2, 3, 4, 5, 6, 7, 8, 9] * 3
    change, tight = largest_change_of_order(sizes, 2, SQUARES)
    assert not tight
    assert change == 4 * (sum(elementary([x - 1 for x in sizes], 2)) - 1)
