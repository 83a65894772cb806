"""Records of CSV are those of Python's strict `csv`, whatever the blocks."""

import csv
import io
import itertools

import numpy as np
import pytest

from dpjax import Schema
from dpjax.data.sources import csv_blocks
from dpjax.data.sources.csv_blocks import Malformed, blocks

ALPHABET = 'x,"\r\n'


def texts(longest):
    return (
        "".join(x)
        for length in range(longest + 1)
        for x in itertools.product(ALPHABET, repeat=length)
    )


def oracle(text):
    """The rows of a text, None if it is not CSV."""
    try:
        return list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error:
        return None


def delimited(text):
    """The rows of each block on its own, after a check that nothing is lost."""
    try:
        found = list(blocks(io.BytesIO(text.encode())))
    except Malformed:
        return None
    assert b"".join(block.data for block in found) == text.encode()
    parsed = [oracle(block.data.decode()) for block in found]
    firsts = [oracle(block.data[: block.first].decode()) for block in found]
    assert firsts == [rows and rows[:1] for rows in parsed]
    assert None not in parsed
    return [row for rows in parsed for row in rows]


@pytest.mark.parametrize("length", [5, pytest.param(7, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_all_short_texts_are_delimited_as_python_does(length, size, monkeypatch):
    monkeypatch.setattr(csv_blocks, "_BLOCK", size)
    for text in texts(length):
        assert delimited(text) == oracle(text), repr(text)


@pytest.mark.parametrize("size", [1, 5, 64, 1000])
def test_so_are_long_texts(size, monkeypatch, rng):
    monkeypatch.setattr(csv_blocks, "_BLOCK", size)
    parts = [*ALPHABET, '"x"', '""', '"x\ny"', '"x""y"', "xx,yy\n", '5" pipe', "\r\n"]
    for _ in range(150):
        text = "".join(rng.choice(parts, rng.integers(1, 120)))
        assert delimited(text) == oracle(text), repr(text)


@pytest.mark.slow
@pytest.mark.parametrize("header", ["x", "x,y"])
@pytest.mark.parametrize("length", [3, pytest.param(5, marks=pytest.mark.thorough)])
def test_all_short_tables_have_pythons_records(header, length, monkeypatch, tmp_path):
    schema = Schema({"x": {"levels": ["x", "xx", "rest"], "other": "rest"}})
    width, path = header.count(",") + 1, tmp_path / "t.csv"
    for number, text in enumerate(texts(length)):
        monkeypatch.setattr(csv_blocks, "_BLOCK", 1 + number % 4)
        rows = oracle(text)
        if rows is not None and width == 1:  # an empty line is an empty cell
            rows = [row or [""] for row in rows]
        elif rows is not None:
            rows = [row for row in rows if row]
        readable = rows is not None and all(len(row) == width for row in rows)
        codes = [schema["x"].code(row[0]) for row in rows] if readable else [None]
        path.write_text(f"{header}\n{text}", newline="")
        try:
            found = schema.encode(path, ignore="*")[:, 0].tolist()
        except ValueError:
            found = None
        assert found == (None if None in codes else codes), repr(text)


@pytest.mark.parametrize("size", [1, 2, 7, 64])
def test_a_record_is_refused_for_its_own_length_alone(size, monkeypatch):
    monkeypatch.setattr(csv_blocks, "_BLOCK", size)
    shapes = ["{}", '"{}"', 'a,"{}",b']
    for shape, before, more in itertools.product(shapes, range(4), range(-2, 3)):
        record = shape.format("")
        fill = "\n" if "," in shape else '""' if '"' in shape else "x"
        record = shape.format(fill * ((66 - len(record) + more) // len(fill))) + "\n"
        text = "x\n" * before + record + "x\n" * 2
        assert is_too_long(text) == (len(record) > 66), (size, text)


def is_too_long(text):
    try:
        return not list(blocks(io.BytesIO(text.encode()), longest=66))
    except Malformed as error:
        return "a record has more than 66 bytes" in str(error)


def test_quotes_without_end_are_not_held_in_memory(monkeypatch):
    monkeypatch.setattr(csv_blocks, "_BLOCK", 8)
    endless = io.BytesIO(b'"' * 10_000)
    with pytest.raises(Malformed, match="more than 66 bytes"):
        list(blocks(endless, longest=66))
    assert endless.tell() < 100


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b'x,y\n1,"a\n', r"t\.csv is not, because it ends within quotes\."),
        (b'x,y\n1,"a"b\n', "because text follows a closing quote"),
        (b"x,y\n1,2\n\n1,2,3\n", "in row 3 with the header as row 1"),
        (b"x,y\n1,2\n\n1,\xff\n\xff,2\n", "in row 4 with the header as row 1"),
        (b"\xff\xfex\0,\0y\0\n\0", "because its first line is not a header in UTF-8"),
    ],
)
@pytest.mark.parametrize("size", [3, 1000])
def test_what_is_not_csv_is_one_clear_line(text, reason, size, monkeypatch, tmp_path):
    monkeypatch.setattr(csv_blocks, "_BLOCK", size)
    (tmp_path / "t.csv").write_bytes(text)
    with pytest.raises(ValueError, match=reason) as error:
        Schema({"x": [1, 2]}).encode(tmp_path / "t.csv", ignore="*")
    assert str(error.value).isprintable()
    assert error.value.__context__ is None


def test_rows_are_named_beyond_the_first_block(monkeypatch, tmp_path):
    monkeypatch.setattr(csv_blocks, "_BLOCK", 50)
    (tmp_path / "t.csv").write_text("x,y\n" + '1,"\n"\n' * 100 + "1\n" + "1,1\n" * 9)
    with pytest.raises(ValueError, match="in row 102 with the header as row 1"):
        Schema({"x": [1, 2]}).encode(tmp_path / "t.csv", ignore="*")


@pytest.mark.slow
def test_large_blocks_with_quotes_are_delimited_exactly(rng, tmp_path):
    """Of the real size, with a quote in every record."""
    codes = rng.integers(0, 3, 400_000)
    cells = np.array(['a,"x ""y"" z"\n', 'b,"line\r\nbreak"\n', 'c,5" pipe\n'])[codes]
    (tmp_path / "t.csv").write_text("x,note\n" + "".join(cells), newline="")
    schema = Schema({"x": ["a", "b", "c"]})
    found = list(schema.encode_batches(tmp_path / "t.csv", ignore="note"))
    assert len(found) > 1
    np.testing.assert_array_equal(np.concatenate(found)[:, 0], codes)
