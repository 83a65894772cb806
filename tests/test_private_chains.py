"""Chains that pay for each update: costs against enumeration, and what is refused."""

import itertools
import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import jax.random as jr
import jaxtyping
import numpy as np
import pytest
from scipy import stats
from scipy.special import log_expit, log_softmax, logsumexp

from dpjax import BayesNet, BudgetExceeded, Ledger, Variable, release
from dpjax.chains import (
    ChargedStep,
    annealed,
    barker,
    block,
    charged_chain,
    choice,
    collapsed,
    draw_beta,
    latents,
    price_of,
    public_chain,
    table,
)
from dpjax.chains.barker import log_lazy
from dpjax.chains.price import clip_to, float_above, float_below
from dpjax.privacy import PureDP, advanced
from tests.helpers.cases import mostly_thorough
from tests.helpers.neighbours import neighbouring_pairs, worst_loss
from tests.helpers.statistical import assert_counts_follow, assert_follows

NINE = (math.log(0.1), math.log(0.9))  # log-likelihoods of a record in the toy
BOUNDS = ("-2.302585093", "-0.105360516")
DELTA = math.log(9)
RARE = jnp.log(jnp.asarray([0.999, 0.001]))  # a prior that brings out the whole loss


def agrees(label, parameter, record):
    """log p(x | z, θ): .9 where x = z xor θ, and .1 elsewhere."""
    return jnp.where((label + parameter) % 2 == record, NINE[1], NINE[0])


def label_fit(state, record):
    return agrees(jnp.arange(2, dtype=jnp.int32), state["parameter"], record)


def parameter_fit(state, record, own):
    return agrees(own["labels"], jnp.arange(2, dtype=jnp.int32), record)


def toy(epsilon):
    """Two records, two states: a label a record, and a parameter of both."""
    labels = latents("labels", label_fit, BOUNDS, epsilon, log_prior=lambda _: RARE)
    parameter = choice(
        "parameter",
        parameter_fit,
        BOUNDS,
        epsilon,
        adjacency="replace-one",
        log_prior=lambda _: RARE,
        latents=("labels",),
    )
    return labels, parameter


def start(parameter=1):
    return {
        "labels": jnp.zeros(2, jnp.int32),
        "parameter": jnp.asarray(parameter, jnp.int32),
    }


def trajectories(labels, parameter, data, sweeps):
    """Log-probability of everything that a chain on the toy may show."""
    records, found = jnp.asarray(data, jnp.int32), {(): 0.0}
    laws = {
        state: (
            log_softmax(np.asarray(labels.law(records, made(state)), float), axis=-1),
            log_softmax(np.asarray(parameter.law(records, made(state)), float)),
        )
        for state in itertools.product((0, 1), repeat=3)
    }
    for _ in range(sweeps):
        longer = {}
        for path, log in found.items():
            before = path[-1] if path else (0, 0, 1)
            of_labels = laws[before][0]
            for first, second, last in itertools.product((0, 1), repeat=3):
                chosen = laws[first, second, before[2]][1][last]
                step = of_labels[0, first] + of_labels[1, second] + chosen
                longer[(*path, (first, second, last))] = log + step
        found = longer
    assert logsumexp(list(found.values())) == pytest.approx(0, abs=1e-5)
    return found


def made(state):
    *labels, parameter = state
    return {
        "labels": jnp.asarray(labels, jnp.int32),
        "parameter": jnp.asarray(parameter, jnp.int32),
    }


DATA = list(itertools.product((0, 1), repeat=2))
NEIGHBOURS = neighbouring_pairs(DATA, (0, 1), "replace-one")


@pytest.mark.parametrize("epsilon", mostly_thorough(["3", "1/2", "10"]))
def test_a_chain_costs_what_it_says(epsilon):
    """Every trajectory, every pair of neighbours: at most the cost, and nearly that."""
    steps, sweeps = toy(epsilon), 2
    cost = sum(float(step.cost.epsilon) for step in steps) * sweeps
    assert cost == pytest.approx(4 * min(float(Fraction(epsilon)), 2 * DELTA))
    laws = {data: trajectories(*steps, data, sweeps) for data in DATA}
    paths = list(laws[DATA[0]])

    def law(data):
        return np.array([laws[data][path] for path in paths])

    loss = worst_loss(law, NEIGHBOURS)
    assert 0.98 * cost <= loss <= cost * (1 + 1e-5)


