"""The arguments of `dpjax coverage`."""

__all__ = ["add"]


def add(commands) -> None:
    """Declare `dpjax coverage` and its options among the subparsers `commands`."""
    command = commands.add_parser(
        "coverage",
        help="coverage of posterior intervals, noise-aware and naive",
        description="Repeatedly draw tables uniformly, records from them, and a "
        "release; report how often posterior intervals contain the true values. Uses "
        "no data. The exit status does not depend on the result.",
    )
    command.add_argument(
        "--network",
        required=True,
        help="BIF file, JSON file or naive-bayes:TARGET; the latter two need --schema",
    )
    command.common("--schema", required=False)
    command.common("--n", "--epsilon", "--adjacency")
    command.add_argument(
        "--mechanism",
        choices=("auto", "fourier", "k-norm", "laplace"),
        default="laplace",
        help="of the releases (default: %(default)s)",
    )
    command.number("--releases", "simulated releases", 2000)
    command.number("--level", "level of intervals", 0.95, float)
    command.add_argument("--out", help="PNG file for the rank histograms")
    command.common("--seed")
