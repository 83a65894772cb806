"""Faults of how CSV is cut into records, branch by branch."""

from tests.mutants.mutant import Mutant

_CUT, _PARSED = "data/sources/csv_blocks.py", "data/sources/csv_tables.py"
_HERE = "tests/test_csv_blocks.py::"
_SHORT = _HERE + "test_all_short_texts_are_delimited_as_python_does"
_LONG = _HERE + "test_so_are_long_texts"
_TABLES = _HERE + "test_all_short_tables_have_pythons_records"
_STREAMED = "tests/test_streaming.py::test_batches_are_encoded_in_order_as_the_whole_is"


def _cut(what: str, old: str, new: str, test: str) -> Mutant:
    return Mutant("record read by others", f"blocks: {what}", _CUT, old, new, (test,))


def _parsed(what: str, old: str, new: str, test: str) -> Mutant:
    return Mutant("branch left out", f"blocks: {what}", _PARSED, old, new, (test,))


MUTANTS = (
    _cut(
        "a file does not begin with a cell",
        "length, quoted, fresh = 0, False, True",
        "length, quoted, fresh = 0, False, False",
        _SHORT + "[100-5]",
    ),
    _cut(
        "a record is as long as all before it",
        "            begun, length = [], 0\n",
        "            begun = []\n",
        _HERE + "test_a_record_is_refused_for_its_own_length_alone",
    ),
    _cut(
        "a last record of one byte is lost",
        "    if length:\n",
        "    if length > 1:\n",
        _SHORT + "[1-5]",
    ),
    _cut(
        "any first bytes are a byte-order mark",
        "held = file.read(len(_BYTE_ORDER_MARK)).removeprefix(_BYTE_ORDER_MARK)",
        "held = file.read(len(_BYTE_ORDER_MARK))[len(_BYTE_ORDER_MARK) :]",
        _SHORT + "[1-5]",
    ),
    _cut(
        "a piece of one byte is lost",
        "        if cut:\n",
        "        if cut > 1:\n",
        _SHORT + "[1-5]",
    ),
    _cut(
        "quotes at the end are lost",
        "    if held:\n",
        '    if held == b"\\r":\n',
        _SHORT + "[2-5]",
    ),
    _cut(
        "a record begins behind \\r and one byte",
        "first += data[first : first + 2] == _ENDS",
        "first += data[first : first + 1] == _ENDS[:1]",
        _SHORT + "[100-5]",
    ),
    _cut(
        "quotes are regular where no cell goes on",
        "if not _is_regular(array, marks, quoted, fresh):",
        "if quoted and not _is_regular(array, marks, quoted, fresh):",
        _SHORT + "[100-5]",
    ),
    _cut(
        "with quotes, a block is one record",
        "(int(ends[0]), int(ends[-1])) if ends.size",
        "(int(ends[0]), int(ends[0])) if ends.size",
        _SHORT + "[100-5]",
    ),
    _cut(
        "a piece of a quoted cell has records",
        "    elif quoted:\n",
        "    elif quoted and fresh:\n",
        _SHORT + "[1-5]",
    ),
    _cut(
        "without quotes, a record ends at the later break",
        "first = min((x for x in",
        "first = max((x for x in",
        _SHORT + "[100-5]",
    ),
    _cut(
        "without quotes, a block ends at \\n alone",
        "last = max(map(data.rfind, _BREAKS))",
        "last = data.rfind(_BREAKS[1])",
        _SHORT + "[100-5]",
    ),
    _cut(
        "a cell begins with every piece that is unquoted",
        "not quoted and data[-1] in _BOUNDARIES)",
        "not quoted)",
        _SHORT + "[1-5]",
    ),
    _cut(
        "a quote opens a cell whatever is before it",
        "begins = _IS_BESIDE_QUOTES[array[opening - 1]]",
        "begins = np.ones(opening.size, bool)",
        _SHORT + "[100-5]",
    ),
    _cut(
        "a quote opens a cell in any new piece",
        "        begins[0] = fresh\n",
        "        begins[0] = True\n",
        _SHORT + "[1-5]",
    ),
    _cut(
        "the first of irregular quotes is text",
        "    return marks\n",
        "    return marks[1:]\n",
        _SHORT + "[100-5]",
    ),
    _cut(
        "the last of irregular quotes is text",
        "    for place in quotes.tolist():",
        "    for place in quotes.tolist()[:-1]:",
        _SHORT + "[100-5]",
    ),
    _cut(
        "the second of doubled quotes may close a cell",
        "        if place < known:\n",
        "        if place < known - 1:\n",
        _LONG + "[1000]",
    ),
    _cut(
        "a quote within an unquoted cell opens it",
        "marks += [place] * quoted",
        "marks += [place]",
        _SHORT + "[100-5]",
    ),
    _cut(
        "an irregular quote opens a cell in any new piece",
        "in _BOUNDARIES if place else fresh",
        "in _BOUNDARIES if place else True",
        _SHORT + "[1-5]",
    ),
    _cut(
        "behind doubled quotes another one is text",
        "known = place + 2",
        "known = place + 3",
        _LONG + "[1000]",
    ),
    _cut(
        "a quote before \\r closes no irregular cell",
        'in (b"", b",", b"\\r", b"\\n"):',
        'in (b"", b",", b"\\n"):',
        _LONG + "[1000]",
    ),
    _parsed(
        "the header is a record, for the names are known",
        "header: list[str] | None = None",
        "header: list[str] | None = list(names)",
        _TABLES + "[3-x]",
    ),
    _parsed(
        "the header is a record",
        "header, data = _names(block), data[block.first :]",
        "header, data = _names(block), data",
        _TABLES + "[3-x]",
    ),
    _parsed(
        "all records of a block but the first are lost",
        "        data = block.data\n",
        "        data = block.data if header is None else block.data[: block.first]\n",
        _STREAMED,
    ),
    _parsed(
        "a short block is lost",
        "        if data:\n",
        "        if len(data) > 2:\n",
        _TABLES + "[3-x]",
    ),
)
