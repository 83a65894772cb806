"""Faults of frames and queries: of how their columns are handed over, and how often."""

from tests.mutants.mutant import Mutant

_CODES, _FRAMES, _STREAMS, _KINDS = (
    "data/sources/encoded_columns.py",
    "data/sources/frames.py",
    "data/sources/streams.py",
    "data/sources/in_memory.py",
)
_ALONE = "tests/test_frames.py::test_a_cell_of_a_column_is_read_as_if_it_was_alone[{}]"
_BLOCKS = (
    "tests/test_frames.py::test_a_cell_is_looked_up_once_for_each_value[pandas objects]"
)
_QUERIES = "tests/test_queries.py::"
_ONE_PASS = _QUERIES + "test_a_query_gives_whole_records_in_one_pass[{}]"


def _others(what: str, file: str, old: str, new: str, test: str) -> Mutant:
    return Mutant("record read by others", what, file, old, new, (test,))


MUTANTS = (
    _others(
        "frames: Arrow infers the type of objects",
        _FRAMES,
        '    of_objects = getattr(dtype, "storage", None) == "python" or '
        "categories_of(column)\n"
        "    if not pyarrow or",
        "    of_objects = False\n"
        "    if pyarrow and dtype == object:\n"
        "        with contextlib.suppress(Exception):\n"
        "            return pyarrow.array(column, from_pandas=True)\n"
        "    if dtype is None or not pyarrow or",
        _ALONE.format("pandas objects of narrow numbers"),
    ),
    _others(
        "frames: single precision as double",
        _FRAMES,
        "            return array.dictionary_encode() if view else array\n",
        "            if array.type == pyarrow.float32():\n"
        "                array = array.cast(pyarrow.float64())\n"
        "            return array.dictionary_encode() if view else array\n",
        _ALONE.format("polars Float32"),
    ),
    _others(
        "frames: integers of 128 bits are refused",
        _FRAMES,
        'getattr(column, "dtype", None)\n'
        '    if str(dtype) in _OF_POLARS and hasattr(column, "to_list"):',
        'getattr(column, "dtype", "")\n    if dtype == "Object":',
        _ALONE.format("polars Int128"),
    ),
    _others(
        "frames: periods are handed over as numbers",
        _FRAMES,
        "        if _is_plain(array.type):\n",
        '        array = getattr(array, "storage", array)\n'
        "        if _is_plain(array.type):\n",
        _ALONE.format("pandas Period"),
    ),
    _others(
        "frames: the code of a category is its value",
        _CODES,
        "    values = [values[i] for i in places]\n",
        "    values = list(range(len(places)))\n",
        _ALONE.format("categories of text"),
    ),
    _others(
        "frames: a missing category is the last",
        _CODES,
        "        values, codes = [None, *values], codes + 1\n",
        "        codes = codes % len(values)\n",
        _ALONE.format("categories of text"),
    ),
    _others(
        "frames: a wrapper of pandas hands over its objects",
        _FRAMES,
        '    if hasattr(type(column), "to_native"):',
        "    if False:",
        _ONE_PASS.format("narwhals"),
    ),
    _others(
        "objects: all cells are the first",
        _CODES,
        "    index = defaultdict(itertools.count().__next__)\n",
        "    index = defaultdict(int)\n",
        _BLOCKS,
    ),
    _others(
        "objects: a block has an index of its own",
        _CODES,
        "    for start in range(0, len(cells), _BLOCK):\n",
        "    for start in range(0, len(cells), _BLOCK):\n"
        "        index = defaultdict(itertools.count().__next__)\n",
        _BLOCKS,
    ),
    _others(
        "objects: the types of one block are those of all",
        _CODES,
        "        kinds |= {str} if",
        "        kinds = {str} if",
        _ALONE.format("pandas objects of equal numbers in turn"),
    ),
    _others(
        "objects: value 257 is the first",
        _CODES,
        "places.append(np.frombuffer(bytes(found), np.uint8) if small else found)",
        "places.append(np.array(found).astype(np.uint8))",
        _ALONE.format("pandas objects of many values"),
    ),
    _others(
        "objects: a second NaN makes all cells the first",
        _CODES,
        "else groups[joined])",
        "else 0 * groups[joined])",
        _ALONE.format("pandas text and gaps"),
    ),
    _others(
        "objects: equal numbers of several types are one",
        _CODES,
        "if len(kinds & _PYTHON_NUMBERS) > 1 or not all(map(_is_alone, kinds)):",
        "if not all(map(_is_alone, kinds)):",
        _ALONE.format("pandas objects of equal numbers"),
    ),
    _others(
        "objects: equal text of several types is one",
        _CODES,
        "> 1 or not all(map(_is_alone, kinds)):",
        "> 1:",
        _ALONE.format("pandas objects of equal text"),
    ),
    _others(
        "objects: zeros at the end of text are dropped",
        _CODES,
        "return np.asarray(column, object) if text else array",
        "return array",
        _ALONE.format("polars text without gaps"),
    ),
    _others(
        "queries: one for each column",
        _KINDS,
        '    by_stream = hasattr(kind, "__arrow_c_stream__") and not is_reader\n',
        "    by_stream = False\n",
        _ONE_PASS.format("Ibis"),
    ),
    Mutant(
        "sensitivity halved",
        "queries: every batch comes twice",
        _STREAMS,
        "            yield from self._reader\n",
        "            yield from (part for part in self._reader for _ in range(2))\n",
        (_ONE_PASS.format("relation"),),
    ),
)
