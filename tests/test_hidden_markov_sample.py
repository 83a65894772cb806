"""Samples of a hidden Markov model among public candidates: loss, scores and files."""

import decimal
import functools
import itertools
import json
import types
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import dpjax as dp
from dpjax.cli.main import main
from dpjax.event_logs import event_network
from dpjax.mechanisms import HiddenMarkovSampler
from dpjax.mechanisms.path_candidates import Candidates
from dpjax.mechanisms.recipes import HiddenMarkovSample
from dpjax.noise.simplex_grid import LOG_BITS, log_table
from dpjax.privacy import ADJACENCIES
from dpjax.releases.entries import InconsistentRelease
from dpjax.statistics import NetworkCounts
from dpjax.study import event_plan
from tests.helpers.release_files import rehashed
from tests.helpers.statistical import assert_binomial

LEVELS = {"place": ("a", "b"), "month": (0, 1), "kind": ("x", "y")}
NET = event_network([dp.Variable(*each) for each in LEVELS.items()], "place", "month")
STATISTIC = NetworkCounts(NET)
EVENTS = [*itertools.product(range(2), repeat=3)]
TINY = {"states": 2, "points": 8}


def made(epsilon, adjacency, **options):
    return HiddenMarkovSampler.calibrate(STATISTIC, epsilon, adjacency, **options)


def scores(sampler, log):
    records = np.array(log, np.uint8).reshape(-1, 3)
    return sampler.scores(np.asarray(STATISTIC.measure(jnp.asarray(records))))


def law(sampler, log):
    """Log-probabilities of the candidates, from the exact scores."""
    integers, unit = scores(sampler, log)
    logs = np.array([float((x - max(integers)) * unit) for x in integers])
    return logs - np.logaddexp.reduce(logs)


def neighbours(logs, adjacency):
    """Pairs of neighbours, one or both of which have an event more than a given log."""
    for log in logs:
        longer = [tuple(sorted((*log, event))) for event in EVENTS]
        if adjacency == "add-remove":
            yield from ((log, other) for other in longer)
        else:
            yield from itertools.combinations(longer, 2)


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("states", [1, 2])
def test_no_output_loses_more_than_epsilon_for_any_neighbours(states, adjacency):
    """All logs of up to 3 events, and long ones in one cell, where the loss is largest.

    For one state and an event more, nearly all of the bound is used; least of it, three
    quarters, for two states and an event replaced.
    """
    sampler = made(2, adjacency, states=states, points=8)
    known = functools.cache(functools.partial(law, sampler))
    few = [
        log
        for n in range(3)
        for log in itertools.combinations_with_replacement(EVENTS, n)
    ]
    cell = [(0, 0, 0), (0, 0, 1)]
    long = [
        tuple(sorted([cell[0]] * a + [cell[1]] * b))
        for a, b in itertools.product((0, 1, 4, 120), repeat=2)
    ]
    losses = [
        np.abs(known(a) - known(b)).max()
        for a, b in neighbours([*few, *long], adjacency)
    ]
    epsilon = float(sampler.cost.epsilon)
    assert max(losses) <= epsilon
    share = {1: {"add-remove": 0.99, "replace-one": 0.88}}
    share[2] = {"add-remove": 0.93, "replace-one": 0.75}
    assert max(losses) >= share[states][adjacency] * epsilon


def test_scores_are_logarithms_of_sums_over_all_paths(rng):
    """By fractions of exponentials to 100 digits, for every path of every region."""
    candidates = Candidates((2, 3), 3, 4, Fraction(1, 20), 100, 7)
    counts = rng.integers(0, 30, (2, 3, 5))
    with decimal.localcontext(decimal.Context(prec=100)):
        logs = [decimal.Decimal(x) / (1 << LOG_BITS) for x in log_table(100)]
        for m, found in enumerate(candidates.scores(counts)):
            emission, first, moves = (table[m].tolist() for table in candidates.tables)
            total = decimal.Decimal(0)
            for region in counts.tolist():
                terms = []
                for path in itertools.product(range(3), repeat=3):
                    weight = first[path[0]]
                    for move in itertools.pairwise(path):
                        weight *= moves[move[0]][move[1]]
                    power = sum(
                        (
                            number * logs[emission[state][level]]
                            for state, cell in zip(path, region, strict=True)
                            for level, number in enumerate(cell)
                        ),
                        decimal.Decimal(0),
                    )
                    terms.append(weight * power.exp())
                total += sum(terms, decimal.Decimal(0)).ln()
            assert abs(found - total * (1 << LOG_BITS)) <= decimal.Decimal("0.5001")


@pytest.mark.parametrize(
    ("adjacency", "moved"), [("add-remove", 1), ("replace-one", 2)]
)
def test_the_range_of_an_event_has_the_error_of_four_scores(adjacency, moved):
    candidates = Candidates((2, 3), 3, 50, Fraction(1, 20), 100, 7)
    logs = np.array(log_table(100))[candidates.tables[0]].reshape(-1, 5)
    ranges = np.ptp(logs, axis=0)
    width = moved * (ranges[:2].max() + ranges[2:].max()) + 4
    assert candidates.widest(adjacency) * (1 << LOG_BITS) == width


