"""MAP by the exponential mechanism: privacy by enumeration, masses, draws, inputs."""

import dataclasses
import itertools
import json
import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import jax.random as jr
import mpmath
import numpy as np
import pytest

from dpjax import BayesNet, theory
from dpjax.mechanisms.cell_mass import CellMass
from dpjax.noise.simplex_grid import LOG_BITS, log_table
from dpjax.statistics import NetworkCounts
from dpjax.tables.layout import TableLayout
from tests.helpers.cases import mostly_thorough
from tests.helpers.neighbours import (
    all_records,
    data_sets,
    neighbouring_pairs,
    worst_loss,
)
from tests.helpers.statistical import ALPHA, chi_square_pvalue

NETS = {
    "coin": BayesNet.from_parents({"x": [0, 1]}, {"x": []}),
    "die": BayesNet.from_parents({"x": [0, 1, 2]}, {"x": []}),
    "two roots": BayesNet.from_parents({"x": [0, 1], "y": [0, 1]}, {"x": [], "y": []}),
    "chain": BayesNet.from_parents(
        {"x": [0, 1], "y": ["a", "b", "c"]}, {"y": ["x"], "x": []}
    ),
}
CASES = [  # network, omega, units, prior; least part of ε that some pair must use up
    ("coin", "1/3", 3, 1, 0.65),  # a prior on two points
    ("coin", "2/5", 5, 1, 0.65),
    ("coin", "1/5", 5, "1/20", 0.3),
    ("die", "1/4", 4, 1, 0.5),
    ("die", "1/7", 7, "1/2", 0.13),
    ("two roots", "2/5", 5, 1, 0.28),
    ("two roots", "1/5", 5, 3, 0.08),
    ("chain", "1/4", 4, 1, 0.08),
    ("chain", "1/5", 5, "1/2", 0.02),
]
EPSILONS = ("0.1", 1, 4, 50)
ADJACENT = ("replace-one", "add-remove")


def all_counts(net, most=3):
    """The counts of every data set of so few records, by its sorted records."""
    members, strides, offsets = net.layout.addresses
    vectors = {}
    for chosen in data_sets(all_records(net), range(most + 1)):
        cells = [offsets + (np.array(r)[members] * strides).sum(1) for r in chosen]
        cells = np.concatenate([np.zeros(0, int), *cells])
        vectors[chosen] = np.bincount(cells, minlength=net.layout.length)
    return vectors


def places_of_pairs(name, adjacency):
    """Places of both data sets of every pair of neighbours."""
    sets = list(DATA[name])
    pairs = neighbouring_pairs(sets, all_records(NETS[name]), adjacency)
    return [(sets.index(one), sets.index(other)) for one, other in pairs]


DATA = {name: all_counts(net) for name, net in NETS.items()}
VECTORS = {name: list(map(jnp.asarray, sets.values())) for name, sets in DATA.items()}
PAIRS = {(n, a): places_of_pairs(n, a) for n in DATA for a in ADJACENT}


def make(name, epsilon, adjacency, omega, units, **options):
    return CellMass.calibrate(
        NETS[name].layout, epsilon, adjacency, omega=omega, units=units, **options
    )


def loss_of(name, mechanism, adjacency):
    """Over all pairs of neighbours, both ways, and all outputs."""
    logs = np.log([mechanism.law(counts) for counts in VECTORS[name]])
    return worst_loss(logs.__getitem__, PAIRS[name, adjacency])


def masses(name, mechanism):
    return np.array([mechanism.scores(x) for x in VECTORS[name]]) / 2.0**31


def delta_of(mechanism, adjacency):
    c = float(mechanism.grid.log_range / mechanism.temperature)
    return math.tanh(c / (2 if adjacency == "replace-one" else 4))


@pytest.mark.parametrize("adjacency", ADJACENT)
@pytest.mark.parametrize("case", CASES, ids=lambda c: " ".join(map(str, c[:4])))
def test_no_output_tells_neighbours_apart_by_more_than_epsilon(case, adjacency):
    name, omega, units, prior, part = case
    for epsilon in EPSILONS:
        mechanism = make(name, epsilon, adjacency, omega, units, prior=prior)
        loss, promised = loss_of(name, mechanism, adjacency), float(epsilon)
        assert part * promised <= loss <= promised + 1e-12


