"""Posterior samples on a grid: privacy by enumeration of every law, and its mutants."""

import functools
import itertools
import math
from fractions import Fraction

import jax
import numpy as np
import pytest

from dpjax import BayesNet
from dpjax.mechanisms import NetworkPosteriorSampler
from dpjax.mechanisms.sampling_loss import sample_cost
from dpjax.noise.simplex_grid import LOG_BITS, SimplexGrid, log_table
from dpjax.privacy import PureDP
from dpjax.statistics import NetworkCounts
from tests.helpers.cases import mostly_thorough
from tests.helpers.neighbours import (
    all_records,
    data_sets,
    neighbouring_pairs,
    records_array,
    worst_loss,
)
from tests.helpers.networks import TINY
from tests.helpers.statistical import assert_counts_follow

UNITS = 8
COIN = BayesNet.from_parents({"x": [0, 1]}, {"x": []})
NETS = {**TINY, "binary coin": COIN}


def rows_of(grid):
    """Every row on the grid, in units."""
    entries = range(grid.least, grid.most + 1)
    for head in itertools.product(entries, repeat=grid.levels - 1):
        last = grid.units - sum(head)
        if last >= grid.least:
            yield (*head, last)


def log_law(grid, exponents):
    """Log-probability of every row, in the order of `rows_of`."""
    logs = np.array(log_table(grid.units)) / (1 << LOG_BITS)
    rows = np.array(list(rows_of(grid)))
    scores = logs[rows] @ np.array([float(e) for e in exponents])
    return scores - np.logaddexp.reduce(scores)


def counts_of(net, data):
    cells = net.layout.cells(records_array(data, net).astype(np.int32))
    return np.bincount(np.asarray(cells).ravel(), minlength=net.layout.length)


def loss_of(net, mechanism, n, law=log_law, pairs=None):
    """Largest loss over all neighbours of n records, or n and n + 1.

    Rows are drawn independently: each is a part of the output.
    """

    @functools.cache
    def of_row(grid, counts):
        return law(grid, [mechanism._exponent(count) for count in counts])

    offsets = net.layout.offsets
    rows = [
        (grid, slice(first, first + grid.levels))
        for (grid, _), start, stop in zip(
            mechanism.grids, offsets[:-1], offsets[1:], strict=True
        )
        for first in range(start, stop, grid.levels)
    ]

    @functools.cache
    def parts(data):
        counts = counts_of(net, data)
        return tuple(tuple(counts[row].tolist()) for _, row in rows)

    if pairs is None:
        records = all_records(net)
        sizes = {n, n + (mechanism.adjacency == "add-remove")}
        sets = data_sets(records, sizes)
        pairs = neighbouring_pairs(sets, records, mechanism.adjacency)
    laws = [functools.partial(of_row, grid) for grid, _ in rows]
    return worst_loss(laws, [(parts(a), parts(b)) for a, b in pairs])


def sample_loss(rows, heat, adjacency, prior, n):
    kind = PureDP(Fraction(1), adjacency)
    return sample_cost(rows, heat, kind, prior, n).epsilon


def limit_loss(rows, heat, adjacency):
    return sample_loss(rows, heat, adjacency, Fraction(1), None)


def calibrated(net, adjacency, n, epsilon="1", omega="1/8", **options):
    return NetworkPosteriorSampler.posterior(
        net.layout, epsilon, adjacency, n=n, omega=omega, units=UNITS, **options
    )


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("name", mostly_thorough(NETS))
@pytest.mark.parametrize(("epsilon", "prior"), [("1/2", "1"), ("3", "1/2")])
def test_no_output_tells_neighbours_apart_by_more_than_epsilon(
    name, adjacency, epsilon, prior
):
    net = NETS[name]
    for n in (1, 2, 3):
        mechanism = calibrated(net, adjacency, n, epsilon, prior=prior)
        worst = loss_of(net, mechanism, n)
        assert worst <= mechanism.guarantee().epsilon + 1e-9
        assert worst >= float(mechanism.guarantee().epsilon) / 3


