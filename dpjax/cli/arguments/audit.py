"""The arguments of `dpjax audit`."""

__all__ = ["add"]

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
    names = f"one of {', '.join(AUDITED)} (may be repeated)"
    command.many("--mechanism", "NAME", names)
    command.flag("--all", "audit all of them")
    command.add_argument(
        "--epsilon", default="1", help="claimed by each: 0.5 or 1/3 (%(default)s)"
    )
    command.number(
        "--draws",
        "draws for each data set, or fewer if JAX does not draw them",
        100_000,
    )
    command.common("--seed")
