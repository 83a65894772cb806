"""The arguments of `dpjax query`."""

__all__ = ["add"]

from dpjax.cli.arguments.parser import DATA_HELP


def add(commands) -> None:
    """Declare `dpjax query` and its options among the subparsers `commands`."""
    command = commands.add_parser(
        "query",
        help="probabilities of some variables, given the levels of others",
        description="Write CSV to standard output: the joint probability of all levels "
        "of the targets; with DATA, a row for each record. All other variables are "
        "summed out. Costs no privacy of the released table.",
    )
    command.add_argument("release", metavar="RELEASE", help="release file")
    command.further_releases()
    command.add_argument(
        "data",
        metavar="DATA",
        nargs="?",
        help=f"{DATA_HELP}; columns may be absent and cells missing",
    )
    command.many("--target", "NAME", "variable to ask for (may be repeated)")
    command.many("--given", "NAME=LEVEL", "level that is known (may be repeated)")
