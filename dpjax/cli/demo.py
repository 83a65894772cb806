"""`dpjax demo`: the first five minutes."""

__all__ = ["add"]

import argparse
import importlib
import json


def add(commands) -> None:
    """Declare the command."""
    command = commands.add_parser(
        "demo",
        help="try every mechanism on real sensitive data",
        description="Naive Bayes on the Redbook extramarital-affairs survey (6,366 "
        "respondents, in statsmodels), private and not, at seven ε. Writes a table, a "
        "figure, a release, and the data, with a simulated event log, as files to try "
        "the other commands on.",
    )
    command.add_argument(
        "--out", default="dpjax-demo", help="folder (default: %(default)s)"
    )
    command.add_argument("--repeats", type=int, default=50, help="default: %(default)s")
    command.add_argument("--json", action="store_true", help="print results as JSON")
    command.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    module = importlib.import_module(
        "dpjax.cli.demonstration"
    )  # the other commands start sooner
    report = module.demo(options.out, repeats=options.repeats)
    if options.json:
        print(json.dumps(report))
        return
    print(module.table_of_results(report))
    print(f"majority level: {report['majority_accuracy']:.4f}; chance AUC: 0.5")
    print(f"figure, results, a release and files to try it on: {options.out}/")
