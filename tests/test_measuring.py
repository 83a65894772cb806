"""As many records as 32 bits can sum, and not one more."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.data.intervals import Interval
from dpjax.noise.discrete_laplace import LARGEST
from dpjax.releases import publish
from dpjax.statistics import Sufficient

ADJACENCIES = ["replace-one", "add-remove"]
UNITS = 1 << 16


def statistic(adjacency):
    return Sufficient.of("gaussian", (Interval("x", -1, 1),), adjacency, UNITS)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_the_largest_sums_are_exact(adjacency):
    """2^29, in each component that a record can fill."""
    most = LARGEST // UNITS
    exact, n = publish.measured(statistic(adjacency), np.ones((most, 1)))
    assert n == most
    assert LARGEST == 2**29 == np.abs(exact).max()
    assert exact[:2].tolist() == [2**29] * 2


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_a_record_more_is_refused(adjacency):
    records = np.ones((LARGEST // UNITS + 1, 1))
    with pytest.raises(ValueError, match="must have at most 8192 records for exact"):
        publish.measured(statistic(adjacency), records)


def test_batches_are_counted_up_to_the_limit(monkeypatch):
    """All that came so far count, and each with its units."""
    monkeypatch.setattr(publish, "LARGEST", 7 * UNITS)
    batches = [np.zeros((k, 1)) for k in (3, 0, 4, 1, 9)]
    taken = publish._of_few(iter(batches), statistic("add-remove"))
    assert [len(next(taken)) for _ in range(3)] == [3, 0, 4]
    with pytest.raises(ValueError, match="must have at most 7 records for exact"):
        next(taken)


def test_a_statistic_of_numbers_is_not_counted_as_tables():
    """One whole: each record is rounded by itself."""
    records = np.linspace(-1, 1, 101)[:, None]
    exact, n = publish.measured(statistic("add-remove"), records)
    one = [publish.measured(statistic("add-remove"), x[None])[0] for x in records]
    np.testing.assert_array_equal(exact, np.sum(one, axis=0))
    assert n == 101


def test_records_of_a_program_are_refused():
    def run(records):
        return publish.measured(statistic("add-remove"), records)[0]

    with pytest.raises(ValueError, match="outside of `jit` and `vmap`"):
        jax.jit(run)(jnp.zeros((3, 1)))