def test_candidates_are_the_same_everywhere_and_follow_the_prior():
    candidates = Candidates((2, 3), 2, 2000, Fraction(1, 20), 1000, 0)
    levels, first, moves = candidates.tables
    first_of_all = [[405, 595, 373, 96, 531], [575, 425, 297, 445, 258]]
    assert levels[0].tolist() == first_of_all
    for table in (levels[..., :2], levels[..., 2:], first, moves):
        assert (table.sum(axis=-1) == 1000).all()
    assert levels.min() >= 50
    assert first.min() < 50
    half = levels[:, 0, 0] < 275  # a quarter of the range from 50 to 950
    assert_binomial(half.sum(), 2000, 0.25)
    below = levels[:, 1, 2] < 50 + 850 * 0.2  # of three levels: 1 - 0.8²
    assert_binomial(below.sum(), 2000, 0.36)


def test_draws_of_studies_follow_the_law_of_the_exact_draw(key):
    sampler = made(3, "replace-one", **TINY)
    log = [EVENTS[i] for i in (0, 0, 1, 3, 6)]
    exact = STATISTIC.measure(jnp.asarray(np.array(log, np.uint8)))
    each = jax.jit(jax.vmap(sampler.sample, (0, None)))(jr.split(key, 2000), exact)
    drawn = np.asarray(each)[:, 0, 0]
    wanted = np.exp(law(sampler, log))
    best = wanted.argmax()
    assert_binomial((drawn == best).sum(), 2000, wanted[best])


@pytest.mark.parametrize("samples", [1, 3])
def test_a_release_is_kept_and_has_a_posterior(samples, tmp_path):
    recipe = HiddenMarkovSample(states=2, points=16, samples=samples, seed=5)
    records = np.array([EVENTS[i] for i in (0, 3, 3, 7)], np.uint8)
    one = dp.release(NET, records, epsilon=1, adjacency="add-remove", mechanism=recipe)
    one.save(tmp_path / "one.json")
    kept: Any = dp.load(tmp_path / "one.json")
    assert kept.mechanism == one.mechanism
    assert kept.guarantee().epsilon == 1
    tables = kept.mechanism.candidates.tables
    index = int(np.asarray(kept.values)[0, 0])
    posterior: Any = dp.posterior(kept)
    assert posterior.method == "samples"
    found = {name: x[0] for name, x in posterior.parameters().items()}
    names = ("emission", "initial", "transition")
    for name, table in zip(names, tables, strict=True):
        np.testing.assert_allclose(found[name], table[index] / 1000, rtol=1e-6)
    for question in (posterior.update, posterior.predict):
        with pytest.raises(ValueError, match="must be"):
            question(records)


@pytest.mark.parametrize(
    "altered",
    [
        {"temperature": "1"},
        {"samples": 5},
        {"points": 1},
        {"omega": "1/100"},
        {"states": "2"},
        {"seed": -1},
        {"more": 1},
    ],
)
def test_files_that_claim_less_than_they_cost_are_refused(altered, tmp_path):
    records = np.array(EVENTS, np.uint8)
    recipe = HiddenMarkovSample(points=16)
    one = dp.release(NET, records, epsilon=1, adjacency="replace-one", mechanism=recipe)
    path = tmp_path / "one.json"
    one.save(path)
    document = json.loads(path.read_text())
    mechanism = {**document["content"]["mechanism"], **altered}
    values = document["content"]["values"] * mechanism["samples"]
    altered = rehashed(document, mechanism=mechanism, values=values)
    path.write_text(json.dumps(altered))
    with pytest.raises(InconsistentRelease):
        dp.load(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"states": 0}, "`states` must be"),
        ({"points": 1}, "`points` must be"),
        ({"omega": "3/4"}, "`omega` must be"),
        ({"units": 20_000}, "`omega` must be"),
        ({"states": 100, "points": 10_000}, "`points` must make at most"),
        ({"temperature": "1/10"}, "`temperature` must be"),
        ({"samples": 0}, "`samples` must be"),
    ],
)
def test_choices_out_of_range_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        made(1, "replace-one", **{**TINY, **options})


def test_other_networks_are_refused():
    net = dp.BayesNet.naive_bayes({"y": [0, 1], "x": [0, 1]}, "y")
    records = np.zeros((2, 2), np.uint8)
    with pytest.raises(ValueError, match="`what` must be the network of an event log"):
        dp.release(
            net, records, epsilon=1, adjacency="replace-one",
            mechanism="hidden-markov-sample",
        )  # fmt: skip


