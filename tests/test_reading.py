"""What a record contributes depends on it alone: the rows of docs/how-tables-are-read.

The leaks at the top were found in earlier versions: one record moved hundreds of
others.
"""

import array
import collections
import contextlib
import csv as csv_module
import datetime
import gzip
import io
import itertools
import json
import math
import pathlib
import struct
import zipfile
import zlib
from decimal import Decimal

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest
from pyarrow import csv

import dpjax as dp
from dpjax.data.records import as_records
from dpjax.data.sources import csv_blocks
from dpjax.releases.publish import measured
from dpjax.statistics import NetworkCounts, Sufficient
from dpjax.tables.counts import check_records
from tests.helpers.release_files import rehashed

AFFAIR = dp.Schema({"affair": ["no", "yes"]})
COUNTS = NetworkCounts(dp.BayesNet.from_parents(AFFAIR, {"affair": []}))
OTHER = dp.Schema({"x": {"levels": ["a", "b", "rest"], "other": "rest"}})
NUMBER = dp.Schema({"x": {"lower": -5, "upper": 5, "missing": 2}})


def codes(schema, table, **options):
    return np.asarray(schema.encode(table, **options))[:, 0].tolist()


def moved(statistic, table, neighbour):
    exact = [np.asarray(measured(statistic, x)[0], int) for x in (table, neighbour)]
    return int(np.abs(exact[0] - exact[1]).sum())


@pytest.mark.parametrize("length", [300_000, 1_390_000])
def test_a_long_comment_is_one_cell_of_one_record(length, tmp_path):
    """It moved [1000, 0] to [1001, 692455], in a column that is not even read."""
    comment = b'no,"dear all\n' + b"yes,x\n" * length + b'yes,x"\n'
    for name, added in (("one.csv", b""), ("two.csv", comment)):
        text = b"affair,note\n" + b"no,\n" * 1000 + added
        (tmp_path / name).write_bytes(text)
    schema = AFFAIR.encode(tmp_path / "two.csv", ignore="note")
    assert np.bincount(schema[:, 0]).tolist() == [1001]
    read = [
        AFFAIR.encode_batches(tmp_path / x, ignore="*") for x in ("one.csv", "two.csv")
    ]
    assert moved(COUNTS, *read) == 1


def test_the_first_record_does_not_decide_how_a_million_are_cut(tmp_path):
    """Its length moved all ends of blocks, and with them the number of records."""
    sizes = []
    for first in (b"no,", b"no,longer"):
        rest = b'no,"a\nyes,b"\n' * 10**6
        (tmp_path / "t.csv").write_bytes(b"affair,note\n" + first + b"\n" + rest)
        source = AFFAIR.encode_batches(tmp_path / "t.csv", ignore="note")
        exact, n = measured(COUNTS, source)
        sizes.append((n, *exact.tolist()))
    assert sizes == [(10**6 + 1, 10**6 + 1, 0)] * 2


def test_records_behind_an_open_quote_do_not_vanish(tmp_path):
    (tmp_path / "t.csv").write_bytes(b'affair,note\nno,"a\n' + b"yes,\n" * 1000)
    with pytest.raises(ValueError, match="because it ends within quotes"):
        codes(AFFAIR, tmp_path / "t.csv", ignore="note")


