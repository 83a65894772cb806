"""The arguments of `dpjax audit`."""

from dpjax.cli.arguments.choices import AUDITED


def add(commands) -> None:
    """Declare `dpjax audit` and its options among the subparsers `commands`."""
    command = commands.add_parser(
        "audit",
        help="test by attacks whether mechanisms lose more privacy than they claim",
        description="Find the largest privacy loss of each mechanism on its worst "
        "neighbours: exactly, from the probabilities of all outputs, or as a lower "
        "bound from draws, which is wrong with probability at most 1e-6. All data are "
        "invented. Exit status 1 if a claim is violated. With --all, the simulated "
        "Laplace must violate its claim, which shows that the attacks succeed.",
    )
    command.common(
        "--mechanism",
        more=" to audit (may be repeated)",
        action="append",
        default=[],
        choices=AUDITED,
    )
    command.flag("--all", "audit all of them")
    command.common("--epsilon", more=", which each claims", required=False, default="1")
    command.number(
        "--draws",
        "draws for each data set, or fewer if JAX does not draw them",
        100_000,
    )
    command.common("--seed")
