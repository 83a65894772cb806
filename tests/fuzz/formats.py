"""The readers under fire, one a format: they accept a file or refuse it in one line."""

__all__ = ["FORMATS", "Format", "canonical"]

import contextlib
import datetime
import gzip
import hashlib
import json
import pathlib
import random
from collections.abc import Callable
from decimal import Decimal
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import dpjax as dp
from dpjax._documents import canonical_json, escaped_json
from dpjax.statistics import NetworkCounts
from dpjax.study.sweeps.checkpoint import Checkpoint, blocks_in, recorded_block
from tests.helpers.release_files import rehashed

from .corpus import LEAVES, LEVELS, NUMBERS, SWEEP
from .mutations import ODD_VALUES, mutated_bytes, mutated_document, written

_SCHEMA, _NUMERIC = dp.Schema(LEVELS), dp.Schema(NUMBERS)
_DIGEST = 16

Mutate = Callable[[random.Random, bytes], bytes]


class Format(NamedTuple):
    """A kind of file.

    Attributes:
        read: what the library does with such a file; raises what it raises.
        mutate: another file from one.
        private: whether it holds records, no cell of which a message may show.
    """

    read: Callable[[pathlib.Path], object]
    mutate: Mutate
    private: bool = False


def canonical(data: bytes) -> str:
    """What a JSON file says."""
    return canonical_json(json.loads(data))


def _read_schema(path: pathlib.Path) -> None:
    schema = dp.Schema.from_json(path)
    again = dp.Schema(json.loads(json.dumps(schema.to_json()))["variables"])
    assert again == schema
    assert repr(schema)


def _read_network(path: pathlib.Path) -> None:
    _use(dp.BayesNet.from_json(path, _SCHEMA))


def _read_bif(path: pathlib.Path) -> None:
    net = dp.BayesNet.from_bif(path)
    _use(net)
    try:  # the same file for a schema of its own, whose levels may not be text
        dp.BayesNet.from_bif(path, {"t": ["no", "yes"], "x": [1, 2, 3], "y": [0, 1]})
    except ValueError as error:
        if not str(error).isprintable():
            raise


def _use(net: dp.BayesNet) -> None:
    statistic = NetworkCounts(net)
    statistic.sensitivity("replace-one")
    assert statistic.length <= statistic.layout.length


def _read_table(path: pathlib.Path) -> None:
    schema = _NUMERIC if path.name.startswith("numbers") else _SCHEMA
    for batch in schema.encode_batches(path, ignore="*"):
        assert batch.shape[1] == len(schema)
        assert np.isfinite(batch).all()


def _read_release(path: pathlib.Path) -> None:
    text = path.read_bytes()
    released = dp.load(path)
    again = released.to_text()
    text = gzip.decompress(text) if path.suffix == ".gz" else text
    stated, derived = json.loads(text)["content"], json.loads(again)["content"]
    derived["library"] = stated["library"]
    assert canonical_json(stated) == canonical_json(derived)
    assert repr(released)


def _read_ledger(path: pathlib.Path) -> None:
    try:
        ledger = dp.Ledger(adjacency="replace-one", path=path)
    except ValueError as error:
        if "is a copy" in str(error):  # what is found last: all else is in order
            return
        raise
    assert min(ledger.cost.numbers.values()) >= 0
    assert max(ledger.limit.numbers.values()) > 0


def _read_checkpoint(path: pathlib.Path) -> None:
    block = recorded_block(path)
    assert block is None or block > 0
    with Checkpoint(path, SWEEP, LEAVES) as file:
        for number, arrays in blocks_in(file.read(), LEAVES):
            assert number >= 0
            assert [x.shape for x in arrays] == [shape for shape, _ in LEAVES]


def _mutate_json(rng: random.Random, data: bytes) -> bytes:
    if rng.random() < 0.4:
        return mutated_bytes(rng, data)
    return written(rng, mutated_document(rng, json.loads(data)))


def _mutate_release(rng: random.Random, data: bytes) -> bytes:
    """Mostly with the right hash, as who tampers would write it."""
    if rng.random() < 0.2:
        return mutated_bytes(rng, data)
    document = json.loads(data)
    document["content"] = mutated_document(rng, document["content"])
    if rng.random() < 0.3:
        document["version"] = rng.choice((1, 2))
    if rng.random() < 0.9 and isinstance(document["content"], dict):
        document = rehashed(document)
    return written(rng, document)


