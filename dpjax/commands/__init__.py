"""The commands of the command line, one module each: `add` declares, `run` does it."""

__all__ = ["COMMANDS"]

from dpjax.commands import (
    audit,
    calibrate,
    demo,
    plan,
    predict,
    release,
    reproduce,
    sample,
    sweep,
    verify,
)

COMMANDS = (
    audit,
    calibrate,
    demo,
    plan,
    release,
    predict,
    reproduce,
    sample,
    sweep,
    verify,
)
