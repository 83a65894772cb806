"""Conversion of options to objects."""

import argparse
import contextlib
import importlib
import pathlib
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Any

from tqdm import tqdm

from dpjax.cli.budgets import plain
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


def given_of(texts: list[str], names: Collection[str]) -> dict[str, str]:
    """Return the level of each variable that --given names, as NAME=LEVEL.

    A name may contain "=": the longest one of `names` counts.
    """
    given: dict[str, str] = {}
    for text in texts:
        ends = [i for i, sign in enumerate(text) if i and sign == "="]
        if not ends:
            raise ValueError(f"`given` must be NAME=LEVEL, got {text!r:.80}.")
        known = [i for i in ends if text[:i] in names]
        end = (known or ends[:1])[-1]
        name = text[:end]
        if name in given:
            raise ValueError(f"`given` must name a variable once, got {name!r:.80}.")
        given[name] = text[end + 1 :]
    return given


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
