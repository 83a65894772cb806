"""The arguments of `dpjax report`."""


def add(commands) -> None:
    """Declare `dpjax report` and its options among the subparsers `commands`."""
    command = commands.add_parser(
        "report",
        help="write a report about a release, for its readers",
        description="Write what a release contains and how it is protected: all "
        "variables, all results with intervals, the ledger, and how to verify the "
        "release. Costs no privacy.",
    )
    command.common("release", "--ledger")
    command.common("--level", default=0.95)
    command.common(
        "--out",
        more=": .html for a page to read or print, .json for the same content, .csv "
        "for the results, .yaml for the draft of an entry in the public registry of "
        "deployments",
        required=True,
    )
