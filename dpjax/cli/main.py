"""Entry point of the command line, which reports each error in one line."""

__all__ = ["COMMANDS", "main"]

import os
import sys
from collections.abc import Sequence

from dpjax._documents import printable, shown_path
from dpjax._version import __version__
from dpjax.cli import (
    audit,
    coverage,
    demo,
    plan,
    predict,
    release,
    sample,
    schema,
    sweep,
    verify,
)
from dpjax.cli.options import Parser
from dpjax.releases.file_format import InconsistentRelease
from dpjax.runtime.processes import PeerLost

COMMANDS = (
    *(schema, release, verify, predict, sample),
    *(audit, coverage, demo, plan, sweep),
)
"""Modules whose `add` declares the command and its function `run`."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command in `arguments` (default: `sys.argv`) and return the exit status.

    The status is 0 after success; 1 if `verify` finds an inconsistent release or
    `audit` a violated claim; 2 for invalid input, when nothing is written; 3 if another
    process of a distributed run was lost; and 130 if the user interrupts the command.
    """
    options = _parser().parse_args(arguments)
    status = None
    try:
        status = options.run(options)
    except BrokenPipeError:  # the reader of the output, such as `head`, has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        print(f"dpjax {options.command}: interrupted", file=sys.stderr)
        return 130  # the convention of shells
    except PeerLost as error:
        print(f"dpjax {options.command}: {error}", file=sys.stderr, flush=True)
        os._exit(3)  # an orderly exit would wait for the lost process
    except (ValueError, ImportError, OSError) as error:
        print(f"dpjax {options.command}: {_line(error)}", file=sys.stderr)
        verifying = options.command == "verify"
        return 1 if verifying and isinstance(error, InconsistentRelease) else 2
    return status or 0


def _line(error: Exception) -> str:
    if isinstance(error, OSError) and isinstance(error.filename, str):
        return f"{error.strerror}: {shown_path(error.filename)}"
    return printable(str(error))


def _parser() -> Parser:
    parser = Parser(
        prog="dpjax", description="Differentially private Bayesian inference."
    )
    parser.add_argument("--version", action="version", version=f"dpjax {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add(commands)
    return parser
