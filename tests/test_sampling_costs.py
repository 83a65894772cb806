"""What samples cost, by brute force: rows of a grid, and single records of families."""

import functools
import itertools
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest

from dpjax import BayesNet, Variable
from dpjax.data.intervals import Interval
from dpjax.families import Bernoulli, Exponential, Poisson
from dpjax.mechanisms import (
    FamilyPosteriorSampler,
    NetworkPosteriorSampler,
    parameter_grid,
    sampling_loss,
)
from dpjax.mechanisms.parameter_grid import TABLE_BITS, ParameterGrid
from dpjax.mechanisms.sampling_loss import choose_share, grids_of_share
from dpjax.noise.simplex_grid import LOG_BITS, SimplexGrid, log_table
from dpjax.privacy import ZCDP, PureDP
from dpjax.statistics import Sufficient

ADJACENCIES = ["replace-one", "add-remove"]
KINDS = [PureDP, ZCDP]
CHAIN = BayesNet.from_parents({"x": [0, 1], "y": [0, 1, 2]}, {"x": [], "y": ["x"]})
GRID = SimplexGrid(2, 20, 4)
TINY = Fraction(1, 10**20)


def sample_loss(rows, heat, adjacency, prior, n):
    kind = PureDP(Fraction(1), adjacency)
    return sampling_loss.sample_cost(rows, heat, kind, prior, n).epsilon


def limit_loss(rows, heat, adjacency):
    return sample_loss(rows, heat, adjacency, Fraction(1), None)


def worst_of_rows(power, prior, n, has_parents):
    """Over all ways in which n records lie in two rows, of the grid above."""
    logs = np.array(log_table(20)[4:17]) / (1 << LOG_BITS)

    @functools.cache
    def law(ones, zeros):
        scores = (prior - 1 + power * ones) * logs
        scores = scores + (prior - 1 + power * zeros) * logs[::-1]
        return scores - np.logaddexp.reduce(scores)

    def largest(m):
        """Of a record that joins m others in a row, or leaves them."""
        pairs = itertools.product(range(m + 1), (0, 1))
        more = (law(a + i, m - a + 1 - i) - law(a, m - a) for a, i in pairs)
        return max(np.abs(x).max() for x in more)

    changes = [law(a, n - a) - law(a + 1, n - a - 1) for a in range(n)]
    worst = max(np.abs(x).max() for x in changes)
    moves = [largest(m) + largest(n - 1 - m) for m in range(n)]
    return max(worst, *moves) if has_parents else worst


@pytest.mark.parametrize("n", [1, 2, 3, 16, 17, 18])
@pytest.mark.parametrize("prior", ["1/2", "1", "10"])
@pytest.mark.parametrize("has_parents", [False, True])
def test_rows_cost_what_the_worst_neighbours_lose(n, prior, has_parents):
    args = ([(GRID, has_parents)], Fraction(3, 2), "replace-one", Fraction(prior), n)
    loss = float(sample_loss(*args))
    worst = worst_of_rows(2 / 3, float(Fraction(prior)), n, has_parents)
    assert worst - 1e-9 <= loss
    assert loss <= worst * (1.001 if n <= 16 else 1.1)


