"""Fourier coefficients: sensitivity, consistency, files, stealth."""

import itertools
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import hadamard

import dpjax as dp
from dpjax import theory
from dpjax.mechanisms import DiscreteLaplace, Laplace
from dpjax.posteriors import PlugInPosterior
from dpjax.privacy import Sensitivity
from dpjax.releases import file_format
from dpjax.releases.entries import InconsistentRelease
from dpjax.releases.released import consistent
from dpjax.statistics import FourierCoefficients, NetworkCounts, fourier_sensitivity
from dpjax.tables.fourier_basis import contrasts, from_coefficients, to_coefficients
from dpjax.tables.layout import TableLayout
from tests.helpers.cases import mostly_thorough
from tests.helpers.networks import measure, random_network, random_records, tables
from tests.helpers.release_files import rehashed
from tests.helpers.statistical import assert_at_least

BOTH = ["replace-one", "add-remove"]


def binary(size, parents):
    levels = {f"x{i}": [0, 1] for i in range(size)}
    return dp.BayesNet.from_parents(
        levels, {f"x{i}": [f"x{j}" for j in parents(i)] for i in range(size)}
    )


ASIA = dp.BayesNet.from_parents(
    {name: ["yes", "no"] for name in "ASTLBEXD"},
    {"T": ["A"], "L": ["S"], "B": ["S"], "E": ["T", "L"], "X": ["E"], "D": ["B", "E"]},
)

# The sensitivities of the coefficients under replace-one, ours and the paper's 2|N|
KNOWN = {
    "naive Bayes of 8": (binary(9, lambda i: [0] if i else []), 32, 36),
    "chain of 8": (binary(8, lambda i: [i - 1] if i else []), 22, 32),
    "clique of 5": (binary(5, range), 32, 64),
    "asia": (ASIA, 28, 42),
    "three before": (binary(10, lambda i: range(max(0, i - 3), i)), 80, 128),
}


def of_order(sizes, order, adjacency="replace-one"):
    variables = tuple(
        dp.Variable(f"v{i}", tuple(range(size))) for i, size in enumerate(sizes)
    )
    return FourierCoefficients(variables, adjacency, order=order)


def brute_force(statistic, adjacency):
    """Largest change over all pairs of records, or over all records."""
    sizes = [variable.size for variable in statistic.variables]
    records = np.array(list(itertools.product(*map(range, sizes))), np.uint8)
    one = jax.jit(jax.vmap(lambda record: statistic.measure(record[None])))
    vectors = np.asarray(one(records)).astype(int)
    if adjacency == "add-remove":
        return np.abs(vectors).sum(1).max()
    return max(np.abs(vectors - vector).sum(1).max() for vector in vectors)


@pytest.mark.parametrize("name", KNOWN)
def test_sensitivities_of_known_networks(name):
    net, ours, papers = KNOWN[name]
    statistic = FourierCoefficients.of_network(net, "replace-one")
    sensitivity = statistic.sensitivity("replace-one")
    assert sensitivity.value == ours / 2  # halves of coefficients are measured
    assert sensitivity.tight
    assert 2 * len(statistic.closure) == papers
    added = FourierCoefficients.of_network(net, "add-remove")
    assert added.sensitivity("add-remove").value == papers / 2


@pytest.mark.parametrize("trial", mostly_thorough(range(4)))
@pytest.mark.parametrize("most_levels", [2, 4])
@pytest.mark.parametrize("adjacency", BOTH)
def test_sensitivities_of_networks_equal_brute_force(
    trial, most_levels, adjacency, rng
):
    size = 10 if trial == 0 and most_levels == 2 else 4
    net = random_network(rng, variables=size, most_levels=most_levels)
    statistic = FourierCoefficients.of_network(net, adjacency)
    sensitivity = statistic.sensitivity(adjacency)
    assert sensitivity.tight
    assert sensitivity.value == brute_force(statistic, adjacency)


@pytest.mark.parametrize(
    "case",
    mostly_thorough(
        [((2, 3, 4), 2), ((2,) * 4, 2), ((3,) * 3, 1), ((2, 3, 3), 3), ((3, 3), 2)], 2
    ),
)
@pytest.mark.parametrize("adjacency", BOTH)
def test_sensitivities_of_marginals_equal_brute_force(case, adjacency):
    statistic = of_order(*case, adjacency)
    sensitivity = statistic.sensitivity(adjacency)
    assert sensitivity.tight
    assert sensitivity.value == brute_force(statistic, adjacency)


