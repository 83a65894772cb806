"""SQL queries that count a table's rows for the measured tables of a network."""

from typing import Protocol, runtime_checkable

from dpjax.tables.layout import maximal_groups


@runtime_checkable
class _Network(Protocol):
    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def families(self) -> tuple[tuple[int, ...], ...]: ...


def sql(
    net: _Network, table: str, *, multiplicity: str = "n"
) -> dict[tuple[str, ...], str]:
    """Return the queries that count a table's rows for a network's measured tables.

    Their results, in one `dpjax.data.Grouped`, can be released in place of the table.
    Run all queries in one transaction. If the collation of a column makes different
    texts equal, change it to a binary collation, such as `COLLATE "C"` in PostgreSQL or
    `COLLATE BINARY` in SQLite: dpjax cannot detect the collation from the results.

    Args:
        net: the network.
        table: name of the table in the database; "." separates the parts of the name.
        multiplicity: name of the column of the results that has the numbers of rows.

    Returns:
        A dictionary from the names of the columns of a measured table to its query, in
        standard SQL with quoted names (in MySQL, first run `SET sql_mode =
        'ANSI_QUOTES'`).

    Privacy:
        No record is read. The results of the queries are not private, and the engine's
        log shows that they were run.

    Raises:
        ValueError: if `table` or `multiplicity` is not a name, or `multiplicity` is the
            name of a variable.
    """
    for name, given in {"table": table, "multiplicity": multiplicity}.items():
        if not isinstance(given, str) or not given:
            raise ValueError(
                f"`{name}` must be a name, text that is not empty, got "
                f"{type(given).__name__}."
            )
    if multiplicity in net.names:
        raise ValueError(
            f"`multiplicity` must be no variable's name, got {multiplicity!r:.80}."
        )
    source = ".".join(map(_quoted, table.split(".")))
    last = _quoted(table.rpartition(".")[2])  # SQLite may read "x" alone as text
    queries = {}
    for group in maximal_groups(net.families):
        names = tuple(net.names[i] for i in group)
        columns = ", ".join(f"{last}.{_quoted(name)}" for name in names)
        counted = f"{columns}, COUNT(*) AS {_quoted(multiplicity)}"
        queries[names] = f"SELECT {counted} FROM {source} GROUP BY {columns}"
    return queries


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
