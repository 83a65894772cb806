"""`dpjax audit`: measure the privacy loss of mechanisms by attacks on invented data."""

import argparse

import jax.random as jr
from tqdm import tqdm

from dpjax.audits import Audited, audit_suite, case_names
from dpjax.cli.options import progress
from dpjax.cli.printing import print_json

_ROW = "{:<18}{:<13}{:<7}{:>8}{:>12}{:>9}  {}"


def run(options: argparse.Namespace) -> int:
    """Run `dpjax audit` with the given options."""
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
        print_json({"passed": passed, "audits": [x.to_dict() for x in found]})
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
