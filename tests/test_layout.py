"""Operations on the rows of many tables in one vector, against NumPy table by table."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpjax as dp
from dpjax.tables import layout as layouts
from dpjax.tables.layout import TableLayout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "padding"),
    [
        ((2, 2, 2), 1024),
        ((2, 4, 5, 7), 1024),
        ((7, 5, 4, 2), 1),
        ((3, 2, 3, 9), 1),
        ((17, 2, 9, 21, 29, 4), 1),
    ],
)
def test_rows_of_several_widths_are_divided_by_their_sums(sizes, padding, monkeypatch):
    """Compiled too: jaxlib 0.10.2 crashes in a fused gather from joined rows."""
    monkeypatch.setattr(layouts, "_MATRIX", padding)
    schema = {f"x{i}": list(range(size)) for i, size in enumerate(sizes)}
    net = dp.BayesNet.naive_bayes(schema, "x0")
    layout = net.layout
    weights = np.random.default_rng(0).uniform(1, 9, layout.length)
    wanted, greatest = [], []
    for family, start in zip(net.families, layout.offsets, strict=False):
        shape = layout.shape(family)
        table = weights[start : start + np.prod(shape)].reshape(shape)
        wanted.append((table / table.sum(axis=-1, keepdims=True)).ravel())
        greatest.append(np.broadcast_to(table.max(-1, keepdims=True), shape).ravel())
    given = jnp.asarray(weights, float)
    for function, right in (
        (layout.normalise, wanted),
        (layout.row_maxima, greatest),
    ):
        for run in (function, jax.jit(function)):
            np.testing.assert_allclose(run(given), np.concatenate(right), rtol=1e-6)
        many = jax.jit(jax.vmap(function))(jnp.stack([given, given]))
        np.testing.assert_allclose(many[1], np.concatenate(right), rtol=1e-6)
    assert len(layout._padded_rows) == (1 if padding > 1 else len({*sizes}))


def test_rows_of_two_levels_are_mapped_apart_and_wider_ones_are_padded():
    layout = TableLayout((2, 3, 5), ((2, 0), (0, 1), (1, 0, 2)))
    seen = []

    def halved(rows, cells):
        seen.append((rows, cells < layout.length))
        return rows / 2

    vector = jnp.arange(1.0, layout.length + 1)
    np.testing.assert_array_equal(layout.map_rows(vector, halved, 7), vector / 2)
    assert [rows.shape for rows, _ in seen] == [(5, 2), (8, 5)]
    for rows, present in seen:
        assert set(np.asarray(rows)[~present]) <= {7}
    assert [present.sum() for _, present in seen] == [10, 36]
    pairs = TableLayout((2, 2), ((0,), (0, 1)))
    assert [x.tolist() for x in pairs.matrices_of_rows] == [[[0, 1], [2, 3], [4, 5]]]


def test_the_derivative_of_sums_of_rows_is_their_sum(monkeypatch):
    monkeypatch.setattr(layouts, "_MATRIX", 1)
    layout = TableLayout((2, 3, 5), ((0, 2), (2, 1), (1, 0)))
    given = jnp.arange(1.0, layout.length + 1)
    sums = np.bincount(layout.rows, given)[layout.rows]
    slope = jax.jit(jax.grad(lambda x: (layout.row_sums(x) * given).sum()))(given)
    np.testing.assert_allclose(slope, sums, rtol=1e-6)
    np.testing.assert_allclose(jax.jvp(layout.row_sums, (given,), (given,))[1], sums)


def test_cells_of_numpy_records_are_those_of_others(rng):
    layout = TableLayout((2, 3, 5), ((0,), (2, 1), (0, 1, 2)))
    records = rng.integers(0, layout.sizes, (20, 3)).astype(np.uint8)
    compiled = jax.jit(layout.cells)(records)
    found = layout.cells(records)
    assert isinstance(found, np.ndarray)
    assert found.dtype == compiled.dtype
    np.testing.assert_array_equal(found, compiled)


def test_largest_entries_are_constants_in_derivatives():
    """Whose rule looks for equal entries, which a compiler may round differently."""
    net = dp.BayesNet.from_parents({"x": [0, 1, 2]}, {"x": []})
    slope = jax.grad(lambda x: net.layout.row_maxima(x).sum())(jnp.arange(3.0))
    np.testing.assert_array_equal(slope, 0)
