"""Tables of databases that are given on the command line."""

import contextlib
import importlib
import os
import re
from collections.abc import Iterator
from typing import Any

DATABASE_HELP = (
    "; or a table of a database, duckdb:FILE?table=NAME, sqlite:FILE?table=NAME or "
    "another URL of Ibis with ?table=NAME, which is counted there"
)
_FORM = re.compile(r"(\w\w[\w+]*):(.+)[?&]table=([^&?]+)")
_IN_FILES = ("duckdb", "sqlite")


def file_of(spec: str) -> str:
    """Return the path of the file, or of the database's file, that `spec` names."""
    found = None if os.path.exists(spec) else _FORM.fullmatch(spec)
    return spec if found is None else found[2]


@contextlib.contextmanager
def opened(spec: str) -> Iterator[Any]:
    """Give the table of a database that `spec` names, and close the database after it.

    A path is given as it is.

    Raises:
        ValueError: if the database has no such table or cannot be opened.
        ImportError: if the package for the database is not installed.
    """
    found = None if os.path.exists(spec) else _FORM.fullmatch(spec)
    if found is None:
        yield spec
        return
    kind, place, name = found.groups()
    if kind in _IN_FILES and not os.path.isfile(place):
        raise ValueError(f"`data` must name a file of {kind} that exists, got {place}.")
    with contextlib.ExitStack() as closing:
        table = _table_of(kind, place, name, closing)
        if table is None:
            raise ValueError(
                "`data` must be a database that can be opened, with the table "
                f"{name}: {kind} has an error, which its own client shows."
            )
        yield table


def _table_of(
    kind: str, place: str, name: str, closing: contextlib.ExitStack
) -> Any | None:
    """Open a database, which `closing` closes, and return its table or None."""
    package = "duckdb" if kind == "duckdb" else "ibis"
    try:
        engine = importlib.import_module(package)
    except ImportError:
        wanted = "duckdb" if kind == "duckdb" else f"ibis-framework[{kind}]"
        raise ImportError(f'`data` needs {package}: pip install "{wanted}"') from None
    with contextlib.suppress(Exception):  # engines raise anything
        if kind == "duckdb":
            connection = engine.connect(place, read_only=True)
            closing.callback(connection.close)
        else:
            connection = engine.connect(f"{kind}:{place}")
            closing.callback(connection.disconnect)
        return connection.table(name)
    return None
