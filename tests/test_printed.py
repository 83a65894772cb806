"""Zhang et al.'s algorithms 1 and 2 as printed, which cost at most ε."""

from fractions import Fraction

import jax
import numpy as np
import pytest

import dpjax as dp
from dpjax.mechanisms import DiscreteLaplace
from dpjax.mechanisms.recipes import Algorithm1, Algorithm2
from dpjax.statistics import FourierCoefficients, PrintedFourier
from tests.helpers.neighbours import measured_pairs, worst_ratio
from tests.helpers.networks import TINY, random_records
from tests.test_privacy import MOST_RECORDS, clipped_law

OPTIONS = {"epsilon": "1", "adjacency": "replace-one"}
RECIPES = {"zhang-algorithm-1": Algorithm1(), "zhang-algorithm-2": Algorithm2()}
BINARY = [name for name in TINY if {*TINY[name].sizes} == {2}]


@pytest.mark.parametrize("kind", RECIPES)
@pytest.mark.parametrize("name", BINARY)
def test_the_loss_is_at_most_epsilon(name, kind):
    net, recipe = TINY[name], RECIPES[kind]
    statistic = recipe.statistic(net, "replace-one")
    mechanism = recipe.mechanism(
        statistic, dp.privacy.PureDP(Fraction(1), "replace-one"), 2
    )
    law = clipped_law(mechanism)
    pairs = measured_pairs(statistic, net, "replace-one", MOST_RECORDS)
    worst = worst_ratio([law.__getitem__] * statistic.length, pairs)
    assert worst <= np.exp(1.0)
    assert worst >= np.exp(0.3)  # printed noise is more than is needed, but of its kind


@pytest.mark.parametrize("name", BINARY)
def test_the_noise_has_the_printed_scale(name):
    """2 |I| / ε on each count, and 2 |N| / ε on each coefficient."""
    net = TINY[name]
    budget = dp.privacy.PureDP(Fraction(1, 2), "replace-one")
    closure = {tuple(s) for group in net.families for s in subsets(group)}
    for recipe, number in (
        (Algorithm1(), len(net.names)),
        (Algorithm2(), len(closure)),
    ):
        statistic = recipe.statistic(net, "replace-one")
        mechanism = recipe.mechanism(statistic, budget, 10)
        assert isinstance(mechanism, DiscreteLaplace)
        assert 1 / float(mechanism.rho) == pytest.approx(2 * number / 0.5, rel=1e-6)


def subsets(group):
    members = sorted(group)
    for chosen in range(1 << len(members)):
        yield (x for i, x in enumerate(members) if chosen >> i & 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", BINARY)
def test_coefficients_as_printed_are_all_of_them(name, rng):
    net = TINY[name]
    records = random_records(rng, net, 20)
    printed = PrintedFourier(net.variables, "replace-one", net)
    every = FourierCoefficients(net.variables, "add-remove", net)
    exact = np.asarray(printed.measure(records))
    np.testing.assert_array_equal(exact, np.asarray(every.measure(records)))
    assert exact[0] == 20
    tables = np.asarray(printed.tables(jax.numpy.asarray(exact), 20))
    whole, parts = printed.exact_tables(exact, 20)
    np.testing.assert_allclose(tables, whole / parts, atol=1e-4)


@pytest.mark.relaxed
@pytest.mark.thorough
@pytest.mark.parametrize("kind", RECIPES)
def test_a_release_is_saved_verified_and_inferred(kind, rng, tmp_path):
    net = TINY[BINARY[-1]]
    made = dp.release(net, random_records(rng, net, 30), mechanism=kind, **OPTIONS)
    made.save(tmp_path / "r.json")
    loaded = dp.load(tmp_path / "r.json")
    assert loaded.statistic == made.statistic
    assert str(loaded.guarantee().bound) == "1"
    for method in (None, "plug-in"):
        for table in dp.posterior(loaded, method=method).mean().values():
            np.testing.assert_allclose(np.asarray(table).sum(axis=-1), 1, atol=1e-5)


@pytest.mark.parametrize("kind", RECIPES)
def test_only_what_is_printed_is_accepted(kind, rng):
    net = TINY[BINARY[-1]]
    options = OPTIONS | {"adjacency": "add-remove", "mechanism": kind}
    with pytest.raises(ValueError, match="`adjacency` must be replace-one for zhang"):
        dp.release(net, random_records(rng, net, 5), **options)
    three = dp.BayesNet.from_parents({"a": [0, 1, 2]}, {"a": []})
    if kind == "zhang-algorithm-2":
        with pytest.raises(ValueError, match="`net` must have binary variables"):
            dp.release(three, np.zeros((3, 1), int), mechanism=kind, **OPTIONS)
    statistic = FourierCoefficients.of_network(net, "replace-one")
    with pytest.raises(ValueError, match="must"):
        dp.release(statistic, random_records(rng, net, 5), mechanism=kind, **OPTIONS)
