"""The arguments of `dpjax sweep`."""

from dpjax.cli.arguments.choices import SWEPT
from dpjax.cli.arguments.models import add_models
from dpjax.cli.arguments.parser import Parser


def add(commands) -> None:
    """Declare `dpjax sweep` and its options among the subparsers `commands`."""
    command = commands.add_parser(
        "sweep",
        help="compare how well mechanisms learn, at many ε over many repeats",
        description="Repeatedly split the table (or draw records), learn from one part "
        "with every mechanism at every ε, and score the result on the other; write one "
        "row for each fit. The results are NOT private: they are for those who may see "
        "the data.",
    )
    command.common("data", nargs="?")
    command.number(
        "--synthetic",
        "instead of DATA: number of records to draw in each repeat from random tables "
        "of the network; the scores then include the distance from the truth",
    )
    command.common("--schema", "--ignore")
    _add_study(command)
    _add_outputs(command)
    _add_machine(command)


def _add_study(command: Parser) -> None:
    add_models(command, SWEPT)
    command.common("--network", only="for bayes-net: ")
    command.common("--target", more=" (default: TARGET of naive-bayes:TARGET)")
    command.common("--states", only="for hmm: ")
    command.add_argument(
        "--mechanisms",
        type=_words,
        default="laplace,non-private",
        metavar="A,B,…",
        help="for bayes-net: laplace, projected, noise-aware, fourier, k-norm, "
        "k-norm-noise-aware, posterior-sample, non-private; for linear-regression: "
        "laplace, k-norm, posterior-sample, non-private; for hmm: laplace, "
        "non-private (default: %(default)s)",
    )
    command.add_argument(
        "--epsilons",
        type=_words,
        required=True,
        metavar="E,F,…",
        help="in increasing order: 0.1,1/2,1,10",
    )
    command.common("--repeats", default=100)
    command.common("--adjacency")
    command.number(
        "--training",
        "fraction of records (for hmm: of cells) to learn from",
        0.8,
        float,
    )
    command.common("--seed")


def _add_outputs(command: Parser) -> None:
    command.common("--out", more=": .csv or .parquet, with one row for each fit")
    command.common("--plot", more=": scores against ε")
    command.add_argument(
        "--checkpoint",
        metavar="FILE",
        help="file of finished work, from which the same command resumes",
    )


def _add_machine(command: Parser) -> None:
    command.number("--block", "repeats that a device computes at once")
    command.number("--devices", "number of devices to use (default: 1)")
    command.flag(
        "--distributed",
        "use all devices of all processes, each of which runs the same command; "
        "outside SLURM and Open MPI, give the following options too",
    )
    command.add_argument("--coordinator", metavar="HOST:PORT", help="that of process 0")
    command.number("--processes", "number of processes")
    command.number("--process", "number of this one, from 0")


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())
