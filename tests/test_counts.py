import itertools
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax import _platforms
from dpjax.statistics import NetworkCounts
from dpjax.tables.counts import (
    batches,
    check_records,
    count,
    count_batches,
    tables as on_device,
)
from dpjax.tables.layout import TableLayout
from tests.helpers.networks import TINY, random_network, random_records, tables

pytestmark = pytest.mark.device


def brute_force(records, net, families):
    """One table per family, a record at a time."""
    tables = []
    for family in families:
        table = np.zeros([net.sizes[i] for i in family], int)
        for record in np.asarray(records):
            table[tuple(record[list(family)])] += 1
        tables.append(table.ravel())
    return np.concatenate(tables)


@pytest.mark.parametrize("variables", range(1, 9))
@pytest.mark.parametrize("families", ["maximal", "all"])
def test_counts_equal_brute_force(variables, families, rng):
    net = random_network(rng, variables)
    records = random_records(rng, net, n=int(rng.integers(0, 60)))
    statistic = NetworkCounts(net, families)
    measured = statistic.measure(records)
    groups = statistic.measured.groups
    np.testing.assert_array_equal(measured, brute_force(records, net, groups))
    np.testing.assert_array_equal(
        tables(statistic, measured), brute_force(records, net, net.families)
    )


@pytest.mark.parametrize("n", [1, 7, 8, 9, 64, 65])
def test_chunks_and_remainders_are_all_counted(n, rng, monkeypatch):
    monkeypatch.setattr(_platforms, "CPU", _platforms.CPU._replace(cells=24))
    on_device._count.clear_cache()
    net = random_network(rng)
    records = random_records(rng, net, n)
    counted = count(records, net.layout)
    on_device._count.clear_cache()
    np.testing.assert_array_equal(counted, brute_force(records, net, net.families))


@pytest.mark.parametrize("n", [2048, 2049, 4096, 5000])
def test_large_chunks_of_an_accelerator_are_all_counted(n, rng):
    """A chunk of 2,048 records, as that of a TPU, which has more."""
    net = random_network(rng)
    records = random_records(rng, net, n)
    sizes = _platforms.TPU._replace(words=64)
    counted = jax.jit(partial(on_device.count_in, sizes, layout=net.layout))(records)
    np.testing.assert_array_equal(counted, brute_force(records, net, net.families))


def test_counting_batches_with_vmap(rng):
    net = random_network(rng)
    many = jnp.stack([random_records(rng, net, 20) for _ in range(5)])
    batched = jax.vmap(lambda x: count(x, net.layout))(many)
    for one, records in zip(batched, many, strict=True):
        np.testing.assert_array_equal(one, brute_force(records, net, net.families))


def test_a_family_of_a_million_cells(rng):
    layout = TableLayout((2,) * 20, (tuple(range(20)),))
    records = rng.integers(0, 2, (1000, 20)).astype(np.uint8)
    cells = records @ (2 ** np.arange(19, -1, -1))
    np.testing.assert_array_equal(
        count(records, layout), np.bincount(cells, minlength=2**20)
    )


def test_batches_add_up_beyond_32_bits(monkeypatch):
    layout = TableLayout((2,), ((0,),))
    nearly = jnp.array([2**31 - 1, 7], jnp.int32)
    monkeypatch.setattr(batches, "_ENTRIES", 1)  # a block a record
    monkeypatch.setattr(batches, "count", lambda records, layout: nearly)
    total = count_batches([np.zeros((1, 1), np.uint8)] * 5, layout)
    np.testing.assert_array_equal(total, [5 * (2**31 - 1), 35])


def test_batches_of_any_size_add_up(rng):
    net = random_network(rng)
    records = random_records(rng, net, 100)
    parts = np.split(records, [10, 10, 55])
    np.testing.assert_array_equal(
        count_batches(parts, net.layout), brute_force(records, net, net.families)
    )


@pytest.mark.parametrize("width", [1, 3])
def test_records_of_another_width_are_never_counted(width):
    statistic = NetworkCounts(TINY["chain"])
    with pytest.raises(ValueError, match=r"must have shape \(n, 2\)"):
        jax.jit(statistic.measure)(np.zeros((4, width), np.uint8))


