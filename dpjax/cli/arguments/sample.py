"""The arguments of `dpjax sample`."""


def add(commands) -> None:
    """Declare `dpjax sample` and its options among the subparsers `commands`."""
    command = commands.add_parser(
        "sample",
        help="infer the hidden states of a released event log",
        description="Run Gibbs chains of a hidden Markov model on the counts of a "
        "release that was made with --model hmm; show the states, their emissions, and "
        "whether the chains agree. Reads no data, so that any number of runs costs no "
        "privacy.",
    )
    command.common("release")
    command.common(
        "--states",
        more="; 1 is naive Bayes (default: that which the release suggests)",
    )
    command.number("--sweeps", "sweeps of each chain", 600)
    command.number("--burn-in", "sweeps to leave out", 300)
    command.number("--chains", "number of chains", 8)
    command.many(
        "--times",
        "REGION=FIRST:LAST",
        "the public times of a region, by default all",
    )
    for name, what in (("emission", "level"), ("transition", "transition and start")):
        help = f"Dirichlet parameter of every {what}"
        command.number(f"--{name}", help, 1.0, float)
    command.common("--seed", "--no-noise-aware")
    command.common(
        "--out",
        more=": .csv with the most frequent state of every cell, in columns for "
        "region, time, state and its probability; or .npz with all draws",
    )
    command.common("--plot", more=": the state by region and time")
    command.add_argument(
        "--emissions-plot",
        metavar="FILE",
        help="PNG file to write: each state's emissions",
    )
    command.flag("--quiet", "no progress bar")