@pytest.mark.slow
def test_draws_have_the_law_that_was_enumerated(key):
    labels, parameter = toy("3")
    data = jnp.asarray([0, 1], jnp.int32)

    @jax.jit
    @jax.vmap
    def run(key):
        chain = charged_chain(key, data, [labels, parameter], start(), sweeps=2)
        shown = [chain.states["labels"][:, 0], chain.states["labels"][:, 1]]
        shown.append(chain.states["parameter"])
        return (
            jnp.stack(shown, axis=1).reshape(6)
            * 2 ** jnp.arange(5, -1, -1, dtype=jnp.int32)
        ).sum()

    law = trajectories(labels, parameter, (0, 1), 2)
    order = [(path[:3], path[3:]) for path in itertools.product((0, 1), repeat=6)]
    seen = np.bincount(np.asarray(run(jr.split(key, 50_000))), minlength=64)
    assert_counts_follow(seen, np.exp([law[path] for path in order]))


def random_scan(step, data, before, chosen):
    """What a random scan may show, over all selections of so many labels."""
    records = jnp.asarray(data, jnp.int32)
    state = {**start(0), "labels": jnp.asarray(before, jnp.int32)}
    each = np.exp(log_softmax(np.asarray(step.law(records, state), float), axis=-1))
    shown = {}
    selections = list(itertools.combinations(range(len(data)), chosen))
    for which in selections:
        for new in itertools.product((0, 1), repeat=chosen):
            after = list(before)
            for i, label in zip(which, new, strict=True):
                after[i] = label
            chance = math.prod(each[i, z] for i, z in zip(which, new, strict=True))
            shown[tuple(after)] = shown.get(tuple(after), 0) + chance / len(selections)
    return shown


@pytest.mark.parametrize(("n", "chosen"), [(2, 1), (4, 1), (5, 2), (20, 1)])
def test_a_random_scan_is_not_amplified(n, chosen):
    """E5: the loss is ln 9 whatever the number of records; 4ΔQ/N is wrong."""
    even = jnp.zeros(2)
    step = latents(
        "labels", label_fit, BOUNDS, "10", log_prior=lambda _: even, updates=chosen
    )
    before = (0,) * n
    data = (0,) * n, (1, *(0,) * (n - 1))
    laws = [random_scan(step, x, before, chosen) for x in data]
    loss = max(abs(math.log(laws[0][z] / laws[1][z])) for z in laws[0])
    assert loss == pytest.approx(2.197, abs=1e-3)
    assert float(step.cost.epsilon) == pytest.approx(2 * DELTA)
    assert loss <= 2 * DELTA
    if n == 20:
        assert 4 * DELTA * chosen / n == pytest.approx(0.439, abs=1e-3)
        assert loss > 0.439


@pytest.mark.slow
def test_random_scans_draw_as_said(key):
    def step(**given):
        return latents(
            "labels", label_fit, BOUNDS, "10", log_prior=lambda _: jnp.zeros(2), **given
        )

    data, before = (0, 1, 1), (0, 0, 0)
    keys, state = jr.split(key, 40_000), {**start(0), "labels": jnp.zeros(3, jnp.int32)}

    def seen(step):
        move = jax.vmap(step.update, (0, None, None))
        records = jnp.asarray(data, jnp.int32)
        after = jax.jit(move)(jr.clone(keys), records, state)["labels"]
        return np.bincount(np.asarray(after) @ np.array([4, 2, 1]), minlength=8)

    law = random_scan(step(), data, before, 2)
    expected = [law.get(z, 0) for z in itertools.product((0, 1), repeat=3)]
    assert_counts_follow(seen(step(updates=2)), expected)
    again = step(updates=2, replacement=True)
    assert again.cost.epsilon == 2 * step().cost.epsilon  # the same may be drawn twice
    once, twice = random_scan(step(), data, before, 1), {}
    for z, chance in once.items():
        for last, further in random_scan(step(), data, z, 1).items():
            twice[last] = twice.get(last, 0) + chance * further
    expected = [twice.get(z, 0) for z in itertools.product((0, 1), repeat=3)]
    assert_counts_follow(seen(again), expected)
    with pytest.raises(ValueError, match="`updates` must be an integer"):
        step(replacement=True)


