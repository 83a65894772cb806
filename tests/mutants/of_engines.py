"""Faults of tables that are counted in an engine: merged texts, other states."""

from tests.mutants.mutant import Mutant

_QUERIES, _GROUPING = "data/sources/queries.py", "data/grouping.py"
_TESTS = "tests/test_engines.py::"
_CELLS = "tests/test_engine_cells.py::"
_COUNTS = _TESTS + "test_an_engine_counts_what_we_count[{}]"

MUTANTS = tuple(
    Mutant("record read by others", f"engines: {what}", file, old, new, (test,))
    for what, file, old, new, test in (
        (
            "text is grouped by a collation",
            _QUERIES,
            "        if binary or engine in _BY_BYTES:\n",
            "        if True:\n",
            _COUNTS.format("duckdb"),
        ),
        (
            "text of SQLite is grouped by a collation",
            _QUERIES,
            'table[x].cast("string") + ""',
            'table[x].cast("string")',
            _COUNTS.format("ibis over sqlite"),
        ),
        (
            "DuckDB reads escapes in text",
            _QUERIES,
            'f"encode({quoted})"',
            'f"CAST({quoted} AS BLOB)"',
            _COUNTS.format("duckdb"),
        ),
        (
            "unknown comparisons of text are accepted",
            _QUERIES,
            "        elif text and engine not in _AS_BYTES:\n",
            "        elif False:\n",
            _TESTS + "test_a_comparison_of_text_that_is_not_known_is_refused",
        ),
        (
            "groups beyond the limit are left out",
            _QUERIES,
            "        if len(table) > _MOST:\n",
            "        if False:\n",
            _TESTS + "test_more_groups_than_can_be_held_are_refused",
        ),
        (
            "numbers with a fraction are grouped",
            _QUERIES,
            "kind in plain or (kind.is_integer()",
            "kind in plain or (kind.is_numeric()",
            _TESTS + "test_numbers_with_a_fraction_are_read_here",
        ),
        (
            "text of DuckDB is grouped as it is",
            _QUERIES,
            "        if binary or engine in _BY_BYTES:\n",
            '        if binary or engine in {*_BY_BYTES, "duckdb"}:\n',
            _COUNTS.format("duckdb"),
        ),
        (
            "one column of text is grouped by its bytes",
            _QUERIES,
            "_of_duckdb(x, x in text)",
            "_of_duckdb(x, x in text[:1])",
            _COUNTS.format("duckdb"),
        ),
        (
            "columns are exchanged",
            _QUERIES,
            "zip(names, keys, strict=True)",
            "zip(names, keys[::-1], strict=True)",
            _TESTS + "test_columns_of_equal_levels_are_told_apart",
        ),
        (
            "names of DuckDB are not quoted",
            _QUERIES,
            "    quoted = '\"' + name.replace('\"', '\"\"') + '\"'\n",
            "    quoted = name\n",
            _CELLS + "test_a_column_of_duckdb_may_have_any_name[ x ]",
        ),
        (
            "every backend of Ibis is taken for SQLite",
            _QUERIES,
            'engine = f"ibis over {self.table.get_backend().name}"',
            'engine = "ibis over sqlite"',
            _TESTS + "test_a_comparison_of_text_that_is_not_known_is_refused",
        ),
        (
            "whole numbers of SQLite are converted by Ibis",
            _QUERIES,
            "not (kind.is_floating() or kind.is_decimal())",
            "kind.is_string()",
            _CELLS + "test_a_cell_of_sqlite_is_read_as_if_it_was_alone[integer]",
        ),
        (
            "dates of SQLite are converted by Ibis",
            _QUERIES,
            "kind.is_floating() or kind.is_decimal()",
            "kind.is_date() or kind.is_floating()",
            _CELLS + "test_a_cell_of_sqlite_is_read_as_if_it_was_alone[date]",
        ),
        (
            "objects of Dask are grouped",
            _QUERIES,
            "        if self.frame.implementation.is_dask() and any(",
            "        if False and any(",
            _CELLS + "test_a_cell_of_dask_is_read_as_if_it_was_alone",
        ),
        (
            "text that Dask made from numbers is read",
            _QUERIES,
            "                if any(map(is_inferred, cells)):\n",
            "                if False:\n",
            _CELLS + "test_a_block_of_a_file_of_dask_moves_no_record",
        ),
        (
            "integers of Dask with zeros are text as they are",
            "data/sources/frames.py",
            '"0|-?[1-9][0-9]{0,14}|True|False"',
            '"-?[0-9]{0,15}|True|False"',
            _CELLS
            + "test_text_that_dask_may_have_made_from_numbers_is_refused[string]",
        ),
        (
            "a person's number was rounded, and shown again",
            "data/persons.py",
            "return str(int(exact)) if abs(exact) < EXACT_INTEGERS else None",
            "return str(int(exact))",
            "tests/test_persons.py::test_a_person_is_what_a_cell_shows",
        ),
        (
            "programs for a table without records are others",
            "tables/counts/batches.py",
            "    if filled or (is_first and len(block)):\n",
            "    if filled:\n",
            "tests/test_streaming.py::test_the_blocks_of_no_record_are_those_of_one",
        ),
        (
            "DuckDB reads the names of columns",
            _QUERIES,
            'keys = [f"k{i}" for i in range(len(names))]',
            "keys = list(names)",
            _CELLS + "test_a_column_of_duckdb_may_have_any_name[ x ]",
        ),
        (
            "a wrapped table of SQLite is grouped by a collation",
            _QUERIES,
            "from_native(typed(native), pass",
            "from_native(typed(table), pass",
            _CELLS + "test_text_of_sqlite_is_text_in_every_encoding[True-UTF-8]",
        ),
        (
            "doubles are grouped",
            _QUERIES,
            "plain = narwhals.String, narwhals.Boolean",
            "plain = narwhals.String, narwhals.Float64, narwhals.Boolean",
            _TESTS + "test_numbers_with_a_fraction_are_read_here",
        ),
        (
            "the totals of two tables are not kept",
            _GROUPING,
            "        totals.add(column.total)\n",
            "        totals = {column.total}\n",
            _TESTS + "test_a_table_that_changes_between_queries_is_refused",
        ),
        (
            "another number of records",
            _GROUPING,
            "return counts, totals.pop()",
            "return counts, totals.pop() + 1",
            _COUNTS.format("polars"),
        ),
        (
            "one table of each query",
            _GROUPING,
            "            for x in groups:\n",
            "            for x in groups[:1]:\n",
            _COUNTS.format("polars"),
        ),
        (
            "tables that are missing are zeros",
            _GROUPING,
            "    if waiting:\n",
            "    if False:\n",
            _TESTS + "test_other_results_of_queries_are_refused",
        ),
        (
            "tables of two states are accepted",
            _GROUPING,
            "    if len(totals) > 1:\n",
            "    if False:\n",
            _TESTS + "test_a_table_that_changes_between_queries_is_refused",
        ),
        (
            "a variable of two tables is counted twice",
            _GROUPING,
            "if x in waiting and {*x} <= {*chosen}",
            "if {*x} <= {*chosen}",
            _TESTS + "test_a_variable_of_two_tables_is_counted_once",
        ),
    )
)
