"""The commands of the command line, one module each: `add` declares, `run` does it."""

__all__ = ["COMMANDS"]

from dpjax.cli import (
    audit,
    coverage,
    demo,
    plan,
    predict,
    release,
    sample,
    sweep,
    verify,
)

COMMANDS = (audit, coverage, demo, plan, release, predict, sample, sweep, verify)
