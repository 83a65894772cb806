"""`{commands}`: what every command of `dpjax` says of itself, from its parser."""

import os
import re

from sphinx.application import Sphinx

from dpjax.cli.arguments.parser import Parser
from dpjax.cli.main import declare

FENCE = re.compile(r"^```\{commands\}\n```$", re.MULTILINE)
WIDTH = 88


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", _expand)
    return {"parallel_read_safe": True}


def _expand(app: Sphinx, page: str, source: list[str]) -> None:
    if FENCE.search(source[0]):
        source[0] = FENCE.sub(lambda _: _commands(), source[0])


def _commands() -> str:
    parser = Parser(prog="dpjax")
    adding = parser.add_subparsers()
    declare(adding)
    return "\n\n".join(_command(name, one) for name, one in adding.choices.items())


def _command(name: str, parser: Parser) -> str:
    os.environ["COLUMNS"] = str(WIDTH + 2)  # argparse leaves two free
    return f"## dpjax {name}\n\n```text\n{parser.format_help()}```"
