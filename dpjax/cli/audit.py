"""`dpjax audit`: measure the privacy loss of mechanisms by attacks on invented data."""

__all__ = ["add"]

import argparse
import json

import jax.random as jr
from tqdm import tqdm

from dpjax.audits import Audited, audit_suite, case_names
from dpjax.cli.options import progress

_ROW = "{:<18}{:<13}{:<7}{:>8}{:>12}{:>9}  {}"


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
    command.set_defaults(run=_run)
    names = ", ".join(case_names())
    command.many("--mechanism", "NAME", f"one of {names} (may be repeated)")
    command.flag("--all", "audit all of them")
    command.add_argument(
        "--epsilon", default="1", help="claimed by each: 0.5 or 1/3 (%(default)s)"
    )
    command.number(
        "--draws",
        "draws for each data set, or fewer if JAX does not draw them",
        100_000,
    )
    command.common("--seed", "--json")


def _run(options: argparse.Namespace) -> int:
    if bool(options.mechanism) == options.all:
        raise ValueError(
            f"`mechanism` must be one of {', '.join(case_names())}, or --all given."
        )
    rows = audit_suite(
        jr.key(options.seed),
        None if options.all else options.mechanism,
        epsilon=options.epsilon,
        draws=options.draws,
        progress=progress("audit", "mechanism"),
    )
    if not options.json:
        print(_ROW.format("mechanism", "adjacency", "by", "claimed", "found", "", ""))
    found = [_shown(row, options.json) for row in rows]
    passed = all(
        row.expected if options.all else row.verdict.consistent for row in found
    )
    if options.json:
        print(json.dumps({"passed": passed, "audits": [x.to_dict() for x in found]}))
    return 0 if passed else 1


def _shown(row: Audited, silent: bool) -> Audited:
    """Print a row as soon as it is computed."""
    if not silent:
        tqdm.write(_line(row))
    return row


def _line(row: Audited) -> str:
    verdict = row.verdict
    found = f"{'' if verdict.exact else '≥ '}{verdict.loss:.4f}"
    words = "consistent" if verdict.consistent else f"VIOLATES: {verdict.event}"
    if row.grade == "real":
        words += ", in real arithmetic"
    if row.grade == "simulation" and row.expected:
        words += " (as expected: do not publish simulated noise)"
    return _ROW.format(
        row.mechanism,
        row.adjacency,
        row.method,
        f"{verdict.bound:g}",
        found,
        f"{verdict.reached:.0%}",
        words,
    )
