"""Exact sums: as many records as integers hold, and not one more; multiplicities."""

import json

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pyarrow
import pytest

import dpjax as dp
from dpjax.data.intervals import Interval
from dpjax.data.multiplicities import Multiplicities
from dpjax.mechanisms import DiscreteLaplace
from dpjax.noise.discrete_laplace import LARGEST, WIDEST
from dpjax.posteriors import gibbs_posterior
from dpjax.releases import measuring
from dpjax.releases.measuring import Rows, measured
from dpjax.statistics import FourierCoefficients, NetworkCounts, Sufficient

ADJACENCIES = ["replace-one", "add-remove"]
UNITS = 1 << 16
SCHEMA = dp.Schema({"t": [0, 1], "x": list("abc"), "y": [0, 1]})
NET = dp.BayesNet.naive_bayes(SCHEMA, "t")
CELLS = {"t": [0, 0, 1, 1], "x": ["a", "c", "b", "b"], "y": [1, 0, 1, 0]}


def statistic(adjacency):
    return Sufficient.of("gaussian", (Interval("x", -1, 1),), adjacency, UNITS)


def statistics(adjacency):
    yield NetworkCounts(NET)
    yield NetworkCounts(NET, "all")
    yield FourierCoefficients.of_network(NET, adjacency)
    yield FourierCoefficients(NET.variables, adjacency, order=2)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_the_largest_sums_are_exact(adjacency, monkeypatch):
    """2^29, in each component that a record can fill, and beyond it in two pieces."""
    most = LARGEST // UNITS
    exact, n = measured(statistic(adjacency), np.ones((most, 1)))
    assert n == most
    assert LARGEST == 2**29 == np.abs(exact).max()
    assert exact[:2].tolist() == [2**29] * 2
    exact, n = measured(statistic(adjacency), np.ones((5 * most, 1)), largest=WIDEST)
    assert n == 5 * most
    assert exact[:2].tolist() == [5 * 2**29] * 2


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_a_record_more_is_refused(adjacency):
    records = np.ones((LARGEST // UNITS + 1, 1))
    with pytest.raises(ValueError, match="must have at most 8192 records for exact"):
        measured(statistic(adjacency), records)


def test_batches_are_counted_up_to_the_limit():
    """All that came so far count."""
    batches = [np.zeros((k, 1)) for k in (3, 0, 4, 1, 9)]
    taken = measuring._few(iter(batches), 7)
    assert [len(next(taken)) for _ in range(3)] == [3, 0, 4]
    with pytest.raises(ValueError, match="must have at most 7 records for exact"):
        next(taken)


@pytest.mark.slow
def test_a_statistic_of_numbers_is_not_counted_as_tables():
    """One whole: each record is rounded by itself."""
    records = np.linspace(-1, 1, 101)[:, None]
    exact, n = measured(statistic("add-remove"), records)
    one = [measured(statistic("add-remove"), x[None])[0] for x in records]
    np.testing.assert_array_equal(exact, np.sum(one, axis=0))
    assert n == 101


def test_records_of_a_program_are_refused():
    def run(records):
        return measured(statistic("add-remove"), records)[0]

    with pytest.raises(ValueError, match="outside of `jit` and `vmap`"):
        jax.jit(run)(jnp.zeros((3, 1)))


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("column", [[3, 0, 1, 2], ["3", "0.0", "1", " 2"]])
def test_a_row_counts_as_often_as_its_multiplicity_says(adjacency, column):
    times = [3, 0, 1, 2]
    repeated = {name: np.repeat(cells, times) for name, cells in CELLS.items()}
    table = {**CELLS, "k": column}
    for what in statistics(adjacency):
        exact, n = measured(what, repeated)
        found, total = measured(what, table, Rows(multiplicity="k"))
        assert total == n == 6
        np.testing.assert_array_equal(found, exact)
    numbers = np.array([-0.7, 0.123456, 1.5, 0.2])
    exact, _ = measured(statistic(adjacency), np.repeat(numbers, times)[:, None])
    table = {"x": numbers, "k": column}
    found, total = measured(statistic(adjacency), table, Rows(multiplicity="k"))
    assert total == 6
    np.testing.assert_array_equal(found, exact)


def test_multiplicities_come_in_batches():
    pieces = [1, 2, 3, 4], [5, 0, 0, 0]
    tables = [pyarrow.table({**CELLS, "k": piece}) for piece in pieces]
    together = {**CELLS, "k": [6, 2, 3, 4]}
    exact, n = measured(NetworkCounts(NET), together, Rows(multiplicity="k"))
    found, total = measured(NetworkCounts(NET), iter(tables), Rows(multiplicity="k"))
    assert total == n == 15
    np.testing.assert_array_equal(found, exact)


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_two_to_the_forty_records(adjacency, tmp_path):
    """Counted, with noise, in a file and read from it, without a rounded digit."""
    times = np.array([2**40, 5, 2**33 + 1, 1])
    table, n = {**CELLS, "k": times}, int(times.sum())
    for what in (NET, *statistics(adjacency)):
        released = dp.release(
            what, table, epsilon="1/10", adjacency=adjacency, multiplicity="k"
        )
        counted = released.statistic
        exact, total = measured(counted, table, Rows(multiplicity="k"), largest=WIDEST)
        assert total == n
        parts = [measured(counted, {k: [v[i]] for k, v in CELLS.items()})[0]
                 for i in range(4)]  # fmt: skip
        if counted.kind == "family-counts" or adjacency == "add-remove":
            np.testing.assert_array_equal(exact, times @ np.array(parts))
        noise = released.values - exact
        assert released.values.dtype == np.float64
        assert 0 < np.abs(noise).max() < 40 * 10 * 14  # times the largest scale
        assert (noise == np.round(noise)).all()
        released.save(tmp_path / "r.json")
        read = dp.load(tmp_path / "r.json")
        np.testing.assert_array_equal(read.values, released.values)
        written = json.loads((tmp_path / "r.json").read_text())
        assert written["version"] == 3
        assert written["content"]["records"] == (n if released.n else None)
        assert read.n == released.n == (n if adjacency == "replace-one" else None)


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_the_posterior_of_wide_numbers_is_plug_in(adjacency):
    """Noise-aware methods would round them by more than the noise."""
    options = {"epsilon": 1, "adjacency": adjacency, "multiplicity": "k"}
    table = {**CELLS, "k": np.array([1, 2, 3, 4]) * 2**40}
    released = dp.release(NET, table, **options)
    made = dp.posterior(released)
    assert made.method == "plug-in"
    np.testing.assert_allclose(made.mean()["t"], [0.3, 0.7], rtol=1e-6)
    for method in ("gibbs", "normal", "point-estimate", "exact"):
        with pytest.raises(ValueError, match=f"got '{method}': use plug-in"):
            dp.posterior(released, method=method)
    with pytest.raises(
        ValueError, match=r"numbers up to 2\^29 for noise-aware methods"
    ):
        gibbs_posterior(jr.key(0), released)
    counts = Sufficient.of("poisson", (Interval("x", 0, 3),), adjacency)
    table = {"x": [0, 1, 2], "k": [2**33, 2**32, 2**32]}
    made = dp.posterior(dp.release(counts, table, **options))
    np.testing.assert_allclose(made.mean(), 0.75, rtol=1e-6)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("mechanism", ["laplace", "fourier"])
@pytest.mark.parametrize("times", [2**29 + 10**6, 2**30, 2**31 - 10**6])
def test_sums_of_numbers_that_fit_32_bits_may_not(adjacency, mechanism, times):
    """A table's sum would be negative, and the posterior that of other records."""
    table = {**CELLS, "t": [0, 0, 0, 1], "k": [times, times, 5, 1]}
    released = dp.release(
        NET, table, epsilon=1, adjacency=adjacency, multiplicity="k",
        mechanism=mechanism,
    )  # fmt: skip
    assert released.is_wide
    np.testing.assert_allclose(released.tables()["t"], [2 * times, 1], atol=1e4)
    np.testing.assert_allclose(dp.posterior(released).mean()["t"], [1, 0], atol=1e-4)


def test_a_table_of_many_large_numbers_is_wide():
    """Six of almost 2^29 have a sum beyond 2^31."""
    net = dp.BayesNet.from_parents(SCHEMA, {"x": ["t"]})
    table = {"t": [0, 0, 0, 1, 1, 1], "x": [*"abcabc"]}
    released = dp.release(
        net, {**table, "k": [2**29 - 10**6] * 6}, epsilon=1, adjacency="add-remove",
        multiplicity="k",
    )  # fmt: skip
    assert released.is_wide
    assert np.asarray(released.counts()).min() >= -(10**3)


def test_numbers_of_many_tables_are_not_wide_together():
    released = dp.release(
        NET, {**CELLS, "k": [2**27] * 4}, epsilon=60, adjacency="replace-one",
        multiplicity="k",
    )  # fmt: skip
    assert not released.is_wide
    assert np.asarray(released.values).dtype == np.int32


def test_odd_parities_of_many_records_are_exact():
    """Half of n minus a coefficient, where both are beyond 32 bits."""
    what = FourierCoefficients(NET.variables, "replace-one", order=2)
    one, _ = measured(what, CELLS)
    table, rows = {**CELLS, "k": [2**40] * 4}, Rows(multiplicity="k")
    many, n = measured(what, table, rows, largest=WIDEST)
    assert n == 2**42
    np.testing.assert_array_equal(many, one * 2**40)


def test_the_noise_reaches_as_far_as_the_range(key):
    """A release is clipped at 2^53, and not where 32 bits end."""
    made = DiscreteLaplace.calibrate(1, NetworkCounts(NET).sensitivity("add-remove"))
    far = np.array([2**31, -(2**31), 2**53, -(2**53), 2**52])
    drawn = np.stack([made.draw(far) - far for _ in range(20)])
    assert np.abs(drawn).max() < 200
    assert (drawn[:, 2] <= 0).all()
    assert (drawn[:, 3] >= 0).all()
    assert len(np.unique(drawn[:, 4])) > 2


@pytest.mark.parametrize(
    "cells",
    [
        *([1, -1], [1, 2**60], [1.5, 1], [True, False], ["1", "x"], ["", "1"]),
        *([None, 1], ["\N{SUPERSCRIPT TWO}", "1"]),
    ],
)
def test_other_multiplicities_are_refused(cells):
    table = {"t": [0, 1], "x": ["a", "b"], "y": [0, 1], "k": cells}
    ledger = dp.Ledger(1, adjacency="add-remove")
    with pytest.raises(ValueError, match="`multiplicity` must be an integer from 0 to"):
        dp.release(
            NET, table, epsilon=1, adjacency="add-remove", multiplicity="k",
            ledger=ledger,
        )  # fmt: skip
    assert ledger.spent == 0


def test_a_sum_of_multiplicities_beyond_the_range_is_refused():
    table = {**CELLS, "k": [2**52, 2**52, 2**40, 0]}
    with pytest.raises(ValueError, match=r"must have a sum of at most 2\^53"):
        measured(NetworkCounts(NET), table, Rows(multiplicity="k"), largest=WIDEST)


def test_columns_beside_the_variables_exclude_each_other():
    options = {"epsilon": 1, "adjacency": "add-remove", "contributions": 2}
    table = {**CELLS, "k": [1] * 4}
    for names in (("id", "weights"), ("multiplicity", "weights")):
        with pytest.raises(ValueError, match=f"`{names[0]}` must come without"):
            dp.release(NET, table, **options, **dict.fromkeys(names, "k"))
    for name in ("multiplicity", "weights"):
        with pytest.raises(ValueError, match=f"`{name}` must name a column that is no"):
            dp.release(NET, table, **options, **{name: "x"})
        with pytest.raises(ValueError, match=f"`{name}` must be the name of a column"):
            dp.release(NET, table, **options, **{name: ""})
        with pytest.raises(
            ValueError, match=f"`{name}` must name a column of the table, got no"
        ):
            dp.release(NET, table, **options, **{name: "z"}, ignore="k")
        with pytest.raises(ValueError, match="encoded records have no names"):
            dp.release(NET, np.zeros((2, 3), int), **options, **{name: "k"})


def test_weights_count_and_are_limited_by_the_contributions():
    table = {**CELLS, "w": [3, 0, 1, 2]}
    options = {"epsilon": 60, "adjacency": "add-remove", "weights": "w"}
    released = dp.release(NET, table, contributions=3, **options)
    assert released.guarantee().contributions == 3
    exact, _ = measured(released.statistic, table, Rows(multiplicity="w"))
    assert np.abs(np.asarray(released.values) - exact).max() <= 3
    with pytest.raises(ValueError, match="`weights` must be an integer from 0 to 2 in"):
        dp.release(NET, table, contributions=2, **options)
    with pytest.raises(ValueError, match="`weights` must be left out under 'replace-"):
        dp.release(
            NET, table, contributions=3, **options | {"adjacency": "replace-one"}
        )


def test_columns_of_other_lengths_are_refused():
    column = Multiplicities("k", NET.variables)
    column.see({"k": [1, 2]}, "")
    with pytest.raises(ValueError, match="must have columns of one length, not 'k'"):
        column.of_the(np.zeros((3, 1)))


@pytest.mark.slow
def test_a_mesh_is_one_more_argument():
    mesh = dp.runtime.device_mesh(1)
    for what in statistics("add-remove"):
        exact, n = measured(what, CELLS)
        spread, total = measured(what, CELLS, Rows(mesh=mesh))
        assert n == total
        np.testing.assert_array_equal(spread, exact)
    options = {"epsilon": 1, "adjacency": "add-remove"}
    assert dp.release(NET, CELLS, **options, mesh=mesh)
    with pytest.raises(ValueError, match="on one device, not grouped or with a `mesh`"):
        measured(statistic("add-remove"), np.zeros((1, 1)), Rows(mesh=mesh))
