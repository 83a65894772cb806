import json
import re
from fractions import Fraction

import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest

import dpjax as dp
from dpjax.mechanisms import discrete_laplace
from dpjax.noise import tables
from dpjax.releases import measuring, publish
from tests.helpers.networks import (
    TINY,
    measure,
    random_network,
    random_records,
    tables as tables_of,
)
from tests.helpers.statistical import ALPHA, chi_square_pvalue

SCHEMA = dp.Schema({"t": [0, 1], "x": ["a", "b", "c"]})
NET = dp.BayesNet.naive_bayes(SCHEMA, "t")
TABLE = {"t": [0, 1, 1, 0, 1], "x": ["a", "b", "b", "c", "a"]}


@pytest.mark.slow
def test_a_release_is_the_statistic_plus_noise_of_the_stated_law():
    net = dp.BayesNet.naive_bayes({"t": [0, 1], "x": list(range(20))}, "t")
    records = np.tile([[1, 2]], (1000, 1)).astype(np.uint8)
    released = dp.release(net, records, epsilon="1/2", adjacency="replace-one")
    exact = np.asarray(released.statistic.measure(records))
    draws = [
        np.asarray(
            dp.release(net, records, epsilon="1/2", adjacency="replace-one").values
        )
        - exact
        for _ in range(60)
    ]
    law = released.mechanism.table
    assert released.mechanism.sensitivity.value == 2
    pvalue = chi_square_pvalue(
        np.stack(draws), lambda z: tables.probability(law, z), range(-20, 21)
    )
    assert pvalue > ALPHA


@pytest.mark.slow
def test_every_release_has_noise_of_its_own():
    net = TINY["naive Bayes"]
    empty = np.zeros((0, 3), np.uint8)
    draws = [
        tuple(
            dp.release(
                net, empty, epsilon="1/1000", adjacency="add-remove"
            ).values.tolist()
        )
        for _ in range(20)
    ]
    assert len({*draws}) == 20


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_with_epsilon_as_large_as_can_be_nothing_changes(adjacency, rng):
    """Noise differs from 0 with probability below 1e-12 a number."""
    net = random_network(rng)
    records = random_records(rng, net, 200)
    statistic = dp.statistics.NetworkCounts(net)
    epsilon = 30 * int(statistic.sensitivity(adjacency).value)
    released = dp.release(net, records, epsilon=epsilon, adjacency=adjacency)
    private = dp.posterior(released, prior=0.5, noise_aware=False)
    counts = tables_of(statistic, measure(statistic, records))
    exact = dp.posteriors.PlugInPosterior.from_counts(net, counts, prior=0.5)
    np.testing.assert_array_equal(private.concentration, exact.concentration)
    assert private.clamped == 0


@pytest.mark.slow
def test_unseen_configurations_get_noise_like_all_others():
    records = np.zeros((50, 2), np.uint8)
    draws = np.array(
        [
            dp.release(NET, records, epsilon="1/100", adjacency="replace-one").values
            for _ in range(30)
        ]
    )
    assert (draws.std(axis=0) > 30).all()


def test_tables_of_any_kind_are_accepted(tmp_path):
    (tmp_path / "t.csv").write_text("x,t\na,0\nb,1\n")
    for table in (TABLE, tmp_path / "t.csv", SCHEMA.encode(TABLE)):
        assert dp.release(NET, table, epsilon=1, adjacency="add-remove").n is None


def test_algorithm_1_as_printed_stays_available():
    statistic = dp.statistics.NetworkCounts(NET, "all")
    released = dp.release(statistic, TABLE, epsilon=1, adjacency="replace-one")
    assert released.mechanism.sensitivity.value == 2 * 2
    assert released.statistic.length == 2 + 6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": 0}, "`epsilon` must be a finite number > 0"),
        ({"epsilon": "nan"}, "`epsilon` must be a finite number > 0"),
        ({"epsilon": 1000}, "between 2"),
        ({"adjacency": "bounded"}, "`adjacency` must be 'replace-one' or 'add-remove'"),
        ({"mechanism": "gauss"}, "`mechanism` must be .*'auto' or"),
    ],
)
def test_bad_arguments_are_named(change, message):
    arguments = {"epsilon": 1, "adjacency": "replace-one"} | change
    with pytest.raises(ValueError, match=message):
        dp.release(NET, TABLE, **arguments)


def test_an_adjacency_must_be_given():
    with pytest.raises(ValueError, match="`adjacency` must be given"):
        dp.release(NET, TABLE, epsilon=1)
    budget = dp.privacy.PureDP(Fraction(1), "add-remove")
    assert dp.release(NET, TABLE, budget=budget).guarantee() == budget
    with pytest.raises(ValueError, match="`budget` must come without"):
        dp.release(NET, TABLE, budget=budget, epsilon=1)
    with pytest.raises(ValueError, match="`epsilon` must be given"):
        dp.release(NET, TABLE, adjacency="add-remove")
    jaxtyping.config.update("jaxtyping_disable", True)  # as for a user
    try:
        with pytest.raises(ValueError, match="`budget` must be a guarantee"):
            dp.release(NET, TABLE, budget=1)
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)


def test_an_empty_table_is_a_data_set_only_where_its_size_is_private():
    empty = {"t": [], "x": []}
    dp.release(NET, empty, epsilon=1, adjacency="add-remove")
    with pytest.raises(ValueError, match="must not be empty under replace-one"):
        dp.release(NET, empty, epsilon=1, adjacency="replace-one")


