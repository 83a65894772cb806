"""Public names: a change of one is made on purpose, here too."""

import importlib
import json
import pathlib
import subprocess
import sys

import pytest

import dpjax

NAMES = json.loads((pathlib.Path(__file__).parent / "public_names.json").read_text())


def test_the_list_is_of_the_package_and_of_every_folder():
    folders = {f"dpjax.{name}" for name in dpjax._ROOMS}
    assert {"dpjax", *folders} <= {*NAMES}
    found = {x.parent.name for x in pathlib.Path(dpjax.__path__[0]).glob("*/*.py")}
    assert found - {"cli", "__pycache__"} == {*dpjax._ROOMS}
    assert len(NAMES["dpjax"]) <= 16


@pytest.mark.parametrize("module", NAMES)
def test_public_names_are_those_of_the_list(module):
    made = importlib.import_module(module)
    assert sorted(made.__all__) == NAMES[module]
    assert {*NAMES[module]} <= {*dir(made)} | {"accounting", "datasets"}
    for name in NAMES[module]:
        assert getattr(made, name) is not None
    with pytest.raises(AttributeError, match="no_such_name"):
        made.no_such_name  # noqa: B018  (raises)


def test_names_are_loaded_when_they_are_first_used():
    program = "import sys, dpjax; print('jax' in sys.modules, len(dir(dpjax)) > 30)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False True\n"