def test_residual_contrasts_of_a_full_table_cost_its_cells():
    for size, number in ((3, 2), (4, 2), (5, 3)):
        sensitivity = of_order((size,) * number, number).sensitivity("replace-one")
        assert sensitivity.value == size**number


def test_where_no_exact_answer_is_within_reach_a_bound_is_given(monkeypatch, rng):
    exact = FourierCoefficients.of_network(ASIA, "replace-one")
    value = exact.sensitivity("replace-one").value
    monkeypatch.setattr(fourier_sensitivity, "_MOST_STATES", 4)
    bound = exact.sensitivity("replace-one")
    assert not bound.tight
    assert bound.value >= value
    monkeypatch.setattr(fourier_sensitivity, "_MOST_COMPOSITIONS", 2)
    bound = of_order((2,) * 4, 2).sensitivity("replace-one")
    assert not bound.tight
    assert bound.value >= 6


def test_large_families_are_bounded_at_once_and_a_single_one_exactly(rng):
    clique = FourierCoefficients.of_network(binary(14, range), "replace-one")
    assert clique.sensitivity("replace-one") == Sensitivity(2**13, "replace-one", True)
    two = binary(15, lambda i: range(i) if i < 14 else [0])
    bound = FourierCoefficients.of_network(two, "replace-one").sensitivity(
        "replace-one"
    )
    assert bound == Sensitivity(2**13 + 2, "replace-one", tight=False)


def test_more_tables_than_can_be_listed_are_refused_at_once():
    with pytest.raises(ValueError, match="`order` must give at most"):
        of_order((2,) * 60, 30)


def test_a_statistic_knows_its_adjacency():
    statistic = of_order((2, 2), 1, "add-remove")
    with pytest.raises(ValueError, match="`adjacency` must be 'add-remove'"):
        statistic.sensitivity("replace-one")
    for arguments in ({}, {"net": ASIA, "order": 2}):
        with pytest.raises(ValueError, match="`net` or `order` must be given"):
            FourierCoefficients(ASIA.variables, "add-remove", **arguments)
    for order in (0, 9):
        with pytest.raises(ValueError, match="`order` must be"):
            FourierCoefficients(ASIA.variables, "add-remove", order=order)


def test_the_basis_is_walshs_at_two_levels():
    np.testing.assert_array_equal(contrasts(2), hadamard(2))
    table = jnp.arange(16, dtype=jnp.int32)
    layout = TableLayout((2,) * 4, ((0, 1, 2, 3),))
    np.testing.assert_array_equal(
        to_coefficients(layout, table), hadamard(16) @ np.arange(16)
    )


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("trial", mostly_thorough(range(3), 2))
def test_exact_coefficients_give_the_exact_tables_back(adjacency, trial, rng):
    net = random_network(rng, variables=5, most_levels=3 if trial else 2)
    records = random_records(rng, net, 70)
    counts = measure(NetworkCounts(net, "all"), records)
    statistic = FourierCoefficients.of_network(net, adjacency)
    vector = measure(statistic, records)
    np.testing.assert_allclose(tables(statistic, vector, 70), counts, atol=1e-4)
    numerators, denominators = statistic.exact_tables(vector, 70)
    exact = np.asarray(counts, np.int64) * denominators
    np.testing.assert_array_equal(numerators, exact)


def assert_tables_agree(statistic, values, n):
    """Numerators over common denominators, marginal by marginal, to the integer."""
    layout = statistic.layout
    numerators, denominators = statistic.exact_tables(values, n)
    known = {}
    for group, start, stop in zip(
        layout.groups, layout.offsets[:-1], layout.offsets[1:], strict=True
    ):
        table = numerators[start:stop].reshape(layout.shape(group))
        below = int(denominators[start])
        for size in range(len(group) + 1):
            for kept in itertools.combinations(sorted(group), size):
                marginal = np.einsum(table, list(group), list(kept))
                first, first_below = known.setdefault(kept, (marginal, below))
                np.testing.assert_array_equal(marginal * first_below, first * below)


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("trial", mostly_thorough(range(2)))
def test_released_tables_agree_to_the_last_integer(adjacency, trial, rng):
    net = random_network(rng, variables=6, most_levels=3)
    records = random_records(rng, net, 50)
    released = dp.release(
        net, records, epsilon="1/5", adjacency=adjacency, mechanism="fourier"
    )
    assert_tables_agree(released.statistic, released.values, released.n)
    assert theory.stealth(released).consistent