@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("families", ["maximal", "all"])
def test_sensitivity_equals_brute_force_over_all_pairs_of_records(name, families):
    statistic = NetworkCounts(TINY[name], families)
    records = list(itertools.product(*map(range, TINY[name].sizes)))
    one = [np.asarray(statistic.measure(np.array([x], np.uint8))) for x in records]
    replaced = max(np.abs(a - b).sum() for a in one for b in one)
    added = max(np.abs(a).sum() for a in one)
    assert statistic.sensitivity("replace-one").value == replaced
    assert statistic.sensitivity("add-remove").value == added
    assert statistic.sensitivity("add-remove").tight


def test_sensitivities_of_the_paper_and_ours():
    net = TINY["naive Bayes"]
    assert NetworkCounts(net, "all").sensitivity("replace-one").value == 2 * 3
    assert NetworkCounts(net).sensitivity("replace-one").value == 2 * 2
    with pytest.raises(ValueError, match="`adjacency` must be 'replace-one' or"):
        NetworkCounts(net).sensitivity("bounded")
    with pytest.raises(ValueError, match="`families` must be 'maximal' or 'all'"):
        NetworkCounts(net, "some")


@pytest.mark.parametrize("bad", [-1, -(2**31), 2**31 - 1, 2, 255])
def test_no_integer_moves_the_counts_by_more_than_the_sensitivity(bad, rng):
    net = random_network(rng, most_levels=2)
    statistic = NetworkCounts(net)
    records = random_records(rng, net, 30).astype(np.int32)
    broken = records.copy()
    broken[3] = bad
    moved = np.abs(statistic.measure(records) - statistic.measure(broken))
    assert moved.sum() <= statistic.sensitivity("replace-one").value
    of_each = np.add.reduceat(moved, statistic.measured.offsets[:-1])
    assert of_each.max() <= 2  # where each table has a budget of its own
    with pytest.raises(ValueError, match="must hold indices of levels"):
        check_records(broken, net.sizes)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int32])
def test_what_a_record_adds_depends_on_no_other_record(dtype, rng):
    """Whatever it holds, and whichever way so many records are counted."""
    layout = TableLayout((2, 3, 5, 130), ((0, 1), (1, 2), (0,), (3, 0, 2)))
    limits = np.iinfo(dtype)
    records = rng.integers(limits.min, limits.max, (2048, 4), dtype, endpoint=True)
    halves = (count(part, layout) for part in np.split(records, 2))
    np.testing.assert_array_equal(count(records, layout), sum(map(np.asarray, halves)))
    alone = jax.vmap(lambda record: count(record[None], layout))(records[:200])
    for start, stop in itertools.pairwise(layout.offsets):
        assert alone[:, start:stop].sum(axis=1).max() == 1


def test_the_order_of_records_does_not_matter(rng):
    net = random_network(rng)
    records = random_records(rng, net, 50)
    np.testing.assert_array_equal(
        count(records, net.layout), count(rng.permutation(records), net.layout)
    )


def test_records_of_the_wrong_form_are_refused():
    with pytest.raises(ValueError, match=r"must have shape \(n, 2\)"):
        check_records(np.zeros((3, 3), int), (2, 2))
    with pytest.raises(ValueError, match="must be integers"):
        check_records(np.zeros((3, 2)), (2, 2))
    with pytest.raises(ValueError, match="must be integers, level indices, got object"):
        check_records(np.array([["a", 1]], object), (2, 2))
    for wide in (2**32, 2**63, 2**64 - 1):
        with pytest.raises(ValueError, match="must hold indices of levels"):
            check_records(np.array([[wide, 0]], np.uint64), (2, 2))


def test_records_are_arguments_of_the_compiled_program_not_part_of_it():
    statistic = NetworkCounts(TINY["chain"])
    canary = np.array([[1, 2], [0, 1], [1, 0]], np.uint8)
    text = jax.jit(statistic.measure).lower(canary).as_text()
    assert "tensor<3x2xui8>" in text
    assert "[1, 2], [0, 1], [1, 0]" not in text
