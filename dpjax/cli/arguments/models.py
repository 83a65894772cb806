"""The option `--model` of `dpjax release` and `dpjax sweep`."""

__all__ = ["add_model_options", "add_models"]

from collections.abc import Sequence

from dpjax.cli.arguments.choices import models
from dpjax.cli.arguments.parser import Parser


def add_models(command: Parser, names: Sequence[str], help: str) -> None:
    """Declare the option `--model`, and the options for event logs."""
    command.add_argument(
        "--model", choices=names, default=names[0], help=f"{help}%(default)s"
    )
    command.common("--region", "--time")


def add_model_options(command: Parser) -> None:
    """Declare `--model` and the options of its choices for `dpjax release`."""
    add_models(
        command, models(), "the others use all variables of the schema; default: "
    )
    command.common(
        "--network",
        help='for bayes-net: a BIF file, a JSON file {"parents": {"x": ["y"]}}, or '
        "naive-bayes:TARGET; with dpjax release, numeric variables may be leaves",
    )
    command.number(
        "--order", "for marginals: number of variables of each table; all are released"
    )
    command.add_argument("--target", help="for linear-regression: variable to predict")
    command.number("--variance", "for gaussian-mean: the public variance", kind=float)
    command.number(
        "--states",
        "for hmm: number of hidden states to suggest in the file; dpjax sample accepts "
        "any number",
    )
