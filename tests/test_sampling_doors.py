"""What `release` makes of its arguments: the budget spent, and what is refused."""

from fractions import Fraction

import numpy as np
import pytest

import dpjax as dp
from dpjax.data.intervals import Interval
from dpjax.mechanisms.recipes import recipe_of
from dpjax.statistics import FourierCoefficients, NetworkCounts, Sufficient

NET = dp.BayesNet.from_parents({"x": [0, 1], "y": [0, 1]}, {"x": [], "y": ["x"]})
MANY = dp.BayesNet.from_parents(
    {"x": [*range(8)], "y": [*range(8)]}, {"x": [], "y": ["x"]}
)
RECORDS = np.array([[0, 1], [1, 1], [0, 0]], np.uint8)
NUMBERS = Sufficient.of("gaussian", (Interval("v", 0, 3),), "add-remove", 3)
BOTH = ["replace-one", "add-remove"]
WAYS = {
    "laplace": {},
    "fourier": {},
    "k-norm": {},
    "posterior-sample": {"omega": "1/5", "units": 20},
    "map": {"omega": "1/5", "units": 20},
    "map-cells": {"omega": "1/5", "units": 5},
}


@pytest.mark.usefixtures("recipes_alone")
@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("mechanism", WAYS)
def test_a_mechanism_is_made_for_the_budget(mechanism, adjacency):
    epsilon = Fraction(7, 10)
    ledger = dp.Ledger(9, adjacency=adjacency)
    released = dp.release(
        NET, RECORDS, epsilon=epsilon, adjacency=adjacency,
        mechanism=recipe_of(mechanism, WAYS[mechanism]), ledger=ledger,
    )  # fmt: skip
    assert released.mechanism.guarantee() == dp.privacy.PureDP(epsilon, adjacency)
    assert ledger.spent == epsilon
    assert released.n == (3 if adjacency == "replace-one" else None)


@pytest.mark.usefixtures("recipes_alone")
def test_samples_of_a_family_are_made_for_the_budget():
    statistic = Sufficient.of("exponential", (Interval("v", 1, 4),), "add-remove", 8)
    released = dp.release(
        statistic, np.ones((4, 1)), epsilon="7/10", adjacency="add-remove",
        mechanism=dp.recipes.PosteriorSample(points=20),
    )  # fmt: skip
    assert released.mechanism.guarantee().epsilon == Fraction(7, 10)


class Untouched:
    """Records of which nothing may be asked."""

    def __getattribute__(self, name):
        raise AssertionError(name)


@pytest.mark.parametrize(
    ("what", "options", "message"),
    [
        (FourierCoefficients.of_network(NET, "replace-one"), {}, "`adjacency` must be"),
        (
            NetworkCounts(NET),
            {"mechanism": dp.recipes.Map(omega="1/5")},
            "`mechanism` must be",
        ),
        (NetworkCounts(NET), {"mechanism": "fourier"}, "`mechanism` must be"),
        (NUMBERS, {"mechanism": "map-cells"}, "`mechanism` must be"),
        (NUMBERS, {"mechanism": "fourier"}, "`mechanism` must be"),
        (MANY, {"mechanism": "map-cells"}, "`omega` and `units` must be given"),
        (NET, {"mechanism": dp.recipes.Map(omega="1/2")}, "`omega` must be below"),
        (NET, {"epsilon": "1e-9"}, "between 2"),
        (NET, {"mechanism": dp.recipes.Laplace({"y": "1/2"})}, "`split` must add up"),
        (NET, {"mechanism": dp.recipes.Laplace({"y": "3/2"})}, "`split` must add up"),
        (
            NET,
            {"mechanism": dp.recipes.Laplace({"y": "1/2", "x": "1/2"})},
            "`split` must give a budget",
        ),
    ],
)
def test_mistakes_show_before_any_record(what, options, message):
    options = {"epsilon": 1, "adjacency": "add-remove", **options}
    with pytest.raises(ValueError, match=message):
        dp.release(what, Untouched(), **options)
