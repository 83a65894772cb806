"""How near is the transform to a copy, and to NumPy; is it exact? (F1, F2, F4)"""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.report import Row, shown
from benchmarks.timing import medians
from dpjax.tables.walsh import walsh_hadamard

LEVELS = range(14, 25, 2)


def radix_2(table: np.ndarray) -> np.ndarray:
    """The transform by a loop over levels in NumPy."""
    table, stride = table.copy(), 1
    while stride < table.size:
        pairs = table.reshape(-1, 2, stride)
        sums, differences = pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]
        pairs[:, 0], pairs[:, 1] = sums, differences
        stride *= 2
    return table


def speed(levels: int) -> Iterator[Row]:
    """F1 and F2: one transform of float32 beside NumPy and a copy."""
    table = np.random.default_rng(0).integers(0, 2, 2**levels).astype(np.float32)
    given, copied = jnp.asarray(table), np.empty_like(table)
    transform, add_one = jax.jit(walsh_hadamard), jax.jit(lambda table: table + 1)
    np.testing.assert_array_equal(transform(given), radix_2(table))
    seconds = medians(
        {
            "numpy": lambda: radix_2(table),
            "copy": lambda: np.copyto(copied, table),
            "pass": lambda: add_one(given),
            "walsh": lambda: transform(given),
        },
        rounds=21 if levels <= 22 else 5,
    )
    target, case = "F1" if levels <= 22 else "F2", f"float32, N = 2^{levels}"
    faster = seconds["numpy"] / seconds["walsh"]
    yield Row(target, case, faster, "× NumPy radix-2", 7, seconds=seconds)
    copies, most = seconds["walsh"] / seconds["copy"], 30 if levels <= 22 else 20
    yield Row(target, case, copies, "copies", most, at_least=False)
    # what one level, or several at once, must take: read, compute, write, dispatch
    passes = seconds["walsh"] / seconds["pass"]
    yield Row(target, case, passes, "calls of a compiled x + 1", at_least=False)
    most = seconds["numpy"] / seconds["pass"]
    yield Row(target, case, most, "× NumPy radix-2, such a call")


def exactness(levels: int, dtype: str) -> Row:
    """F4: the largest error, with as many records as the dtype is exact for.

    The table has few cells that are not 0, so that the reference needs no transform:
    each coefficient is a sum of their counts by the parities of its index.
    """
    rng = np.random.default_rng(levels)
    cells = rng.choice(2**levels, 16, replace=False)
    n = 2**24 if dtype == "float32" else 2**31 - 1
    counts = rng.multinomial(n, np.full(16, 1 / 16)) * rng.choice([-1, 1], 16)
    table = np.zeros(2**levels, dtype)
    table[cells] = counts
    transform = jax.jit(walsh_hadamard, donate_argnums=0)
    found, error = np.asarray(transform(jnp.asarray(table))), 0
    for start in range(0, 2**levels, 2**22):
        index = np.arange(start, min(start + 2**22, 2**levels))
        expected = np.zeros(index.size, np.int64)
        for cell, number in zip(cells, counts, strict=True):
            expected += number * (
                1 - 2 * (np.bitwise_count(index & cell) % 2).astype(int)
            )
        part = found[start : start + index.size].astype(np.int64)
        error = max(error, int(np.abs(part - expected).max()))
    case = f"{dtype}, N = 2^{levels}, n = {n:,}"
    return Row("F4", case, error, "largest error", 0, at_least=False)


def against_numpy(levels: int, dtype: str) -> Row:
    """F4: the largest error for a table of random counts, against radix-2 in int64."""
    rng = np.random.default_rng(levels)
    cells = rng.integers(0, 2**levels, 2**24)
    table = np.bincount(cells, minlength=2**levels)
    found = walsh_hadamard(jnp.asarray(table.astype(dtype)))
    error = int(np.abs(np.asarray(found).astype(np.int64) - radix_2(table)).max())
    case = f"{dtype}, N = 2^{levels}, 2^24 random records"
    return Row("F4", case, error, "largest error", 0, at_least=False)


def rows(full: bool = False) -> Iterator[Row]:
    """Speed by length, then exactness; `full` needs 16 GiB of memory."""
    for levels in (*LEVELS, *((26,) if full else ())):
        yield from speed(levels)
    for dtype in ("float32", "int32"):
        yield against_numpy(24, dtype)
        yield exactness(24, dtype)
    if full:
        yield exactness(30, "int32")


def main() -> None:
    """Print the rows."""
    for line in shown(rows()):
        print(line)


if __name__ == "__main__":
    main()
