"""The arguments of `dpjax report`."""

__all__ = ["add"]


def add(commands) -> None:
    """Declare `dpjax report` and its options among the subparsers `commands`."""
    command = commands.add_parser(
        "report",
        help="a report about a release, for its readers",
        description="Write what a release contains and how it is protected: all "
        "variables, all results with intervals, the ledger, and how to verify the "
        "release. Costs no privacy.",
    )
    command.add_argument("release", metavar="RELEASE", help="release file")
    command.add_argument("--ledger", metavar="FILE", help="the ledger that was charged")
    command.number("--level", "probability of the intervals", 0.95, float)
    command.add_argument(
        "--out",
        required=True,
        metavar="FILE",
        help="file to write: .html for a page to read or print, .json for the same "
        "content, .csv for the results, .yaml for the draft of an entry in the public "
        "registry of deployments",
    )
