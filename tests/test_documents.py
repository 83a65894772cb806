"""SECURITY.md, the README and the pages of the documentation: what they name exists."""

import ast
import functools
import importlib.util
import pathlib
import pkgutil
import re
import shlex

import pytest

from dpjax.cli.main import COMMANDS
from dpjax.mechanisms import MECHANISMS

ROOT = pathlib.Path(__file__).parents[1]
SECURITY = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
PROOFS = (ROOT / "docs" / "proofs.md").read_text(encoding="utf-8")
PAGES = [ROOT / "SECURITY.md", ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]

NODE = re.compile(r"`(?:tests/)?(test_\w+\.py)(?:::(\w+))?`")
SECTION = re.compile(r"^## (\d+)\. .*\n((?:(?!^## ).*\n)*)", re.MULTILINE)


@functools.cache
def defined_in(file):
    """Names of the tests of a file; None if there is no such file."""
    path = ROOT / "tests" / file
    if not path.exists():
        return None
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return {node.name for node in body if isinstance(node, ast.FunctionDef)}


def missing_tests(text):
    """Tests that a text names and that do not exist."""
    return [
        f"{file}::{name}"
        for file, name in NODE.findall(text)
        if defined_in(file) is None or (name and name not in defined_in(file))
    ]


def missing_names(text):
    """Names of the package that a text uses and that do not exist."""
    missing = []
    for name in re.findall(r"`(dpjax(?:\.\w+)+)`", text):
        try:
            pkgutil.resolve_name(name)
        except (ImportError, AttributeError):
            missing.append(name)
    return missing


def missing_part(command):
    """What a command of the table needs and is not there; None if nothing."""
    words = shlex.split(command)
    if words[:1] == ["pytest"]:
        files = [word for word in words if word.endswith(".py")]
        return next((x for x in files if not (ROOT / x).exists()), None)
    if words[:2] == ["python", "-m"]:
        module = importlib.util.find_spec(words[2])
        return None if module else words[2]
    if words[0] == "dpjax":
        names = {command.__name__.rpartition(".")[2] for command in COMMANDS}
        return None if words[1] in names else command
    if words[0].startswith(".ci"):  # no part of the sdist
        there = not (ROOT / ".ci").exists() or (ROOT / words[0]).exists()
        return None if there else words[0]
    return command


_, _, TABLE = SECURITY.partition("| promise | how it is kept | how it is tested |\n")
PROMISES = re.findall(r"^\| (.+) \| (.*) \| (.+) \|$", TABLE, re.MULTILINE)
COMMANDS_SHOWN = sorted(
    {x for row in PROMISES for x in re.findall("`([^`]+)`", row[2])}
)


def test_every_promise_has_a_command():
    assert len(PROMISES) > 15
    for promise, _, commands in PROMISES:
        assert re.search("`[^`]+`", commands), promise


@pytest.mark.parametrize("command", COMMANDS_SHOWN)
def test_commands_of_the_table_exist(command):
    assert missing_part(command) is None


def test_commands_of_the_checklist_exist():
    text = (ROOT / "docs" / "new-version.md").read_text(encoding="utf-8")
    text = text.replace("DPJAX_X64=1 ", "")
    shown = re.findall(r"`((?:python -m (?!pip)|\.ci/)[^`\n]+)`", text)
    assert len(shown) > 4
    for command in shown:
        assert missing_part(command) is None, command


def test_a_command_that_does_not_exist_is_noticed():
    for wrong in (
        "pytest tests/test_none.py",
        "pytest tests/test_release.py tests/test_none.py",
        "python -m tests.none",
        "dpjax none",
        "make",
    ):
        assert missing_part(wrong) is not None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_tests_and_names_in_the_documents_exist(page):
    text = page.read_text(encoding="utf-8")
    assert missing_tests(text) == []
    assert missing_names(text) == []


def test_what_does_not_exist_is_noticed():
    wrong = "`test_release.py::test_none` `test_none.py` `dpjax.noise.tables.none`"
    assert len(missing_tests(wrong)) == 2
    assert len(missing_names(wrong)) == 1


def test_every_proof_says_what_fails_if_it_is_wrong():
    numbers = []
    for number, text in SECTION.findall(PROOFS):
        numbers.append(int(number))
        if number == "0":
            continue
        assert "*Code*: `dpjax." in text, number
        assert "*Adjacency*:" in text, number
        assert "**Claim.**" in text, number
        _, _, failing = text.partition("**Fails if wrong.**")
        assert NODE.search(failing), number
    assert numbers == list(range(len(numbers)))


def test_every_exact_mechanism_and_every_erratum_is_there():
    for kind in MECHANISMS:
        assert f".{MECHANISMS[kind].__name__}`" in PROOFS
    for i in range(1, 8):
        assert re.search(rf"^\| E{i} \|", PROOFS, re.MULTILINE)
