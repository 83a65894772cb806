"""Files altered where their formats can be bent, with the hashes that they then need.

What becomes of a piece of a file is left to `mutate`: atheris has the mutations.
"""

__all__ = [
    "Alter",
    "altered_bytes",
    "altered_checkpoint",
    "altered_json",
    "altered_lines",
    "altered_parquet",
    "altered_release",
]

import contextlib
import copy
import datetime
import gzip
import hashlib
import json
import random
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from dpjax._documents import canonical_json, escaped_json
from tests.helpers.release_files import rehashed

Mutate = Callable[[bytes], bytes]
Alter = Callable[[random.Random, bytes, Mutate], bytes]
_DIGEST = 16


def _unpacked(alter: Alter) -> Alter:
    """The same of files that may be compressed."""

    def both(rng: random.Random, data: bytes, mutate: Mutate) -> bytes:
        if data[:2] != b"\x1f\x8b":
            return alter(rng, data, mutate)
        return gzip.compress(alter(rng, gzip.decompress(data), mutate), 1)

    return both


@_unpacked
def altered_bytes(_: random.Random, data: bytes, mutate: Mutate) -> bytes:
    """A file without a structure."""
    return mutate(data)


@_unpacked
def altered_json(rng: random.Random, data: bytes, mutate: Mutate) -> bytes:
    """A document, with one entry altered."""
    return _written(altered(rng, json.loads(data), mutate))


@_unpacked
def altered_release(rng: random.Random, data: bytes, mutate: Mutate) -> bytes:
    """With the right hash, as who tampers would write it."""
    document = altered(rng, json.loads(data), mutate)
    if isinstance(document, dict) and isinstance(document.get("content"), dict):
        document = rehashed(document)
    return _written(document)


def altered_lines(rng: random.Random, data: bytes, mutate: Mutate) -> bytes:
    """A ledger, with the right hashes."""
    lines = altered(rng, [json.loads(x) for x in data.splitlines()], mutate)
    new = isinstance(lines[0], dict) and lines[0].get("format") == "dpjax-ledger-4"

    def form(line: object) -> str:
        with contextlib.suppress(ValueError):
            return canonical_json(line) if new else escaped_json(line)
        return json.dumps(line)

    text = [chain := form(lines[0])]
    for line in lines[1:]:
        if isinstance(line, dict) and line.pop("chain", None):
            chain = hashlib.sha256((chain + form(line)).encode()).hexdigest()
            line["chain"] = chain
        text.append(form(line))
    return "\n".join([*text, ""]).encode()


def altered_checkpoint(rng: random.Random, data: bytes, mutate: Mutate) -> bytes:
    """The first line, or a block with its digest."""
    line, _, blocks = data.partition(b"\n")
    if rng.random() < 0.5:
        return altered_json(rng, line, mutate) + b"\n" + blocks
    body = mutate(blocks[: len(blocks) // 3 - _DIGEST])
    digest = hashlib.blake2b(body, digest_size=_DIGEST).digest()
    return line + b"\n" + body + digest + blocks


def altered_parquet(rng: random.Random, data: bytes, mutate: Mutate) -> bytes:
    """A column of another type in the place of one."""
    table = parquet.read_table(pa.BufferReader(data))
    place, cells = rng.randrange(table.num_columns), rng.choice(_COLUMNS)
    taken = [rng.choice([*range(len(cells)), None]) for _ in range(len(table))]
    column = cells.take(pa.array(taken, pa.int32()))
    if rng.random() < 0.3 and not pa.types.is_nested(column.type):
        with contextlib.suppress(pa.ArrowNotImplementedError):
            column = column.dictionary_encode()
    sink = pa.BufferOutputStream()
    table = table.set_column(place, table.column_names[place], column)
    parquet.write_table(table, sink, row_group_size=rng.choice((1, 2, 9)))
    return sink.getvalue().to_pybytes()


def altered(rng: random.Random, document: Any, mutate: Mutate) -> Any:
    """With one entry altered, left out, or that of another place."""
    places = [*_places(document)] if isinstance(document, dict | list) else []
    if not places:
        return _entry(mutate(_written(document)))
    (holder, key), (other, its) = rng.choice(places), rng.choice(places)
    match rng.randrange(6):
        case 0:
            del holder[key]
        case 1:
            holder[key] = copy.deepcopy(other[its])
        case 2 if isinstance(holder, list):
            holder.insert(key, copy.deepcopy(other[its]))
        case 2:
            holder[_text(mutate(key.encode(errors="replace")))] = holder.pop(key)
        case _:
            holder[key] = _entry(mutate(_written(holder[key])))
    return document


def _places(holder: Any) -> Iterator[tuple[Any, Any]]:
    """Every entry of a document, by what holds it and its name or number there."""
    keys = holder if isinstance(holder, dict) else range(len(holder))
    for key in keys:
        yield holder, key
        if isinstance(holder[key], dict | list):
            yield from _places(holder[key])


def _written(document: Any) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode(errors="surrogatepass")


def _entry(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return _text(data)


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def _kinds() -> list:
    """Cells of the types that Arrow finds for them."""
    day = datetime.datetime(2001, 2, 3, 4, 5)
    return [
        *(["no", "yes", "Zq7Secret", ""], ["\x00", "é", "a\nb"]),
        *([0, 1, 2**63 - 1], [-(2**63), 0], np.array([2**64 - 1, 2**63], np.uint64)),
        *([0.5, float("nan"), 1e308], [True, False], [b"no", b"\xff"]),
        *([day], [day.date()], [day.time()], [day - day]),
        *([Decimal("0.5"), Decimal("7654321")], [[1, 2], []], [{"t": 1}], [None]),
    ]


_COLUMNS = [pa.array(kind) for kind in _kinds()]
