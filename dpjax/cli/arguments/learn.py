"""The arguments of `dpjax learn`."""

__all__ = ["add"]

from dpjax.cli.arguments.parser import Parser
from dpjax.cli.arguments.release import add_about, add_id, add_ledger, add_losses
from dpjax.cli.databases import DATABASE_HELP

MECHANISMS = ("auto", "laplace", "k-norm", "gaussian")


def add(commands) -> None:
    """Declare `dpjax learn` and its options among the subparsers `commands`."""
    command: Parser = commands.add_parser(
        "learn",
        help="learn a network and its tables, and write a release file",
        description="Learn which variables depend on which, and the tables of this "
        "Bayesian network, from a table of sensitive records. All draws together cost "
        "epsilon or, with the mechanism gaussian, rho. The file is one of a release, "
        "for all other commands.",
    )
    command.common("data", more=DATABASE_HELP)
    command.common("--schema")
    command.add_argument(
        "--degree",
        type=int,
        default=2,
        help="largest number of parents of a variable (default: 2); a higher one needs "
        "more records or budget",
    )
    command.add_argument(
        "--mechanism",
        choices=MECHANISMS,
        help="noise on tables (default: auto, or gaussian with --rho or --delta)",
    )
    add_losses(command)
    command.common("--adjacency", "--contributions")
    add_id(command)
    command.common("--out", more=": the release, which is public", required=True)
    add_about(command)
    add_ledger(command)
    command.common("--ignore")