@pytest.mark.thorough
def test_large_tables_and_many_pairs_in_one_call(rng):
    for sizes, order in (((2,) * 16, 16), ((2,) * 100, 2)):
        statistic = of_order(sizes, order)
        records = rng.integers(0, 2, (500, len(sizes))).astype(np.uint8)
        released = dp.release(statistic, records, epsilon=1, adjacency="replace-one")
        assert released.values.shape == (statistic.length,)
        numerators, _ = statistic.exact_tables(released.values, 500)
        parts = np.split(numerators, statistic.layout.offsets[1:-1])
        cells = len(parts[0])
        assert {int(part.sum()) for part in parts} == {500 * cells}


@pytest.mark.slow
def test_pairs_share_their_margins_to_the_last_integer(rng):
    statistic = of_order((2, 3, 2, 4), 2)
    records = rng.integers(0, [2, 3, 2, 4], (50, 4)).astype(np.uint8)
    released = dp.release(statistic, records, epsilon=1, adjacency="replace-one")
    assert_tables_agree(statistic, released.values, 50)
    assert ("v0", "v1") in released.tables()
    with pytest.raises(ValueError, match="must be for a network"):
        released.net  # noqa: B018  (raises)


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", BOTH)
def test_with_epsilon_as_large_as_can_be_the_posterior_is_the_exact_one(adjacency, rng):
    net = random_network(rng, variables=5, most_levels=3)
    records = random_records(rng, net, 100)
    statistic = FourierCoefficients.of_network(net, adjacency)
    epsilon = 30 * int(statistic.sensitivity(adjacency).value)
    released = dp.release(
        net, records, epsilon=epsilon, adjacency=adjacency, mechanism="fourier"
    )
    counts = measure(NetworkCounts(net, "all"), records)
    exact = PlugInPosterior.from_counts(net, counts)
    private = dp.posterior(released, noise_aware=False)
    np.testing.assert_allclose(private.concentration, exact.concentration, atol=1e-4)
    assert private.clamped == 0


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("order", [None, 2])
def test_releases_go_through_files(adjacency, order, rng, tmp_path):
    net = random_network(rng, variables=4, most_levels=3)
    statistic = FourierCoefficients(
        net.variables, adjacency, net=None if order else net, order=order
    )
    records = random_records(rng, net, 40)
    released = dp.release(statistic, records, epsilon=2, adjacency=adjacency)
    released.save(tmp_path / "r.json")
    loaded = dp.load(tmp_path / "r.json")
    assert loaded.statistic == statistic
    np.testing.assert_array_equal(loaded.values, released.values)
    content = json.loads((tmp_path / "r.json").read_text())["content"]
    assert content["statistic"]["basis"].startswith("residual contrasts")
    content["statistic"]["basis"] = "Helmert"
    document = {
        "format": "dpjax-release",
        "version": file_format.VERSION,
        "content": content,
    }
    (tmp_path / "r.json").write_text(json.dumps(rehashed(document)))
    with pytest.raises(InconsistentRelease, match="basis"):
        dp.load(tmp_path / "r.json")


def test_n_is_needed_where_it_is_public():
    statistic = of_order((2, 2), 2)
    with pytest.raises(ValueError, match="`n` must be given under replace-one"):
        statistic.tables(jnp.zeros(3, jnp.int32))


