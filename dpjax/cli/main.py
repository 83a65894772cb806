"""Entry point of the command line, which imports what computes only for a command."""

import importlib
import os
import sys
from collections.abc import Sequence

from dpjax._version import __version__
from dpjax.cli.arguments import (
    audit,
    check,
    coverage,
    demo,
    learn,
    ledger,
    plan,
    predict,
    query,
    release,
    report,
    sample,
    schema,
    sweep,
    synthesize,
    verify,
)
from dpjax.cli.arguments.parser import Parser

COMMANDS = (
    *(schema, check, release, learn, verify, ledger, report),
    *(predict, query, synthesize, sample),
    *(audit, coverage, demo, plan, sweep),
)
"""Modules whose `add` declares a command."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command in `arguments` (default: `sys.argv`) and return the exit status.

    The status is 0 after success; 1 if `verify` finds an inconsistent release, `audit`
    a violated claim or `check` a cell that does not fit; 2 for invalid input, when
    nothing is written; 3 if another process of a distributed run was lost; and 130 if
    the user interrupts the command.
    """
    parser = _parser()
    if "_ARGCOMPLETE" in os.environ:  # a shell asks for the words that may follow
        importlib.import_module("argcomplete").autocomplete(parser)
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        parser.prog += f" {options.command}"  # whose help lists the options
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    try:
        return importlib.import_module("dpjax.cli.running").run(options)
    except KeyboardInterrupt:
        print(f"dpjax {options.command}: interrupted", file=sys.stderr)
        return 130  # the convention of shells


def _parser() -> Parser:
    parser = Parser(
        prog="dpjax",
        description="Differentially private Bayesian inference.",
        epilog="See dpjax COMMAND --help for what a command does, and for its options.",
    )
    parser.add_argument("--version", action="version", version=f"dpjax {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    declare(commands)
    return parser


def declare(commands) -> None:
    """Declare all commands and their options among the subparsers `commands`."""
    for command in COMMANDS:
        command.add(commands)
    for command in commands.choices.values():
        command.common("--json", "--no-cache")