def sequential(step, data, levels):
    """Log-law of two labels, one given the other, from a step's own conditionals."""
    found, records = {}, jnp.asarray(data, jnp.int32)
    for first, second in itertools.product(range(levels), repeat=2):
        state = start()
        one = log_softmax(np.asarray(step.law(records, state), float), axis=-1)
        state["labels"] = state["labels"].at[0].set(first)
        two = log_softmax(np.asarray(step.law(records, state), float), axis=-1)
        found[first, second] = one[0, first] + two[1, second]
    return found


@pytest.mark.slow
def test_collapsed_updates_are_drawn_one_after_another(key):
    """Labels given all records: a Pólya urn for each label's chance of success."""

    def conditional(state, records, i):
        others = (jnp.arange(2, dtype=jnp.int32) != i).astype(float)
        same = jax.nn.one_hot(state["labels"], 2, dtype=float)
        same = same * others[:, None]
        alike = (records == records[i]).astype(float)
        hits = (same * alike[:, None]).sum(axis=0)
        prior = jnp.log(jnp.asarray([0.3, 0.7]))
        return jnp.log((0.05 + hits) / (0.1 + same.sum(axis=0))) + prior

    step = collapsed("labels", conditional, (-11, 0), "100", n=2)
    data = (0, 1)
    move = jax.jit(jax.vmap(step.update, (0, None, None)))
    after = move(jr.split(key, 40_000), jnp.asarray(data, jnp.int32), start())["labels"]
    seen = np.bincount(np.asarray(after) @ np.array([2, 1]), minlength=4)
    assert_counts_follow(seen, np.exp(list(sequential(step, data, 2).values())))


@pytest.mark.parametrize("epsilon", ["1/2", "100"])
def test_collapsed_updates_are_charged_singly(epsilon):
    """A conditional of many levels that one record turns over, for all labels."""
    levels = 1000

    def conditional(state, records, i):
        first = jnp.arange(levels, dtype=jnp.int32) == 0
        return jnp.where(first == (records.sum() == 0), 0.0, -1.0)

    step = collapsed("labels", conditional, (-1, 0), epsilon, n=2)
    cost = float(step.cost.epsilon)
    assert cost == 2 * min(float(Fraction(epsilon)), 2)
    laws = [
        log_softmax(np.asarray(step.law(jnp.asarray(x), start()), float), axis=-1)
        for x in ([0, 0], [0, 1])
    ]
    loss = np.abs(laws[0] - laws[1]).max(axis=1).sum()
    assert 0.98 * cost <= loss <= cost * (1 + 1e-5)


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("epsilon", ["1", "100"])
def test_a_table_costs_what_it_says(adjacency, epsilon):
    """The density over all values: a rare level appears among two thousand others."""
    step = table(
        "chances",
        lambda state, record, own: (jnp.zeros((), jnp.int32), record),
        (1, 2),
        epsilon,
        adjacency=adjacency,
        least="1/50",
    )
    many = np.zeros(20_000, np.int32)
    rare = np.concatenate([many[1:], [1]])
    if adjacency == "add-remove":
        rare = np.append(many, np.int32(1))
    grid = np.linspace(1 / 50, 1 - 1 / 50, 400_001)

    def log_density(records):
        ((first, second),) = np.asarray(step.law(jnp.asarray(records), {}), float)
        logs = (first - 1) * np.log(grid) + (second - 1) * np.log1p(-grid)
        return logs - logsumexp(logs)

    loss = np.abs(log_density(many) - log_density(rare)).max()
    cost = float(step.cost.epsilon)
    width = math.log(49) * (2 if adjacency == "replace-one" else 1)
    assert cost == pytest.approx(min(float(epsilon), width))
    # Counts over T are rounded, by up to half of this each, where they differ by 1 / T.
    law = step.law(jnp.asarray(many), {})
    share = (law.sum() - 2) / len(many)  # 1 / T
    rounding = float(np.spacing(np.asarray(law).max()) / share)
    assert 0.95 * cost <= loss <= cost * (1 + 1e-5 + rounding)


