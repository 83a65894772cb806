"""Hidden Markov chains that read the records: what they cost, and what they claim."""

import itertools
import math
from fractions import Fraction
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp

from dpjax import BudgetExceeded, Ledger
from dpjax.chains import price_of
from dpjax.data.levels import Variable
from dpjax.event_logs import (
    CLAIM,
    CellCounts,
    charged as paid_module,
    charged_hidden_markov,
    event_counts,
    event_network,
    sample_hidden_markov,
)
from dpjax.event_logs.charged import _width
from dpjax.event_logs.sampler import cell_log_likelihoods, table_laws
from dpjax.privacy import PureDP, advanced, logarithm_above, rounded_up
from tests.helpers.cases import mostly_thorough

LOG = [
    Variable("place", ("north", "south")),
    Variable("month", (1, 2)),
    Variable("kind", ("a", "b", "c")),
    Variable("dead", (0, 1)),
]
NET = event_network(LOG, "place", "month")
RECORDS = np.array([[0, 0, 0, 1], [1, 1, 2, 0], [1, 0, 1, 1]], np.int32)
WIDTHS = {k: math.log((1 - (k - 1) / (10 * k)) * 10 * k) for k in (2, 3)}


def run(key, **given):
    options = {"epsilon": "1/2", "adjacency": "replace-one", "truncation": 10}
    options |= {"sweeps": 6, "burn_in": 2}
    return charged_hidden_markov(key, NET, RECORDS, 2, **(options | given))


@pytest.mark.relaxed
@pytest.mark.thorough
def test_every_draw_is_charged(key):
    """Two a sweep and chain, the burn-in included, before anything is drawn."""
    ledger = Ledger("20", adjacency="replace-one")
    paid = run(key, chains=2, ledger=ledger)
    assert paid.cost == PureDP(Fraction(1, 2) * 2 * 6 * 2, "replace-one")
    assert ledger.spent == paid.cost.epsilon
    assert paid.claim is None
    assert paid.approximate("1/1000") == advanced(paid.update, 24, "1/1000")
    assert paid.posterior.paths.shape == (4, 2, 2, 2)
    assert paid.temperature == pytest.approx(2 * sum(WIDTHS.values()) / 0.5, rel=1e-6)
    with pytest.raises(BudgetExceeded):
        run(key, chains=2, ledger=ledger)
    assert ledger.spent == paid.cost.epsilon


@pytest.mark.parametrize("epsilon", ["1/2", "1000"])
def test_draws_are_charged_before_they_are_made_and_made_of_what_is_charged(
    epsilon, key, monkeypatch
):
    """A crash after the charge still costs; what is drawn from is counts over T."""
    seen = []

    def crash(key, cells, **_):
        seen.append(cells)
        raise KeyboardInterrupt

    monkeypatch.setattr(paid_module, "sample_hidden_markov", crash)
    ledger = Ledger("10000", adjacency="replace-one")
    with pytest.raises(KeyboardInterrupt):
        run(key, chains=2, ledger=ledger, epsilon=epsilon)
    update, temperature = price_of(_width((3, 2), 10), epsilon, "replace-one")
    assert ledger.spent == 2 * 6 * 2 * update.epsilon
    counts = event_counts(NET, RECORDS).astype(float) / temperature
    expected = CellCounts.of(NET, counts, 2, truncation=10)
    jax.tree.map(np.testing.assert_array_equal, seen, [expected])


@pytest.mark.relaxed
@pytest.mark.thorough
def test_a_claim_that_nobody_can_verify_is_labelled(key, tmp_path):
    ledger = Ledger("1", adjacency="replace-one", path=tmp_path / "ledger.jsonl")
    paid = run(key, assume_converged=True, ledger=ledger)
    assert paid.cost == PureDP(Fraction(1, 2), "replace-one")
    assert ledger.spent == Fraction(1, 2)
    assert paid.claim == CLAIM
    assert paid.posterior.paths.shape[0] == 1  # the last draw alone
    every = run(key).posterior
    np.testing.assert_array_equal(paid.posterior.paths[0], every.paths[-1])
    assert "UNVERIFIED" in (tmp_path / "ledger.jsonl").read_text()


