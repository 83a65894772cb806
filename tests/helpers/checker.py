"""The checker of the documentation, which is in no package."""

__all__ = ["CHECKER", "FOLDER", "checker", "run"]

import importlib.util
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path(__file__).parents[2] / "docs" / "format"
CHECKER = FOLDER / "check_release.py"

_spec = importlib.util.spec_from_file_location("check_release", CHECKER)
assert _spec is not None
assert _spec.loader is not None
checker = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(checker)


def run(path):
    """By Python alone: no package that is installed can be imported."""
    command = [sys.executable, "-I", "-S", str(CHECKER), str(path)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
