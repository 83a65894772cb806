"""Hidden Markov chains that read the records: what they cost, and what they claim."""

import itertools
import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp

from dpjax import BudgetExceeded, Ledger
from dpjax.hidden_markov import (
    CLAIM,
    CellCounts,
    event_counts,
    event_network,
    paid_hidden_markov,
    sample_hidden_markov,
)
from dpjax.privacy import PureDP, advanced, logarithm_above, rounded_up
from dpjax.variables import Variable

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
    return paid_hidden_markov(key, NET, RECORDS, 2, **(options | given))


@pytest.mark.relaxed
def test_every_draw_is_charged(key):
    """Two a sweep and chain, the burn-in included, before anything is drawn."""
    ledger = Ledger("20", adjacency="replace-one")
    paid = run(key, chains=2, ledger=ledger)
    assert paid.cost == PureDP(Fraction(1, 2) * 2 * 6 * 2, "replace-one")
    assert ledger.spent == paid.cost.epsilon
    assert paid.claim is None
    assert paid.approximate("1/1000") == advanced(paid.update, 24, "1/1000")
    assert paid.posterior.paths.shape == (4, 2, 2, 2)
    assert paid.temperature == pytest.approx(2 * sum(WIDTHS.values()) / 0.5)
    with pytest.raises(BudgetExceeded):
        run(key, chains=2, ledger=ledger)
    assert ledger.spent == paid.cost.epsilon


@pytest.mark.relaxed
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
def test_the_posterior_itself_costs_twice_the_width(key):
    """A large ε buys temperature 1, for what that costs: exact, rounded up."""
    exact = sum(
        rounded_up(logarithm_above((1 - Fraction(k - 1, 10 * k)) * 10 * k))
        for k in (3, 2)
    )
    for adjacency, factor in (("replace-one", 2), ("add-remove", 1)):
        paid = run(key, epsilon="1000", adjacency=adjacency, assume_converged=True)
        assert paid.cost == PureDP(factor * exact, adjacency)
        assert paid.temperature == 1
    assert float(exact) == pytest.approx(sum(WIDTHS.values()))


@pytest.mark.relaxed
def test_it_is_the_tempered_sampler_with_truncated_tables(key):
    paid = run(key)
    counts = event_counts(NET, RECORDS).astype(float) / paid.temperature
    cells = CellCounts.of(counts, (3, 2), 2, truncation=10.0)
    plain = sample_hidden_markov(key, cells, chains=1, sweeps=6, burn_in=2)
    jax.tree.map(np.testing.assert_array_equal, paid.posterior, plain)
    tables = jnp.split(plain.emission, [3], axis=-1)
    for table, size in zip(tables, (3, 2), strict=True):
        assert (np.asarray(table) >= 1 / (10 * size) * (1 - 1e-4)).all()


def path_law(records, temperature, tables):
    """Log-probabilities of all paths of one region over two months, given tables."""
    emission, initial, moves = tables
    logs = np.zeros((2, 2))  # months, states
    for month, *levels in records:
        places = levels[0], 3 + levels[1]
        logs[month] += sum(np.log(emission[:, i]) for i in places) / temperature
    paths = np.array(list(itertools.product((0, 1), repeat=2)))
    law = np.log(initial)[paths[:, 0]] + np.log(moves)[paths[:, 0], paths[:, 1]]
    law = law + logs[0][paths[:, 0]] + logs[1][paths[:, 1]]
    return log_softmax(law)


@pytest.mark.parametrize("epsilon", [0.5, 3.0, 1000.0])
def test_a_draw_of_paths_costs_what_it_says(epsilon):
    """All pairs of neighbouring events, all paths, at the tables that show the most."""
    width = sum(WIDTHS.values())
    for adjacency, whole in (("replace-one", 2 * width), ("add-remove", width)):
        temperature, cost = max(1, whole / epsilon), min(epsilon, whole)
        high = [1 - 2 / 30, 1 - 1 / 20]
        table = np.array(
            [
                [high[0], 1 / 30, 1 / 30, high[1], 1 / 20],
                [1 / 30, 1 / 30, high[0], 1 / 20, high[1]],
            ]
        )
        rare = np.array([1 - 1e-6, 1e-6])
        tables = table, rare, np.stack([rare, rare])
        events = list(itertools.product(range(2), range(3), range(2)))
        pairs = (
            itertools.combinations([[e] for e in events], 2)
            if adjacency == "replace-one"
            else [([], [e]) for e in events]
        )
        loss = max(
            np.abs(
                path_law(one, temperature, tables) - path_law(two, temperature, tables)
            ).max()
            for one, two in pairs
        )
        assert 0.98 * cost <= loss <= cost * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [0.5, 1000.0])
def test_a_draw_of_a_table_costs_what_it_says(epsilon):
    """Densities above the bound: one rare event among many of another level."""
    width, size = WIDTHS[2], 2
    temperature, cost = max(1, 2 * width / epsilon), min(epsilon, 2 * width)
    least, many = 1 / (10 * size), 1_000_000
    grid = np.linspace(least, 1 - least, 400_001)

    def log_density(first, second):
        logs = first / temperature * np.log(grid)
        logs = logs + second / temperature * np.log1p(-grid)
        return logs - logsumexp(logs)

    change = log_density(many, 0) - log_density(many - 1, 1)
    loss = np.abs(change).max()
    assert 0.98 * cost <= loss <= cost * (1 + 1e-6)


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"truncation": 1}, "truncation"),
        ({"epsilon": 0}, "epsilon"),
        ({"adjacency": "none"}, "adjacency"),
        ({"burn_in": 6}, "burn_in"),
        ({"sweeps": 0}, "sweeps"),
        ({"emission": -1.0}, "emission"),
    ],
)
def test_wrong_arguments_cost_nothing(wrong, name, key):
    ledger = Ledger("100", adjacency="replace-one")
    with pytest.raises(ValueError, match=f"^`{name}` must"):
        run(key, ledger=ledger, **wrong)
    assert ledger.spent == 0


def test_too_many_states_cost_nothing(key):
    ledger = Ledger("100", adjacency="replace-one")
    with pytest.raises(ValueError, match="`states` must be at most"):
        paid_hidden_markov(
            key, NET, RECORDS, 5, epsilon=1, adjacency="replace-one", ledger=ledger
        )
    assert ledger.spent == 0
