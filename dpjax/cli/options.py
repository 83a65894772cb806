"""Declaration of options, their conversion to objects, and checks of output files."""

__all__ = [
    "DATA_HELP",
    "Parser",
    "increment_of",
    "is_among_tables",
    "ledger_of",
    "network_of",
    "plots",
    "progress",
    "refuse_unwritable",
    "refuse_unwritable_file",
    "span_of",
    "split_of",
    "summary",
]

import argparse
import importlib
import pathlib
import stat
import tempfile
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from tqdm import tqdm

from dpjax.cli.databases import file_of
from dpjax.data.bayes_net import BayesNet
from dpjax.data.schema import Schema
from dpjax.mechanisms import ExactMechanism
from dpjax.noise.keys import study_key
from dpjax.privacy import ADJACENCIES, Ledger
from dpjax.releases.released import Released
from dpjax.statistics import TableStatistic
from dpjax.theory.stealth import calibrated_increment, paper_increment

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
    "--json": {"action": "store_true", "help": "print results as JSON"},
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

    def flag(self, name: str, help: str) -> None:
        """Declare an option without a value."""
        self.add_argument(name, action="store_true", help=help)


def progress(command: str, unit: str, hidden: bool = False) -> Callable:
    """Return a function that shows a progress bar over an iterable, in a terminal."""
    disable = True if hidden else None
    return partial(tqdm, desc=f"dpjax {command}", unit=unit, disable=disable)


def plots() -> Any:
    """Import and return `dpjax.plots`; it is imported on first use since it is slow."""
    return importlib.import_module("dpjax.plots")


def increment_of(spec: str, released: Released) -> float:
    """Return the number of records that --increment adds to each table's total."""
    kind, _, value = spec.partition(":")
    statistic, cost = released.statistic, released.mechanism.guarantee()
    if spec == "none" or not isinstance(statistic, TableStatistic):
        return 0.0
    try:
        amount = float(value or kind)
    except ValueError:
        amount = None
    if amount is None or (value and kind not in ("paper", "calibrated")):
        raise ValueError(
            f"`increment` must be none, a number, paper:T or calibrated:P, got {spec}."
        )
    if kind == "paper":
        return paper_increment(statistic, cost.bound, amount)
    if kind == "calibrated":
        key = study_key(0)  # the simulation uses no data, so the key is public
        return calibrated_increment(key, statistic, released.mechanism, amount)
    return amount


def network_of(spec: str, schema: Schema) -> BayesNet:
    """Return the network given by a BIF file, a JSON file or naive-bayes:TARGET."""
    kind, _, target = spec.partition(":")
    if kind == "naive-bayes":
        return BayesNet.naive_bayes(schema, target)
    suffixes = [suffix.lower() for suffix in pathlib.Path(spec).suffixes]
    if ".bif" in suffixes:
        return BayesNet.from_bif(spec, schema)
    if ".json" in suffixes:
        return BayesNet.from_json(spec, schema)
    raise ValueError(
        f"`network` must be a .bif or .json file or naive-bayes:TARGET, got {spec}."
    )


def ledger_of(options: argparse.Namespace) -> Ledger | None:
    """Return the ledger of the options --ledger and --budget; None without --ledger."""
    if options.ledger is None:
        if options.budget is not None:
            raise ValueError("`budget` must be given with a ledger: add --ledger FILE.")
        return None
    return Ledger(
        options.budget,
        adjacency=options.adjacency,
        contributions=options.contributions,
        path=options.ledger,
    )


def split_of(specs: list[str]) -> dict[str, str] | None:
    """Return a dictionary from table to ε, from arguments of the form TABLE=EPSILON."""
    split = {}
    for spec in specs:
        name, _, epsilon = spec.rpartition("=")
        if not name or name in split:
            raise ValueError(
                f"`split` must be TABLE=EPSILON, once for each table, got {spec}."
            )
        split[name] = epsilon
    return split or None


def span_of(spec: str, option: str, form: str, kind: type) -> tuple[str, tuple]:
    """Return the name and the two numbers of type `kind` in `spec`, NAME=FIRST:LAST."""
    name, _, ends = spec.rpartition("=")
    try:
        first, last = map(kind, ends.split(":"))
    except ValueError:
        name, first, last = "", 0, 0
    if not name:
        raise ValueError(f"`{option}` must be of the form {form}, got {spec}.")
    return name, (first, last)


def refuse_unwritable(options: argparse.Namespace) -> None:
    """Raise `ValueError` if the file of --out is an input or cannot be written."""
    out = pathlib.Path(options.out).resolve()
    data = file_of(options.data)
    inputs = [data, options.schema, options.network, options.ledger]
    taken = [pathlib.Path(x).resolve() for x in inputs if x]
    if out in taken or is_among_tables(out, data):
        raise ValueError(
            f"`out` must not be an input or the ledger, got {options.out}."
        )
    refuse_unwritable_file(options.out)


def is_among_tables(out: pathlib.Path, data: str) -> bool:
    """Whether the path `data` is a folder and the file `out` is in it."""
    folder = pathlib.Path(data).resolve()
    return folder.is_dir() and folder in out.resolve().parents


def refuse_unwritable_file(
    path: str, name: str = "out", endings: tuple[str, ...] = ("",)
) -> None:
    """Raise `ValueError` if a file cannot be written or has none of the endings."""
    if not path.lower().endswith(endings):
        raise ValueError(f"`{name}` must end in {' or '.join(endings)}, got {path}.")
    out = pathlib.Path(path).resolve()
    try:
        tempfile.TemporaryFile(dir=out.parent).close()  # permission bits can mislead
        writable = not out.exists() or stat.S_ISREG(out.stat().st_mode)
    except OSError:
        writable = False
    if not writable:
        raise ValueError(
            f"`{name}` must be a file in a folder that can be written, got {path}."
        )


def summary(released: Released, ledger: Ledger | None = None) -> dict[str, object]:
    """Return a dictionary of a release's cost and other public facts, for display."""
    cost, mechanism = released.guarantee(), released.mechanism
    facts: dict[str, object] = {
        **{name: str(number) for name, number in cost.numbers.items()},
        "adjacency": cost.adjacency,
        "unit": cost.unit,
    }
    if isinstance(mechanism, ExactMechanism):
        facts |= mechanism.summary()
    n = None if released.n is None else int(released.n)
    facts |= {"integers": released.values.size, "records": n}
    if ledger is not None:
        facts |= {"spent": str(ledger.spent), "budget": str(ledger.budget)}
    return facts
