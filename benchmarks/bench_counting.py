"""How fast is counting beside NumPy, scikit-learn and a mere read? (C1, C2, C3)

    python -m benchmarks.bench_counting

NumPy counts each table by `np.bincount` of a code in bytes, from the records as rows
(n, d), as dpjax is given them, and from columns, which must be transposed beforehand.
The read is a sum over the unpacked bytes, eight at a time. Arrays are in memory.
Reading and counting bytes are called twice a turn: the second call finds what the first
one has just read.
"""

import itertools
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.report import Row, shown
from benchmarks.timing import medians
from dpjax.tables.counts import count, pack
from dpjax.tables.layout import TableLayout

try:
    from sklearn.naive_bayes import BernoulliNB
except ImportError:
    BernoulliNB = None

NAIVE_BAYES = TableLayout((2,) * 17, tuple((0, i) for i in range(1, 17)))


def by_bincount(records: np.ndarray, layout: TableLayout) -> list[np.ndarray]:
    """Every table, by a code of one byte a record."""
    tables = []
    for group, (start, stop) in zip(
        layout.groups, itertools.pairwise(layout.offsets), strict=True
    ):
        code = records[:, group[0]]
        for i in group[1:]:
            code = code * np.uint8(layout.sizes[i]) + records[:, i]
        tables.append(np.bincount(code, minlength=stop - start))
    return tables


def drawn(rng: np.random.Generator, layout: TableLayout, n: int) -> np.ndarray:
    """Records of independent, uniform levels."""
    (size,) = set(layout.sizes)
    return rng.integers(0, size, (n, len(layout.sizes)), dtype=np.uint8)


def seconds_of(
    records: np.ndarray, layout: TableLayout, rounds: int
) -> dict[str, float]:
    """Of counting rows of bytes and packed bits, of NumPy and of a read."""
    columns = np.asfortranarray(records)
    words = records.reshape(-1)[: records.size // 8 * 8].view(np.uint64)
    measure = jax.jit(lambda records: count(records, layout))
    on_device, expected = jnp.asarray(records), by_bincount(records, layout)
    np.testing.assert_array_equal(measure(on_device), np.concatenate(expected))
    candidates = {
        "numpy": lambda: by_bincount(records, layout),
        "numpy columns": lambda: by_bincount(columns, layout),
        "read": words.sum,
        "read again": words.sum,
        "raw": lambda: measure(on_device),
        "raw again": lambda: measure(on_device),
    }
    if set(layout.sizes) == {2}:
        packed = pack(records)
        np.testing.assert_array_equal(measure(packed), np.concatenate(expected))
        candidates["packed"] = lambda: measure(packed)
    return medians(candidates, rounds)


def beside_sklearn(records: np.ndarray) -> dict[str, float]:
    """Apart from the others, since threads of its own spin on for a while."""
    measure = jax.jit(lambda records: count(records, NAIVE_BAYES))
    on_device, x, y = jnp.asarray(records), records[:, 1:], records[:, 0]
    return medians(
        {"raw": lambda: measure(on_device), "sklearn": lambda: BernoulliNB().fit(x, y)},
        rounds=5,
    )


def naive_bayes(rng: np.random.Generator, n: int) -> Iterator[Row]:
    """C1 and C2: a class and 16 features, all binary."""
    records = drawn(rng, NAIVE_BAYES, n)
    s = seconds_of(records, NAIVE_BAYES, rounds=9 if n < 10**8 else 5)
    case = f"naive Bayes, 17 binary, n = 10^{len(str(n)) - 1}"
    packed, raw = f"{case}, packed", f"{case}, bytes"
    yield Row("C1", packed, s["numpy"] / s["packed"], "× np.bincount", 60, seconds=s)
    yield Row("C1", packed, s["numpy columns"] / s["packed"], "× that, of columns")
    yield Row("C1", packed, s["packed"] / s["read"], "reads", 1.5, at_least=False)
    yield Row("C2", raw, s["numpy"] / s["raw"], "× np.bincount", 20)
    yield Row("C2", raw, s["numpy columns"] / s["raw"], "× that, of columns")
    yield Row("C2", raw, s["raw"] / s["read"], "reads", at_least=False)
    again, first = f"{raw}, again at once", "a mere read of those bytes"
    yield Row("C2", again, s["numpy"] / s["raw again"], "× np.bincount")
    yield Row("C2", again, s["raw again"] / s["read again"], "reads", at_least=False)
    yield Row("C2", f"{raw}, {first}", s["numpy"] / s["read"], "× np.bincount")
    yield Row("C2", f"{again}, {first}", s["numpy"] / s["read again"], "× np.bincount")
    if BernoulliNB is None:
        print("scikit-learn is not installed: no row.")
    elif n <= 10**7:  # it makes arrays of 8 bytes an entry
        s = beside_sklearn(records)
        ratio = s["sklearn"] / s["raw"]
        yield Row("C2", raw, ratio, "× BernoulliNB.fit", 150, seconds=s)


def families(rng: np.random.Generator, n: int, levels: int) -> Iterator[Row]:
    """C3: 64 families of 4 among 64 variables; 16 among 16 with 4 levels."""
    size, target = (64, 8) if levels == 2 else (16, 2)
    groups = tuple(tuple(rng.choice(size, 4, False).tolist()) for _ in range(size))
    layout = TableLayout((levels,) * size, groups)
    s = seconds_of(drawn(rng, layout, n), layout, rounds=5)
    case = f"{size} families of 4, {levels} levels, n = 10^{len(str(n)) - 1}"
    for form in ("packed", "raw"):
        if form not in s:
            continue
        what = f"{case}, {'bytes' if form == 'raw' else form}"
        unit = "× np.bincount"
        yield Row("C3", what, s["numpy"] / s[form], unit, target, seconds=s)
        yield Row("C3", what, s["numpy columns"] / s[form], "× that, of columns")


def rows(full: bool = False) -> Iterator[Row]:
    """Each form of records beside each baseline, in one run."""
    rng = np.random.default_rng(0)
    for n in (10**6, *((10**7, 10**8) if full else ())):
        yield from naive_bayes(rng, n)
    for levels in (2, 4):
        yield from families(rng, 10**6, levels)


def main() -> None:
    """Print the rows."""
    for line in shown(rows()):
        print(line)


if __name__ == "__main__":
    main()