def _mutate_lines(rng: random.Random, data: bytes) -> bytes:
    if rng.random() < 0.4:
        return mutated_bytes(rng, data)
    lines = [json.loads(line) for line in data.splitlines()]
    place = rng.randrange(len(lines))
    match rng.randrange(4):
        case 0:
            lines.insert(place, rng.choice([*lines, *ODD_VALUES]))
        case 1:
            rng.shuffle(lines)
        case _:
            lines[place] = mutated_document(rng, lines[place])
    if rng.random() < 0.3:
        return b"".join(written(rng, line) + b"\n" for line in lines)
    return _chained(lines)


def _chained(lines: list) -> bytes:
    """With the right hashes, as who tampers would write them."""
    new = isinstance(lines[0], dict) and lines[0].get("format") == "dpjax-ledger-4"

    def form(line: object) -> str:
        with contextlib.suppress(ValueError):
            return canonical_json(line) if new else escaped_json(line)
        return escaped_json(line)

    chain, *rest = [form(line) for line in lines]
    text = chain + "\n"
    for line in map(json.loads, rest):
        if isinstance(line, dict) and "chain" in line:
            del line["chain"]
            chain = hashlib.sha256((chain + form(line)).encode()).hexdigest()
            line["chain"] = chain
        text += form(line) + "\n"
    return text.encode()


def _mutate_checkpoint(rng: random.Random, data: bytes) -> bytes:
    if rng.random() < 0.4:
        return mutated_bytes(rng, data)
    line, _, blocks = data.partition(b"\n")
    if rng.random() < 0.5:
        line = written(rng, mutated_document(rng, json.loads(line)))
    body = mutated_bytes(rng, blocks[: len(blocks) // 3 - _DIGEST])
    digest = hashlib.blake2b(body, digest_size=_DIGEST).digest()
    return line + b"\n" + body + digest + blocks


def _mutate_parquet(rng: random.Random, data: bytes) -> bytes:
    if rng.random() < 0.7:
        return mutated_bytes(rng, data)
    names = [*rng.choice((LEVELS, NUMBERS)), "more", "t"]
    columns = {x: _column(rng) for x in rng.sample(names, rng.randint(1, len(names)))}
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.table(columns), sink, row_group_size=rng.choice((1, 2, 9)))
    data = sink.getvalue().to_pybytes()
    return mutated_bytes(rng, data) if rng.random() < 0.3 else data


def _column(rng: random.Random) -> pa.Array:
    """Three cells of some type of Arrow's."""
    cells = rng.choice(_COLUMNS)
    places = [rng.choice([*range(len(cells)), None]) for _ in range(3)]
    column = cells.take(pa.array(places, pa.int32()))
    plain = not pa.types.is_nested(column.type) and not pa.types.is_null(column.type)
    return column.dictionary_encode() if plain and rng.random() < 0.3 else column


def _kinds() -> list:
    """Cells of the types that Arrow finds for them."""
    day = datetime.datetime(2001, 2, 3, 4, 5)
    return [
        *(
            ["no", "yes", "Zq7Secret", ""],
            [0, 1, 2**63 - 1],
            [0.5, float("nan"), 1e308],
        ),
        *([True, False], [b"no", b"\xff"], [day], [day.date()], [day.time()]),
        *([Decimal("0.5"), Decimal("7654321")], [[1, 2], []], [{"t": 1}], [None]),
        *(
            [day - day],
            np.array([2**64 - 1, 2**63], np.uint64),
            ["\x00", "é", "a\nb"],
            [-(2**63), 0],
        ),
    ]


_COLUMNS = [pa.array(kind) for kind in _kinds()]


def _compressed(mutate: Mutate) -> Mutate:
    """The same of files that may be compressed, within the compression or not."""

    def both(rng: random.Random, data: bytes) -> bytes:
        if data[:2] != b"\x1f\x8b":
            return mutate(rng, data)
        if rng.random() < 0.5:
            return mutated_bytes(rng, data)
        return gzip.compress(mutate(rng, gzip.decompress(data)), 1)

    return both


FORMATS = {
    "schema": Format(_read_schema, _compressed(_mutate_json)),
    "network": Format(_read_network, _compressed(_mutate_json)),
    "bif": Format(_read_bif, _compressed(mutated_bytes)),
    "csv": Format(_read_table, _compressed(mutated_bytes), private=True),
    "parquet": Format(_read_table, _mutate_parquet, private=True),
    "release": Format(_read_release, _compressed(_mutate_release)),
    "ledger": Format(_read_ledger, _mutate_lines),
    "checkpoint": Format(_read_checkpoint, _mutate_checkpoint),
}
