"""Tables of databases that are given on the command line."""

__all__ = ["DATABASE_HELP", "file_of", "opened"]

import contextlib
import importlib
import os
import re
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


def opened(spec: str) -> Any:
    """Return the table of a database that `spec` names; a path is returned as it is.

    Raises:
        ValueError: if the database has no such table or cannot be opened.
        ImportError: if the package for the database is not installed.
    """
    found = None if os.path.exists(spec) else _FORM.fullmatch(spec)
    if found is None:
        return spec
    kind, place, table = found.groups()
    if kind in _IN_FILES and not os.path.isfile(place):
        raise ValueError(f"`data` must name a file of {kind} that exists, got {place}.")
    package = "duckdb" if kind == "duckdb" else "ibis"
    try:
        engine = importlib.import_module(package)
    except ImportError:
        wanted = "duckdb" if kind == "duckdb" else f"ibis-framework[{kind}]"
        raise ImportError(f'`data` needs {package}: pip install "{wanted}"') from None
    with contextlib.suppress(Exception):  # engines raise anything
        if kind == "duckdb":
            return engine.connect(place, read_only=True).table(table)
        return engine.connect(f"{kind}:{place}").table(table)
    raise ValueError(
        f"`data` must be a database that can be opened, with the table {table}: {kind} "
        "has an error, which its own client shows."
    )