INFERRED = {
    "booleans": (["true", "false", "unknown"], ["true"] * 999 + ["false"], "maybe"),
    "other booleans": (["TRUE", "FALSE", "unknown"], ["TRUE"] * 999, "maybe"),
    "days": (["2020-01-01", "later"], ["2020-01-01"] * 999, "soon"),
    "codes": (["01", "02", "rest"], ["01"] * 998 + ["02"], "x"),
    "more digits": (["1", "2", "rest"], ["1.0"] * 998 + ["2.0"], "x"),
    "ones among booleans": ([True, False, "rest"], ["1"] * 998 + ["true"], "x"),
    "hexadecimal": ([26, 1, "rest"], ["0x1A"] * 998 + ["1"], "x"),
    "a hexadecimal level": (["0x01", "0x02", "rest"], ["0x01"] * 999, "x"),
    "a literal without other": (["o", "0x1", 1], ["0x1"] * 999, "o"),
    "a gap": ([2**53 + 2, 2**53, "x"], [str(2**53 + 1)] * 9, ""),
    "no number": ([0, 1, "rest"], ["-nan(ind)", "nan()", "NaN(7)"] * 3 + ["0"], "abc"),
    "nulls": ([0, 1, "rest"], ["NA", "null", "", "#N/A", "NaT", "nan"] * 2, "abc"),
}
READERS = {
    "pandas": lambda path: pd.read_csv(path),
    "Arrow": lambda path: csv.read_csv(path),
    "categories": lambda path: pd.read_csv(path).astype("category"),
    "objects": lambda path: pd.read_csv(path).astype(object),
    "nullable": lambda path: pd.read_csv(path).convert_dtypes(),
    "batches": lambda path: csv.read_csv(path).to_batches(max_chunksize=7),
    "pandas by Arrow": lambda path: pd.read_csv(path, engine="pyarrow"),
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@pytest.mark.parametrize("name", INFERRED)
@pytest.mark.parametrize("missing", [{}, {"missing": "gap"}], ids=["", "missing"])
def test_the_type_inferred_from_others_moves_no_record(name, missing, reader, tmp_path):
    """[0, 0, 1000] became [999, 0, 1] where the last record was "unknown"."""
    levels, cells, odd = INFERRED[name]
    schema = dp.Schema({"x": {"levels": levels, "other": levels[-1], **missing}})
    found = []
    for last in (cells[0], odd):
        lines = "".join(f"{cell},\n" for cell in [*cells, last])
        (tmp_path / "t.csv").write_text(f"x,y\n{lines}")
        with contextlib.suppress(ValueError):  # refused: it moves nothing
            found.append(codes(schema, reader(tmp_path / "t.csv"), ignore="y"))
    if len(found) == 2:
        np.testing.assert_array_equal(found[0][:-1], found[1][:-1])


@pytest.mark.parametrize("name", ["booleans", "codes", "more digits"])
def test_what_is_unambiguous_is_read_whichever_its_type(name, tmp_path):
    levels, cells, _ = INFERRED[name]
    pd.DataFrame({"x": cells}).to_csv(tmp_path / "t.csv", index=False)
    schema = dp.Schema({"x": {"levels": levels, "other": levels[-1]}})
    expected = [0] * 998 + [schema["x"].code(cells[-1])]
    for reader in READERS.values():
        found = codes(schema, reader(tmp_path / "t.csv"))
        np.testing.assert_array_equal(found[-999:], expected)


class Unhashable:
    def __hash__(self):
        raise ValueError("as NumPy's durations without a unit do")

    def __repr__(self):
        return "Unhashable()"


@pytest.mark.parametrize(
    "cells",
    [
        [True, False],
        [datetime.date(2020, 1, 1)],
        [datetime.time(1)],
        [datetime.timedelta(1)],
        np.array(["2020-01-01"], "datetime64[D]"),
        np.array([1], "timedelta64[ns]"),
        [np.timedelta64(1, "s")],
        pd.to_datetime(["2020-01-01"]),
        [b"a"],
        np.array([b"a"]),
        [1j],
        [("a",)],
        [np.float32(1)],
        [Unhashable()],
        ["0x1A"],
        ["0b1"],
        ["1_0"],
        ["\N{FULLWIDTH DIGIT ONE}"],
        ["\N{NO-BREAK SPACE}\N{FULLWIDTH DIGIT ONE}"],
        ["\N{ARABIC-INDIC DIGIT ONE}.5"],
    ],
    ids=str,
)
def test_other_is_for_text_and_numbers_and_for_no_type(cells):
    ledger = dp.Ledger(1, adjacency="replace-one")
    net = dp.BayesNet.from_parents(OTHER, {"x": []})
    with pytest.raises(ValueError, match=r"`table` must hold .*Schema\.check") as error:
        dp.release(net, {"x": cells}, epsilon=1, adjacency="replace-one", ledger=ledger)
    assert ("dtype=str" in str(error.value)) == (not isinstance(cells[0], str))
    assert ledger.spent == 0
    assert codes(OTHER, {"x": ["a", "z", 7, 1.5, math.inf]}) == [0, 2, 2, 2, 2]


ROWS = {
    "csv": lambda rows: csv_module.DictReader(io.StringIO("x,y\n" + "\n".join(rows))),
    "Arrow": lambda rows: csv.read_csv(
        io.BytesIO(("x,y\n" + "\n".join(rows)).encode()),
        convert_options=csv.ConvertOptions(column_types={"x": "string", "y": "string"}),
    ).to_pylist(),
    "pandas": lambda rows: pd.read_csv(
        io.StringIO("x,y\n" + "\n".join(rows)), dtype=str
    ).to_dict("records"),
    "bytes": lambda rows: [{"x": row[:1].encode(), "y": b"1"} for row in rows],
    "JSON": lambda rows: [json.loads(f'{{"x": ["{x}"], "y": ["1"]}}') for x in rows],
    "Arrow's cells": lambda rows: [
        {"x": pa.scalar(row[:1]), "y": pa.scalar("1")} for row in rows
    ],
}


@pytest.mark.parametrize("make", ROWS.values(), ids=ROWS)
def test_a_row_of_cells_is_no_table(make):
    """The text of a cell was a column of characters: one record counted as many."""
    zero_or_one = {"levels": ["0", "1"]}
    within = {"lower": 0, "upper": 9}
    for declared in (zero_or_one, within):
        schema = dp.Schema({"x": declared, "y": declared})
        for rows in (["0,1", "1,1"], ["11,00"], ["0,1", "1" * 9 + "," + "0" * 9]):
            with pytest.raises(ValueError, match="row of cells"):
                list(schema.encode_batches(make(rows)))
    cells = (b"SECRET", collections.UserString("SECRET"), None, 7, Decimal(7))
    for cell in (*cells, pa.py_buffer(b"SECRET")):
        for declared in (zero_or_one, within):
            with pytest.raises(ValueError, match="a row of cells is no table") as error:
                dp.Schema({"x": declared}).encode({"x": cell})
            assert "SECRET" not in str(error.value)


def test_levels_that_show_one_number_need_text():
    schema = dp.Schema({"x": {"levels": ["1", "01", "u"], "other": "u"}})
    assert codes(schema, {"x": ["1", "01", "z"]}) == [0, 1, 2]
    for cell in (1, 1.0, True, "1.0"):
        with pytest.raises(ValueError, match="`table` must hold"):
            codes(schema, {"x": [cell]})


def test_a_number_that_misses_a_level_by_rounding_is_refused():
    schema = dp.Schema({"x": {"levels": [0.3, 3, "u"], "other": "u"}})
    for cell in (0.1 + 0.2, "0.30000000000000004", math.nextafter(3, 0)):
        with pytest.raises(ValueError, match=r"each show one level|ambiguous numbers"):
            codes(schema, {"x": [cell]})
    assert codes(schema, {"x": [0.3, "0.30", 0.3001, 3.0, 4]}) == [0, 0, 2, 1, 2]


def test_a_column_of_single_precision_shows_no_level_beside_another():
    """Whether pandas makes a column so may depend on all of its cells."""
    large, small = [2**27, 0, "o"], [0.1, 0.5, "o"]
    for levels, cells in ((large, [2**27, 0]), (small, [0.1, 0.5])):
        narrow = np.array(cells, np.float32)
        assert codes(dp.Schema({"x": levels}), {"x": narrow}) == [0, 1]
        schema = dp.Schema({"x": {"levels": levels, "other": "o"}})
        with pytest.raises(ValueError, match="numbers that each show one level"):
            codes(schema, {"x": narrow})
    for levels in ([2**24, 2**24 + 1], [1, 1.00000001]):
        with pytest.raises(ValueError, match="numbers that each show one level"):
            codes(dp.Schema({"x": levels}), {"x": np.array(levels, np.float32)})


def test_numbers_of_less_than_double_precision_keep_their_type_in_every_array():
    """A masked array, or one of Python, gave doubles that miss their levels."""
    schema = dp.Schema({"x": {"levels": [0.5, 0.1, "o"], "other": "o", "missing": "m"}})
    for cells in (
        np.ma.masked_invalid(np.array([0.1, np.nan], np.float32)),
        np.ma.masked_invalid(np.array([0.1, np.nan], np.float16)),
        array.array("f", [0.1]),
        jnp.array([0.1], jnp.bfloat16),
        np.asarray(jnp.array([0.1], jnp.float8_e4m3fn)),
    ):
        with pytest.raises(ValueError, match="numbers that each show one level"):
            codes(schema, {"x": cells})
    assert codes(schema, {"x": array.array("d", [0.1, 0.5, 7])}) == [1, 0, 2]
    doubles = np.ma.masked_equal([0.1, 7.0, 0.5], 7.0)
    assert codes(schema, {"x": doubles}) == [1, 3, 0]
    assert codes(NUMBER, {"x": np.ma.masked_equal([1, 9, 3], 9)}) == [1, 2, 3]


@pytest.mark.parametrize("make", [str, pathlib.Path])
def test_text_in_place_of_a_path_is_not_shown(make, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for text in ("x\nSECRET\n", "x,SECRET", '[{"x": "SECRET"}]', "SECRET " * 99):
        for source in (make(text), [make(text)]):
            with pytest.raises(ValueError, match="`table` must be") as error:
                codes(OTHER, source)
            assert "SECRET" not in str(error.value)
    with pytest.raises(ValueError, match=r"file, no\.csv is not"):
        codes(OTHER, make("no.csv"))
    (tmp_path / "x.csv").write_text("x\na\n")
    if make is str:  # an empty variable of a shell is not the current folder
        with pytest.raises(ValueError, match="`table` must be a readable file"):
            codes(OTHER, "")


def test_sequences_of_any_type_keep_each_cell(tmp_path):
    for kind in (list, tuple, collections.deque, collections.UserList):
        assert codes(OTHER, {"x": kind(["a\0", "a", 2**64])}) == [2, 0, 2]
        assert codes(NUMBER, {"x": kind([np.ma.masked, "1", 3])}) == [2, 1, 3]


@pytest.mark.parametrize(
    "make", [np.ma.asarray, lambda x: x.view(np.matrix), lambda x: x.astype(">i4")]
)
def test_encoded_records_are_plain_integers(make):
    records = np.array([[0], [1], [2]], np.int32)
    net = dp.BayesNet.from_parents(OTHER, {"x": []})
    message = "machine's byte order and without a mask"
    with pytest.raises(ValueError, match=message):
        check_records(make(records), (3,))
    for table in (iter([records, make(records)]), make(records)):
        with pytest.raises(ValueError, match=message):
            dp.release(net, table, epsilon=1, adjacency="replace-one")
    with pytest.raises(ValueError, match=message):
        dp.statistics.exact_counts(net, make(records))


def test_records_are_checked_also_where_a_column_is_not_read():
    schema = dp.Schema({"x": [0, 1], "y": [0, 1]})
    variables = list(schema.values())
    wide = np.array([[2**32 + 1, 0]])
    assert as_records(wide, variables, "x").tolist() == [[0, 0]]
    for faulty in (wide, np.ma.array([[0, 1]]), np.array([["a", "b"]]), [["a"]]):
        with pytest.raises(ValueError, match=r"`(records|table)` must"):
            as_records(faulty, variables, "y")


class Lazy:
    """Has names of columns, but gives none of them."""

    columns = ("x",)

    def __getitem__(self, name):
        raise TypeError(name)


class Odd:
    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("no array")


@pytest.mark.parametrize("schema", [OTHER, NUMBER], ids=["levels", "bounds"])
def test_what_has_no_cells_is_one_clear_line(schema):
    for table, message in (
        (Lazy(), "`table` must give each column by its name"),
        ({"x": Odd()}, "`table` must hold text, numbers or booleans, or times"),
    ):
        with pytest.raises(ValueError, match=message) as error:
            codes(schema, table)
        assert error.value.__context__ is None


def test_what_is_no_file_in_a_folder_is_refused(tmp_path):
    (tmp_path / "1.csv").write_text("x\na\n")
    (tmp_path / "2.csv").symlink_to(tmp_path / "gone.csv")
    with pytest.raises(ValueError, match=r"must be a readable file, .*2\.csv is not"):
        codes(OTHER, tmp_path)


def test_readers_and_data_sets_that_infer_types_are_refused(tmp_path):
    (tmp_path / "t.csv").write_text("x\na\n")
    (tmp_path / "t.json").write_text('{"x": "a"}\n')
    infers = [
        csv.open_csv(tmp_path / "t.csv"),
        pa.dataset.dataset(tmp_path / "t.csv", format="csv"),
        pa.dataset.dataset(tmp_path / "t.json", format="json"),
    ]
    for source in infers:
        with pytest.raises(ValueError, match="give the paths of CSV files"):
            codes(OTHER, source)
    pa.dataset.write_dataset(pa.table({"x": ["a"]}), tmp_path / "set", format="feather")
    assert codes(OTHER, pa.dataset.dataset(tmp_path / "set", format="feather")) == [0]


def test_compressed_files_are_whole_or_refused(tmp_path):
    path, plain = tmp_path / "t.csv.gz", b"x\na\nb\n"
    two = gzip.compress(plain[:3]) + gzip.compress(plain[3:])
    for data in (gzip.compress(plain), two, two + bytes(9)):
        path.write_bytes(data)
        assert codes(OTHER, path) == [0, 1]
    whole = gzip.compress(plain)
    wrong = bytearray(whole)
    wrong[-8] ^= 1  # the checksum
    cuts = [whole[:i] for i in range(len(whole))]
    for data in (*cuts, bytes(wrong), whole + b"x", plain, zlib.compress(plain)):
        path.write_bytes(data)
        with pytest.raises(ValueError, match="`table` must"):
            codes(OTHER, path)


@pytest.mark.parametrize("size", [1, 3, 4, 100])
def test_a_byte_order_mark_is_one_where_the_file_begins(size, monkeypatch, tmp_path):
    monkeypatch.setattr(csv_blocks, "_BLOCK", size)
    (tmp_path / "t.csv").write_text("\ufeffx\na\n\ufeffb\n\ufeffa\nb\n")
    assert codes(OTHER, tmp_path / "t.csv") == [0, 2, 2, 1]


def test_cells_that_are_read_are_utf_8(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("x,y\na,1\nb,\xe9\n".encode("latin-1"))
    assert codes(OTHER, path, ignore="y") == [0, 1]  # what is ignored is not decoded
    for data in ("x\na\n\xe9\n".encode("latin-1"), "x\na\n".encode("utf-16")):
        path.write_bytes(data)
        with pytest.raises(ValueError, match="`table` must be CSV"):
            codes(OTHER, path)


BREAKS = ["\n", "\r", "\r\n"]


@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize("ends", [*itertools.product(BREAKS, repeat=2)])
def test_line_breaks_are_of_any_kind(ends, size, monkeypatch, tmp_path):
    monkeypatch.setattr(csv_blocks, "_BLOCK", size)
    text = f"x{ends[0]}a{ends[0]}b{ends[1]}a"
    (tmp_path / "t.csv").write_bytes(text.encode())
    assert codes(OTHER, tmp_path / "t.csv") == [0, 1, 0]


def test_a_blank_line_is_a_record_in_a_table_of_one_column_alone(tmp_path):
    (tmp_path / "t.csv").write_text("x\n1\n\n3\n")
    assert codes(NUMBER, tmp_path / "t.csv") == [1, 2, 3]
    with pytest.raises(ValueError, match="lacks a value"):
        codes(OTHER, tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text("x,y\n1,\n\n\r\n3,\n\n")
    assert codes(NUMBER, tmp_path / "t.csv", ignore="y") == [1, 3]
    (tmp_path / "t.csv").write_text("x,y\n1,\n \n")
    with pytest.raises(ValueError, match="in row 3"):
        codes(NUMBER, tmp_path / "t.csv", ignore="y")


def test_comment_signs_and_separators_of_thousands_are_text(tmp_path):
    (tmp_path / "t.csv").write_text('x\na\n# b\n"1,000"\n1 000\n')
    assert codes(OTHER, tmp_path / "t.csv") == [0, 2, 2, 2]
    for cell in ("#1", '"1,000"', "1_000", "1 000"):
        (tmp_path / "t.csv").write_text(f"x\n1\n{cell}\n")
        with pytest.raises(ValueError, match="only numbers in column 'x'"):
            codes(NUMBER, tmp_path / "t.csv")


def test_columns_are_found_by_name_in_each_file(tmp_path):
    (tmp_path / "1.csv").write_text("x,y\na,b\n")
    (tmp_path / "2.csv").write_text("y,x\na,b\n")
    assert codes(OTHER, tmp_path, ignore="y") == [0, 1]
    (tmp_path / "3.csv").write_text("x,y,x\na,b,b\n")
    with pytest.raises(ValueError, match="must name every column once"):
        codes(OTHER, tmp_path, ignore="y")


def test_paths_of_partitions_are_columns_of_a_data_set_alone(tmp_path):
    table = pa.table({"x": ["a", "b"], "y": ["u", "v"]})
    parts = pa.dataset.partitioning(pa.schema([("x", pa.string())]), flavor="hive")
    pa.dataset.write_dataset(
        table, tmp_path / "t", format="parquet", partitioning=parts
    )
    whole = pa.dataset.dataset(tmp_path / "t", partitioning=parts)
    assert sorted(codes(OTHER, whole, ignore="y")) == [0, 1]
    with pytest.raises(ValueError, match="must have a column for each variable"):
        codes(OTHER, tmp_path / "t", ignore="y")


def test_dictionaries_may_differ_from_group_to_group(tmp_path):
    chunks = [pa.array(x).dictionary_encode() for x in (["a"], ["b", "a"], ["z", "b"])]
    table = pa.table({"x": pa.chunked_array(chunks)})
    assert codes(OTHER, table) == [0, 1, 0, 2, 1]
    gaps = [
        pa.DictionaryArray.from_arrays(pa.array(places), pa.array(values))
        for places, values in (([0, 1], [None, "3"]), ([0, None], ["1"]))
    ]
    assert codes(NUMBER, pa.table({"x": pa.chunked_array(gaps)})) == [2, 3, 1, 2]
    pa.parquet.write_table(table, tmp_path / "t.parquet", row_group_size=2)
    assert codes(OTHER, tmp_path / "t.parquet") == [0, 1, 0, 2, 1]


def test_files_of_different_types_are_read_each_by_its_own(tmp_path):
    schema = dp.Schema({"x": {"levels": ["1", "02", "rest"], "other": "rest"}})
    for name, cells in (("1", [1, 2]), ("2", ["01", "02"]), ("3", [1.0, 2.5])):
        pa.parquet.write_table(pa.table({"x": cells}), tmp_path / f"{name}.parquet")
    assert codes(schema, tmp_path) == [0, 1, 0, 1, 0, 2]
    for others in ("2", "3"), ("3",), ("2",):  # Arrow cannot convert 2.5, but "02"
        files = [tmp_path / f"{name}.parquet" for name in ("1", *others)]
        with pytest.raises(ValueError, match="of one type in every file of a data set"):
            codes(schema, pa.dataset.dataset(files))


NAN = struct.unpack("d", struct.pack("Q", 0xFFF8_0000_0000_BEEF))[0]
MISSING = [None, math.nan, -math.nan, NAN, pd.NA, pd.NaT, Decimal("nan"), "", " "]


@pytest.mark.parametrize("cell", MISSING, ids=str)
def test_a_cell_without_a_value_is_never_another_level(cell):
    assert codes(NUMBER, {"x": [1, cell]}) == [1, 2]
    with pytest.raises(ValueError, match="lacks a value"):
        codes(OTHER, {"x": ["a", cell]})


GAPS = {"levels": ["a", "b"], "missing": "?", "missing_values": ["none", -9]}
GAPS = dp.Schema({"x": {**GAPS, "other": "b"}})
AS_MISSING = ["NA", "null", "N/A", "nan", "?", "none", -9, -9.0, "-9", "-9.0"]


@pytest.mark.parametrize("cell", [*MISSING, *AS_MISSING], ids=str)
def test_a_missing_cell_has_the_declared_level(cell):
    assert GAPS["x"].levels == ("a", "b", "?")
    assert codes(GAPS, {"x": ["a", cell, "c"]}) == [0, 2, 1]
    declared = {"levels": ["a", "b"], "missing": "a", "missing_values": ["none", -9]}
    strict = dp.Schema({"x": declared})
    if isinstance(cell, str) and cell == "?":
        with pytest.raises(ValueError, match='declare an "other" level'):
            codes(strict, {"x": [cell]})
    else:
        assert codes(strict, {"x": ["b", cell]}) == [1, 0]


def test_missing_cells_are_the_same_from_every_source(tmp_path):
    text = "x,y\na,1\n,2\nNA,3\nb,4\nnone,5\n"
    (tmp_path / "t.csv").write_text(text)
    arrow = csv.read_csv(tmp_path / "t.csv")
    pa.parquet.write_table(arrow, tmp_path / "t.parquet")
    frame = pd.read_csv(tmp_path / "t.csv")
    kinds = (frame, frame.astype({"x": "category"}), frame.astype({"x": object}))
    for source in (tmp_path / "t.csv", arrow, tmp_path / "t.parquet", *kinds):
        assert codes(GAPS, source, ignore="y") == [0, 2, 2, 1, 2]


def test_a_release_says_what_a_missing_cell_is(tmp_path):
    net = dp.BayesNet.from_parents(GAPS, {"x": []})
    table = {"x": ["a", None, "none"]}
    released = dp.release(net, table, epsilon=9, adjacency="replace-one")
    assert released.statistic.length == 3
    released.save(tmp_path / "r.json")
    assert dp.load(tmp_path / "r.json").net == net
    document = json.loads((tmp_path / "r.json").read_text())
    older = rehashed({**document, "version": 2})
    (tmp_path / "r.json").write_text(json.dumps(older))
    assert dp.load(tmp_path / "r.json").net == net
    older = rehashed({**document, "version": 1})  # which had no missing cells
    (tmp_path / "r.json").write_text(json.dumps(older))
    with pytest.raises(ValueError, match="version differs"):
        dp.load(tmp_path / "r.json")


def test_levels_that_are_numpy_floats_are_saved():
    other = dp.Variable("x", (0.5, 1.5), other=np.float64(1.5), missing=np.float64(0.5))
    assert json.loads(json.dumps(other.to_json()))["other"] == 1.5


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"missing_values": ["?"]}, "`missing` of 'x' must be given"),
        ({"missing": "a", "missing_values": ["b"]}, "must all differ, got 'b' twice"),
        ({"missing": "a", "missing_values": ["1.0"]}, None),
        ({"missing": "a", "missing_values": [1.0]}, "must all differ, got '1' twice"),
        ({"missing": "a", "missing_values": "?"}, "by a list of levels"),
        ({"missing": math.nan}, "must be text, finite numbers or booleans"),
        ({"missing": False}, "`missing` of 'x' must be a level"),
        ({"missing": False, "levels": [0, 1]}, "`missing` of 'x' must be a level"),
        ({"missing": True, "levels": [True, False]}, None),
        ({"missing": np.int64(1), "other": np.float32(1)}, None),
        ({"missing": "a", "levels": ["a", "nan(7)"]}, "must not contain 'nan.7.', unl"),
        ({"missing": "a", "levels": ["a", "NA"]}, "must not contain 'NA', unless it"),
        ({"missing": "NA", "levels": ["a", "NA"]}, None),
        ({"missing": "NA", "levels": ["a"]}, None),
        ({"missing": "a", "levels": ["a"]}, "must list at least two"),
    ],
)
def test_what_is_missing_is_declared_without_contradiction(declared, message):
    declared = {"levels": ["a", "b", 1], **declared}
    if message is None:
        schema = dp.Schema({"x": declared})
        document = json.loads(json.dumps(schema.to_json()))
        assert dp.Schema(document["variables"]) == schema
        return
    with pytest.raises(ValueError, match=message):
        dp.Schema({"x": declared})


