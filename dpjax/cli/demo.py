"""`dpjax demo`: try mechanisms on real data, and write example files."""

__all__ = ["add"]

import argparse
import importlib
import json


def add(commands) -> None:
    """Declare the command."""
    command = commands.add_parser(
        "demo",
        help="try mechanisms on real sensitive data",
        description="Fit naive Bayes to the Redbook extramarital-affairs survey (6,366 "
        "respondents, in statsmodels), without privacy and at seven ε. Write a table, "
        "a figure, a release, the survey and a simulated event log, as input for the "
        "other commands.",
    )
    command.add_argument(
        "--out", default="dpjax-demo", help="folder (default: %(default)s)"
    )
    command.add_argument("--repeats", type=int, default=50, help="default: %(default)s")
    command.add_argument("--json", action="store_true", help="print results as JSON")
    command.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    module = importlib.import_module("dpjax.cli.demonstration")  # slow to import
    report = module.demo(options.out, repeats=options.repeats)
    if options.json:
        print(json.dumps(report))
        return
    print(module.table_of_results(report))
    print(f"majority level: {report['majority_accuracy']:.4f}; chance AUC: 0.5")
    print(f"figure, results, release and example data: {options.out}/")