@pytest.mark.thorough
@pytest.mark.relaxed
def test_tables_are_drawn_from_their_law(key):
    """Rows by latent; what is outside of the table is not counted."""
    step = table(
        "chances",
        lambda state, record, own: (own["labels"], record),
        (2, 2),
        "100",
        adjacency="replace-one",
        least="1/10",
        latents=("labels",),
    )
    records = jnp.asarray([0, 0, 0, 1, 1, 7], jnp.int32)
    state = {"labels": jnp.asarray([0, 0, 0, 0, 1, 1], jnp.int32)}
    np.testing.assert_allclose(step.law(records, state), [[4, 2], [1, 2]])
    move = jax.jit(jax.vmap(step.update, (0, None, None)))
    drawn = np.asarray(move(jr.split(key, 4000), records, state)["chances"], float)
    for row, law in enumerate((stats.beta(4, 2), stats.beta(1, 2))):
        low, high = law.cdf(0.1), law.cdf(0.9)
        places = (law.cdf(drawn[:, row, 0]) - low) / (high - low)
        assert_follows(places, stats.uniform())


def candidates(log_prior, epsilon, adjacency="replace-one", **given):
    """Moves between three chances of success of Bernoulli records."""
    chances = jnp.asarray([0.1, 0.5, 0.9])

    def fit(state, record, own):
        p = chances[state["which"]]
        return jnp.where(record == 1, jnp.log(p), jnp.log1p(-p))

    def propose(key, value):
        return (value + jr.randint(key, (), 1, 3, jnp.int32)) % 3, jnp.zeros(())

    return barker(
        "which",
        propose,
        fit,
        BOUNDS,
        epsilon,
        adjacency=adjacency,
        log_prior=lambda state: log_prior[state["which"]],
        **given,
    )


def loss_of_moves(step, moves_and_stays):
    """The largest loss of a move between three candidates, all of them enumerated."""

    def law(data):
        states = [{"which": jnp.asarray(i, jnp.int32)} for i in range(3)]
        logs = [float(step.law(jnp.asarray(data, jnp.int32), x)) for x in states]
        ratios = [b - a for a, b in itertools.permutations(logs, 2)]
        return moves_and_stays(np.array(ratios))

    return worst_loss(law, NEIGHBOURS)


@pytest.mark.parametrize("epsilon", ["1/2", "10"])
def test_barkers_moves_cost_what_they_say(epsilon):
    rare = jnp.log(jnp.asarray([0.9989, 0.001, 0.0001]))
    step = candidates(rare, epsilon)
    loss = loss_of_moves(step, lambda ratios: log_expit([ratios, -ratios]))
    cost = float(step.cost.epsilon)
    assert 0.98 * cost <= loss <= cost * (1 + 1e-5)


def lazy(ratios, epsilon):
    """The library's log-probabilities of moving, and of staying, in float64."""
    moves = np.asarray(log_lazy(jnp.asarray(ratios), epsilon), float)
    return np.stack([moves, np.log1p(-np.exp(moves))])


@pytest.mark.parametrize("epsilon", ["1/2", "10"])
def test_lazy_moves_cost_what_they_say(epsilon):
    """The prior makes r = 1 of one of two neighbours: there staying loses the most."""
    odds = -2 * DELTA if epsilon == "10" else -0.5
    rare = jnp.asarray([0.0, odds * 3 / 2, -9.0])
    step = candidates(rare, epsilon, acceptance="lazy")
    cost = float(step.cost.epsilon)
    loss = loss_of_moves(step, lambda ratios: lazy(ratios, cost))
    assert 0.95 * cost <= loss <= cost * (1 + 1e-5)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_a_lazy_move_loses_epsilon_and_no_more_wherever_it_starts(epsilon):
    ratios = np.linspace(-6, 6, 2401) * epsilon
    for change in (0.3, 0.7, 1.0):
        moved = lazy(ratios + change * epsilon, epsilon)
        loss = np.abs(lazy(ratios, epsilon) - moved).max()
        assert loss <= epsilon * (1 + 1e-4)
    assert loss >= epsilon * (1 - 1e-4)  # for the largest change that is charged


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_lazy_moves_keep_the_balance_and_are_never_rarer_than_barkers(epsilon):
    ratios = np.linspace(-8, 8, 321)
    there, back = lazy(ratios, epsilon)[0], lazy(-ratios, epsilon)[0]
    np.testing.assert_allclose(there - back, ratios, atol=1e-5)
    assert (there >= log_expit(ratios) - 1e-6).all()
    middle = there[ratios == 0]
    assert middle == pytest.approx(log_expit(epsilon), abs=1e-6)  # not ln ½


