"""Runs a command, and reports each error in one line."""

import argparse
import importlib
import os
import sys

from dpjax._documents import printable, shown_path
from dpjax.cli.programs import keep_programs
from dpjax.releases.entries import InconsistentRelease
from dpjax.runtime.processes import PeerLost


def run(options: argparse.Namespace) -> int:
    """Run the module of the command and return the exit status, as `main` states it."""
    if not options.no_cache:
        keep_programs(options.command)
    status = None
    try:
        status = importlib.import_module(f"dpjax.cli.{options.command}").run(options)
    except BrokenPipeError:  # the reader of the output, such as `head`, has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
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
