"""Fast counting, of bit planes, against NumPy and against counting one by one."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax import BayesNet, _platforms
from dpjax._platforms import ACCELERATOR, CPU
from dpjax.statistics import FourierCoefficients, NetworkCounts
from dpjax.tables.counts import (
    count,
    odd_parities,
    pack,
    packed as packing,
    parities,
    planes,
    tables as on_device,
)
from dpjax.tables.layout import TableLayout

pytestmark = pytest.mark.device

thorough = pytest.mark.thorough
SIZES = [0, *(pytest.param(n, marks=thorough) for n in (1, 33, 2049)), 40_000]


@pytest.fixture
def small(monkeypatch):
    """Chunks of 64 words, and planes from 64 records on."""
    monkeypatch.setattr(on_device, "_LEAST_FOR_PLANES", 64)
    small = CPU._replace(words=64, cells=1 << 14)
    for module in (_platforms, packing):
        monkeypatch.setattr(module, "CPU", small)
    monkeypatch.setattr(planes, "_BLOCK", 32)
    for compiled in (on_device._count, packing._odd_parities):
        compiled.clear_cache()
    yield
    for compiled in (on_device._count, packing._odd_parities):
        compiled.clear_cache()


def numpy_counts(records, layout):
    cells = []
    for group in layout.groups:
        index = np.ravel_multi_index(records[:, group].T, layout.shape(group))
        cells.append(np.bincount(index, minlength=np.prod(layout.shape(group))))
    return np.concatenate(cells)


def random_layout(rng, sizes, widths):
    groups = [tuple(map(int, rng.choice(len(sizes), w, False))) for w in widths]
    return TableLayout(tuple(sizes), tuple(groups))


def random_records(rng, layout, n, dtype="uint8"):
    return rng.integers(0, layout.sizes, (n, len(layout.sizes))).astype(dtype)


def odd(records, subset):
    return int((records[:, list(subset)].sum(1, dtype=int) % 2).sum())


@pytest.mark.slow
@pytest.mark.parametrize("n", SIZES)
def test_packed_counts_equal_numpy(n, rng):
    """Groups of up to 7 variables by planes; of 10 after unpacking."""
    layout = random_layout(rng, (2,) * 11, [1, 2, 3, 7, 3, 10])
    records = random_records(rng, layout, n)
    expected = numpy_counts(records, layout)
    np.testing.assert_array_equal(count(pack(records), layout), expected)
    np.testing.assert_array_equal(count(records, layout), expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "dtype"),
    [
        pytest.param(64, "uint8", marks=thorough),
        pytest.param(65, "int8", marks=thorough),
        pytest.param(2047, "uint8", marks=thorough),
        (6145, "int32"),
    ],
)
@pytest.mark.usefixtures("small")
def test_chunks_overlap_without_counting_twice(n, dtype, rng):
    layout = random_layout(rng, (2, 3, 4, 2, 5, 1, 2, 7), [1, 2, 3, 4, 5])
    records = random_records(rng, layout, n, dtype)
    np.testing.assert_array_equal(count(records, layout), numpy_counts(records, layout))
    binary = random_layout(rng, (2,) * 9, [4, 5, 6, 9])
    records = random_records(rng, binary, n, dtype)
    np.testing.assert_array_equal(
        count(pack(records), binary), numpy_counts(records, binary)
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("columns", "dtype"),
    [
        (planes._WIDE, "uint8"),
        pytest.param(planes._WIDE - 1, "uint8", marks=thorough),
        pytest.param(300, "int8", marks=thorough),
        pytest.param(300, "int32", marks=thorough),
        pytest.param(planes._WIDE + 5, "uint16", marks=thorough),
    ],
)
def test_many_columns_are_packed_in_bytes_first(columns, dtype, rng):
    """Levels of several bits, records of no whole number of words or chunks."""
    sizes = rng.integers(2, 6, columns)
    layout = random_layout(rng, sizes.tolist(), [1] * columns + [2] * 20)
    records = random_records(rng, layout, 5001, dtype)
    found = count(records, layout)
    np.testing.assert_array_equal(found, numpy_counts(records, layout))


@pytest.mark.parametrize("n", [0, 1, 33, 3000, 40_000])
def test_parities_equal_numpy(n, rng):
    records = rng.integers(0, 2, (n, 6)).astype(np.uint8)
    subsets = [s for k in (2, 0, 6, 3, 1) for s in itertools.combinations(range(6), k)]
    packed = pack(records)
    expected = np.array([odd(records, subset) for subset in subsets])
    np.testing.assert_array_equal(odd_parities(packed, tuple(subsets)), expected)
    np.testing.assert_array_equal(parities(packed, tuple(subsets)), n - 2 * expected)


COUNTED = jax.jit(on_device.count_in, static_argnames=("sizes", "layout"))
ODD = jax.jit(packing.odd_parities_in, static_argnames=("sizes", "subsets"))


@pytest.mark.parametrize(
    ("n", "dtype"), [(2048, "int8"), (40_001, "uint8"), (5000, "int32")]
)
def test_an_accelerators_program_counts_the_same(n, dtype, rng):
    layout = random_layout(rng, (2, 3, 4, 2, 5, 1, 9, 7), [1, 2, 3, 4, 5])
    records = random_records(rng, layout, n, dtype)
    expected = numpy_counts(records, layout)
    for sizes in (ACCELERATOR, ACCELERATOR._replace(cells=1 << 10)):
        np.testing.assert_array_equal(COUNTED(sizes, records, layout), expected)


@pytest.mark.slow
def test_an_accelerators_program_counts_packed_records_the_same(rng):
    layout = random_layout(rng, (2,) * 11, [1, 2, 3, 7, 3, 10])
    records = random_records(rng, layout, 40_001)
    expected = numpy_counts(records, layout)
    subsets = ((0, 3), (), (2,), (1, 2, 5), (5, 4))
    packed = pack(records)
    for sizes in (ACCELERATOR, ACCELERATOR._replace(cells=1 << 10)):
        np.testing.assert_array_equal(COUNTED(sizes, packed, layout), expected)
    odd_ones = [odd(records, subset) for subset in subsets]
    np.testing.assert_array_equal(ODD(ACCELERATOR, packed, subsets), odd_ones)


def test_planes_of_other_lengths_than_pack_makes(rng):
    layout = TableLayout((2,) * 3, ((0, 1), (2,)))
    records = random_records(rng, layout, 33_000)
    packed = pack(records)
    words = -(-33_000 // 32)
    trimmed = packing.PackedRecords(packed.planes[:, :words], packed.n)
    expected = numpy_counts(records, layout)
    np.testing.assert_array_equal(count(trimmed, layout), expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("order", "adjacency"),
    [
        (2, "replace-one"),
        (None, "add-remove"),
        pytest.param(2, "add-remove", marks=thorough),
        pytest.param(None, "replace-one", marks=thorough),
    ],
)
def test_statistics_of_packed_records_are_the_same(order, adjacency, rng):
    levels = {f"x{i}": [0, 1] for i in range(10)}
    parents = {f"x{i}": [f"x{j}" for j in range(max(0, i - 3), i)] for i in range(10)}
    parents["x9"] = [f"x{j}" for j in range(9)] if order is None else []
    net = BayesNet.from_parents(levels, parents)
    records = rng.integers(0, 2, (2500, 10)).astype(np.uint8)
    fourier = (
        FourierCoefficients.of_network(net, adjacency)
        if order is None
        else FourierCoefficients(net.variables, adjacency, order=order)
    )
    for statistic in (fourier, NetworkCounts(net)):
        packed = jax.jit(statistic.measure)(pack(records))
        np.testing.assert_array_equal(packed, statistic.measure(records))


@pytest.mark.parametrize("bad", [-1, -(2**31), 2**31 - 1, 3, 255])
@pytest.mark.usefixtures("small")
def test_no_integer_moves_a_table_by_more_than_a_unit(bad, rng):
    layout = TableLayout((2, 3, 4, 2), ((0, 1), (2,), (1, 2, 3), (3,)))
    records = random_records(rng, layout, 200, "int32")
    broken = records.copy()
    broken[7] = bad
    moved = np.asarray(count(records, layout)) - np.asarray(count(broken, layout))
    for start, stop in itertools.pairwise(layout.offsets):
        assert np.abs(moved[start:stop]).sum() <= 2
        assert abs(moved[start:stop].sum()) <= 1


@pytest.mark.slow
def test_vmap_over_data_sets(rng):
    layout = TableLayout((2, 2, 3), ((0, 1), (1, 2)))
    binary = TableLayout((2, 2, 2), ((0, 1), (1, 2)))
    many = rng.integers(0, 2, (3, 2500, 3)).astype(np.uint8)
    counted = jax.vmap(lambda x: count(x, layout))(many)
    packed = jax.tree.map(lambda *x: jnp.stack(x), *map(pack, many))
    from_packed = jax.vmap(lambda x: count(x, binary))(packed)
    for i, records in enumerate(many):
        np.testing.assert_array_equal(counted[i], numpy_counts(records, layout))
        np.testing.assert_array_equal(from_packed[i], numpy_counts(records, binary))


@pytest.mark.slow
def test_counts_near_the_limit_of_32_bits_do_not_overflow():
    """2^31 - 32 records of ones, from planes read again and again."""
    layout = TableLayout((2,) * 6, ((0, 1, 2, 3, 4, 5), (3,)))
    n, d = 2**31 - 32, 6
    sizes = np.full(2**d, n, np.int32)[1:]
    counts = planes.tables_of(on_device.planned(layout), n, jnp.asarray(sizes), 66)
    expected = np.zeros(66, int)
    expected[63] = expected[65] = n
    np.testing.assert_array_equal(counts, expected)


@pytest.mark.parametrize("n", [2**31 - 1, 2**30 + 5])
def test_parities_near_the_limit_of_32_bits_wrap_to_the_truth(n, monkeypatch):
    number = jnp.asarray([0, n, n - 1, 2**30], jnp.int32)
    monkeypatch.setattr(packing, "odd_parities", lambda packed, subsets: number)
    packed = packing.PackedRecords(jnp.zeros((1, 64), jnp.uint32), jnp.int32(n))
    found = parities(packed, ((0,),) * 4)
    np.testing.assert_array_equal(found, [n, -n, 2 - n, n - 2**31])


def test_only_binary_records_are_packed():
    with pytest.raises(ValueError, match="`records` must hold only 0 and 1"):
        pack(np.array([[0, 2]], np.uint8))
    with pytest.raises(ValueError, match="`records` must hold only 0 and 1"):
        pack(np.array([[0, -1]], np.int64))
    with pytest.raises(ValueError, match="`records` must be a matrix of integers"):
        pack(np.zeros(3, np.uint8))
    packed = pack(np.zeros((3, 2), np.uint8))
    with pytest.raises(ValueError, match="`records` must have 3 columns"):
        count(packed, TableLayout((2,) * 3, ((0, 1),)))
    with pytest.raises(ValueError, match="must not be packed if a variable does not"):
        count(packed, TableLayout((2, 3), ((0, 1),)))
    with pytest.raises(ValueError, match="`subsets` must hold column numbers"):
        parities(packed, ((0, 2),))