def test_the_ledger_is_charged_before_the_draw_and_before_data_is_touched(monkeypatch):
    ledger = dp.Ledger(1, adjacency="replace-one")

    def crash(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(dp.mechanisms.DiscreteLaplace, "draw", crash)
    with pytest.raises(KeyboardInterrupt):
        dp.release(NET, TABLE, epsilon="0.6", adjacency="replace-one", ledger=ledger)
    assert ledger.spent == dp.privacy.exact_epsilon("0.6")
    monkeypatch.setattr(publish, "measured", crash)
    with pytest.raises(dp.BudgetExceeded):
        dp.release(NET, TABLE, epsilon="0.6", adjacency="replace-one", ledger=ledger)


def test_a_release_that_is_refused_is_not_charged():
    ledger = dp.Ledger(1, adjacency="replace-one")
    with pytest.raises(ValueError, match="declared levels"):
        dp.release(
            NET,
            TABLE | {"t": [7] * 5},
            epsilon=1,
            adjacency="replace-one",
            ledger=ledger,
        )
    assert ledger.spent == 0


def test_a_private_number_of_records_enters_no_shape_scale_or_clamp(tmp_path):
    """Two tables of different sizes: all that is released has the same form."""
    forms = []
    for n in (0, 7, 5000):
        records = np.zeros((n, 2), np.uint8)
        released = dp.release(NET, records, epsilon=1, adjacency="add-remove")
        released.save(tmp_path / "r.json")
        document = json.loads((tmp_path / "r.json").read_text())
        document["content"]["values"] = len(document["content"]["values"])
        document.pop("sha256")
        forms.append(json.dumps(document))
        big = jnp.full(released.values.shape, 10**6, jnp.int32)
        huge = dp.Released(big, released.statistic, released.mechanism, released.n)
        assert dp.posterior(huge, noise_aware=False).clamped == 0
    assert len({*forms}) == 1


@pytest.mark.parametrize("mechanism", ["posterior-sample", "map"])
def test_a_private_number_of_records_chooses_no_truncation_or_temperature(mechanism):
    described = []
    for n in (0, 30, 3000):
        records = np.zeros((n, 2), np.uint8)
        released = dp.release(
            NET, records, epsilon=2, adjacency="add-remove",
            mechanism=dp.mechanisms.recipes.recipe_of(mechanism, {"units": 40}),
        )  # fmt: skip
        described.append(json.dumps(released.mechanism.describe()))
        assert released.n is None
    assert len({*described}) == 1


@pytest.mark.parametrize("transform", [jax.jit, jax.vmap])
def test_a_release_cannot_be_compiled_where_its_noise_would_be_the_same(transform):
    ledger = dp.Ledger(10, adjacency="add-remove")
    arguments = {"epsilon": 1, "adjacency": "add-remove", "ledger": ledger}
    many = np.zeros((3, 5, 2), np.uint8)
    records = many[0] if transform is jax.jit else many
    with pytest.raises(ValueError, match="outside of `jit` and `vmap`"):
        transform(lambda x: dp.release(NET, x, **arguments).values)(records)
    assert ledger.spent == 0


def test_neither_records_nor_keys_are_in_the_compiled_programs():
    statistic = dp.statistics.NetworkCounts(NET)
    records = np.array([[1, 2], [0, 1], [1, 0]], np.uint8)
    caught = jax.jit(lambda: statistic.measure(records)).lower().as_text()
    assert re.search(r"dense<\[\[1, 2\]", caught)  # what a closure would show
    text = measuring._measure.lower(records, statistic).as_text()
    assert not re.search(r"dense<\[\[1, 2\]", text)
    noise = dp.mechanisms.DiscreteLaplace.calibrate(
        1, statistic.sensitivity("add-remove")
    )
    key = dp.noise.keys.release_key()
    words = [str(word) for word in np.asarray(jax.random.key_data(key))]
    program = discrete_laplace._limbs.lower(key, noise.table, (6,))
    assert not any(word in program.as_text() for word in words)


def test_the_adjacency_is_given_once():
    table = {"x": [0, 1], "y": [1, 1]}
    net = dp.BayesNet.from_parents({"x": [0, 1], "y": [0, 1]}, {"x": [], "y": ["x"]})
    for adjacency, n in (("replace-one", 2), ("add-remove", None)):
        ledger = dp.Ledger(2, adjacency=adjacency)
        released = dp.release(net, table, epsilon=1, ledger=ledger)
        assert (released.adjacency, released.n) == (adjacency, n)
        statistic = dp.statistics.FourierCoefficients.of_network(net, adjacency)
        assert dp.release(statistic, table, epsilon=1).adjacency == adjacency
    with pytest.raises(ValueError, match="`adjacency` must be given"):
        dp.release(net, table, epsilon=1)
    statistic = dp.statistics.FourierCoefficients.of_network(net, "replace-one")
    with pytest.raises(ValueError, match="`adjacency` must be"):
        dp.release(statistic, table, epsilon=1, ledger=ledger, adjacency="add-remove")
    with pytest.raises(ValueError, match="`adjacency` must be that of the ledger"):
        dp.release(statistic, table, epsilon=1, ledger=ledger)
    assert ledger.spent == 1


def test_a_part_of_a_table_is_charged_to_its_own_sum(rng):
    records = random_records(rng, NET, 30)
    ledger, half = dp.Ledger(1, adjacency="replace-one"), "1/2"
    options = {"epsilon": half, "adjacency": "replace-one", "ledger": ledger}
    for part in ("north", "south"):
        dp.release(NET, records, part=part, **options)
    assert ledger.spent == Fraction(1, 2)
    dp.release(NET, records, part="north", **options)
    assert ledger.remaining == 0
    with pytest.raises(dp.BudgetExceeded):
        dp.release(NET, records, **options)
    with pytest.raises(ValueError, match="`part` must be given with a `ledger`"):
        dp.release(NET, records, epsilon=1, adjacency="replace-one", part="north")
