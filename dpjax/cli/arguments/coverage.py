"""The arguments of `dpjax coverage`."""


def add(commands) -> None:
    """Declare `dpjax coverage` and its options among the subparsers `commands`."""
    command = commands.add_parser(
        "coverage",
        help="measure how often posterior intervals cover, noise-aware and naive",
        description="Repeatedly draw tables uniformly, records from them, and a "
        "release; report how often posterior intervals contain the true values. Uses "
        "no data. The exit status does not depend on the result.",
    )
    command.common("--network", more="; the latter two need --schema", required=True)
    command.common("--schema", required=False)
    command.common("--n", "--adjacency")
    command.common("--epsilon", required=False)
    command.common("--rho", "--delta")
    command.common(
        "--mechanism",
        more=" (default: laplace, or gaussian with --rho or --delta)",
        choices=("auto", "fourier", "gaussian", "k-norm", "laplace"),
    )
    command.number("--releases", "simulated releases", 2000)
    command.common("--level", default=0.95)
    command.common("--plot", more=": histograms of ranks")
    command.add_argument(
        "--ecdf",
        metavar="FILE",
        help="PNG file for the distribution functions of ranks, with a band",
    )
    command.common("--seed")
