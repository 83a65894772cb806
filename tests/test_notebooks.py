"""Notebooks are stored as they should be; `python -m tests.notebooks` runs them."""

import ast
import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import tomllib

import pytest

FOLDER = pathlib.Path(__file__).parents[1] / "notebooks"
BUILD = tomllib.loads((FOLDER.parent / "pyproject.toml").read_text("utf-8"))
REPOSITORY = BUILD["project"]["urls"]["Repository"]
PATHS = sorted(FOLDER.glob("*.ipynb"))
MACHINE = re.compile(r"(?<![\w.])/(home|root|tmp|work|Users|mnt|opt)/|[A-Z]:\\\\")


@pytest.fixture(params=PATHS, ids=lambda path: path.stem)
def notebook(request):
    return json.loads(request.param.read_text(encoding="utf-8"))


def sources(notebook, kind):
    return [
        "".join(cell["source"])
        for cell in notebook["cells"]
        if cell["cell_type"] == kind
    ]


def test_there_are_notebooks():
    assert len(PATHS) == 8


def test_it_is_of_the_format_and_asks_for_a_plain_kernel(notebook):
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert set(notebook["metadata"]) == {"kernelspec", "language_info"}
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    assert notebook["metadata"]["language_info"] == {"name": "python"}


def test_nothing_of_a_run_is_stored(notebook):
    for cell in notebook["cells"]:
        assert cell["metadata"] == {}
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None


def test_cells_have_names_of_their_own(notebook):
    names = [cell["id"] for cell in notebook["cells"]]
    assert len({*names}) == len(names)
    assert all(re.fullmatch(r"[\w-]{1,64}", name) for name in names)


def test_cells_are_python_and_name_no_machine(notebook):
    for source in sources(notebook, "code"):
        ast.parse(source)
    for cell in notebook["cells"]:
        assert not MACHINE.search("".join(cell["source"]))


def test_it_begins_with_its_question_and_asserts_what_it_says(notebook):
    first = sources(notebook, "markdown")[0]
    assert first.startswith("# ")
    assert "**Question.**" in first
    assert "**Answer.**" in first
    code = ast.parse("\n".join(sources(notebook, "code")))
    assert sum(isinstance(node, ast.Assert) for node in ast.walk(code)) >= 3


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_it_opens_in_colab(path):
    first = sources(json.loads(path.read_text(encoding="utf-8")), "markdown")[0]
    _, _, repository = REPOSITORY.partition("github.com/")
    opener = f"https://colab.research.google.com/github/{repository}/blob/main"
    assert f"\n\n[Open in Colab]({opener}/notebooks/{path.name})\n\n" in first


@pytest.mark.parametrize("missing", [False, True])
def test_it_first_installs_dpjax_where_it_is_missing(notebook, missing, monkeypatch):
    calls, find = [], importlib.util.find_spec
    monkeypatch.setattr(subprocess, "run", lambda *args, **_: calls.append(args[0]))
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if missing else find(name)
    )
    exec(sources(notebook, "code")[0], {})
    source = f"dpjax[all] @ git+{REPOSITORY}"
    asked = [sys.executable, "-m", "pip", "install", "-q", source]
    assert calls == ([asked] if missing else [])


def test_every_notebook_is_listed_and_those_they_name_exist():
    listed = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"\]\((.+)\.ipynb\)", listed) == [path.stem for path in PATHS]
    for path in PATHS:
        text = path.read_text(encoding="utf-8")
        assert {*re.findall(r"`(\d\d-[\w-]+)`", text)} <= {x.stem for x in PATHS}