def test_more_levels_and_a_private_number_are_charged_their_limit():
    for levels, n, adjacency, times in (
        (3, 5, "replace-one", 2), (2, None, "replace-one", 2), (2, 5, "add-remove", 1),
    ):  # fmt: skip
        grids = [(SimplexGrid(levels, 20, 2), True), (GRID, False)]
        loss = sample_loss(grids[:1], Fraction(3, 2), adjacency, Fraction(1), n)
        range_of_one = np.log(grids[0][0].most / 2)
        assert float(loss) == pytest.approx(times * range_of_one / 1.5, abs=1e-9)
        limit = limit_loss(grids, Fraction(3, 2), adjacency)
        both = range_of_one + np.log(4)
        assert float(limit) == pytest.approx(times * both / 1.5, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("n", [None, 1, 7])
def test_the_lowest_temperature_keeps_the_budget_and_none_lower_does(
    adjacency, n, kind
):
    rows, budget = ((GRID, True), (GRID, False)), kind(Fraction(9, 10), adjacency)
    cost = functools.partial(
        sampling_loss.sample_cost, rows, budget=budget, prior=Fraction(1)
    )
    heat = sampling_loss.lowest_temperature(budget, cost, n)
    assert cost(heat, n=n).fits(budget)
    assert not cost(heat - Fraction(1, 1000), n=n).fits(budget)


@pytest.mark.parametrize("kind", KINDS)
def test_a_temperature_in_thousandths_is_found_exactly(kind):
    """Also where it is a root: that of the ρ of three rows at T = 2.345."""
    rows, heat = ((GRID, False),) * 3, Fraction(2345, 1000)
    cost = functools.partial(
        sampling_loss.sample_cost, rows, budget=kind(Fraction(1), "add-remove")
    )
    for budget, steps in ((cost(heat), 0), (cost(heat).share(1 - TINY), 1)):
        found = sampling_loss.lowest_temperature(budget, cost, None)
        assert found == heat + Fraction(steps, 1000)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("heat", ["1/2", 2, 3])
def test_a_truncation_for_a_temperature_costs_what_it_may(adjacency, heat, kind):
    number = Fraction(2) if kind is PureDP else Fraction(1, 4)
    budget, heat = kind(number, adjacency), Fraction(heat)
    share = choose_share(CHAIN.layout, 100, budget, None, heat)
    grids = grids_of_share(CHAIN.layout, share, 100)
    assert [grid.least for grid, _ in grids] == [int(share * 100 / k) for k in (2, 3)]
    assert [has_parents for _, has_parents in grids] == [False, True]
    assert sampling_loss.sample_cost(grids, heat, budget).fits(budget)
    wider = grids_of_share(CHAIN.layout, share * Fraction(4, 5), 100)
    assert not sampling_loss.sample_cost(wider, heat, budget).fits(budget)


def test_a_private_number_of_records_moves_no_cost():
    """Given as a guess, it may choose the truncation; the loss is that of any n."""
    made = [
        NetworkPosteriorSampler.posterior(
            CHAIN.layout, "1", "add-remove", omega="1/10", n=n
        )
        for n in (None, 1, 10**6)
    ]
    assert len({(x.temperature, x.loss, x.n) for x in made}) == 1
    assert made[0].n is None


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_many_samples_share_the_budget(adjacency):
    options = {"omega": "1/10", "units": 20}
    one = NetworkPosteriorSampler.posterior(CHAIN.layout, "1/3", adjacency, **options)
    three = NetworkPosteriorSampler.posterior(
        CHAIN.layout, "1", adjacency, samples=3, **options
    )
    assert one.temperature == three.temperature
    assert three.loss == 3 * one.loss <= 1
    cheap = NetworkPosteriorSampler.posterior(
        CHAIN.layout, "99", adjacency, samples=3, temperature=2, **options
    )
    assert cheap.guarantee().epsilon == cheap.loss < 99


INTERVAL = (Interval("x", 0, 3),)
COIN = Bernoulli(), (Variable("x", (0, 1)),), None
COUNT = Poisson(3), INTERVAL, None
WAIT = Exponential(4.0, lower=1.0), (Interval("x", 1, 4),), 8
FAMILIES = {
    "bernoulli, likely": (*COIN, {"probability": (0.5, 0.9)}),
    "bernoulli, rare": (*COIN, {"probability": (0.1, 0.5)}),
    "poisson, many": (*COUNT, {"rate": (2.0, 9.0)}),
    "poisson, few": (*COUNT, {"rate": (0.1, 0.5)}),
    "exponential": (*WAIT, {"rate": (0.3, 1.0)}),
}


def grid_of(name, statistic):
    limits = tuple((x, *ends) for x, ends in FAMILIES[name][3].items())
    return ParameterGrid(
        statistic.family, limits, 12, statistic.steps, statistic.lowest
    )


def single_records(statistic):
    [variable] = statistic.over
    if isinstance(variable, Variable):
        records = np.arange(variable.size)
    else:
        records = np.linspace(variable.lower, variable.upper, 4001)
    rounded = statistic._round(jnp.asarray(records.reshape(-1, 1), float))
    return np.unique(np.asarray(rounded), axis=0)[:, : statistic.family.dimension]


def widest_of(grid, vectors, adjacency):
    """The largest range of what a record adds to log-likelihoods, in nats."""
    steps, records = grid.tables
    added = vectors.astype(object) @ steps.T + records[None]
    if adjacency == "replace-one":
        added = (added[:, None] - added[None]).reshape(-1, added.shape[1])
    return Fraction(int((added.max(1) - added.min(1)).max()), 1 << TABLE_BITS)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("name", FAMILIES)
def test_one_statistic_costs_what_its_worst_record_moves(name, adjacency):
    family, variables, units, _ = FAMILIES[name]
    statistic = Sufficient(family, variables, adjacency, units)
    grid, vectors = grid_of(name, statistic), single_records(statistic)
    assert vectors.min() == statistic.lowest
    assert grid.widest(adjacency) == widest_of(grid, vectors, adjacency)


def test_either_end_may_be_the_worst():
    for name, end in (("bernoulli, likely", 0), ("bernoulli, rare", 1)):
        statistic = Sufficient(*FAMILIES[name][:2], "add-remove")
        grid, vectors = grid_of(name, statistic), single_records(statistic)
        worst = [widest_of(grid, vectors[[i]], "add-remove") for i in (0, -1)]
        assert worst[end] > worst[1 - end]


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("units", [2, 3, 5, 8])
def test_two_statistics_cost_more_where_rounding_moves_them(adjacency, units):
    """Records at ties: the rounded ones move the likelihood by more than real ones."""
    statistic = Sufficient.of("gaussian", (Interval("x", -1, 2),), adjacency, units)
    limits = (("mean", 0.0, 0.5), ("variance", 0.5, 2.0))
    grid = ParameterGrid(statistic.family, limits, 7, units, 0)
    worst = widest_of(grid, single_records(statistic), adjacency)
    assert worst <= grid.widest(adjacency)
    exact = statistic.family.sampling_sensitivity(adjacency, grid.truncation).value
    assert adjacency == "add-remove" or units > 3 or worst > 2 * Fraction(exact)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize(("bits", "units"), [(2, 8), (3, 8), (3, 16), (4, 16)])
def test_rounded_tables_cost_what_is_charged(adjacency, bits, units, monkeypatch):
    """Tables of few bits: their rounding moves the likelihood, which is charged."""
    monkeypatch.setattr(parameter_grid, "TABLE_BITS", bits)
    statistic = Sufficient.of("gaussian", (Interval("x", -1, 2),), adjacency, units)
    limits = (("mean", 0.0, 0.5), ("variance", 0.5, 2.0))
    grid = ParameterGrid(statistic.family, limits, 7, units, 0)
    worst = widest_of(grid, single_records(statistic), adjacency)
    assert worst * (1 << TABLE_BITS - bits) <= grid.widest(adjacency)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("name", ["bernoulli, likely", "exponential"])
@pytest.mark.parametrize("n", [None, 1, 6])
def test_the_lowest_temperature_of_a_family_keeps_the_budget(name, adjacency, n, kind):
    family, variables, units, _ = FAMILIES[name]
    statistic = Sufficient(family, variables, adjacency, units)
    grid, budget = grid_of(name, statistic), kind(Fraction(1, 2), adjacency)
    n = n if adjacency == "replace-one" else None
    cost = functools.partial(grid.sample_cost, budget=budget, prior=((0.5,), 2.0))
    heat = sampling_loss.lowest_temperature(budget, cost, n)
    assert cost(heat, n=n).fits(budget)
    assert not cost(heat - Fraction(1, 1000), n=n).fits(budget)


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("prior", [None, ((0.9,), 3.0)])
@pytest.mark.parametrize(
    "name", ["bernoulli, likely", "bernoulli, rare", "exponential"]
)
def test_at_a_public_n_a_family_costs_what_the_worst_neighbours_lose(name, n, prior):
    """Over all sums of n records; the worst may be at either end."""
    family, variables, units, _ = FAMILIES[name]
    statistic = Sufficient(family, variables, "replace-one", units)
    grid, heat = grid_of(name, statistic), Fraction(3, 2)
    logs = {}
    for total in range(n * grid.lowest, n * grid.units + 1):
        scores = np.array([float(x) for x in grid.scores([total], n)]) / float(heat)
        if prior is not None:
            scores += [float(x) for x in grid.prior_scores(*prior)]
        scores /= 1 << TABLE_BITS
        logs[total] = scores - np.logaddexp.reduce(scores)
    moves = range(1, grid.units - grid.lowest + 1)
    pairs = [(a, a + d) for a in logs for d in moves if a + d in logs]
    worst = max(np.abs(logs[a] - logs[b]).max() for a, b in pairs)
    kind = PureDP(Fraction(1), "replace-one")
    loss = float(grid.sample_cost(heat, kind, prior, n).epsilon)
    assert loss == pytest.approx(worst, abs=1e-9)


def test_many_samples_of_a_family_share_the_budget():
    def made(epsilon, **options):
        return FamilyPosteriorSampler.calibrate(
            Poisson(3), 3, 0, epsilon, "add-remove", points=9,
            truncation={"rate": (0.5, 2.5)}, **options,
        )  # fmt: skip

    one, three = made("1/3"), made("1", samples=3)
    assert one.temperature == three.temperature
    assert three.loss == 3 * one.loss <= 1
    cheap = made("99", samples=3, temperature=2)
    assert cheap.guarantee().epsilon == cheap.loss < 99


def test_the_widest_truncation_that_a_temperature_allows():
    """A wider one of the list costs too much."""
    made = FamilyPosteriorSampler.calibrate(
        Poisson(3), 3, 0, "1", "add-remove", points=9, temperature=4
    )
    assert made.loss <= 1
    tried = [
        ParameterGrid(
            Poisson(3), (("rate", *Poisson(3).truncation(share)["rate"]),), 9, 3, 0
        )
        for share in parameter_grid.SHARES
    ]
    widths = [grid.widest("add-remove") for grid in tried]
    assert made.grid.widest("add-remove") == max(x for x in widths if x <= 4)
    assert sorted(widths) == widths
    pairs = itertools.pairwise(widths)
    assert all(a < b for a, b in pairs)
