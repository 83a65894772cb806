"""What commands print with `--json`, compared with the page that documents it."""

import json
import pathlib
import re

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "reference" / "command-line.md"
ROWS = re.findall(r"^\| `(\w+)` \| (.+?) \|", PAGE.read_text("utf-8"), re.MULTILINE)
DOCUMENTED = {command: re.findall(r"`(\w+)`", keys) for command, keys in ROWS}
"""By command: the keys of its result."""

_WITH_OTHERS = {"release", "verify"}  # facts of the mechanism


def documented(command, printed):
    """The object that a command printed, whose keys must be those documented."""
    assert printed.count("\n") == 1
    facts = json.loads(printed)
    if command in _WITH_OTHERS:
        assert {*DOCUMENTED[command]} <= facts.keys()
    else:
        assert {*DOCUMENTED[command]} == facts.keys()
    return facts
