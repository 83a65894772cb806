"""The parser of all commands, and the options that several of them have."""

import argparse
from collections.abc import Callable
from typing import Any, NoReturn

from dpjax.cli.arguments.choices import ADJACENCIES

COMMON: dict[str, dict[str, Any]] = {
    "data": {
        "metavar": "DATA",
        "help": "records: a CSV, CSV.gz or Parquet file, or a folder of them",
    },
    "release": {"metavar": "RELEASE", "help": "release file"},
    "--schema": {
        "metavar": "FILE",
        "required": True,
        "help": 'JSON file: {"variables": {"x": {"levels": [0, 1]}, "age": {"lower": '
        '0, "upper": 120}}}',
    },
    "--model": {
        "default": "bayes-net",
        "help": "model of the records; all but bayes-net are for all variables of the "
        "schema",
    },
    "--network": {
        "help": 'a BIF file, a JSON file {"parents": {"x": ["y"]}}, or '
        "naive-bayes:TARGET",
    },
    "--target": {"metavar": "NAME", "help": "variable to predict"},
    "--variance": {"type": float, "help": "for gaussian-mean: the public variance"},
    "--states": {"type": int, "help": "number of hidden states"},
    "--region": {
        "metavar": "NAME",
        "help": "for hmm: the variable with one chain of states per level",
    },
    "--time": {
        "metavar": "NAME",
        "help": "for hmm: the variable of time, whose levels are consecutive integers; "
        "all further variables are fields of an event",
    },
    "--mechanism": {"help": "name of the mechanism"},
    "--n": {"type": int, "required": True, "help": "number of records"},
    "--epsilon": {"required": True, "help": "privacy loss: 0.5 or 1/3"},
    "--rho": {
        "help": "in place of epsilon: privacy loss in zero-concentrated differential "
        "privacy",
    },
    "--delta": {
        "help": "with epsilon, for gaussian noise, auto and samples: the rho to spend "
        "is the one that implies (epsilon, delta)-differential privacy",
    },
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
    "--id": {
        "metavar": "COLUMN",
        "help": "column that says whose row it is: at most K rows of each person are "
        "kept (add-remove only)",
    },
    "--about": {
        "metavar": "FILE",
        "help": "JSON file of public facts for readers, which become a part of the "
        "release: title, description, record (what a row is), period, region, "
        "steward, contact, published, use",
    },
    "--ledger": {
        "metavar": "FILE",
        "help": "ledger: the file that records all charges to the table",
    },
    "--budget": {
        "help": "total budget of a new ledger, in the terms of the release: epsilon, "
        "epsilon at its delta, or rho",
    },
    "--period": {
        "choices": ("day", "month", "year"),
        "help": "period after which the budget of a new ledger renews",
    },
    "--part": {
        "metavar": "NAME",
        "help": "part of the ledger's table that this table is; parts have no record "
        "in common, and of several only the largest sum of charges counts; not with "
        "--id",
    },
    "--prior": {"help": "Dirichlet parameter of a cell (default: 1)"},
    "--ignore": {
        "action": "append",
        "default": [],
        "metavar": "COLUMN",
        "help": "undeclared column to leave out (may be repeated; '*' for all)",
    },
    "--also": {
        "action": "append",
        "default": [],
        "metavar": "RELEASE",
        "help": "a further release of the network's tables (may be repeated)",
    },
    "--tables": {
        "choices": ("one", "disjoint"),
        "help": "with --also: whether all releases are of one table of records, or of "
        "tables that have no record in common",
    },
    "--given": {
        "action": "append",
        "default": [],
        "metavar": "NAME=LEVEL",
        "help": "variable with a known level (may be repeated)",
    },
    "--keep": {
        "action": "append",
        "default": [],
        "metavar": "COLUMN",
        "help": "column of DATA that is copied to the output, such as a key (may be "
        "repeated)",
    },
    "--no-noise-aware": {
        "action": "store_true",
        "help": "treat noisy numbers as exact (method plug-in), as the papers do",
    },
    "--level": {"type": float, "help": "probability of the intervals"},
    "--repeats": {"type": int, "help": "number of repeats"},
    "--seed": {"type": int, "default": 0, "help": "seed of the random numbers"},
    "--out": {"metavar": "FILE", "help": "file to write"},
    "--plot": {"metavar": "FILE", "help": "PNG file to write"},
    "--json": {"action": "store_true", "help": "print the result as a line of JSON"},
    "--no-cache": {
        "action": "store_true",
        "help": "keep no compiled programs for the next run",
    },
}
"""By name: what several commands declare, with the same words in each."""


class Parser(argparse.ArgumentParser):
    """An argument parser with one-line errors and methods that declare options.

    Options must be written in full, since a command with a mistyped one may spend a
    budget.
    """

    def __init__(self, *args: Any, **facts: Any) -> None:
        super().__init__(*args, allow_abbrev=False, **facts)

    def error(self, message: str) -> NoReturn:
        """Print the message and exit with status 2."""
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")

    def common(
        self, *names: str, only: str = "", more: str = "", **changed: Any
    ) -> None:
        """Declare options that several commands have.

        Args:
            names: the options, or positional arguments.
            only: what the option is for, before its help.
            more: what is special to this command, after the help.
            changed: properties that are not as in other commands.
        """
        for name in names:
            facts = {**COMMON[name], **changed}
            facts["help"] = only + _with_default(facts.pop("help") + more, facts)
            self.add_argument(name, **facts)

    def number(
        self, name: str, help: str, default: Any = None, kind: Callable = int
    ) -> None:
        """Declare an option with a number as value; its help shows the default."""
        facts = {"type": kind, "default": default}
        self.add_argument(name, help=_with_default(help, facts), **facts)

    def many(self, name: str, metavar: str, help: str) -> None:
        """Declare an option that may be repeated, with one value each time."""
        self.add_argument(
            name,
            action="append",
            default=[],
            metavar=metavar,
            help=f"{help} (may be repeated)",
        )

    def flag(self, name: str, help: str) -> None:
        """Declare an option without a value."""
        self.add_argument(name, action="store_true", help=help)


def _with_default(help: str, facts: dict[str, Any]) -> str:
    nothing = facts.get("default") in (None, [])
    return help if nothing else f"{help} (default: %(default)s)"
