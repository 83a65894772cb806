"""Faults of how tables are read: one record decides how others are."""

from tests.mutants.mutant import Mutant

_READING, _BLOCKS = "tests/test_reading.py::", "tests/test_csv_blocks.py::"
_DELIMITED = _BLOCKS + "test_all_short_texts_are_delimited_as_python_does"
_NEIGHBOURS = "tests/test_neighbours.py::test_one_record_moves_itself_alone"
_INFERRED = _READING + "test_the_type_inferred_from_others_moves_no_record"
_NARROW = _READING + "test_a_column_of_single_precision_shows_no_level_beside_another"
_TYPES = _READING + "test_other_is_for_text_and_numbers_and_for_no_type"

_WHOLE = (
    "block_size=len(data) + 1,  # one block, so that no record is cut\n"
    "            use_threads=False,  # so that errors name the row\n"
    "        ),\n"
    '        "parse_options": csv.ParseOptions(\n'
    "            newlines_in_values=True,"
)


def _fault(what: str, file: str, old: str, new: str, *tests: str) -> Mutant:
    return Mutant("record read by others", what, file, old, new, tests)


MUTANTS = (
    _fault(
        "CSV: cut at line breaks within quotes",
        "data/sources/csv_blocks.py",
        "ends = ends[(np.searchsorted(marks, ends) + quoted) % 2 == 0]",
        "ends = ends",
        _NEIGHBOURS + "[csv-96]",
    ),
    _fault(
        "CSV: cut by Arrow, blind to quotes",
        "data/sources/csv_tables.py",
        _WHOLE,
        _WHOLE.replace("len(data) + 1", "1 << 22").replace(
            "values=True", "values=False"
        ),
        _READING + "test_a_long_comment_is_one_cell_of_one_record[1390000]",
    ),
    _fault(
        "CSV: types inferred",
        "data/sources/csv_tables.py",
        "column_types=dict.fromkeys(names, text)",
        "column_types={}",
        _NEIGHBOURS + "[csv-96]",
    ),
    _fault(
        "CSV: an open quote at the end accepted",
        "data/sources/csv_blocks.py",
        '    if quoted:\n        raise Malformed("because it ends',
        '    if not length:\n        raise Malformed("because it ends',
        _DELIMITED + "[100-5]",
    ),
    _fault(
        "CSV: text behind a closing quote accepted",
        "data/sources/csv_blocks.py",
        'raise Malformed("because text follows a closing quote")',
        "quoted = False",
        _DELIMITED + "[100-5]",
    ),
    _fault(
        "CSV: every second quote opens a cell, wherever it stands",
        "data/sources/csv_blocks.py",
        "return bool(begins.all() and _IS_BESIDE_QUOTES[array[behind]].all())",
        "return bool(_IS_BESIDE_QUOTES[array[behind]].all())",
        _DELIMITED + "[100-5]",
    ),
    _fault(
        "CSV: a cell begins with every piece that is read",
        "data/sources/csv_blocks.py",
        "quoted, fresh = scan.quoted, scan.fresh",
        "quoted, fresh = scan.quoted, True",
        _DELIMITED + "[1-5]",
    ),
    _fault(
        "CSV: a piece may end with a quote",
        "data/sources/csv_blocks.py",
        'cut = len(data.rstrip(b\'"\')) - data.endswith(b"\\r")',
        'cut = len(data) - data.endswith(b"\\r")',
        _DELIMITED + "[1-5]",
    ),
    _fault(
        "CSV: a piece may end between \\r and \\n",
        "data/sources/csv_blocks.py",
        ' - data.endswith(b"\\r")',
        "",
        _DELIMITED + "[1-5]",
    ),
    _fault(
        "CSV: a mark of byte order ignored in every block",
        "data/sources/csv_tables.py",
        'pyarrow.py_buffer(b"\\n" + data)',
        'pyarrow.py_buffer(data.removeprefix(b"\\xef\\xbb\\xbf").join([b"\\n", b""]))',
        _READING + "test_a_byte_order_mark_is_one_where_the_file_begins",
    ),
    _fault(
        "CSV: the length of a record measured from the block",
        "data/sources/csv_blocks.py",
        "if length + (scan.first or len(data)) > longest:",
        "if length + len(data) > longest:",
        _BLOCKS + "test_a_record_is_refused_for_its_own_length_alone",
    ),
    _fault(
        "cells: a number that several levels show is the first",
        "data/matching.py",
        "if len(near) == 1 and near[0][0] == shown else None",
        "if near and near[0][0] == shown else None",
        _READING + "test_levels_that_show_one_number_need_text",
    ),
    _fault(
        "cells: a boolean that shows no level is other",
        "data/matching.py",
        "self._has_literals or isinstance(value, _IN_DOUBT)",
        "self._has_literals or isinstance(value, _NARROW)",
        _TYPES,
    ),
    _fault(
        "cells: a missing value is other",
        "data/matching.py",
        "return not (math.isnan(shown) or self._near(shown, rounding(value, shown)))",
        "return not self._near(shown, rounding(value, shown))",
        _READING + "test_a_cell_without_a_value_is_never_another_level",
    ),
    _fault(
        "cells: a number beside a level is other",
        "data/matching.py",
        "return not (math.isnan(shown) or self._near(shown, rounding(value, shown)))",
        "return not math.isnan(shown)",
        _READING + "test_a_number_that_misses_a_level_by_rounding_is_refused",
    ),
    _fault(
        "cells: every type is other",
        "data/matching.py",
        "return isinstance(value, str) and not _LITERAL.fullmatch(value)",
        "return not _LITERAL.fullmatch(str(value))",
        _TYPES,
    ),
    _fault(
        "cells: a literal of text is other",
        "data/matching.py",
        "isinstance(value, str) and not _LITERAL.fullmatch(value)",
        "isinstance(value, str)",
        _TYPES,
    ),
    _fault(
        "cells: a number shows a level beside a literal",
        "data/matching.py",
        "        elif self._has_literals:\n",
        "        elif False:\n",
        _INFERRED,
    ),
    _fault(
        "cells: single precision shows a level beside other",
        "data/matching.py",
        "elif isinstance(value, _NARROW) and not self.narrow:",
        "elif False:",
        _NARROW,
    ),
    _fault(
        "cells: single precision shows one of two levels",
        "data/matching.py",
        "        return float(np.finfo(cell).eps)",
        "        return 0.0",
        _NARROW,
    ),
    _fault(
        "cells: large integers are whole numbers",
        "data/matching.py",
        "if shown.is_integer() and abs(shown) < EXACT_INTEGERS else",
        "if shown.is_integer() else",
        _READING + "test_integers_beyond_2_to_the_53_are_read_as_doubles_or_as_text",
    ),
    _fault(
        "records: of the other byte order",
        "tables/counts/tables.py",
        'if masked or not getattr(dtype, "isnative", True):',
        "if masked:",
        _READING + "test_encoded_records_are_plain_integers",
    ),
    _fault(
        "records: masked ones",
        "tables/counts/tables.py",
        'if masked or not getattr(dtype, "isnative", True):',
        'if not getattr(dtype, "isnative", True):',
        _READING + "test_encoded_records_are_plain_integers",
    ),
    _fault(
        "cells: one that is refused becomes the first level",
        "data/sources/encoded_columns.py",
        "outside = [values[i] for i in np.flatnonzero(used) if codes[i] is None]",
        "outside = []",
        _TYPES,
    ),
    _fault(
        "Arrow: data sets of CSV with inferred types",
        "data/sources/reading.py",
        "if format not in _WITH_TYPES:",
        "if format not in {*_WITH_TYPES, 'csv'}:",
        _READING + "test_readers_and_data_sets_that_infer_types_are_refused",
    ),
    _fault(
        "Arrow: readers of CSV with inferred types",
        "data/sources/reading.py",
        "if csv and isinstance(source, csv.CSVStreamingReader):",
        "if False:",
        _READING + "test_readers_and_data_sets_that_infer_types_are_refused",
    ),
    _fault(
        "Arrow: a data set's first file decides the type of all",
        "data/sources/reading.py",
        "_plain(physical.field(name).type) != _plain(schema.field(name).type)",
        "False",
        _READING + "test_files_of_different_types_are_read_each_by_its_own",
    ),
)
