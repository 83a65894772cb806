"""The readers under fire, by format: they accept a file or refuse it in one line."""

__all__ = ["FORMATS", "Format", "file_name"]

import contextlib
import gzip
import io
import json
import pathlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

import dpjax as dp
from dpjax._documents import canonical_json
from dpjax.cli.release import about_facts
from dpjax.data.grouping import Grouped
from dpjax.releases.about import about_of
from dpjax.releases.measuring import Rows, measured
from dpjax.statistics import NetworkCounts, Sufficient
from dpjax.study.sweeps.checkpoint import Checkpoint, blocks_in, recorded_block
from tests.helpers.checker import checker

from .corpus import LEAVES, LEVELS, NUMBERS, PARENTS, SWEEP
from .structures import (
    Alter,
    altered_bytes,
    altered_checkpoint,
    altered_json,
    altered_lines,
    altered_parquet,
    altered_release,
)

Reader = Callable[[pathlib.Path], object]

_SCHEMA, _NUMERIC = dp.Schema(LEVELS), dp.Schema(NUMBERS)
_NET = dp.BayesNet.from_parents(_SCHEMA, PARENTS)
_MOMENTS = Sufficient.of("gaussian", (_NUMERIC["age"],), "add-remove")
_SUFFIXES = {b"PAR1": ".parquet", b"\x1f\x8b": ".csv.gz", b"{": ".json", b"[": ".json"}


class Format(NamedTuple):
    """A kind of file.

    Attributes:
        readers: what the library does with such a file, in turn; each raises what it
            raises.
        alter: another file from one, with the structure of the format.
        private: whether it holds records, no cell of which a message may show.
    """

    readers: tuple[Reader, ...]
    alter: Alter = altered_json
    private: bool = False


def file_name(data: bytes) -> str:
    """The name of a file with this content: readers look at its end."""
    found = (x for start, x in _SUFFIXES.items() if data.startswith(start))
    return f"input{next(found, '.csv')}"


def _read_schema(path: pathlib.Path) -> None:
    _again(dp.Schema.from_json(path))


def _read_record(path: pathlib.Path) -> None:
    _again(dp.Schema.from_json_schema(path))


def _read_codes(path: pathlib.Path) -> None:
    _again(dp.Schema([dp.Variable.from_code_list("x", path)]))


def _again(schema: dp.Schema) -> None:
    document: Any = json.loads(json.dumps(schema.to_json()))
    stated = document.get("impossible", ())
    assert dp.Schema(document["variables"], impossible=stated) == schema
    assert repr(schema)


def _read_about(path: pathlib.Path) -> None:
    facts = about_of(about_facts(str(path)))
    assert about_of(json.loads(json.dumps(dict(facts)))) == facts


def _read_network(path: pathlib.Path) -> None:
    _use(dp.BayesNet.from_json(path, _SCHEMA))


def _read_bif(path: pathlib.Path) -> None:
    _use(dp.BayesNet.from_bif(path))


def _read_bif_for_schema(path: pathlib.Path) -> None:
    """For a schema of its own, whose levels may not be text."""
    levels = {"t": ["no", "yes"], "x": [1, 2, 3], "y": [0, 1]}
    _use(dp.BayesNet.from_bif(path, levels))


def _use(net: dp.BayesNet) -> None:
    statistic = NetworkCounts(net)
    statistic.sensitivity("replace-one")
    assert statistic.length <= statistic.layout.length


def _read_levels(path: pathlib.Path) -> None:
    _encode(path, _SCHEMA)


def _read_numbers(path: pathlib.Path) -> None:
    _encode(path, _NUMERIC)


def _encode(path: pathlib.Path, schema: dp.Schema) -> None:
    for batch in schema.encode_batches(path, ignore="*"):
        assert batch.shape[1] == len(schema)
        assert np.isfinite(batch).all()


def _read_grouped(path: pathlib.Path) -> None:
    statistic = NetworkCounts(_NET, "all")
    counts, n = measured(statistic, Grouped([path, path]), Rows("*"), largest=1 << 53)
    tables = np.split(counts, statistic.layout.offsets[1:])
    assert {int(x.sum()) for x in tables if x.size} == {n}


def _read_multiples(path: pathlib.Path) -> None:
    exact, n = measured(_MOMENTS, path, Rows("*", multiplicity="n"))
    assert n >= 0
    assert len(exact) == _MOMENTS.length


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


def _compared(read: Reader) -> Reader:
    """A reader, with the checker that shares no code with it: they are of one mind."""

    def both(path: pathlib.Path) -> None:
        status, accepted = _status(path), False
        try:
            read(path)
            accepted = True
        finally:
            assert status != (1 if accepted else 0)

    return both


def _status(path: pathlib.Path) -> int:
    """The exit status of the checker: 0 if all is verified, 2 if it is not covered."""
    if path.suffix == ".gz":
        return 2
    with contextlib.redirect_stdout(io.StringIO()) as said:
        status = checker.main([str(path)])
    lines = said.getvalue().splitlines()
    assert status == 0 or len(lines) == 1
    assert all(line.isprintable() for line in lines)
    return status


def _read_checkpoint(path: pathlib.Path) -> None:
    block = recorded_block(path)
    assert block is None or block > 0
    with Checkpoint(path, SWEEP, LEAVES) as file:
        for number, arrays in blocks_in(file.read(), LEAVES):
            assert number >= 0
            assert [x.shape for x in arrays] == [shape for shape, _ in LEAVES]


FORMATS: Mapping[str, Format] = {
    "schema": Format((_read_schema,)),
    "record": Format((_read_record,)),
    "codes": Format((_read_codes,)),
    "about": Format((_read_about,)),
    "network": Format((_read_network,)),
    "bif": Format((_read_bif, _read_bif_for_schema), altered_bytes),
    "csv": Format((_read_levels, _read_numbers), altered_bytes, private=True),
    "parquet": Format((_read_levels, _read_numbers), altered_parquet, private=True),
    "grouped": Format((_read_grouped, _read_multiples), altered_parquet, private=True),
    "release": Format((_compared(_read_release),), altered_release),
    "ledger": Format((_compared(_read_ledger),), altered_lines),
    "checkpoint": Format((_read_checkpoint,), altered_checkpoint),
}
