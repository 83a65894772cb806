"""Conversion of command-line arguments to objects, and checks of output files."""

__all__ = [
    "DATA_HELP",
    "increment_of",
    "is_among_tables",
    "ledger_of",
    "network_of",
    "refuse_unwritable",
    "refuse_unwritable_file",
    "split_of",
    "summary",
]

import argparse
import pathlib
import stat
import tempfile

from dpjax.data.bayes_net import BayesNet
from dpjax.data.schema import Schema
from dpjax.mechanisms import ExactMechanism
from dpjax.noise.keys import study_key
from dpjax.privacy import Ledger
from dpjax.releases.released import Released
from dpjax.statistics import TableStatistic
from dpjax.theory.stealth import calibrated_increment, paper_increment

DATA_HELP = "records: a CSV, CSV.gz or Parquet file, or a folder of them"


def increment_of(spec: str, released: Released) -> float:
    """Return the increment in records for none, a number, paper:T or calibrated:P."""
    kind, _, value = spec.partition(":")
    statistic, cost = released.statistic, released.guarantee()
    if spec == "none" or not isinstance(statistic, TableStatistic):
        return 0.0
    try:
        number = float(value or kind)
    except ValueError:
        number = None
    if number is None or (value and kind not in ("paper", "calibrated")):
        raise ValueError(
            f"`increment` must be none, a number, paper:T or calibrated:P, got {spec}."
        )
    if kind == "paper":
        return paper_increment(statistic, cost.bound, number)
    if kind == "calibrated":
        key = study_key(0)  # the simulation uses no data, so the key is public
        return calibrated_increment(key, statistic, released.mechanism, number)
    return number


def network_of(spec: str, schema: Schema) -> BayesNet:
    """Return the network of a BIF file, a JSON file or naive-bayes:TARGET."""
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
    """Open the ledger, if the options name one."""
    if options.ledger is None:
        if options.budget is not None:
            raise ValueError("`budget` must be given with a ledger: add --ledger FILE.")
        return None
    return Ledger(options.budget, adjacency=options.adjacency, path=options.ledger)


def split_of(specs: list[str]) -> dict[str, str] | None:
    """Return the budget of each table, from arguments of the form TABLE=EPSILON."""
    split = {}
    for spec in specs:
        name, _, epsilon = spec.rpartition("=")
        if not name or name in split:
            raise ValueError(
                f"`split` must be TABLE=EPSILON, once for each table, got {spec}."
            )
        split[name] = epsilon
    return split or None


def refuse_unwritable(options: argparse.Namespace) -> None:
    """Reject an output that cannot be written or is an input, before any charge."""
    out = pathlib.Path(options.out).resolve()
    inputs = [options.data, options.schema, options.network, options.ledger]
    taken = [pathlib.Path(x).resolve() for x in inputs if x]
    if out in taken or is_among_tables(out, options.data):
        raise ValueError(
            f"`out` must not be an input or the ledger, got {options.out}."
        )
    refuse_unwritable_file(options.out)


def is_among_tables(out: pathlib.Path, data: str) -> bool:
    """Whether a file is in the folder `data`, of which every file is read."""
    folder = pathlib.Path(data).resolve()
    return folder.is_dir() and folder in out.resolve().parents


def refuse_unwritable_file(
    path: str, name: str = "out", endings: tuple[str, ...] = ("",)
) -> None:
    """Reject an output that cannot be written, before work that would be lost.

    Args:
        path: path of the output.
        name: name of its option.
        endings: possible endings of the path.
    """
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
    """Return the public facts of a release, for display."""
    cost, mechanism = released.guarantee(), released.mechanism
    facts: dict[str, object] = {
        **{name: str(number) for name, number in cost.numbers.items()},
        "adjacency": cost.adjacency,
    }
    if isinstance(mechanism, ExactMechanism):
        facts |= mechanism.summary()
    facts |= {"integers": released.values.size, "records": released.n}
    if ledger is not None:
        facts |= {"spent": str(ledger.spent), "budget": str(ledger.budget)}
    return facts