@pytest.mark.parametrize("adjacency", ADJACENT)
@pytest.mark.parametrize("temperature", mostly_thorough(["2.5", "1/3", 1]))
def test_the_sensitivity_is_never_exceeded_and_attained_by_two_points(
    adjacency, temperature
):
    for name, omega, units, prior, _ in CASES:
        mechanism = make(
            *(name, 1, adjacency, omega, units), prior=prior, temperature=temperature
        )
        first, second = np.transpose(PAIRS[name, adjacency])
        change = masses(name, mechanism)[first] - masses(name, mechanism)[second]
        variation = np.abs(change).sum(axis=1).max() / 2
        delta = delta_of(mechanism, adjacency)
        assert variation <= delta + 1e-7
        if name == "coin" and len(mechanism.grid.prior_weights) == 2:
            odd = (
                adjacency == "replace-one"
            )  # odds of e^(-w/2): one record short of half
            assert variation >= (1 - 1e-7 if odd else 0.8) * delta


def test_the_papers_sensitivity_is_larger():
    mechanism = make("coin", 1, "replace-one", "0.4", 5)
    delta, c = delta_of(mechanism, "replace-one"), float(mechanism.grid.log_range)
    assert (delta, math.sqrt(c)) == pytest.approx((0.20, 0.637), abs=5e-4)
    for c in np.geomspace(1e-3, 50, 60):
        assert math.tanh(c / 2) < math.sqrt(c)


@pytest.mark.parametrize("adjacency", ADJACENT)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_as_much_as_is_proved_is_spent(epsilon, adjacency):
    cases = [(*case[:4], heat) for case in CASES for heat in (1, 10**9)]
    for name, omega, units, prior, heat in cases:  # the hot one: all Δ is rounding
        mechanism = make(
            *(name, epsilon, adjacency, omega, units), prior=prior, temperature=heat
        )
        xi = mechanism.grid.prior_weights / mechanism.grid.prior_weights.sum()
        rounding = (2 * len(mechanism.grid.rows) + 1) / 2**31
        delta = math.ceil(2**31 * delta_of(mechanism, adjacency)) / 2**31

        def cost(s, xi=xi, delta=delta, rounding=rounding):
            small = math.exp(-s)
            pi = (xi.max() - xi.min() * small) / (xi.max() + (1 - xi.max()) * small)
            return s * (delta * (1 + pi) + 2 * rounding)

        s, budget = mechanism.sharpness, float(epsilon) * (1 + 1e-12)
        assert cost(s) <= budget < cost(s * (1 + 2**-9))
        assert s >= float(epsilon) / (2 * delta + 2 * rounding) * (1 - 1e-12)