@pytest.mark.relaxed
@pytest.mark.thorough
def test_the_posterior_itself_costs_twice_the_width(key):
    """A large ε buys temperature 1, for what that costs: exact, rounded up."""
    least = [Fraction(1, 10 * k) * (1 - Fraction(1, 10**6)) for k in (3, 2)]
    exact = sum(
        rounded_up(logarithm_above((1 - (k - 1) * a) / a))
        for k, a in zip((3, 2), least, strict=True)
    )
    for adjacency, factor in (("replace-one", 2), ("add-remove", 1)):
        paid = run(key, epsilon="1000", adjacency=adjacency, assume_converged=True)
        assert paid.cost == PureDP(factor * exact, adjacency)
        assert paid.temperature == 1
    assert sum(WIDTHS.values()) <= exact <= sum(WIDTHS.values()) * (1 + 1e-6)


@pytest.mark.relaxed
@pytest.mark.thorough
def test_it_is_the_tempered_sampler_with_truncated_tables(key):
    paid = run(key)
    counts = event_counts(NET, RECORDS).astype(float) / paid.temperature
    cells = CellCounts.of(NET, counts, 2, truncation=10)
    plain = sample_hidden_markov(key, cells, chains=1, sweeps=6, burn_in=2)
    for name in ("paths", "emission", "initial", "transition"):
        np.testing.assert_array_equal(
            getattr(paid.posterior, name), getattr(plain, name)
        )
    tables = jnp.split(plain.emission, [3], axis=-1)
    for table, size in zip(tables, (3, 2), strict=True):
        assert (np.asarray(table) >= 1 / (10 * size) * (1 - 1e-4)).all()


@pytest.mark.relaxed
@pytest.mark.thorough
def test_cells_outside_a_regions_times_are_not_read(key):
    """Whatever happened there: the same draws."""
    moved = RECORDS.copy()
    moved[0] = [0, 0, 2, 0]  # its cell is north in month 1
    drawn = [
        charged_hidden_markov(
            key, NET, records, 2, epsilon="100", adjacency="add-remove", truncation=10,
            sweeps=6, burn_in=2, times={"north": (2, 2)},
        )
        for records in (RECORDS, moved)
    ]  # fmt: skip
    first, second = (paid.posterior for paid in drawn)
    np.testing.assert_array_equal(first.paths, second.paths)
    np.testing.assert_array_equal(first.emission, second.emission)
    assert not first.declared[0, 0]


@pytest.mark.slow
@pytest.mark.relaxed
def test_a_ledger_is_not_for_mapped_code(key):
    ledger = Ledger("1000", adjacency="replace-one")
    for mapped in (
        lambda x: run(key, emission=x, ledger=ledger).posterior.paths,
        lambda x: (
            run(jax.random.fold_in(key, x.astype(int)), ledger=ledger).temperature
        ),
    ):
        with pytest.raises(ValueError, match="`ledger` must be left out inside"):
            jax.vmap(mapped)(jnp.ones(3))
    assert ledger.spent == 0


def blank_draws(key, cells, **options):
    """Zeros in the form of the sampler's draws, trace included: sooner than draws."""
    drawn = jax.eval_shape(partial(sample_hidden_markov, **options), key, cells)
    assert drawn.trace is not None
    return jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), drawn)


@pytest.mark.slow
@pytest.mark.relaxed
@pytest.mark.parametrize(
    "sampler", mostly_thorough([blank_draws, sample_hidden_markov])
)
def test_nothing_is_shown_but_what_is_paid_for(sampler, key, monkeypatch):
    """The likelihood of the draws would be a noiseless function of the records."""
    monkeypatch.setattr(paid_module, "sample_hidden_markov", sampler)
    paid = run(key, chains=2)
    assert paid.posterior.trace is None
    assert set(paid.posterior.diagnostics()) == {"largest_state"}
    shown = {x.shape for x in jax.tree.leaves(paid) if hasattr(x, "shape")}
    drawn = {(4, 2, 2, 2), (4, 2, 2, 5), (4, 2, 2), (2, 2)}
    assert shown == drawn  # paths and transition, emission, initial, declared


EVENTS = [list(e) for e in itertools.product((0, 1), (0, 1), range(3), (0, 1))]


def cells_of(records, epsilon, adjacency):
    """What the sampler is given of these records, and the cost of a draw."""
    cost, temperature = price_of(_width((3, 2), 10), epsilon, adjacency)
    counts = event_counts(NET, np.array(records, np.int32).reshape(-1, 4))
    counts = counts.astype(float) / temperature
    return CellCounts.of(NET, counts, 2, truncation=10), cost


