"""The arguments of `dpjax synthesize`."""

__all__ = ["add"]


def add(commands) -> None:
    """Declare `dpjax synthesize` and its options among the subparsers `commands`."""
    command = commands.add_parser(
        "synthesize",
        help="synthetic tables of records from a release",
        description="Write tables of synthetic records, as CSV or Parquet. Each table "
        "is drawn with its own parameters from the posterior, which is that of a "
        "network or of marginal tables. Costs no privacy of the released table.",
    )
    command.add_argument("release", metavar="RELEASE", help="release file")
    command.further_releases()
    command.number("--n", "records of a table (default: those of RELEASE, if public)")
    command.number("--copies", "number of tables, to combine their results", 1)
    command.many("--given", "NAME=LEVEL", "level of all records (may be repeated)")
    command.common("--seed", help="seed of the draws")
    command.add_argument(
        "--out",
        required=True,
        metavar="FILE",
        help="file to write, which ends in .csv or .parquet; of several tables, "
        "FILE-1.csv, FILE-2.csv and so on",
    )
    command.add_argument(
        "--quality",
        metavar="FILE",
        help="also write a comparison of the synthetic records with the release: .html "
        "for a page to read or print, .json for the same content, .csv for its tables",
    )
