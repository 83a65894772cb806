"""Privacy without chance: every data set, every neighbour, every output, exactly.

The noise on different numbers is independent, so the largest loss over all outputs is
the sum of the largest losses of the numbers; one case enumerates joint outputs as well.
Probabilities are the exact ones of the implemented table, clipped to a small range so
that "every output" is a finite list.
"""

import itertools
from fractions import Fraction

import pytest

from dpjax.mechanisms import DiscreteLaplace
from dpjax.noise import tables
from dpjax.privacy import Sensitivity
from dpjax.statistics import FourierCoefficients, NetworkCounts
from tests.helpers.neighbours import (
    assert_spends_exactly,
    measured_pairs,
    worst_ratio,
)
from tests.helpers.networks import TINY

REACH = 12  # outputs are clipped to [-12, 12]: all of them are enumerated
MOST_RECORDS = 2


STATISTICS = {
    "maximal families": lambda net, adjacency: NetworkCounts(net),
    "all families": lambda net, adjacency: NetworkCounts(net, "all"),
    "fourier": FourierCoefficients.of_network,
}


def clipped_law(mechanism):
    """P(output | exact number) for every output and every number that occurs."""
    noise = {
        z: tables.probability(mechanism.table, z)
        for z in range(-REACH - MOST_RECORDS, REACH + MOST_RECORDS + 1)
    }
    law = {}
    for count in range(-MOST_RECORDS, MOST_RECORDS + 1):
        inside = [noise[y - count] for y in range(-REACH + 1, REACH)]
        below = (
            1 - sum(noise[z] for z in range(-REACH - count + 1, REACH + count))
        ) / 2
        above = 1 - below - sum(inside)
        law[count] = dict(enumerate([below, *inside, above]))
    return law


def test_the_enumerated_law_is_a_law():
    law = clipped_law(mechanism_for(TINY["coin"], "1", "replace-one"))
    for row in law.values():
        assert sum(row.values()) == 1
        assert min(row.values()) > 0


def mechanism_for(net, epsilon, adjacency, factor=1, kind="maximal families"):
    sensitivity = STATISTICS[kind](net, adjacency).sensitivity(adjacency)
    wrong = Sensitivity(int(sensitivity.value * factor), adjacency)
    return DiscreteLaplace.calibrate(epsilon, wrong)


def largest_loss(net, mechanism, adjacency, kind="maximal families"):
    """Exact factor by which an output's probability differs between neighbours."""
    statistic, law = STATISTICS[kind](net, adjacency), clipped_law(mechanism)
    pairs = measured_pairs(statistic, net, adjacency, MOST_RECORDS)
    return worst_ratio([law.__getitem__] * statistic.length, pairs)


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("kind", STATISTICS)
@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("epsilon", ["1/10", "1", "3"])
def test_the_loss_is_epsilon_and_no_less(name, adjacency, kind, epsilon):
    net = TINY[name]
    mechanism = mechanism_for(net, epsilon, adjacency, kind=kind)
    worst = largest_loss(net, mechanism, adjacency, kind)
    assert_spends_exactly(epsilon, worst)


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("factor", [Fraction(1, 2), 2])
@pytest.mark.parametrize("kind", ["maximal families", "fourier"])
def test_a_sensitivity_wrong_by_a_factor_is_noticed(adjacency, factor, kind):
    net = TINY["naive Bayes"]
    mechanism = mechanism_for(net, "1", adjacency, factor, kind)
    with pytest.raises(AssertionError):
        assert_spends_exactly("1", largest_loss(net, mechanism, adjacency, kind))


def test_the_wrong_adjacency_is_noticed():
    net = TINY["chain"]
    mechanism = mechanism_for(net, "1", "add-remove")
    with pytest.raises(AssertionError, match="more than ε"):
        assert_spends_exactly("1", largest_loss(net, mechanism, "replace-one"))


def test_joint_outputs_lose_what_the_numbers_lose_one_by_one():
    net, adjacency = TINY["coin"], "replace-one"
    mechanism = mechanism_for(net, "1", adjacency)
    law = clipped_law(mechanism)
    one, other = [law[1], law[0]], [law[0], law[1]]  # the one record, replaced
    outputs = list(itertools.product(range(2 * REACH + 1), repeat=2))
    joint = max(one[0][y] * one[1][z] / (other[0][y] * other[1][z]) for y, z in outputs)
    separate = worst_ratio([law.__getitem__] * 2, [((1, 0), (0, 1))])
    assert joint == separate <= largest_loss(net, mechanism, adjacency)
