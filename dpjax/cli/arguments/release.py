"""The arguments of `dpjax release`."""

from dpjax.cli.arguments.choices import recipes
from dpjax.cli.arguments.models import add_model_options
from dpjax.cli.arguments.parser import COMMON, Parser
from dpjax.cli.databases import DATABASE_HELP


def add(commands) -> None:
    """Declare `dpjax release` and its options among the subparsers `commands`."""
    command = commands.add_parser(
        "release",
        help="make a table private and write a release file, which is public",
        description="Compute a statistic of a table of sensitive records, make it "
        "private, and write a release file, which is public. Each run costs epsilon "
        "or rho.",
    )
    command.common("data", more=DATABASE_HELP)
    command.common("--schema")
    add_model_options(command)
    command.common(
        "--mechanism",
        more="; laplace and gaussian add noise to counts or sums (default: auto for "
        "marginals, and otherwise laplace, or gaussian on counts with --rho or "
        "--delta)",
        choices=recipes(),
    )
    command.common("--epsilon", required=False)
    command.common("--rho", "--delta")
    command.many(
        "--split",
        "TABLE=EPSILON",
        "laplace and k-norm on networks: the part of epsilon for the table of this "
        "variable and its parents, for each measured table; with k-norm, some may "
        "share a part, as in x,y=1/2",
    )
    command.common("--adjacency", "--contributions", "--id")
    _add_columns(command)
    command.common("--out", more=": the release, which is public", required=True)
    command.common("--about", "--ledger", "--budget", "--period", "--part", "--ignore")
    _add_choices(command)


def _add_columns(command: Parser) -> None:
    command.add_argument(
        "--sample-rate",
        metavar="RATE",
        help="use a secret random sample with this share of the records, such as 1/10, "
        "for which the mechanism may spend more than epsilon",
    )
    command.add_argument(
        "--multiplicity",
        metavar="COLUMN",
        help="column that says for how many records a row stands",
    )
    command.add_argument(
        "--weights",
        metavar="COLUMN",
        help="column of integer weights from 0 to K of --contributions (add-remove "
        "only)",
    )


def _add_choices(command: Parser) -> None:
    group = command.add_argument_group(
        "options of posterior-sample, map, map-cells and hidden-markov-sample",
        "Public choices. By default they follow from epsilon and the public number of "
        "records, such that the expected error is least (see dpjax plan).",
    )
    group.add_argument("--temperature", help="T: the likelihood is raised to 1/T")
    group.add_argument("--samples", type=int, help="number of samples (default: 1)")
    group.add_argument("--omega", help="for networks and levels: smallest probability")
    group.add_argument("--prior", **COMMON["--prior"])
    group.add_argument(
        "--units",
        type=int,
        help="steps of the grid (default: 1000; chosen for map-cells)",
    )
    group.add_argument(
        "--truncation",
        action="append",
        default=[],
        metavar="NAME=LEAST:MOST",
        help="for other models: limits of a parameter (may be repeated)",
    )
    group.add_argument(
        "--points",
        type=int,
        help="grid points for each parameter, or candidates of hidden-markov-sample",
    )
