"""The arguments of `dpjax release`."""

__all__ = ["add", "add_about", "add_id", "add_ledger", "add_losses"]

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
        "or, with the mechanism gaussian, rho.",
    )
    command.common("data", more=DATABASE_HELP)
    command.common("--schema")
    add_model_options(command)
    command.common(
        "--mechanism",
        more="; laplace and gaussian add noise to counts or sums",
        choices=recipes(),
        default="laplace",
    )
    add_losses(command)
    command.many(
        "--split",
        "TABLE=EPSILON",
        "laplace and k-norm on networks: the part of epsilon for the table of this "
        "variable and its parents, for each measured table; with k-norm, some may "
        "share a part, as in x,y=1/2",
    )
    command.common("--adjacency", "--contributions")
    add_id(command)
    _add_columns(command)
    command.common("--out", more=": the release, which is public", required=True)
    add_about(command)
    add_ledger(command)
    command.common("--ignore")
    _add_choices(command)


def add_about(command: Parser) -> None:
    """Declare --about."""
    command.add_argument(
        "--about",
        metavar="FILE",
        help="JSON file of public facts for readers, which become a part of the "
        "release: title, description, record (what a row is), period, region, "
        "steward, contact, published, use",
    )


def add_losses(command: Parser) -> None:
    """Declare --epsilon, --rho and --delta."""
    command.common("--epsilon", required=False)
    command.add_argument(
        "--rho",
        help="for the mechanism gaussian, in place of epsilon: privacy loss in "
        "zero-concentrated differential privacy",
    )
    command.add_argument(
        "--delta",
        help="for the mechanism gaussian, with epsilon: the rho to spend is the one "
        "that implies (epsilon, delta)-differential privacy",
    )


def add_ledger(command: Parser) -> None:
    """Declare --ledger and what it needs."""
    command.common("--ledger")
    command.add_argument(
        "--budget",
        help="total budget of a new ledger, in the terms of the release: epsilon, "
        "epsilon at its delta, or rho",
    )
    command.add_argument(
        "--period",
        choices=("day", "month", "year"),
        help="period after which the budget of a new ledger renews",
    )
    command.add_argument(
        "--part",
        metavar="NAME",
        help="part of the ledger's table that this table is; parts have no record in "
        "common, and of several only the largest sum of charges counts",
    )


def add_id(command: Parser) -> None:
    """Declare --id."""
    command.add_argument(
        "--id",
        metavar="COLUMN",
        help="column that says whose row it is: at most K rows of each person are kept "
        "(add-remove only)",
    )


def _add_columns(command: Parser) -> None:
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
