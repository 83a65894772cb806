"""The option `--model` of `dpjax release`, `dpjax plan` and `dpjax sweep`."""

from collections.abc import Sequence

from dpjax.cli.arguments.choices import models
from dpjax.cli.arguments.parser import Parser

LEAVES = "; numeric variables may be leaves"


def add_models(command: Parser, names: Sequence[str]) -> None:
    """Declare the option `--model`, and the options for event logs."""
    command.common("--model", choices=names)
    command.common("--region", "--time")


def add_model_options(command: Parser) -> None:
    """Declare `--model` and the options of its choices for `dpjax release`."""
    add_models(command, models())
    command.common("--network", only="for bayes-net: ", more=LEAVES)
    command.number(
        "--order", "for marginals: number of variables of each table; all are released"
    )
    command.common("--target", only="for linear-regression: ")
    command.common("--variance")
    command.common(
        "--states",
        only="for hmm: ",
        more=" to suggest in the file; dpjax sample accepts any number",
    )