MUTANTS = {
    "sensitivity halved": lambda m: dataclasses.replace(m, rate=2 * m.rate),
    "posterior not tempered": lambda m: dataclasses.replace(
        m, temperature=m.temperature / 4
    ),
    "normaliser taken to be public": lambda m: dataclasses.replace(
        m, rate=Fraction(m.promise.epsilon) / Fraction(delta_of(m, m.adjacency)) / 2**31
    ),
    "densities for masses": lambda m: dataclasses.replace(
        m, rate=m.rate * m.grid.units
    ),
    "the other adjacency": lambda m: make(
        *("coin", m.promise.epsilon, "add-remove", "1/3", 3), temperature=4
    ),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_wrong_mechanisms_are_caught(mutant):
    mechanism = make("coin", 2, "replace-one", "1/3", 3, temperature=4)
    assert loss_of("coin", mechanism, "replace-one") <= 2 + 1e-12
    assert loss_of("coin", MUTANTS[mutant](mechanism), "replace-one") > 2.001


@pytest.mark.parametrize("prior", [1, "1/2", 4], ids=str)
def test_scores_are_the_masses_of_the_posterior_on_the_grid(rng, prior):
    mechanism = make("chain", 1, "add-remove", "1/6", 6, prior=prior, temperature="3/2")
    grid = mechanism.grid
    for most in (3, 10**9):
        counts = rng.integers(0, most, NETS["chain"].layout.length)
        scores = mechanism.scores(jnp.asarray(counts))
        with mpmath.workdps(60):
            logs = [mpmath.mpf(x) / (1 << LOG_BITS) for x in log_table(6)]
            cells = [grid.tables(i) for i in range(len(scores))]
            powers = [mpmath.fdot(counts.tolist(), [logs[g] for g in c]) for c in cells]
            weights = [mpmath.exp(power / 1.5) for power in powers]
            weights = np.array(weights) * grid.prior_weights.astype(object)
            short = weights / weights.sum() * 2**31 - scores.astype(object)
        assert -(2**-20) < min(short) <= max(short) < 2 * 3  # rows
        assert sum(map(int, scores)) <= 2**31


@pytest.mark.parametrize(("omega", "least"), [("1/16", 1), ("0.07", 2), ("1e-9", 1)])
def test_no_probability_is_below_omega(omega, least):
    grid = make("die", 1, "add-remove", omega, 16).grid
    points = np.array([grid.tables(i) for i in range(len(grid.prior_weights))])
    assert (points.min(), points.max()) == (least, 16 - 2 * least)
    assert points.min() >= 16 * float(Fraction(omega))
    np.testing.assert_array_equal(points.sum(axis=1), 16)


def test_prior_weights_are_those_of_a_dirichlet():
    grid = make("die", 1, "add-remove", "1/9", 9, prior="5/2").grid
    points = np.array([grid.tables(i) for i in range(len(grid.prior_weights))])
    assert len(points) == math.comb(8, 2)
    assert {tuple(point) for point in points} == {
        point for point in itertools.product(range(1, 10), repeat=3) if sum(point) == 9
    }
    expected = np.prod(points / 9.0, axis=1) ** 1.5
    np.testing.assert_allclose(
        grid.prior_weights / 2.0**16, expected / expected.max(), atol=2**-16
    )


def cells_of(mechanism, tables):
    grid = mechanism.grid
    index = {tuple(grid.tables(i)): i for i in range(len(grid.prior_weights))}
    return [index[tuple(row)] for row in np.asarray(tables).tolist()]


LAWFUL = make("chain", 40, "replace-one", "1/5", 5, prior=4, temperature="1/4")
OBSERVED = jnp.array([4, 1, 0, 3, 1, 0, 0, 1])


def agrees(cells, mechanism, counts):
    law = mechanism.law(counts)
    return chi_square_pvalue(cells, lambda i: law[i], range(len(law))) > ALPHA


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "counts"),
    [
        pytest.param(LAWFUL, OBSERVED, id="few records"),
        pytest.param(
            dataclasses.replace(LAWFUL, rate=LAWFUL.rate / 4),
            1000 * OBSERVED,
            id="so many that most scores are 0",
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_draws_have_the_law(mechanism, counts):
    drawn = np.stack([mechanism.draw(counts) for _ in range(1000)])
    cells = cells_of(mechanism, drawn)
    assert agrees(cells, mechanism, counts)
    other = dataclasses.replace(mechanism, rate=mechanism.rate / 2)
    assert not agrees(cells, other, counts)


@pytest.mark.slow
def test_samples_have_the_law_under_jit_and_vmap(key):
    sample = jax.jit(jax.vmap(LAWFUL.sample, in_axes=(0, None)))
    tables = sample(jr.split(key, 20_000), OBSERVED)
    assert tables.dtype == jnp.int32
    np.testing.assert_array_equal(tables.reshape(-1, 8)[:, 2:5].sum(axis=1), 5)
    cells = cells_of(LAWFUL, tables)
    assert agrees(cells, LAWFUL, OBSERVED)
    other = dataclasses.replace(LAWFUL, rate=LAWFUL.rate * 3 / 4)
    assert not agrees(cells, other, OBSERVED)


@pytest.mark.slow
@pytest.mark.parametrize("prior", mostly_thorough([1, 3]), ids=str)
def test_the_map_is_found_when_epsilon_is_large(key, rng, prior):
    net = NETS["chain"]
    mechanism = make("chain", 10**6, "add-remove", "1/12", 12, prior=prior)
    counts = rng.integers(0, 60, net.layout.length)
    points = [np.array(p) for p in itertools.product(range(1, 12), repeat=3)]

    def mode(own):
        """Of one row: the best point, by listing."""
        rows = [p[: len(own)] for p in points if p[: len(own)].sum() == 12]
        return max(rows, key=lambda g: np.log(g) @ (own + prior - 1.0))

    best = np.concatenate([mode(counts[a:b]) for a, b in ((0, 2), (2, 5), (5, 8))])
    np.testing.assert_array_equal(mechanism.draw(jnp.asarray(counts)), best)
    np.testing.assert_array_equal(mechanism.sample(key, jnp.asarray(counts)), best)


def test_a_statistic_of_all_families_is_what_is_read(rng):
    net = NETS["chain"]
    records = rng.integers(0, [2, 3], (30, 2)).astype(np.uint8)
    tables = LAWFUL.draw(NetworkCounts(net, "all").measure(records))
    for table in net.layout.split(tables):
        np.testing.assert_array_equal(table.sum(axis=-1), 5)


def test_it_is_a_mechanism_that_its_description_rebuilds():
    described = json.loads(json.dumps(LAWFUL.describe()))
    assert (described.pop("kind"), described.pop("rate")) == (
        "cell-mass",
        str(LAWFUL.rate),
    )
    promise = LAWFUL.guarantee()
    layout = NETS["chain"].layout
    again = CellMass.calibrate(layout, promise.epsilon, promise.adjacency, **described)
    assert again == LAWFUL
    assert hash(again) == hash(LAWFUL)
    assert jax.tree.unflatten(*jax.tree.flatten(LAWFUL)[::-1]) == LAWFUL
    assert (promise.epsilon, LAWFUL.adjacency) == (40, "replace-one")


def test_lemma_4_covers_what_is_released():
    law, scores = LAWFUL.law(OBSERVED), LAWFUL.scores(OBSERVED) / 2.0**31
    prior = LAWFUL.grid.prior_weights / LAWFUL.grid.prior_weights.sum()
    delta = delta_of(LAWFUL, "replace-one")
    for t in (0.05, 0.1, 0.12):
        missed = law[scores <= scores.max() - 2 * t].sum()
        good = prior[scores > scores.max() - t].sum()
        assert 0 < missed <= theory.lemma_4(float(good), t, 40, delta)


@pytest.mark.parametrize(
    ("message", "changed"),
    [
        ("`omega` must be below 1/2", {"omega": "1/2"}),
        ("`omega` must be below 1.* increase `units`", {"omega": "0.47"}),
        ("`omega` must be a finite number > 0", {"omega": 0}),
        ("`epsilon` must be a finite number > 0", {"epsilon": 0}),
        ("`epsilon` must be a finite number > 0", {"epsilon": "-1"}),
        ("`adjacency` must be 'replace-one' or", {"adjacency": "unbounded"}),
        ("`temperature` must be a finite number > 0", {"temperature": "0"}),
        ("`prior` must be a finite number > 0", {"prior": -1}),
        ("`units` must be an integer of at least 1", {"units": 0}),
        (r"`units` must be fewer than 17 .* 2\^24\.0 joint cells", {"units": 17}),
    ],
)
def test_arguments_must_be_in_range(message, changed):
    layout = TableLayout((2, 2), ((0, 1), (0, 1), (1, 0)))
    given = {"epsilon": 1, "adjacency": "add-remove", "omega": "1/17"} | changed
    with pytest.raises(ValueError, match=message) as raised:
        CellMass.calibrate(layout, **given)
    assert "\n" not in str(raised.value)


def test_as_many_cells_as_can_be_listed_are_allowed():
    tables = ((0,),) * 22
    CellMass.calibrate(TableLayout((2,), tables), 1, "add-remove", omega="0.4", units=5)
    with pytest.raises(ValueError, match=r"2\^23\.0 joint cells"):
        CellMass.calibrate(
            TableLayout((2,), (*tables, (0,))), 1, "add-remove", omega="0.4", units=5
        )


@pytest.mark.parametrize(
    "exact",
    [jnp.zeros(7, int), jnp.zeros((1, 8), int), jnp.zeros(8)],
    ids=["short", "a matrix", "floats"],
)
def test_counts_must_be_integers_of_the_tables_shape(key, exact):
    for call in (LAWFUL.draw, LAWFUL.law, lambda x: LAWFUL.sample(key, x)):
        with pytest.raises(Exception, match=r"`exact` must be 8 integers|'exact'"):
            call(exact)


def test_a_release_is_not_drawn_inside_compiled_code():
    with pytest.raises(ValueError, match="outside of `jit` and `vmap`"):
        jax.jit(LAWFUL.draw)(OBSERVED)


@pytest.mark.parametrize("legacy", [jr.PRNGKey(0), 0])
def test_legacy_keys_are_refused(legacy):
    with pytest.raises(Exception, match=r"typed key|key.*Key"):
        LAWFUL.sample(legacy, OBSERVED)
