"""The arguments of `dpjax query`."""


def add(commands) -> None:
    """Declare `dpjax query` and its options among the subparsers `commands`."""
    command = commands.add_parser(
        "query",
        help="compute probabilities of some variables, given the levels of others",
        description="Write CSV to standard output: the joint probability of all levels "
        "of the targets; with DATA, a row for each record. All other variables are "
        "summed out. Costs no privacy of the released table.",
    )
    command.common("release", "--also", "--tables")
    command.common(
        "data",
        more="; columns may be absent and cells missing; a target with a cell is known",
        nargs="?",
    )
    command.common(
        "--target", more=" (may be repeated)", action="append", required=True
    )
    command.common("--given")
    command.common("--keep")
