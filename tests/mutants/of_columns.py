"""Faults of what a cell becomes and of what a source gives, branch by branch."""

from tests.mutants.mutant import Mutant

_SOURCES, _CODES, _LEVELS, _MATCHING = (
    "data/sources/reading.py",
    "data/sources/encoded_columns.py",
    "data/levels.py",
    "data/matching.py",
)
_READING, _SCHEMA = "tests/test_reading.py::", "tests/test_schema.py::"
_COUNTED = "tests/test_streaming.py::test_every_kind_of_source_is_counted_as_if_at_once"
_ALONE = _SCHEMA + "test_a_records_code_does_not_depend_on_other_records"
_MATCHES = "tests/test_variables.py::test_a_cell_matches_a_level_as_text_or_as_a_number"
_INFERRED = _READING + "test_readers_and_data_sets_that_infer_types_are_refused"
_ROUNDED = _READING + "test_a_number_that_misses_a_level_by_rounding_is_refused"


def _fault(fault: str, what: str, file: str, old: str, new: str, test: str) -> Mutant:
    return Mutant(fault, what, file, old, new, (test,))


MUTANTS = (
    _fault(
        "record read by others",
        "columns: a code is that of another of the values",
        _CODES,
        "codes = encode(values)",
        "codes = encode(sorted(values, key=str))",
        _ALONE,
    ),
    _fault(
        "NaN let through",
        "columns: numbers that are missing",
        "data/encoding.py",
        "        return variable.clip(numbers), others\n",
        "        return numbers, others\n",
        _READING + "test_a_cell_without_a_value_is_never_another_level",
    ),
    _fault(
        "branch left out",
        "columns: one refused cell is none",
        _CODES,
        "    if None in codes:\n",
        "    if codes.count(None) > 1:\n",
        _SCHEMA + "test_what_is_not_in_the_schema_is_refused_without_being_shown",
    ),
    _fault(
        "branch left out",
        "sources: one file of a folder",
        _SOURCES,
        "yield from _files(pathlib.Path(source))",
        "yield from [*_files(pathlib.Path(source))][:1]",
        _COUNTED + "[folder]",
    ),
    _fault(
        "branch left out",
        "sources: a data set is read by Arrow alone",
        _SOURCES,
        "        yield _Dataset(source)\n",
        "        yield InMemoryTable(source.to_table())\n",
        _INFERRED,
    ),
    _fault(
        "sensitivity halved",
        "sources: every record of a table comes twice",
        _SOURCES,
        "        yield _part(source)\n",
        "        yield from (_part(source), _part(source))\n",
        _COUNTED + "[Arrow table]",
    ),
    _fault(
        "sensitivity halved",
        "sources: every batch comes twice",
        _SOURCES,
        "        yield from _batches(source)\n",
        "        yield from (part for part in _batches(source) for _ in range(2))\n",
        _COUNTED + "[frames]",
    ),
    _fault(
        "branch left out",
        "sources: every format of a data set has types",
        _SOURCES,
        'getattr(getattr(fragment, "format", None), "default_extname", "arrow")',
        '"arrow"',
        _INFERRED,
    ),
    _fault(
        "branch left out",
        "sources: the type of a data set's first column",
        _SOURCES,
        "    for name in names:\n",
        "    for name in names[1:]:\n",
        _READING + "test_files_of_different_types_are_read_each_by_its_own",
    ),
    _fault(
        "record read by others",
        "cells: text is a number only",
        _MATCHING,
        "            if value in self._codes_by_text:",
        "            if False:",
        _MATCHES,
    ),
    _fault(
        "record read by others",
        "cells: a number shows no level, its text does",
        _MATCHING,
        "        shown = shown_by(value)\n        near",
        "        shown = shown_by(value) if isinstance(value, str) else None\n"
        "        near",
        _MATCHES,
    ),
    _fault(
        "record read by others",
        "cells: the first of several levels that show a number",
        _MATCHING,
        "self._near(shown, rounding(value, shown))\n        return near",
        "self._near(shown, rounding(value, shown))[:1]\n        return near",
        _MATCHES,
    ),
    _fault(
        "NaN let through",
        "cells: a missing value has a text",
        _LEVELS,
        "code = self.marks.matching.match(value)\n",
        "code = self.marks.matching.match(str(value))\n",
        _MATCHES,
    ),
    _fault(
        "NaN let through",
        "cells: all that shows no level is other",
        _LEVELS,
        "return self._other if code is None and self.is_outside(value) else code",
        "return self._other if code is None else code",
        _SCHEMA + "test_a_declared_other_level_takes_what_is_not_listed_but_not_what_"
        "is_missing",
    ),
    _fault(
        "branch left out",
        "cells: a missing cell is other",
        _LEVELS,
        "return self.marks.missed\n        return self._other",
        "return self._other\n        return self._other",
        _READING + "test_a_missing_cell_has_the_declared_level",
    ),
    _fault(
        "record read by others",
        "cells: text that readers take for null is other",
        _MATCHING,
        "isinstance(cell, str) and _NULL.fullmatch(cell) is not None",
        "isinstance(cell, str) and not cell",
        _READING + "test_a_missing_cell_has_the_declared_level",
    ),
    _fault(
        "record read by others",
        "cells: text that Arrow reads as NaN is other",
        _MATCHING,
        '    r"|\\s*[+-]?[nN][aA][nN]\\(\\w*\\)\\s*"\n',
        '    r""\n',
        _READING + "test_the_type_inferred_from_others_moves_no_record",
    ),
    _fault(
        "record read by others",
        "cells: a level that readers take for null",
        "data/marks.py",
        "        if self.missing is not None and null:\n",
        "        if self.missing is None and null:\n",
        _READING + "test_what_is_missing_is_declared_without_contradiction",
    ),
    _fault(
        "record read by others",
        "cells: digits of other scripts are other",
        _MATCHING,
        "|(?=.*[^\\x00-\\x7f])(?u:",
        "|(?=.*[\\x00])(?u:",
        _READING + "test_other_is_for_text_and_numbers_and_for_no_type",
    ),
    _fault(
        "record read by others",
        "columns: the characters of a cell",
        _CODES,
        "isinstance(found[0], _CELLS)",
        "isinstance(found[0], complex)",
        _READING + "test_a_row_of_cells_is_no_table",
    ),
    _fault(
        "record read by others",
        "cells: text that shows a number is outside",
        _MATCHING,
        "        if shown is None:\n            return isinstance",
        "        if shown is None or isinstance(value, str):\n"
        "            return isinstance",
        _ROUNDED,
    ),
    _fault(
        "bound loosened",
        "cells: readers never round",
        _MATCHING,
        "slack = abs(shown) * relative if math.isfinite(shown) else 0.0",
        "slack = 0.0",
        _ROUNDED,
    ),
    _fault(
        "bound loosened",
        "cells: readers round in the last bits alone",
        _MATCHING,
        "EXACT_INTEGERS else ROUNDING",
        "EXACT_INTEGERS else ROUNDING / 2**10",
        _ROUNDED,
    ),
    _fault(
        "bound loosened",
        "cells: readers round down alone",
        _MATCHING,
        "bisect.bisect_left(self._by_number, (shown - slack, -1))",
        "bisect.bisect_left(self._by_number, (shown, -1))",
        _ROUNDED,
    ),
    _fault(
        "record read by others",
        "cells: text is asked whether numbers show levels",
        _MATCHING,
        "        if isinstance(value, str):\n            if value in",
        "        if True:\n            if value in",
        _READING + "test_the_type_inferred_from_others_moves_no_record",
    ),
    _fault(
        "branch left out",
        "cells: what shows no number shows one",
        _MATCHING,
        "        shown = shown_by(value)\n        if shown is None:\n",
        "        shown = shown_by(value) or 1.0\n        if shown is None:\n",
        _READING + "test_other_is_for_text_and_numbers_and_for_no_type",
    ),
    _fault(
        "record read by others",
        "cells: single precision as double",
        _MATCHING,
        "    return number(float(str(cell)))\n",
        "    return number(cell)\n",
        _MATCHES,
    ),
    _fault(
        "record read by others",
        "cells: whole numbers of single precision in seven digits",
        _MATCHING,
        "if not isinstance(cell, _NARROW) or float(cell).is_integer():",
        "if not isinstance(cell, _NARROW):",
        _MATCHES,
    ),
)
