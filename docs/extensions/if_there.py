"""`{if-there} PAGE` in a table of contents: that page or pattern, where there is one.

Pages that a command writes, such as `python -m papers --all`, may be absent; Sphinx
warns of an entry without a page.
"""

import re

from sphinx.application import Sphinx

ENTRY = re.compile(r"^\{if-there\} (\S+)\n", re.MULTILINE)


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", _expand)
    return {"parallel_read_safe": True}


def _expand(app: Sphinx, page: str, source: list[str]) -> None:
    def entry(found: re.Match) -> str:
        there = any(app.srcdir.glob(f"{found[1]}.*"))
        return f"{found[1]}\n" if there else ""

    source[0] = ENTRY.sub(entry, source[0])