@pytest.mark.slow
@pytest.mark.parametrize("make", [NetworkCounts, None])
@pytest.mark.parametrize("adjacency", mostly_thorough(BOTH))
def test_projected_tables_agree_and_are_not_negative(make, adjacency, rng):
    net = random_network(rng, variables=5, most_levels=3)
    statistic = make(net) if make else FourierCoefficients.of_network(net, adjacency)
    records = random_records(rng, net, 30)
    released = dp.release(statistic, records, epsilon="1/2", adjacency=adjacency)
    counts = np.asarray(consistent(released))
    assert (counts >= 0).all()
    totals = [part.sum() for part in np.split(counts, net.layout.offsets[1:-1])]
    np.testing.assert_allclose(totals, totals[0], rtol=1e-4)
    if adjacency == "replace-one":
        np.testing.assert_allclose(totals[0], 30, rtol=1e-4)
    posterior = PlugInPosterior.from_counts(net, jnp.asarray(counts))
    assert posterior.log_likelihood(records).shape == (30,)


@jax.jit
def draw(key, mechanism, exact):
    return mechanism.sample(key, exact)


@pytest.mark.thorough
@pytest.mark.parametrize("probability", [0.5, 0.9])
def test_a_calibrated_increment_suffices_as_often_as_it_says(probability, key):
    statistic = FourierCoefficients.of_network(ASIA, "replace-one")
    noise = DiscreteLaplace.calibrate(1, statistic.sensitivity("replace-one"))
    key_calibrate, key_check = jax.random.split(key)
    increment = theory.calibrated_increment(
        key_calibrate, statistic, noise, probability
    )
    empty = jnp.zeros((4000, statistic.length), jnp.int32)  # none is below zero
    draws = draw(key_check, noise, empty)
    cells = np.diff(ASIA.layout.offsets)
    raised = increment / np.repeat(cells, cells)
    counts = np.asarray(tables(statistic, draws, 0), float) + raised[None]
    successes = (counts >= -1e-3).all(axis=1).sum()
    assert_at_least(successes, 4000, probability)
    assert successes < 4000 * (probability + 0.07)  # and is no larger than needed
    assert increment < theory.paper_increment(statistic, 1, -np.log(1 - probability))


@pytest.mark.slow
def test_an_increment_is_added_in_equal_parts_and_said_to_show(rng):
    records = random_records(rng, ASIA, 200)
    released = dp.release(
        ASIA, records, epsilon=1, adjacency="replace-one", mechanism="fourier"
    )
    plain = dp.posterior(released, noise_aware=False)
    raised = dp.posterior(released, noise_aware=False, increment=1e6)
    assert raised.clamped == 0
    difference = raised.mean()["E"] - 0.5
    assert jnp.abs(difference).max() < 0.01
    assert plain.concentration.sum() < raised.concentration.sum()
    report = theory.stealth(released, 1e6)
    assert report.nonnegative
    assert "raised total shows" in str(report)
    assert "cost its ε again" in str(theory.stealth(released, -1e6))
    with pytest.raises(ValueError, match="`increment` must be at least 0"):
        dp.posterior(released, increment=-1.0)


@pytest.mark.slow
def test_tables_with_noise_of_their_own_agree_only_if_there_is_one(rng):
    for net, agree in ((binary(3, range), True), (binary(3, lambda i: [0][:i]), False)):
        records = random_records(rng, net, 50)
        released = dp.release(net, records, epsilon="1/10", adjacency="replace-one")
        assert theory.stealth(released).consistent == agree


def test_bad_increments_are_refused(key):
    with pytest.raises(ValueError, match="must be Fourier coefficients"):
        theory.paper_increment(NetworkCounts(ASIA), 1, 1.0)
    statistic = FourierCoefficients.of_network(ASIA, "replace-one")
    noise = Laplace(1.0, statistic.sensitivity("replace-one"))
    with pytest.raises(ValueError, match="`t` must be > 0"):
        theory.paper_increment(statistic, 1, 0)
    for probability in (0, 1, float("nan")):
        with pytest.raises(ValueError, match="`probability` must be between 0 and 1"):
            theory.calibrated_increment(key, statistic, noise, probability)
    with pytest.raises(ValueError, match="`draws` must be more"):
        theory.calibrated_increment(key, statistic, noise, 0.999, draws=100)


def test_the_inverse_is_the_inverse(rng):
    layout = TableLayout((3, 2, 4), ((0, 1), (2, 0), (1, 2), (2, 1, 0)))
    table = rng.integers(0, 100, layout.length)
    back = from_coefficients(layout, to_coefficients(layout, table))
    cells = np.diff(layout.offsets)
    np.testing.assert_array_equal(back, table * np.repeat(cells, cells))