def test_the_command_line_publishes_a_sample(tmp_path, capsys):
    levels = {name: {"levels": [*each]} for name, each in LEVELS.items()}
    (tmp_path / "schema.json").write_text(json.dumps({"variables": levels}))
    (tmp_path / "log.csv").write_text("place,month,kind\na,0,x\nb,1,y\n")
    command = ["release", str(tmp_path / "log.csv"), "--model", "hmm"]
    command += ["--schema", str(tmp_path / "schema.json"), "--region", "place"]
    command += ["--time", "month", "--states", "2", "--points", "12"]
    command += ["--mechanism", "hidden-markov-sample", "--epsilon", "1"]
    command += ["--adjacency", "replace-one", "--out", str(tmp_path / "out.json")]
    assert main(command) == 0
    assert main(["verify", str(tmp_path / "out.json")]) == 0
    released: Any = dp.load(tmp_path / "out.json")
    assert released.mechanism.candidates.number == 12
    assert released.hidden_states == 2
    capsys.readouterr()


@pytest.mark.thorough
@pytest.mark.relaxed
def test_a_plan_says_that_a_sample_is_not_worth_its_epsilon(tmp_path, capsys):
    """With what releases of other logs by the same mechanisms lose, one by one."""
    n, repeats = 1500, 12
    levels = {"place": range(3), "month": range(8), "kind": range(3), "dead": range(2)}
    variables = [dp.Variable(name, tuple(each)) for name, each in levels.items()]
    net = event_network(variables, "place", "month")
    options = {"key": dp.study_key(0), "repeats": repeats, "states": 2}
    planned = dp.plan(net, n, 2, "replace-one", **options)
    assert planned.preferred == "laplace"
    assert planned.not_worth[HiddenMarkovSample.kind] > 2
    rng, found = np.random.default_rng(1), []
    for _ in range(repeats):
        truth = [rng.dirichlet(np.ones(k), 2) for k in (3, 2)]
        first, moves = rng.dirichlet(np.ones(2)), rng.dirichlet(np.ones(2), 2)
        log, other = (drawn_log(rng, n, truth, first, moves) for _ in range(2))
        one: Any = dp.release(
            net, log, epsilon=2, adjacency="replace-one",
            mechanism=HiddenMarkovSample(2),
        )  # fmt: skip
        [index] = np.asarray(one.values)[:, 0]
        drawn = [table[index] / 1000 for table in one.mechanism.candidates.tables]
        best = forward(other, np.hstack(truth), first, moves)
        found.append((best - forward(other, *drawn)) / n)
    expected = {x.name: x for x in planned.outlooks}[HiddenMarkovSample.kind]
    error = np.hypot(np.std(found) / repeats**0.5, expected.divergence_se)
    assert abs(np.mean(found) - expected.divergence) < 4.5 * error
    assert error < 0.4 * expected.divergence


def drawn_log(rng, n, truth, first, moves):
    """Events in uniformly random cells of 3 places and 8 months."""
    paths = []
    for _ in range(3):
        path = [rng.choice(2, p=first)]
        while len(path) < 8:
            path.append(rng.choice(2, p=moves[path[-1]]))
        paths.append(path)
    place, month = rng.integers(0, 3, n), rng.integers(0, 8, n)
    state = np.array(paths)[place, month]
    fields = [
        (rng.uniform(size=n)[:, None] > table.cumsum(axis=1)[state, :-1]).sum(axis=1)
        for table in truth
    ]
    return np.stack([place, month, *fields], axis=1).astype(np.uint8)


def forward(log, emission, first, moves):
    """The log-likelihood of a log, event by event, cell by cell."""
    logs = np.log(emission)
    cells = np.zeros((3, 8, 2))
    for place, month, kind, dead in log.tolist():
        cells[place, month] += logs[:, kind] + logs[:, 3 + dead]
    total = 0.0
    for region in cells:
        alpha = first
        for month, cell in enumerate(region):
            alpha = alpha @ moves if month else alpha
            total += np.log((alpha * np.exp(cell - cell.max())).sum()) + cell.max()
            alpha = alpha * np.exp(cell - cell.max())
            alpha = alpha / alpha.sum()
    return total


def test_a_plan_averages_draws_of_all_chains_with_their_weights():
    weights = np.array([0.5, 0.125, 0.375])
    marks = np.broadcast_to(np.array([0.1, 0.2, 0.3])[:, None, None], (300, 3, 2, 4))
    fitted = types.SimpleNamespace(
        emission=jnp.asarray(marks, float),
        initial=jnp.asarray(marks[..., 0], float),
        transition=jnp.asarray(marks[..., :2], float),
        weights=weights,
    )
    tables, given = event_plan._weighted_draws(fitted)
    assert 50 < len(given) <= 102
    chains = np.rint(10 * np.exp(tables.first[:, 0])).astype(int) - 1
    np.testing.assert_allclose(np.bincount(chains, given), weights)
    for table in tables:
        np.testing.assert_allclose(
            np.exp(table.reshape(len(given), -1)[:, -1]),
            marks[0, chains, 0, 0],
            rtol=1e-5,
        )


def test_a_plan_of_event_logs_is_alone(key):
    with pytest.raises(ValueError, match="`states` must be for an event log alone"):
        dp.plan(NET, 10, 1, "replace-one", key=key, states=2, mechanisms=["laplace"])
    net = dp.BayesNet.naive_bayes({"y": [0, 1], "x": [0, 1]}, "y")
    with pytest.raises(ValueError, match="must be of an event log"):
        dp.plan(net, 10, 1, "replace-one", key=key, states=2)
