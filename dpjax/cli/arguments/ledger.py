"""The arguments of `dpjax ledger`."""


def add(commands) -> None:
    """Declare `dpjax ledger` and its options among the subparsers `commands`."""
    command = commands.add_parser(
        "ledger",
        help="show what a ledger has spent, on what, and what it has left",
        description="Show the budget of a ledger, what is spent and left, and all "
        "charges with their dates. Nothing is charged.",
    )
    command.add_argument("ledger", metavar="FILE", help="ledger file")