def test_nulls_of_arrow_are_missing_in_every_type(tmp_path):
    kinds = (pa.int8(), pa.float16(), pa.float64(), pa.bool_(), pa.string(), pa.null())
    for kind in (*kinds, pa.decimal128(5, 2), pa.dictionary(pa.int8(), pa.string())):
        table = pa.table({"x": pa.array([None, None], kind)})
        sources = [table]
        if kind != pa.float16():  # which pyarrow 17 does not write
            pa.parquet.write_table(table, tmp_path / "t.parquet")
            sources.append(tmp_path / "t.parquet")
        for source in sources:
            assert codes(NUMBER, source) == [2, 2]
            with pytest.raises(ValueError, match="lacks a value"):
                codes(OTHER, source)


def test_the_least_numbers_are_zero_or_themselves():
    schema = dp.Schema({"x": {"levels": [0, 5e-324, "u"], "other": "u"}})
    cells = [0, -0.0, "-0", "0e9", 5e-324, "4.94e-324", 1e-323, "1e-400", 2.5e-310]
    assert codes(schema, {"x": cells}) == [0, 0, 0, 0, 1, 1, 2, 0, 2]
    unit = Sufficient.of(
        "gaussian-mean", tuple(NUMBER.values()), "add-remove", variance=1
    )
    tables = [{"x": [1.0, x]} for x in (0.0, -0.0, 5e-324, -5e-324)]
    assert [moved(unit, tables[0], x) for x in tables] == [0, 0, 0, 0]


