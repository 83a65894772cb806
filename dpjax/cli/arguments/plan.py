"""The arguments of `dpjax plan`."""

__all__ = ["add"]

from dpjax.cli.arguments.choices import models, recipes


def add(commands) -> None:
    """Declare `dpjax plan` and its options among the subparsers `commands`."""
    command = commands.add_parser(
        "plan",
        help="expected error of each mechanism, without any data",
        description="Draw tables uniformly and records from them, apply every "
        "mechanism, and show the error of the learned tables: KL of the distribution "
        "of a record, and mean KL and total variation of a row of the conditional "
        "probability tables. For the parameters of an exponential family, show the KL "
        "of a record that is due to privacy; for an event log, the mean loss of "
        "log-likelihood of an event of another log. Say which samples are not worth "
        "their epsilon, since added noise has a smaller error. Uses no data.",
    )
    command.common("--schema")
    names = [name for name in models() if name != "marginals"]
    command.add_argument(
        "--model",
        choices=names,
        default=names[0],
        help="the others use all variables of the schema; default: %(default)s",
    )
    command.common("--network", help="for bayes-net: as for release")
    command.add_argument("--target", help="for linear-regression: variable to predict")
    command.number("--variance", "for gaussian-mean: the public variance", kind=float)
    command.number("--states", "for hmm: number of hidden states")
    command.common("--n", help="number of records; if it is private, a public guess")
    command.common("--region", "--time", "--epsilon", "--adjacency", "--contributions")
    command.add_argument(
        "--mechanism",
        action="append",
        default=[],
        choices=recipes(),
        help="a further one to compare, with its defaults (may be repeated)",
    )
    command.add_argument(
        "--like",
        metavar="RELEASE",
        help="earlier release of the same network, whose tables are those to expect; "
        "costs nothing",
    )
    command.number("--repeats", "simulated data sets", 32)
    command.common("--seed")