def test_lazy_moves_are_taken_as_often_as_said(key):
    """From a chance of .1, one success and one failure, at ε = ½: T = 4 ln 9 · 2."""
    step = candidates(jnp.zeros(3), "1/2", acceptance="lazy")
    records = jnp.asarray([1, 0], jnp.int32)
    state = {"which": jnp.zeros((), jnp.int32)}
    move = jax.jit(jax.vmap(step.update, (0, None, None)))
    after = move(jr.split(key, 40_000), records, state)["which"]
    chance = 1 / (1 + math.exp(-0.5)) / 2  # r is 1 or more, and below √e
    seen = np.bincount(np.asarray(after), minlength=3)
    assert_counts_follow(seen, [1 - 2 * chance, chance, chance])


def test_barkers_moves_are_taken_as_often_as_said(key):
    """From a chance of .1, on one success and one failure: r = 25/9, and 1."""
    step = candidates(jnp.zeros(3), "10")
    records = jnp.asarray([1, 0], jnp.int32)
    state = {"which": jnp.zeros((), jnp.int32)}
    move = jax.jit(jax.vmap(step.update, (0, None, None)))
    after = move(jr.split(key, 20_000), records, state)["which"]
    middle = 25 / 9 / (1 + 25 / 9) / 2
    seen = np.bincount(np.asarray(after), minlength=3)
    assert_counts_follow(seen, [1 - middle - 0.25, middle, 0.25])


def test_barkers_moves_lead_to_the_target(key):
    prior = jnp.log(jnp.asarray([0.2, 0.5, 0.3]))
    step = candidates(prior, "10")
    records = jnp.asarray([1, 1, 0], jnp.int32)

    @jax.jit
    @jax.vmap
    def last(key):
        state = {"which": jnp.zeros((), jnp.int32)}
        return charged_chain(key, records, [step], state, sweeps=40).last["which"]

    chances = np.array([0.1, 0.5, 0.9])
    law = np.exp(np.asarray(prior)) * chances**2 * (1 - chances)
    seen = np.bincount(np.asarray(last(jr.split(key, 20_000))), minlength=3)
    assert_counts_follow(seen, law / law.sum())


def test_the_usual_acceptance_has_infinite_loss_and_is_refused():
    """From .45 to .55: one success is for it, and one failure against."""

    def stay(record):
        likelihood = {1: (0.45, 0.55), 0: (0.55, 0.45)}[record]
        return 1 - min(1, likelihood[1] / likelihood[0])

    assert stay(1) == 0
    assert stay(0) == pytest.approx(0.182, abs=1e-3)
    with pytest.raises(ValueError, match=r"`acceptance` must be 'barker' or.*infinite"):
        candidates(jnp.zeros(3), "1", acceptance="metropolis")


def anneal(key, records, powers, **given):
    step = {"adjacency": "replace-one", "weight_epsilon": None} | given
    return annealed(
        key,
        records,
        lambda key: jr.randint(key, (), 0, 3, jnp.int32),
        lambda key, value: (
            (value + jr.randint(key, (), 1, 3, jnp.int32)) % 3,
            jnp.zeros(()),
        ),
        annealed_fit,
        BOUNDS,
        powers,
        log_prior=lambda value: jnp.zeros(()),
        **step,
    )


def annealed_fit(value, record):
    p = jnp.asarray([0.1, 0.5, 0.9])[value]
    return jnp.where(record == 1, jnp.log(p), jnp.log1p(-p))