def test_integers_beyond_2_to_the_53_are_read_as_doubles_or_as_text():
    """A gap elsewhere makes pandas turn all of a column into doubles."""
    large = [2**53, 2**53 + 64]
    schema = dp.Schema({"x": {"levels": [*large, "u"], "other": "u"}})
    for cells in (
        large,
        np.array(large),
        np.array(large, float),
        list(map(str, large)),
    ):
        assert codes(schema, {"x": cells}) == [0, 1]
    assert (
        codes(schema, {"x": [2**53 + 1]}) == codes(schema, {"x": [2.0**53 + 1]}) == [0]
    )
    exact = dp.Schema({"x": [2**53, 2**53 + 1]})
    assert codes(exact, {"x": [str(2**53), str(2**53 + 1)]}) == [0, 1]
    for near in (exact, dp.Schema({"x": [2**53, 2**53 + 2]})):
        with pytest.raises(ValueError, match="numbers that each show one level"):
            codes(near, {"x": [2**53]})
    with pytest.raises(ValueError, match="numbers that each show one level"):
        codes(schema, {"x": [2**53 + 2]})  # which some readers take for 2^53


def test_a_parquet_file_with_a_damaged_name_of_a_column_is_refused(tmp_path):
    path = tmp_path / "t.parquet"
    pa.parquet.write_table(pa.table({"xy": [0, 1]}), path)
    path.write_bytes(path.read_bytes().replace(b"xy", b"x\xc3"))
    schema = dp.Schema({"xy": {"levels": [0, 1]}})
    with pytest.raises(ValueError, match="`table` must be Parquet throughout"):
        schema.encode(path)


def test_a_name_that_is_not_of_the_content_is_explained(tmp_path):
    table = pa.table({"x": ["a", "b"]})
    pyarrow.parquet.write_table(table, tmp_path / "parquet.csv")
    (tmp_path / "plain.csv.gz").write_bytes(b"x\na\n")
    (tmp_path / "packed.csv").write_bytes(gzip.compress(b"x\na\n"))
    with zipfile.ZipFile(tmp_path / "excel.csv", "w") as file:
        file.writestr("xl/workbook.xml", "")
    for name, why in {
        "parquet.csv": "it is Parquet: let its name end in .parquet",
        "plain.csv.gz": "let its name end in .csv: it is not compressed",
        "excel.csv": "it is an Excel workbook or a ZIP file: save its table as CSV",
        "packed.csv": "let its name end in .csv.gz: it is compressed",
    }.items():
        with pytest.raises(ValueError, match=f"{name} is not, {why}"):
            codes(OTHER, tmp_path / name)
