"""The parser of all commands, and the options that several of them have."""

__all__ = ["DATA_HELP", "Parser"]

import argparse
from collections.abc import Callable
from typing import Any, NoReturn

from dpjax.cli.arguments.choices import ADJACENCIES

DATA_HELP = "records: a CSV, CSV.gz or Parquet file, or a folder of them"

_COMMON: dict[str, dict[str, Any]] = {
    "--schema": {"required": True, "help": "JSON file, as for release"},
    "--network": {"help": "as for release"},
    "--region": {"help": "for hmm: the variable with one chain of states per level"},
    "--time": {
        "help": "for hmm: the variable of time, whose levels are consecutive integers; "
        "all further variables are fields of an event"
    },
    "--n": {"type": int, "required": True, "help": "number of records"},
    "--epsilon": {"required": True, "help": "privacy loss: 0.5 or 1/3"},
    "--adjacency": {
        "required": True,
        "choices": ADJACENCIES,
        "help": "whether neighbouring tables differ by replacing a record (the number "
        "of records is public), or by adding or removing one (it is private)",
    },
    "--contributions": {
        "type": int,
        "metavar": "K",
        "help": "the most rows of a person, whose privacy loss epsilon is (default: 1, "
        "each row on its own)",
    },
    "--ignore": {
        "action": "append",
        "default": [],
        "metavar": "COLUMN",
        "help": "undeclared column to leave out (may be repeated; '*' for all)",
    },
    "--seed": {"type": int, "default": 0, "help": "seed of the simulation"},
}


class Parser(argparse.ArgumentParser):
    """An argument parser with one-line errors and methods that declare options."""

    def error(self, message: str) -> NoReturn:
        """Print the message and exit with status 2."""
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")

    def common(self, *names: str, **changed: object) -> None:
        """Declare options shared by commands; `changed` overrides their properties."""
        for name in names:
            self.add_argument(name, **{**_COMMON[name], **changed})

    def number(
        self, name: str, help: str, default: Any = None, kind: Callable = int
    ) -> None:
        """Declare an option with a number as value; its help shows the default."""
        shown = help if default is None else f"{help} (%(default)s)"
        self.add_argument(name, type=kind, default=default, help=shown)

    def many(self, name: str, metavar: str, help: str) -> None:
        """Declare an option that may be repeated, with one value each time."""
        self.add_argument(name, action="append", default=[], metavar=metavar, help=help)

    def further_releases(self) -> None:
        """Declare the options that add releases to the first one."""
        self.many("--also", "RELEASE", "a further release of the network's tables")
        self.add_argument(
            "--tables",
            choices=("one", "disjoint"),
            help="with --also: whether all releases are of one table of records, or of "
            "tables that have no record in common",
        )

    def flag(self, name: str, help: str) -> None:
        """Declare an option without a value."""
        self.add_argument(name, action="store_true", help=help)
