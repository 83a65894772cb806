"""The arguments of `dpjax verify`."""


def add(commands) -> None:
    """Declare `dpjax verify` and its options among the subparsers `commands`."""
    command = commands.add_parser(
        "verify",
        help="check the consistency of a release file",
        description="Derive again from the file its cost and all quantities that the "
        "cost depends on (sensitivity and noise table with its certificate, or "
        "truncation and temperature), and check its content hash. Exit status 1 if "
        "anything differs, 2 if the file cannot be read.",
    )
    command.common("release")