def test_a_map_draw_costs_no_more_than_epsilon():
    for adjacency in ("replace-one", "add-remove"):
        mechanism = NetworkPosteriorSampler.map(
            TINY["chain"].layout, "2", adjacency, omega="1/8", units=UNITS
        )
        assert 0.5 < loss_of(TINY["chain"], mechanism, 3) <= 2
        assert mechanism.tempered_prior


@pytest.mark.parametrize("n", [1, 2, 5, 20])
@pytest.mark.parametrize("prior", ["1/2", "1", "10"])
def test_of_one_binary_variable_the_loss_is_exact(n, prior):
    grid = SimplexGrid(2, 20, 4)
    loss = sample_loss(
        [(grid, False)], Fraction(3, 2), "replace-one", Fraction(prior), n
    )
    found = 0.0
    for ones in range(n):
        pair = [
            log_law(
                grid,
                [
                    Fraction(prior) - 1 + Fraction(c) / Fraction(3, 2)
                    for c in (k, n - k)
                ],
            )
            for k in (ones, ones + 1)
        ]
        found = max(found, np.abs(pair[0] - pair[1]).max())
    assert float(loss) == pytest.approx(found, abs=1e-9)
    assert loss <= limit_loss([(grid, False)], Fraction(3, 2), "replace-one")