@pytest.mark.slow
def test_annealing_costs_the_sum_of_its_powers(key):
    records = jnp.asarray([1, 1, 0], jnp.int32)
    width = Fraction("2.302585093") - Fraction("0.105360516")
    key, *keys = jr.split(key, 3)
    drawn = anneal(keys[0], records, ["1/4", "1/2", "1"])
    assert drawn.log_weight is None
    assert drawn.cost == PureDP(2 * width * Fraction(7, 4), "replace-one")
    given = {"adjacency": "add-remove", "weight_epsilon": "1/3"}
    drawn = anneal(keys[1], records, ["1/2"], **given)
    assert drawn.cost == PureDP(width / 2 + Fraction(1, 3), "add-remove")
    ledger = Ledger(1, adjacency="replace-one")
    with pytest.raises(BudgetExceeded):
        anneal(key, records, ["1"], ledger=ledger)


def test_annealed_weights_average_to_the_evidence(key):
    """With next to no noise on them; and the last value leans to the posterior."""
    records = jnp.asarray([1, 1, 0], jnp.int32)

    @jax.jit
    @jax.vmap
    def run(key):
        drawn = anneal(key, records, ["1/4", "1/2", "1"], weight_epsilon="1000000")
        return drawn.value, drawn.log_weight

    values, logs = run(jr.split(key, 20_000))
    weights, chances = np.exp(np.asarray(logs, float)), np.array([0.1, 0.5, 0.9])
    evidence = np.mean(chances**2 * (1 - chances))
    assert abs(weights.mean() - evidence) < 5 * weights.std() / 20_000**0.5
    law = chances**2 * (1 - chances) / evidence / 3
    for value in range(3):
        terms = weights * ((np.asarray(values) == value) - law[value]) / evidence
        assert abs(terms.mean()) < 5 * terms.std() / 20_000**0.5


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_noise_on_a_weight_is_of_its_sensitivity(adjacency, key):
    """On one record and one power the log-weight is a log-likelihood, times it."""
    record = jnp.asarray([1], jnp.int32)

    @jax.jit
    @jax.vmap
    def noise(key):
        drawn = annealed(
            key,
            record,
            lambda key: jnp.ones((), jnp.int32),
            lambda key, value: (value, jnp.zeros(())),
            annealed_fit,
            ("-2.302585093", "-0.69"),
            ["1/2"],
            adjacency=adjacency,
            log_prior=lambda value: jnp.zeros(()),
            weight_epsilon="1/3",
        )
        return drawn.log_weight - math.log(0.5) / 2

    # A record that appears adds up to half of 2.30; one that is replaced changes half
    # of a number between -2.30 and -.69.
    widths = {"replace-one": -NINE[0] - 0.69, "add-remove": -NINE[0]}
    sensitivity = widths[adjacency] / 2
    drawn = np.asarray(noise(jr.split(key, 20_000)), float)
    assert_follows(drawn, stats.laplace(0, 3 * sensitivity))


@pytest.mark.slow
def test_the_ledger_refuses_to_go_on(key):
    steps, data = toy("1/2"), jnp.asarray([0, 1], jnp.int32)
    ledger = Ledger("5", adjacency="replace-one")
    key, *keys = jr.split(key, 4)
    chain = charged_chain(keys[0], data, steps, start(), sweeps=4, ledger=ledger)
    assert chain.cost == PureDP(Fraction(4), "replace-one")
    assert ledger.spent == 4
    with pytest.raises(BudgetExceeded):
        charged_chain(keys[1], data, steps, chain.last, sweeps=2, ledger=ledger)
    assert ledger.spent == 4
    charged_chain(keys[2], data, steps, chain.last, sweeps=1, ledger=ledger)
    assert ledger.remaining == 0
    longer = charged_chain(key, data, toy("1/100"), start(), sweeps=100)
    assert longer.cost.epsilon == 2
    expected = advanced(PureDP(Fraction(1, 100), "replace-one"), 200, "1/100000")
    assert longer.approximate("1/100000") == expected
    assert expected.epsilon < 1