@pytest.mark.parametrize("epsilon", ["1/2", "3", "1000"])
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_a_draw_of_paths_costs_what_it_says(adjacency, epsilon):
    """All neighbouring events, all paths, at the tables that show the most."""
    high = [1 - 2 / 30, 1 - 1 / 20]
    table = np.array(
        [
            [high[0], 1 / 30, 1 / 30, high[1], 1 / 20],
            [1 / 30, 1 / 30, high[0], 1 / 20, high[1]],
        ]
    )
    rare = np.array([1 - 1e-6, 1e-6])
    paths = np.array(list(itertools.product((0, 1), repeat=4)))  # north, south by month
    prior = np.log(rare)[paths].sum(axis=1)  # moves do not depend on the past here

    def law(records):
        cells, cost = cells_of(records, epsilon, adjacency)
        logs = cell_log_likelihoods(cells, jnp.log(jnp.asarray(table, float))[None])
        logs = np.asarray(logs, float)[:, 0]  # months, regions, states
        each = [logs[i % 2, i // 2][paths[:, i]] for i in range(4)]
        return log_softmax(prior + sum(each)), float(cost.epsilon)

    alone, cost = law([])
    laws = [law([event])[0] for event in EVENTS]
    pairs = itertools.combinations(laws, 2)
    if adjacency == "add-remove":
        pairs = ((alone, one) for one in laws)
    loss = max(np.abs(one - two).max() for one, two in pairs)
    assert 0.98 * cost <= loss <= cost * (1 + 1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", mostly_thorough(["1/2", "1000"]))
def test_a_draw_of_tables_costs_what_it_says(epsilon):
    """Densities above the bounds of both fields: one event among many of another kind.

    Fields are independent given the paths, so that their losses add up.
    """
    many = [[0, 0, 0, 0]] * 3000
    paths = jnp.zeros((2, 1, 2), jnp.int32)
    if epsilon == "1/2":
        many = many * 300  # at a temperature
    laws = []
    for records in (many, [*many[1:], [1, 1, 2, 1]]):
        cells, cost = cells_of(records, epsilon, "replace-one")
        laws.append(np.asarray(table_laws(cells, paths)[0], float)[0, 0])
    loss = 0.0
    for low, high, size in ((0, 3, 3), (3, 5, 2)):
        least = 1 / (10 * size)
        grid = np.linspace(least, 1 - (size - 1) * least, 2001)
        if size == 2:
            every = np.column_stack([grid, 1 - grid])
        else:
            first, second = np.meshgrid(grid, grid)
            every = np.stack([first, second, 1 - first - second], -1).reshape(-1, 3)
            every = every[every[:, 2] >= least - 1e-12]
        logs = [np.log(every) @ (law[low:high] - 1) for law in laws]
        logs = [x - logsumexp(x) for x in logs]
        loss += np.abs(logs[0] - logs[1]).max()
    assert 0.95 * float(cost.epsilon) <= loss <= float(cost.epsilon) * (1 + 1e-4)


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"truncation": 1}, "truncation"),
        ({"epsilon": 0}, "epsilon"),
        ({"adjacency": "none"}, "adjacency"),
        ({"burn_in": 6}, "burn_in"),
        ({"sweeps": 0}, "sweeps"),
        ({"emission": -1.0}, "emission"),
        ({"transition": 1e-40}, "transition"),
        ({"truncation": 10**8}, "truncation"),
        ({"times": {"west": (1, 2)}}, "times"),
    ],
)
def test_wrong_arguments_cost_nothing(wrong, name, key):
    ledger = Ledger("100", adjacency="replace-one")
    with pytest.raises(ValueError, match=f"^`{name}` must"):
        run(key, ledger=ledger, **wrong)
    assert ledger.spent == 0


def test_records_are_not_touched_if_the_budget_is_gone(key, monkeypatch):
    read = []

    def count(*given):
        return read.append(given) or event_counts(*given)

    monkeypatch.setattr(paid_module, "event_counts", count)
    with pytest.raises(BudgetExceeded):
        run(key, ledger=Ledger("1/100", adjacency="replace-one"))
    assert not read


def test_too_many_states_cost_nothing(key):
    ledger = Ledger("100", adjacency="replace-one")
    with pytest.raises(ValueError, match="`states` must be at most"):
        charged_hidden_markov(
            key, NET, RECORDS, 5, epsilon=1, adjacency="replace-one", ledger=ledger
        )
    assert ledger.spent == 0
