"""The arguments of `dpjax synthesize`."""


def add(commands) -> None:
    """Declare `dpjax synthesize` and its options among the subparsers `commands`."""
    command = commands.add_parser(
        "synthesize",
        help="draw synthetic tables of records from a release",
        description="Write tables of synthetic records, as CSV or Parquet. Each table "
        "is drawn with its own parameters from the posterior, which is that of a "
        "network or of marginal tables. Costs no privacy of the released table.",
    )
    command.common("release", "--also", "--tables")
    command.common(
        "--n",
        more=" of each table (default: that of RELEASE, if it is public)",
        required=False,
    )
    command.number("--copies", "number of tables, to combine their results", 1)
    command.common("--given", more="; all records have it")
    command.common("--seed")
    command.common(
        "--out",
        more=": .csv or .parquet; of several tables, FILE-1.csv, FILE-2.csv and so on",
        required=True,
    )
    command.add_argument(
        "--quality",
        metavar="FILE",
        help="also write a comparison of the synthetic records with the release: .html "
        "for a page to read or print, .json for the same content, .csv for its tables",
    )
