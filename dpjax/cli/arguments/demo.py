"""The arguments of `dpjax demo`."""


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
    command.common(
        "--out", metavar="FOLDER", help="folder to write", default="dpjax-demo"
    )
    command.common("--repeats", more=", each with a random split", default=50)
