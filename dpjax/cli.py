"""The command line: names in, objects out, one clear line for whatever is wrong."""

__all__ = ["main"]

import argparse
import csv
import importlib
import json
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import numpy as np

from dpjax._version import __version__
from dpjax.cli_options import (
    increment_of,
    ledger_of,
    network_of,
    refuse_unwritable,
)
from dpjax.models import posterior
from dpjax.privacy import ADJACENCIES, Ledger, PureDP, exact_epsilon
from dpjax.publish import MECHANISMS, release
from dpjax.release_format import InconsistentRelease
from dpjax.released import Released, load
from dpjax.schema import Schema

DATA_HELP = "table of records: CSV, CSV.gz or Parquet, a column a variable"
IGNORE_HELP = "a column outside the schema to leave out (repeat, or '*' for all)"


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status.

    0: done. 1: `verify` found an inconsistency. 2: bad input, nothing written.
    """
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except BrokenPipeError:  # the reader of our output, such as `head`, has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (ValueError, ImportError, OSError) as error:
        print(f"dpjax {options.command}: {error}", file=sys.stderr)
        verifying = options.command == "verify"
        return 1 if verifying and isinstance(error, InconsistentRelease) else 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="dpjax", description="Differentially private Bayesian inference."
    )
    parser.add_argument("--version", action="version", version=f"dpjax {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for add in (_add_demo, _add_release, _add_predict, _add_verify):
        add(commands)
    return parser


def _add_demo(commands) -> None:
    command = commands.add_parser(
        "demo",
        help="try every mechanism on real sensitive data",
        description="Naive Bayes on the Redbook extramarital-affairs survey (6,366 "
        "respondents, in statsmodels), private and not, at seven ε. Writes a table, a "
        "figure, a release, and the data as files to try the other commands on.",
    )
    command.add_argument(
        "--out", default="dpjax-demo", help="folder (default: %(default)s)"
    )
    command.add_argument("--repeats", type=int, default=50, help="default: %(default)s")
    command.add_argument("--json", action="store_true", help="print results as JSON")
    command.set_defaults(run=_demo)


def _add_release(commands) -> None:
    command = commands.add_parser(
        "release",
        help="publish a private posterior of a table",
        description="Count a table of sensitive records, add exact integer noise, "
        "write a release file that anyone may see. Costs epsilon each time it is run.",
    )
    command.add_argument("data", metavar="DATA", help=DATA_HELP)
    command.add_argument(
        "--schema", required=True, help='JSON: {"variables": {"x": {"levels": [0, 1]}}}'
    )
    command.add_argument(
        "--network",
        required=True,
        help='a BIF file, a JSON file {"parents": {"x": ["y"]}}, or naive-bayes:TARGET',
    )
    command.add_argument("--mechanism", choices=sorted(MECHANISMS), default="laplace")
    command.add_argument("--epsilon", required=True, help="privacy loss: 0.5 or 1/3")
    command.add_argument(
        "--adjacency",
        required=True,
        choices=ADJACENCIES,
        help="which tables are neighbours: one record replaced (the number of records "
        "is public), or one added or removed (it is private)",
    )
    command.add_argument("--out", required=True, help="release file to write")
    command.add_argument("--ledger", help="file of all charges to one table")
    command.add_argument("--budget", help="whole budget of the ledger, to start it")
    command.add_argument("--ignore", action="append", default=[], help=IGNORE_HELP)
    command.add_argument(
        "--json", action="store_true", help="print the summary as JSON"
    )
    command.set_defaults(run=_release)


def _add_predict(commands) -> None:
    command = commands.add_parser(
        "predict",
        help="predict a variable of new records from a release",
        description="Write CSV to standard output: a row a record, a column p_<level> "
        "for each level of the target. Costs no privacy of the released table.",
    )
    command.add_argument("release", metavar="RELEASE", help="release file")
    command.add_argument(
        "data", metavar="DATA", help=f"{DATA_HELP}; the target may be absent"
    )
    command.add_argument("--target", required=True, help="variable to predict")
    command.add_argument(
        "--prior",
        type=float,
        default=1.0,
        help="Dirichlet parameter of a cell (default: 1)",
    )
    command.add_argument(
        "--increment",
        default="none",
        help="records to add to the total, in equal parts to the cells of a table: "
        "none (default), a number, paper:T (Zhang et al., Corollary 3) or "
        "calibrated:P (no cell is negative with probability P)",
    )
    command.set_defaults(run=_predict)


def _add_verify(commands) -> None:
    command = commands.add_parser(
        "verify",
        help="check a release file against itself",
        description="Derive sensitivity, noise scale, noise table with its certificate "
        "and cost again, from the file alone, and check its content hash. Exit status "
        "1 if anything differs, 2 if the file cannot be read.",
    )
    command.add_argument("release", metavar="RELEASE", help="release file")
    command.add_argument("--json", action="store_true", help="print the report as JSON")
    command.set_defaults(run=_verify)


def _demo(options: argparse.Namespace) -> None:
    module = importlib.import_module("dpjax.demo")  # the other commands start sooner
    report = module.demo(options.out, repeats=options.repeats)
    if options.json:
        print(json.dumps(report))
        return
    print(module.table_of_results(report))
    print(f"majority level: {report['majority_accuracy']:.4f}; chance AUC: 0.5")
    print(f"figure, results, a release and files to try it on: {options.out}/")


def _release(options: argparse.Namespace) -> None:
    schema = Schema.from_json(options.schema)
    net = network_of(options.network, schema)
    cost = PureDP(exact_epsilon(options.epsilon), options.adjacency)
    refuse_unwritable(options)
    ledger = ledger_of(options)
    if ledger is not None:
        ledger.require(cost)  # before the table is touched
    unused = [name for name in schema if name not in net.names]
    records = schema.select(net.names).encode(
        options.data, ignore=[*unused, *options.ignore]
    )
    released = release(
        net,
        records,
        mechanism=options.mechanism,
        epsilon=cost.epsilon,
        adjacency=cost.adjacency,
        ledger=ledger,
    )
    released.save(options.out)
    summary = _summary(released, ledger)
    if options.json:
        print(json.dumps(summary))
    else:
        print(f"{options.out}: {released}")
        if ledger is not None:
            print(f"ledger: {ledger.spent} of {ledger.budget} spent")


def _predict(options: argparse.Namespace) -> None:
    released = load(options.release)
    target = released.net.variables[released.net.index(options.target)]
    rows = released.schema.encode(options.data, ignore="*", absent=options.target)
    increment = increment_of(options.increment, released)
    fitted = posterior(released, options.prior, increment=increment)
    probabilities = np.asarray(fitted.predict_proba(rows, options.target))
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([f"p_{level}" for level in target.levels])
    writer.writerows(probabilities)  # each number as short as its precision allows
    sys.stdout.flush()


def _verify(options: argparse.Namespace) -> None:
    summary = _summary(load(options.release))
    if options.json:
        print(json.dumps({"consistent": True, **summary}))
        return
    print(f"{options.release}: consistent")
    for name, value in summary.items():
        print(f"  {name:<12} {'private' if value is None else value}")


def _summary(released: Released, ledger: Ledger | None = None) -> dict[str, object]:
    cost = released.guarantee()
    sensitivity = released.statistic.sensitivity(cost.adjacency)
    return {
        "epsilon": str(cost.epsilon),
        "adjacency": cost.adjacency,
        "sensitivity": int(sensitivity.value),
        "scale": str(int(sensitivity.value) / cost.epsilon),
        "certificate": "every ratio of neighbouring probabilities ≤ exp(1 / scale)",
        "integers": released.statistic.length,
        "records": released.n,
        **(
            {}
            if ledger is None
            else {"spent": str(ledger.spent), "budget": str(ledger.budget)}
        ),
    }
