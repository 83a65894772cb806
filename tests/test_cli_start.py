"""What the command line imports before a command runs, and where it keeps programs."""

import subprocess
import sys

import pytest

from dpjax.audits import case_names
from dpjax.cli.arguments import choices
from dpjax.cli.models import MODELS
from dpjax.cli.sweep_studies import MODELS as SWEPT
from dpjax.mechanisms.recipes import RECIPES
from dpjax.privacy import ADJACENCIES

START = """
import sys
from dpjax.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit as error:
    print("status", error.code)
slow = {"jax", "numpy", "equinox", "tqdm", "argcomplete"}
print("slow", *sorted(slow & sys.modules.keys()))
"""
COMMANDS = ("schema", "release", "verify", "predict", "query", "synthesize", "sample")
COMMANDS += ("audit", "coverage", "demo", "ledger", "plan", "report", "sweep")


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--help"], 0),
        *(([command, "--help"], 0) for command in COMMANDS),
        (["--version"], 0),
        ([], 2),
        (["pridect"], 2),
        (["predict", "release.json"], 2),
        (["verify", "release.json", "--jsno"], 2),
        (["release", "x.csv", "--adjacency", "replace"], 2),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, list) else "",
)
def test_help_and_wrong_arguments_import_nothing_that_is_slow(arguments, status):
    command = [sys.executable, "-c", START, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-2:] == [f"status {status}", "slow"]


def test_names_of_choices_are_those_of_the_registries():
    assert choices.ADJACENCIES == ADJACENCIES
    assert choices.recipes() == sorted(RECIPES)
    assert choices.models() == tuple(MODELS)
    assert choices.SWEPT == tuple(SWEPT)
    assert choices.AUDITED == tuple(case_names())
