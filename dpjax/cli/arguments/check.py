"""The arguments of `dpjax check`."""


def add(commands) -> None:
    """Declare `dpjax check` and its options among the subparsers `commands`."""
    command = commands.add_parser(
        "check",
        help="list the cells of a table that a schema rejects, for the curator",
        description="Compare a table with a schema before anything is released. The "
        "cells that the schema rejects are listed by column, each value once. The list "
        "has values of records: it is for the curator alone, and not private. Numbers "
        "outside their bounds are clipped by a release, and not listed. Exit status 1 "
        "if a cell is rejected.",
    )
    command.common("data", "--schema", "--ignore")