@pytest.mark.slow
def test_a_ledger_is_not_for_compiled_or_mapped_code(key):
    """It would be charged once, however often that draws."""
    steps, data = toy("1"), jnp.asarray([0, 1], jnp.int32)
    ledger = Ledger("100", adjacency="replace-one")

    def run(key):
        chain = charged_chain(key, data, steps, start(), sweeps=1, ledger=ledger)
        return chain.states["labels"]

    for wrapped in (jax.jit(run), lambda key: jax.vmap(run)(jr.split(key, 3))):
        with pytest.raises(ValueError, match="`ledger` must be left out inside"):
            wrapped(jr.clone(key))
    with pytest.raises(ValueError, match="`ledger` must be left out inside"):
        jax.jit(lambda key: anneal(key, data, ["1"], ledger=ledger).value)(
            jr.clone(key)
        )
    assert ledger.spent == 0

    def with_prior(rare):
        step = candidates(rare, "1")
        state = {"which": jnp.zeros((), jnp.int32)}
        once = jr.clone(key)
        return charged_chain(once, data, [step], state, sweeps=1, ledger=ledger).states

    with pytest.raises(ValueError, match="`ledger` must be left out inside"):
        jax.vmap(with_prior)(jnp.zeros((3, 3)))  # a step holds what is mapped


def many(value):
    return jnp.zeros(7, jnp.int32) + value


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: latents("labels", lambda s, r: jnp.zeros((7, 2)), (-1, 0), 1,
                         log_prior=lambda _: jnp.zeros(2)), "log_likelihood"),
        (lambda: latents("labels", label_fit, (-1, 0), 1,
                         log_prior=lambda _: jnp.zeros((7, 2))), "log_prior"),
        (lambda: choice("parameter", lambda s, r, o: jnp.zeros((7, 2)), (-1, 0), 1,
                        adjacency="replace-one", log_prior=lambda _: jnp.zeros(2)),
         "log_likelihood"),
        (lambda: choice("labels", lambda s, r, o: jnp.zeros(2), (-1, 0), 1,
                        adjacency="replace-one", log_prior=lambda _: jnp.zeros(2)),
         "labels"),
        (lambda: collapsed("labels", lambda s, r, i: jnp.zeros((7, 2)), (-1, 0), 1,
                           n=2), "log_conditional"),
        (lambda: table("parameter", lambda s, r, o: (many(r), many(r)), (2, 2), 1,
                       adjacency="replace-one", least="1/10"), "cell"),
        (lambda: barker("parameter", lambda key, value: (value, jnp.zeros(())),
                        lambda s, r, o: many(r).astype(float), (-1, 0), 1,
                        adjacency="replace-one", log_prior=lambda _: jnp.zeros(())),
         "log_likelihood"),
    ],
)  # fmt: skip
def test_what_has_more_numbers_than_are_paid_for_is_refused(make, name, key):
    """A likelihood of seven numbers would have seven times the width."""
    ledger = Ledger("100", adjacency="replace-one")
    records = jnp.asarray([0, 1], jnp.int32)
    with pytest.raises(ValueError, match=f"`{name}` must have shape"):
        charged_chain(key, records, [make()], start(), sweeps=1, ledger=ledger)
    assert ledger.spent == 0


def test_rounding_is_for_the_cost():
    """Temperatures up, bounds inwards: never a loss above what is charged."""
    for text in ("0.1", "1/3", "7.3", "-1.1", "16777217"):
        exact = Fraction(text)
        assert Fraction(float_above(exact)) >= exact >= Fraction(float_below(exact))
        assert np.float32(float_above(exact)) == float_above(exact)
        assert float_above(exact) - float_below(exact) <= 3e-7 * abs(float(exact))
    price = price_of(Fraction(11, 10), "1/3", "replace-one")
    assert Fraction(price.temperature) >= Fraction(66, 10)
    clip = clip_to(("-1.1", "0.1"))
    low, high = np.asarray(clip(jnp.asarray([-5.0, 5.0])), float)
    assert Fraction(float(high)) - Fraction(float(low)) <= clip.width


