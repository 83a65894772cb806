"""Event logs as tables, public times of regions, and chains with a progress bar."""

import jax
import jax.random as jr
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import dpjax as dp
from dpjax.data.levels import Variable
from dpjax.event_logs import (
    check_states,
    declared_cells,
    event_network,
    fit,
    log_variables,
)
from tests.helpers.event_log import LOG, NET, STATISTIC, columns, encoded, released

SIZES = {"chains": 3, "sweeps": 23, "burn_in": 3}


def assert_same_draws(one, other):
    for first, second in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        first, second = np.asarray(first), np.asarray(second)  # leaves may be floats
        assert first.dtype == second.dtype
        np.testing.assert_array_equal(first, second)


@pytest.mark.thorough
def test_a_progress_bar_changes_no_draw(rng, key):
    """Also where the last block is filled up: 23 sweeps are 12 blocks of 2."""
    release, seen = released(rng, key), []

    def watch(blocks):
        for block in blocks:
            seen.append(len(block))
            yield block

    plain = fit(jr.clone(key), release, 2, **SIZES)
    watched = fit(key, release, 2, **SIZES, progress=watch)
    assert seen == [2] * 12
    assert plain.trace.shape == (20, 3)
    assert_same_draws(plain, watched)


@pytest.mark.thorough
def test_cells_outside_a_regions_times_are_ignored(rng, key):
    """Whatever their noisy counts are, no draw differs; those inside do matter."""
    release, times = released(rng, key), {"south": (9, 17)}

    def draws(month):
        """With 50 more events in the south in a month."""
        more = np.array([[2, month, 1, 1]] * 50, np.int32)
        values = release.values + STATISTIC.measure(more)
        changed = dp.Released(values, STATISTIC, release.mechanism, release.n)
        return fit(jr.clone(key), changed, 2, times=times, **SIZES)

    before, after, inside = draws(1), draws(11), draws(3)
    assert_same_draws(before, after)
    assert (before.emission != inside.emission).any()
    states = np.asarray(before.predict_states())
    assert (states[0] >= 0).all()
    assert (states[1] == -1).tolist() == [True, True, *[False] * 9, True]
    assert np.isfinite(before.diagnostics()["log_likelihood"]["effective_size"])


def test_declared_cells():
    assert declared_cells(NET, None).all()
    declared = declared_cells(NET, {"north": (7, 7), "south": (np.int64(9), 18)})
    assert declared.sum(axis=1).tolist() == [1, 10]
    assert declared[0, 0]
    assert not declared[1, :2].any()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("times", "message"),
    [
        ({"east": (7, 9)}, "`times` must name distinct levels .* got 'east'"),
        (
            {"south": (9, 8)},
            "`times` must be ordered and between 7 and 18 .* got 9 to 8 for 'south'",
        ),
        ({"south": (6, 8)}, "`times` must be ordered .* got 6 to 8"),
        ({"south": (8, 19)}, "`times` must be ordered .* got 8 to 19"),
        ({"south": (8.0, 9)}, "`times` must give a first and a last time"),
        ({"south": (8,)}, "`times` must give a first and a last time"),
    ],
)
def test_times_that_are_not_the_regions_own(times, message, rng, key):
    with pytest.raises(ValueError, match=message):
        fit(key, released(rng, key), 2, times=times)


def test_a_region_by_two_names():
    numbered = [Variable("place", (1, 2)), LOG[1], LOG[3]]
    net = event_network(numbered, "place", "month")
    assert declared_cells(net, {"2": (8, 9)}).sum() == 14
    with pytest.raises(ValueError, match=r"distinct levels .* got '2'"):
        declared_cells(net, {2: (8, 9), "2": (8, 9)})


@pytest.mark.slow
def test_states_are_counted_against_declared_cells(rng, key):
    times = {"north": (7, 7), "south": (7, 8)}
    with pytest.raises(ValueError, match="at most the number of cells, 3, and 127"):
        fit(key, released(rng, key), 4, times=times)
    check_states(3, declared_cells(NET, times))
    with pytest.raises(ValueError, match="integer of at least 1, got 0"):
        check_states(0, declared_cells(NET, times))
    with pytest.raises(ValueError, match="127, got 128"):
        check_states(128, np.ones((20, 20), bool))


@pytest.mark.parametrize("levels", [(False, True), (1, 2.0, 3), (1, 3), ("1", "2")])
def test_times_are_consecutive_integers(levels):
    with pytest.raises(ValueError, match="`time` must have consecutive integers"):
        event_network([*LOG[2:], Variable("month", levels)], "place", "month")


def test_a_network_of_times_first_is_no_event_log():
    """Every field has two parents, but the second is no time."""
    fields = {"kind": ["month", "place"], "dead": ["month", "place"]}
    net = dp.BayesNet.from_parents(dp.Schema(LOG), fields)
    with pytest.raises(ValueError, match="`net` must be of an event log"):
        log_variables(net)


def test_numbers_are_no_fields():
    dead = dp.Interval("dead", 0, 9)
    with pytest.raises(ValueError, match="'dead' is numeric"):
        event_network([*LOG[:3], dead], "place", "month")


def test_the_simulated_log_fits_its_schema():
    schema, table = dp.data.datasets.simulated_events(1)
    records = np.asarray(schema.encode(table))
    assert (
        records == np.asarray(schema.encode(dp.data.datasets.simulated_events(1)[1]))
    ).all()
    assert 2500 < len(records) < 3300
    cells = np.bincount(records[:, 0] * 36 + records[:, 1], minlength=144)
    assert (cells > 0).all()
    net = event_network(list(schema.values()), "province", "month")
    assert net.parents == ((), (), (0, 1), (0, 1))


@pytest.mark.slow
def test_posterior_samples_are_no_counts(rng, key):
    table = columns(encoded(rng, 50))
    options = {"epsilon": 5, "adjacency": "replace-one"}
    samples = dp.release(NET, table, mechanism="posterior-sample", **options)
    with pytest.raises(ValueError, match="`released` must be of noisy counts"):
        fit(key, samples, 2)


@pytest.mark.slow
def test_a_log_comes_as_any_table(rng, tmp_path):
    """Noise is 0 but for one run in 1e9: all releases are the exact counts."""
    records = encoded(rng, 300)
    table = columns(records)
    frame = pd.DataFrame(table)
    frame.to_csv(tmp_path / "log.csv", index=False)
    parquet.write_table(pa.table(table), tmp_path / "log.parquet")
    files = [tmp_path / "log.csv", str(tmp_path / "log.parquet")]
    exact = np.asarray(STATISTIC.measure(records))
    for log in (records, table, frame, pa.table(table), *files):
        out = dp.release(NET, log, epsilon="60", adjacency="add-remove")
        np.testing.assert_array_equal(np.asarray(out.values), exact)


@pytest.mark.parametrize("kind", [pd.DataFrame, pa.table])
def test_further_columns_are_refused_or_ignored(kind, rng):
    records = encoded(rng, 30)
    log = kind({**columns(records), "id": np.arange(30)})
    with pytest.raises(
        ValueError, match="`table` must have only columns of the schema"
    ):
        dp.release(NET, log, epsilon="1", adjacency="add-remove")
    encoded_again = dp.Schema(LOG).encode(log, ignore="id")
    np.testing.assert_array_equal(np.asarray(encoded_again), records)
