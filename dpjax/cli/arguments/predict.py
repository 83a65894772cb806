"""The arguments of `dpjax predict`."""

import argparse


def add(commands) -> None:
    """Declare `dpjax predict` and its options among the subparsers `commands`."""
    command = commands.add_parser(
        "predict",
        help="predict a variable of new records from a release",
        description="Write CSV to standard output, with a row for each record and a "
        "column p_<level> for each level of the target; for a regression or a numeric "
        "leaf, columns mean, lower and upper. Features of a regression are clipped to "
        "the bounds of the release, and missing ones filled, as they were in its "
        "table. Standard error says which method was "
        "used. Costs no privacy of the released table.",
    )
    command.common("release", "--also", "--tables")
    command.common(
        "data",
        more="; the target may be absent, and for a network other columns and cells "
        "too",
    )
    command.common("--target", required=True)
    command.common("--keep")
    command.common(
        "--prior",
        more=", or hierarchical: how rows depend on parents is learned; "
        "samples have a prior of their own",
        type=_prior,
    )
    command.common("--no-noise-aware")
    command.add_argument(
        "--increment",
        default="none",
        help="with --no-noise-aware: records to add to the total, in equal parts to "
        "the cells of a table: none, a number, paper:T (Zhang et al., Corollary 3) or "
        "calibrated:P (no cell is negative with probability P) (default: %(default)s)",
    )
    command.common(
        "--level",
        only="for a regression or a numeric leaf: ",
        more=" (default: 0.95)",
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
