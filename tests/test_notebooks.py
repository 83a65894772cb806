"""Notebooks are stored as they should be; `python -m tests.notebooks` runs them."""

import ast
import json
import pathlib
import re

import pytest

FOLDER = pathlib.Path(__file__).parents[1] / "notebooks"
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


def test_every_notebook_is_listed_and_those_they_name_exist():
    listed = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"\]\((.+)\.ipynb\)", listed) == [path.stem for path in PATHS]
    for path in PATHS:
        text = path.read_text(encoding="utf-8")
        assert {*re.findall(r"`(\d\d-[\w-]+)`", text)} <= {x.stem for x in PATHS}
