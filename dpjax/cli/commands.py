"""The commands: modules whose `add` declares the command and its function `run`."""

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
