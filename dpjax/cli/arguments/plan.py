"""The arguments of `dpjax plan`."""

from dpjax.cli.arguments.choices import models, recipes
from dpjax.cli.arguments.models import LEAVES, add_models


def add(commands) -> None:
    """Declare `dpjax plan` and its options among the subparsers `commands`."""
    command = commands.add_parser(
        "plan",
        help="estimate the expected error of each mechanism, without any data",
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
    compared = [name for name in recipes() if name != "gaussian"]  # which costs ρ
    add_models(command, names)
    command.common("--network", only="for bayes-net: ", more=LEAVES)
    command.common("--target", only="for linear-regression: ")
    command.common("--variance")
    command.common("--states", only="for hmm: ")
    command.common("--n", more="; if it is private, a public guess")
    command.common("--epsilon", "--adjacency", "--contributions")
    command.common("--delta", more="; that noise is then compared too")
    command.common(
        "--mechanism",
        more=" to compare too, with its own defaults (may be repeated)",
        action="append",
        default=[],
        choices=compared,
    )
    command.add_argument(
        "--like",
        metavar="RELEASE",
        help="earlier release of the same network, whose tables are those to expect; "
        "costs nothing",
    )
    command.common("--repeats", more=", each with a simulated table", default=32)
    command.common("--seed")
