"""Is a table encoded from a frame about as fast as the same table from Arrow? (C6)"""

from collections.abc import Iterator

import numpy as np
import pyarrow

from benchmarks.report import Row, shown
from benchmarks.timing import medians
from dpjax import Schema

try:
    import polars
except ImportError:
    polars = None
try:
    import duckdb
except ImportError:
    duckdb = None

LEVELS = ("Private", "Self-emp-not-inc", "Federal-gov", "Local-gov", "Never", "?")
COLUMNS = 12
SCHEMA = Schema({f"x{i}": list(LEVELS) for i in range(COLUMNS)})


def main() -> None:
    """Print a line for each ratio."""
    print(*shown(rows()), sep="\n")


def rows(full: bool = False) -> Iterator[Row]:
    """Time of encoding a frame beside that of the same table as Arrow.

    Args:
        full: 10^6 records of 12 columns instead of 10^5.
    """
    text = table(10**6 if full else 10**5)
    categories = pyarrow.table({x: text[x].dictionary_encode() for x in SCHEMA})
    frame = text.to_pandas()
    of_text = {
        "pandas, text as objects": (frame.astype(object), 2.5),
        "pandas, text as str": (frame.astype("str"), 2.5),
        "pandas, text as string[python]": (frame.astype("string[python]"), None),
    }
    of_categories = {"pandas, categories": (frame.astype("category"), 1.5)}
    if polars is None:
        print("polars is not installed: no row.")
    else:
        found = polars.DataFrame(text)
        of_text["polars, text"] = (found, 1.5)
        kind = polars.Categorical
        of_categories["polars, categories"] = (found.cast(kind), None)
    if duckdb is None:
        print("duckdb is not installed: no row.")
    else:
        of_text["DuckDB, a relation"] = (duckdb.from_arrow(text), None)
    yield from _beside(text, "text", of_text)
    yield from _beside(categories, "categories", of_categories)


def table(records: int) -> pyarrow.Table:
    """Columns of text, of which every cell is an object of its own."""
    random, words = np.random.default_rng(0), np.array(LEVELS)
    drawn = (words[random.integers(0, len(words), records)] for _ in SCHEMA)
    return pyarrow.table(dict(zip(SCHEMA, drawn, strict=True)))


def _beside(
    arrow: pyarrow.Table, kind: str, frames: dict[str, tuple[object, float | None]]
) -> Iterator[Row]:
    tables = {"Arrow": arrow, **{name: frame for name, (frame, _) in frames.items()}}
    candidates = {x: lambda y=y: _encode(y) for x, y in tables.items()}
    seconds = medians(candidates, rounds=5)
    for name, (_, target) in frames.items():
        ratio = seconds[name] / seconds["Arrow"]
        case = f"{name}, {len(arrow):.0e} records of {COLUMNS} columns"
        unit = f"× the time of Arrow's {kind}"
        yield Row("C6", case, ratio, unit, target, False, seconds)


def _encode(table: object) -> None:
    for _ in SCHEMA.encode_batches(table):
        pass


if __name__ == "__main__":
    main()
