"""The arguments of `dpjax learn`."""

from dpjax.cli.arguments.parser import Parser
from dpjax.cli.databases import DATABASE_HELP

MECHANISMS = ("auto", "laplace", "k-norm", "gaussian")


def add(commands) -> None:
    """Declare `dpjax learn` and its options among the subparsers `commands`."""
    command: Parser = commands.add_parser(
        "learn",
        help="learn a network and its tables, and write a release file",
        description="Learn which variables depend on which, and the tables of this "
        "Bayesian network, from a table of sensitive records. All draws together cost "
        "epsilon or rho. The file is one of a release, "
        "for all other commands.",
    )
    command.common("data", more=DATABASE_HELP)
    command.common("--schema")
    command.number(
        "--degree",
        "largest number of parents of a variable; if absent: 1, 2 or 3, the most for "
        "which the budget and the number of records are enough, or a second parent for "
        "some variables only",
        None,
    )
    command.common(
        "--mechanism",
        more=" of the tables",
        choices=MECHANISMS,
        default="auto",
    )
    command.common("--epsilon", required=False)
    command.common("--rho", "--delta", "--adjacency", "--contributions", "--id")
    command.common("--out", more=": the release, which is public", required=True)
    command.common("--about", "--ledger", "--budget", "--period", "--part", "--ignore")