def test_the_exact_loss_has_the_known_values():
    """a₀ = .2, T = 1: continuous values; a grid's error falls as one over its units."""
    for n, prior, known in [
        *[(5, 1, 2.082), (20, 1, 2.549), (2000, 1, 2.770)],
        (5, 10, 1.71),
    ]:
        coarse, fine = (
            float(
                sample_loss(
                    [(SimplexGrid(2, units, units // 5), False)],
                    Fraction(1),
                    "replace-one",
                    Fraction(prior),
                    n,
                )
            )
            for units in (2_000, 4_000)
        )
        within = 1e-3 if prior == 1 else 5e-3
        assert 2 * fine - coarse == pytest.approx(known, abs=within)


def test_losses_grow_with_n_up_to_their_limit():
    for has_parents in (False, True):
        rows = [(SimplexGrid(2, 1000, 50), has_parents)]
        args = (rows, Fraction(2), "replace-one", Fraction(1))
        losses = [sample_loss(*args, n) for n in (1, 2, 10, 100, 10_000)]
        assert losses == sorted(losses)
        limit = limit_loss(rows, Fraction(2), "replace-one")
        assert limit * Fraction(99, 100) < losses[-1] <= limit


def test_figure_1_of_foulds_has_temperature_2_77():
    """a₀ = .2, ε = 1: T = 2.7726 in the limit of many records, less for 20."""
    limit = NetworkPosteriorSampler.posterior(
        COIN.layout, "1", "replace-one", omega="0.2"
    )
    assert limit.temperature == Fraction(2773, 1000)
    at_20 = NetworkPosteriorSampler.posterior(
        COIN.layout, "1", "replace-one", omega="0.2", n=20
    )
    assert 2 < at_20.temperature < Fraction(27, 10)
    assert limit.guarantee().epsilon == at_20.guarantee().epsilon == 1


# Mutants: what must be noticed.


@pytest.mark.parametrize("name", ["binary coin", "chain", "naive Bayes"])
def test_half_the_temperature_is_noticed(name):
    net = NETS[name]
    right = calibrated(net, "replace-one", 3)
    halved = calibrated(
        net, "replace-one", 3, epsilon="8", temperature=right.temperature / 2
    )
    assert loss_of(net, halved, 3) > right.guarantee().epsilon * Fraction(3, 2)


def test_clipping_instead_of_truncation_is_noticed():
    def clipped_log_law(grid, exponents):
        whole_grid = SimplexGrid(grid.levels, grid.units, 1)
        law = np.exp(log_law(whole_grid, exponents))
        inside = [
            max(grid.least, min(grid.most, row[0])) for row in rows_of(whole_grid)
        ]
        return np.log(np.bincount(inside, law)[grid.least : grid.most + 1])

    mechanism = NetworkPosteriorSampler.posterior(
        COIN.layout, "1000", "replace-one", n=20, omega="1/5", temperature=1, units=100
    )
    assert loss_of(COIN, mechanism, 20) <= mechanism.guarantee().epsilon
    clipped = loss_of(COIN, mechanism, 20, clipped_log_law)
    assert clipped > mechanism.guarantee().epsilon + 1


def test_row_costs_at_actual_row_counts_are_noticed():
    """Twenty records, one of them in a row: another data set has all of them there."""
    children = {f"y{i}": ["x"] for i in range(9)}
    levels = {name: [0, 1] for name in ("x", *children)}
    net = BayesNet.from_parents(levels, {"x": [], **children})
    mechanism = calibrated(net, "replace-one", 20, epsilon="99", temperature=1)
    charged = {
        n: sample_loss(mechanism.grids[:1], Fraction(1), "replace-one", Fraction(1), 20)
        + sample_loss(mechanism.grids[1:], Fraction(1), "replace-one", Fraction(1), n)
        for n in (1, 20)
    }
    zeros, ones = (0,) * 10, (0, *(1,) * 9)
    pair = (zeros,) * 20, (*[zeros] * 19, ones)
    worst = loss_of(net, mechanism, 20, pairs=[pair])
    assert charged[1] < worst <= charged[20] == mechanism.guarantee().epsilon


def test_a_mechanism_cannot_be_built_for_less_than_it_costs():
    right = calibrated(COIN, "replace-one", 3)
    with pytest.raises(ValueError, match=r"`temperature` must be at least"):
        NetworkPosteriorSampler(
            right.layout, right.grids, right.temperature / 2, right.prior,
            right.samples, False, right.n, right.cost,
        )  # fmt: skip


# The draws follow the laws that were enumerated.


def bits_of(rng):
    def bits(k):
        return int.from_bytes(rng.bytes(-(-k // 8)), "little") >> (-k % 8)

    return bits


@pytest.mark.parametrize(
    ("grid", "exponents"),
    [
        (SimplexGrid(2, 20, 3), ["7/3", "1/2"]),
        (SimplexGrid(3, 12, 1), ["0", "5/2", "-1/2"]),
        (SimplexGrid(4, 9, 1), ["40", "0", "1/7", "3"]),
        (SimplexGrid(3, 12, 2), ["100000", "0", "200000"]),
    ],
)
def test_rows_are_drawn_from_their_law(grid, exponents, rng):
    exponents, draws = [Fraction(e) for e in exponents], 4000
    law = dict(zip(rows_of(grid), np.exp(log_law(grid, exponents)), strict=True))
    drawn = [tuple(row) for row in grid.draw(exponents, bits_of(rng), draws)]
    assert {*drawn} <= {*law}
    assert_counts_follow([drawn.count(row) for row in law], [*law.values()])


def test_a_draw_has_every_row_of_every_table(rng):
    net = TINY["chain"]
    counts = counts_of(net, [(0, 1), (1, 2), (1, 2)])
    mechanism = calibrated(net, "replace-one", 3, samples=2)
    drawn = mechanism.draw_with(bits_of(rng), jax.numpy.asarray(counts))
    assert mechanism.is_possible_output(drawn, net.layout.length)
    tables = np.asarray(mechanism.parameters(jax.numpy.asarray(drawn)))
    assert tables.shape == (2, net.layout.length)
    sums = np.add.reduceat(tables, [0, 2, 5], axis=1)
    assert np.allclose(sums, 1)
    assert mechanism.is_possible_output(
        np.asarray(mechanism.draw(jax.numpy.asarray(counts))), 8
    )


def test_rows_of_a_draw_follow_their_counts():
    """With many records and no heat, tables are close to the relative frequencies."""
    net = TINY["chain"]
    counts = np.array([300, 700, 30, 120, 150, 490, 70, 140]) * 100
    mechanism = NetworkPosteriorSampler.posterior(
        net.layout, "1000", "add-remove", omega="1/100", temperature=1, samples=1
    )
    tables = mechanism.parameters(mechanism.draw(jax.numpy.asarray(counts)))
    expected = [0.3, 0.7, 0.1, 0.4, 0.5, 0.7, 0.1, 0.2]
    assert np.allclose(tables[0], expected, atol=0.03)


# Choices.


def test_many_samples_cost_many_times_as_much():
    for adjacency in ("replace-one", "add-remove"):
        one, four = (calibrated(COIN, adjacency, None, samples=m) for m in (1, 4))
        assert four.guarantee() == one.guarantee()
        assert four.temperature == pytest.approx(4 * one.temperature, abs=0.004)
        assert four.loss == pytest.approx(float(one.loss), rel=0.01)


def test_of_truncation_and_temperature_either_gives_the_other():
    layout = TINY["naive Bayes"].layout
    given = NetworkPosteriorSampler.posterior(
        layout, "1", "replace-one", temperature=20
    )
    assert given.temperature == 20
    assert given.guarantee().epsilon <= 1
    tighter = NetworkPosteriorSampler.posterior(
        layout, "1", "replace-one", temperature=10
    )
    assert tighter.omegas()[0] > given.omegas()[0]
    chosen = NetworkPosteriorSampler.posterior(layout, "1", "replace-one", n=500)
    assert 0 < chosen.omegas()[0] < Fraction(1, 2)
    assert chosen.guarantee().epsilon == 1


def test_with_a_large_budget_the_posterior_itself_is_sampled():
    mechanism = NetworkPosteriorSampler.posterior(
        COIN.layout, "50", "replace-one", omega="1/10"
    )
    assert mechanism.temperature == 1
    assert mechanism.guarantee().epsilon == mechanism.loss < 50
    hot = NetworkPosteriorSampler.map(COIN.layout, "50", "replace-one", omega="1/10")
    assert hot.temperature < 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"omega": "1/2"}, "`omega` must be below 1/2"),
        ({"omega": "0"}, "`omega` must be a finite number > 0"),
        ({"omega": "1/10", "temperature": "1"}, "`temperature` must be at least"),
        ({"temperature": "1/1000"}, "`temperature` must be higher"),
        ({"samples": 0}, "`samples` must be an integer of at least 1"),
        ({"prior": "-1"}, "`prior` must be a finite number > 0"),
        ({"units": 1}, "`omega` must be below|`units`"),
    ],
)
def test_wrong_choices_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        NetworkPosteriorSampler.posterior(COIN.layout, "1", "replace-one", **options)


def test_counts_that_cannot_be_are_refused():
    mechanism = calibrated(COIN, "replace-one", 3)
    for counts in ([1, 1], [-1, 4], [1, 1, 1]):
        with pytest.raises(ValueError, match=r"`(n|exact)` must be"):
            mechanism.draw(jax.numpy.array(counts))
    with pytest.raises(ValueError, match="outside of `jit`"):
        jax.jit(mechanism.draw)(jax.numpy.array([1, 2]))


def test_a_description_rebuilds_the_mechanism():
    statistic = NetworkCounts(TINY["chain"], "all")
    for make in (NetworkPosteriorSampler.posterior, NetworkPosteriorSampler.map):
        mechanism = make(TINY["chain"].layout, "1/3", "replace-one", n=40)
        rebuilt = NetworkPosteriorSampler.from_description(
            mechanism.describe(), statistic, mechanism.cost, 40
        )
        assert rebuilt == mechanism
    assert math.isclose(float(mechanism.loss), 1 / 3, rel_tol=0.01)
    assert statistic.length == mechanism.layout.length
