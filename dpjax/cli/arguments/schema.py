"""The arguments of `dpjax schema`."""


def add(commands) -> None:
    """Declare `dpjax schema` and its options among the subparsers `commands`."""
    command = commands.add_parser(
        "schema",
        help="draft a schema from the names and types of columns",
        description="Write a first draft of a schema, and print what is left to "
        "declare. It reads the header and the types of the columns, and no record: "
        "levels and bounds must come from public facts. The columns of a CSV file have "
        "no types, so that all of them are drafted with levels.",
    )
    command.common("data")
    command.common("--out", more=": the draft, a JSON file", required=True)
    command.many(
        "--codes",
        "COLUMN=FILE",
        "code list of a column, a CSV file (code, or code and level) or a JSON file",
    )
    command.add_argument(
        "--json-schema",
        metavar="FILE",
        help="JSON Schema of a record: its levels and bounds are used",
    )
    command.common("--ignore")
