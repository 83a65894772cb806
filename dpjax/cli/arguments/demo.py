"""The arguments of `dpjax demo`."""

__all__ = ["add"]


def add(commands) -> None:
    """Declare `dpjax demo` and its options among the subparsers `commands`."""
    command = commands.add_parser(
        "demo",
        help="try mechanisms on real sensitive data",
        description="Fit naive Bayes to the Redbook extramarital-affairs survey (6,366 "
        "respondents, in statsmodels), without privacy and at seven ε. Write a table, "
        "a figure, a release, the survey and a simulated event log, as input for the "
        "other commands.",
    )
    command.add_argument("--out", default="dpjax-demo", help="folder (%(default)s)")
    command.number("--repeats", "random splits of the survey", 50)
