"""`dpjax verify`: check the consistency of a release file."""

__all__ = ["add"]

import argparse
import json

from dpjax.cli.options import summary
from dpjax.releases.released import load


def add(commands) -> None:
    """Declare `dpjax verify` and its options among the subparsers `commands`."""
    command = commands.add_parser(
        "verify",
        help="check the consistency of a release file",
        description="Derive again from the file its cost and all quantities that the "
        "cost depends on (sensitivity and noise table with its certificate, or "
        "truncation and temperature), and check its content hash. Exit status 1 if "
        "anything differs, 2 if the file cannot be read.",
    )
    command.set_defaults(run=_run)
    command.add_argument("release", metavar="RELEASE", help="release file")
    command.common("--json")


def _run(options: argparse.Namespace) -> None:
    facts = summary(load(options.release))
    if options.json:
        print(json.dumps({"consistent": True, **facts}))
        return
    print(f"{options.release}: consistent")
    unsaid = {"records": "private", "prior": "uniform"}
    for name, value in facts.items():
        print(f"  {name:<12} {unsaid.get(name) if value is None else value}")
