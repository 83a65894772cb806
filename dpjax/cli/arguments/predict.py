"""The arguments of `dpjax predict`."""

__all__ = ["add"]

import argparse

from dpjax.cli.arguments.parser import DATA_HELP


def add(commands) -> None:
    """Declare `dpjax predict` and its options among the subparsers `commands`."""
    command = commands.add_parser(
        "predict",
        help="predict a variable of new records from a release",
        description="Write CSV to standard output, with a row for each record and a "
        "column p_<level> for each level of the target; for a regression or a numeric "
        "leaf, columns mean, lower and upper. Standard error says which method was "
        "used. Costs no privacy of the released table.",
    )
    command.add_argument("release", metavar="RELEASE", help="release file")
    command.further_releases()
    command.add_argument(
        "data",
        metavar="DATA",
        help=f"{DATA_HELP}; the target may be absent, and for a network other columns "
        "and cells too",
    )
    command.add_argument("--target", required=True, help="variable to predict")
    command.number(
        "--prior",
        "Dirichlet parameter of a cell, or hierarchical: rows of a table may share a "
        "mean, which is learned (default: 1; samples have their own)",
        kind=_prior,
    )
    command.flag(
        "--no-noise-aware",
        "treat noisy numbers as exact (method plug-in), as the papers do",
    )
    command.add_argument(
        "--increment",
        default="none",
        help="with --no-noise-aware: records to add to the total, in equal parts to "
        "the cells of a table: none (default), a number, paper:T (Zhang et al., "
        "Corollary 3) or calibrated:P (no cell is negative with probability P)",
    )
    command.number(
        "--level",
        "for a regression or a numeric leaf: probability of the interval (default: "
        "0.95)",
        kind=float,
    )


def _prior(text: str) -> float | str:
    if text == "hierarchical":
        return text
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"must be a number or hierarchical, got {text!r:.80}"
        ) from None