def test_a_mistake_in_a_step_costs_nothing(key):
    ledger = Ledger("100", adjacency="replace-one")
    broken = ChargedStep(lambda key, records, state: {}["x"], toy("1")[0].cost)
    with pytest.raises(KeyError):
        charged_chain(key, jnp.ones(2), [broken], start(), sweeps=1, ledger=ledger)
    assert ledger.spent == 0


def test_what_is_known_of_a_paid_law_is_not_given_out(key):
    """A block's info has the parameters of its law: only where it reads no records."""
    labels, _ = toy("1")
    size = block(
        "size",
        draw_beta,
        lambda s: (jnp.ones(()), 1.0 + s["labels"].sum().astype(float)),
    )
    state = {**start(), "size": jnp.zeros(())}
    data = jnp.asarray([0, 1], jnp.int32)
    chain = charged_chain(key, data, [labels, size], state, sweeps=3)
    ((first, second),) = chain.infos  # of the block alone
    assert first.shape == second.shape == (3,)
    assert chain.charges == ((labels.each, 1),)
    assert not any(
        isinstance(leaf, jax.Array) and leaf.shape[:1] != (3,)
        for leaf in jax.tree.leaves(chain)
    )


def test_a_public_chain_takes_a_release_and_nothing_else(key, monkeypatch):
    coin = BayesNet.from_parents({"x": Variable("x", (0, 1))}, {"x": []})
    records = np.repeat([0, 1], [300, 700])[:, None]
    released = release(coin, records, epsilon=5, adjacency="replace-one")

    def step(key, values, state):
        failures, successes = 1 + jnp.maximum(values, 0).astype(float)
        law = successes, failures
        return {"chance": draw_beta(key, law)}, law

    first = {"chance": jnp.zeros(())}
    chain = public_chain(key, released, step, first, sweeps=2000)
    assert np.asarray(chain.states["chance"]).mean() == pytest.approx(0.7, abs=0.02)
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    with pytest.raises(ValueError, match=r"`released` must be a Released, got int"):
        public_chain(key, 5, step, first, sweeps=1)


def bounded(bounds, epsilon):
    return latents("z", label_fit, bounds, epsilon, log_prior=lambda _: RARE)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: bounded((0, -1), 1), "bounds"),
        (lambda: bounded((0, "a"), 1), "bounds"),
        (lambda: bounded((-1, 0), 0), "epsilon"),
        (lambda: candidates(RARE, 1, adjacency="some"), "adjacency"),
        (lambda: collapsed("z", label_fit, (-1, 0), 1, n=0), "n"),
        (lambda: candidates(RARE, 1, "add-remove", latents=["z"]), "latents"),
        (
            lambda: table(
                "z", label_fit, (1, 2), 1, adjacency="add-remove", least="1/2"
            ),
            "least",
        ),
        (
            lambda: table(
                "z", label_fit, (1, 2), 1, adjacency="add-remove", least="1e-9"
            ),
            "least",
        ),
        (
            lambda: table(
                "z", label_fit, (1, 2), 1, adjacency="add-remove", least="1e-3",
                prior=1e-39,
            ),
            "prior",
        ),
        (lambda: anneal(jr.key(0), jnp.ones(1), ["1", "1/2"]), "powers"),
        (lambda: anneal(jr.key(0), jnp.ones(1), []), "powers"),
        (lambda: charged_chain(jr.key(0), jnp.ones(1), [], {}, sweeps=1), "steps"),
        (lambda: charged_chain(jr.key(0), jnp.ones(1), toy(1), {}, sweeps=0), "sweeps"),
    ],
)  # fmt: skip
def test_wrong_arguments_have_one_clear_line(make, name):
    with pytest.raises(ValueError, match=f"^`{name}` must") as error:
        make()
    assert "\n" not in str(error.value)


def test_likelihoods_without_a_number_count_as_the_lowest():
    step = latents(
        "labels",
        lambda state, record: jnp.asarray([jnp.nan, 5.0]),
        (-1, "0.5"),
        100,
        log_prior=lambda _: jnp.zeros(2),
    )
    assert isinstance(step, ChargedStep)
    law = step.law(jnp.zeros(1), {"labels": jnp.zeros(1, jnp.int32)})
    np.testing.assert_allclose(law, [[-1, 0.5]])
