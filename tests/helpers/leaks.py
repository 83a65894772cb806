"""Canaries: values that stand in records alone, and where they might turn up."""

import dataclasses
import datetime
import decimal
import gzip
from collections.abc import Iterator, Mapping

import jax
import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

WORD, WHOLE, REAL = "quixotepanza", 314159, 27182.8125
_SIGNS = (WORD, "314159", "27182", "3.1416e", "2.7183e", "2.7182", "3.14159")


def shown(text: object) -> list[str]:
    """The canaries in a text."""
    return [sign for sign in _SIGNS if sign in str(text)]


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error, and all that it carries as its causes and contexts."""
    while error is not None:
        yield error
        if error.__cause__ is not None and error.__cause__ is not error.__context__:
            yield from chain(error.__cause__)
        error = error.__context__


def leaves(thing: object, known: set[int] | None = None) -> Iterator[object]:
    """All texts, numbers and arrays that an object holds, at any depth."""
    known = set() if known is None else known
    if id(thing) in known:
        return
    known.add(id(thing))
    if isinstance(
        thing, str | bytes | int | float | np.ndarray | np.generic | jax.Array
    ):
        yield thing
        return
    parts: list[object] = list(getattr(thing, "__dict__", {}).values())
    if dataclasses.is_dataclass(thing):
        parts += [getattr(thing, x.name, None) for x in dataclasses.fields(thing)]
    if isinstance(thing, Mapping):
        parts += [*thing.keys(), *thing.values()]
    elif isinstance(thing, tuple | list | set | frozenset):
        parts += thing
    for part in parts:
        yield from leaves(part, known)


class Unhashable(str):
    """Text that promises a hash and has none."""

    def __hash__(self):
        raise TypeError("no hash")


CELLS = [
    *(
        WORD,
        WHOLE,
        -WHOLE,
        REAL,
        None,
        float("nan"),
        10**400,
        complex(1, WHOLE),
        [WORD],
    ),
    *(
        {"k": WORD},
        (WORD, WHOLE),
        (WORD, [WHOLE]),
        {WORD},
        WORD.encode(),
        np.str_(WORD),
    ),
    *(decimal.Decimal(WHOLE), decimal.Decimal("sNaN"), datetime.datetime(2020, 1, 1)),
    *(np.timedelta64(WHOLE, "s"), np.array([WHOLE, WHOLE]), Unhashable(WORD)),
    *(np.float64(REAL), np.int64(WHOLE), float("inf")),
]
"""What stands in a cell that should hold a level or a number."""

TEXTS = {
    "wrong level": f"t,x\n0,{WORD}\n",
    "ragged": f"t,x\n0,a\n0,{WORD},{WHOLE}\n",
    "no header": f"{WORD},{WHOLE}\n0,a\n",
    "same names": f"{WORD},{WORD}\n0,a\n",
    "open quote": f't,x\n0,"{WORD}\n',
    "NUL": f"t,x\n0,{WORD}\x00\n",
    "short": f"t,x\n0,{WORD}\n1\n",
    "long line": f"t,x\n0,{WORD * 500_000}\n",
    "Latin": f"t,x\n0,{WORD}\xe9\n".encode("latin1"),
    "Latin header": f"t,x{WORD}\xe9\n0,1\n".encode("latin1"),
}
"""Files that are no table of the schema, as CSV."""


def tables_in_memory(cells=tuple(CELLS)) -> Iterator[tuple[str, object]]:
    """Tables of t (0, 1) and x (a, b, c) with canaries where they do not belong."""
    for cell in cells:
        for column in ("t", "x"):
            table = {"t": [0, 1, 0], "x": ["a", "b", "c"]}
            table[column] = [table[column][0], cell, table[column][2]]
            yield f"mapping, {type(cell).__name__} in {column}", table
            for kind, make in (("frame", pd.DataFrame), ("Arrow", pa.table)):
                try:
                    made = make(table)
                except Exception:  # no such table can be
                    continue
                yield f"{kind}, {type(cell).__name__} in {column}", made
    yield "ragged", {"t": [0, 1], "x": ["a", WORD, "b"]}
    yield "other columns", {"t": [0], "x": ["a"], WORD: [WHOLE]}
    yield "no columns", {"t": WHOLE, "x": WORD}
    yield "mappings", [{"t": WHOLE, "x": WORD}]
    yield "tuples", [(WHOLE, WORD)]
    yield "rows of numbers", [[WHOLE, REAL]]
    yield "texts", [WORD, WORD]
    yield "set", {WORD}
    yield "number", WHOLE
    yield "bytes", WORD.encode()
    yield "series", pd.Series([WORD, WHOLE])
    yield "categories", pd.DataFrame({"t": [0], "x": pd.Categorical([WORD])})
    yield "nested", pa.table({"t": [0], "x": [[WORD]]})
    bad_text = pa.array([WORD.encode() + b"\xff"]).view(pa.string())
    yield "text that is none", pa.table({"t": [0], "x": bad_text})
    dictionary = pa.DictionaryArray.from_arrays(
        pa.array([7]), pa.array([WORD]), safe=False
    )
    yield "broken dictionary", pa.table({"t": [0], "x": dictionary})
    for dtype in ("u1", "i4", "i8", "f4", "f8", "O", "U12", "c8"):
        for value in (WHOLE, REAL, WORD):
            try:
                array = np.full((3, 2), value).astype(dtype)
            except ValueError:
                continue
            yield f"{dtype} array of {type(value).__name__}", array
    yield "array of JAX", jax.device_put(np.full((3, 2), WHOLE, np.int32))
    yield "floats of JAX", jax.device_put(np.full((3, 2), REAL, np.float32))


def table_files(folder) -> Iterator[tuple[str, object]]:
    """Files with canaries, broken in all ways."""
    for number, (name, text) in enumerate(TEXTS.items()):
        path = folder / f"{number}.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        yield name, path
        yield f"{name}, in a list", [path]
    plain = TEXTS["wrong level"].encode()
    for name, data in {
        "cut.csv.gz": gzip.compress(plain)[:-9],
        "none.csv.gz": plain,
        "none.parquet": plain,
    }.items():
        (folder / name).write_bytes(data)
        yield name, folder / name
    parquet.write_table(
        pa.table({"t": [0, WHOLE], "x": ["a", WORD]}), folder / "a.parquet"
    )
    whole = (folder / "a.parquet").read_bytes()
    broken = bytearray(whole)
    for place in (6, 20, 30):
        broken[place] ^= 0xFF
    (folder / "b.parquet").write_bytes(broken)
    (folder / "c.parquet").write_bytes(whole[: len(whole) // 2])
    for name in ("a", "b", "c"):
        yield f"{name}.parquet", folder / f"{name}.parquet"
