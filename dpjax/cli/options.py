"""Conversion of options to objects, and checks of output files."""

__all__ = [
    "any_network_of",
    "is_among_tables",
    "network_of",
    "pair_of",
    "plots",
    "progress",
    "refuse_unwritable",
    "refuse_unwritable_file",
    "releases_of",
    "saying",
    "span_of",
    "split_of",
    "summary",
]

import argparse
import contextlib
import importlib
import os
import pathlib
import stat
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tqdm import tqdm

from dpjax.cli.budgets import plain
from dpjax.cli.databases import file_of
from dpjax.data.bayes_net import BayesNet, read_parents
from dpjax.data.intervals import Interval
from dpjax.data.mixed_net import MixedNet, network_from
from dpjax.data.schema import Schema
from dpjax.exports.reports.budget import texts
from dpjax.exports.reports.words import implied_by
from dpjax.mechanisms import ExactMechanism
from dpjax.privacy import Ledger
from dpjax.releases.released import Released, load

_PATIENCE = 2  # seconds


def progress(command: str, unit: str, hidden: bool = False) -> Callable:
    """Return a function that shows a progress bar over an iterable, in a terminal."""
    disable = True if hidden else None
    return partial(tqdm, desc=f"dpjax {command}", unit=unit, disable=disable)


@contextlib.contextmanager
def saying(command: str, what: str) -> Iterator[None]:
    """Say in a terminal what a command does, if it takes longer than two seconds."""
    line = f"dpjax {command}: {what} (longer when programs are compiled) …"
    timer = threading.Timer(_PATIENCE, print, (line,), {"file": sys.stderr})
    timer.daemon = True
    if sys.stderr.isatty():
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


def plots() -> Any:
    """Import and return `dpjax.plots`; it is imported on first use since it is slow."""
    return importlib.import_module("dpjax.plots")


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


def any_network_of(spec: str, schema: Schema) -> BayesNet | MixedNet:
    """Return the network as `network_of` does; its leaves may be numeric."""
    kind, _, target = spec.partition(":")
    numeric = any(isinstance(variable, Interval) for variable in schema.values())
    if numeric and kind == "naive-bayes":
        return MixedNet.naive_bayes(schema, target)
    if numeric and spec.lower().endswith((".json", ".json.gz")):
        return network_from(schema, read_parents(spec))
    return network_of(spec, schema)


def releases_of(
    options: argparse.Namespace, released: Released
) -> tuple[Released | list[Released], bool | None]:
    """Return the releases of RELEASE and --also, and `disjoint` for `posterior`."""
    if not options.also:
        if options.tables is not None:
            raise ValueError("`tables` must be given with --also, got no such release.")
        return released, None
    paths = [options.release, *options.also]
    if len({*map(os.path.realpath, paths)}) < len(paths):
        raise ValueError("`also` must name further releases, got one file twice.")
    if options.tables is None:
        raise ValueError(
            "`tables` must say whether all releases are of one table of records or of "
            "disjoint tables: add --tables one or --tables disjoint."
        )
    return [released, *map(load, options.also)], options.tables == "disjoint"


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


def pair_of(text: str) -> tuple[str, str]:
    """Return the name and the level in an argument of --given, NAME=LEVEL."""
    name, equals, level = text.partition("=")
    if not (name and equals):
        raise ValueError(f"`given` must be NAME=LEVEL, got {text!r:.80}.")
    return name, level


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
    network = getattr(options, "network", None)
    inputs = [data, options.schema, network, options.ledger]
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
    out, writable = pathlib.Path(path).resolve(), True
    try:
        tempfile.TemporaryFile(dir=out.parent).close()  # permission bits can mislead
        with contextlib.suppress(FileNotFoundError):  # `exists` hides other errors
            writable = stat.S_ISREG(out.stat().st_mode)
    except OSError:
        writable = False
    if not writable:
        raise ValueError(
            f"`{name}` must be a file in a folder that can be written, got {path}."
        )


def summary(released: Released, ledger: Ledger | None = None) -> dict[str, Any]:
    """Return a dictionary of a release's cost and other public facts, for display."""
    cost, mechanism = released.guarantee(), released.mechanism
    implied = implied_by(cost)
    facts: dict[str, Any] = {
        **texts(cost.numbers),
        **({"implies": implied} if implied else {}),
        "adjacency": cost.adjacency,
        "unit": cost.unit,
    }
    if isinstance(mechanism, ExactMechanism):
        facts |= mechanism.summary()
    n = None if released.n is None else int(released.n)
    facts |= {"integers": released.values.size, "records": n}
    if released.learned is not None:
        facts |= {"network": "learned", "edges": sum(map(len, released.net.parents))}
    if released.sampled is not None:
        facts |= {"sample_rate": str(released.sampled.rate)}
    if ledger is not None:
        facts |= {"spent": plain(ledger.cost), "budget": plain(ledger.limit)}
    return facts
