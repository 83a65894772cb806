"""What commands say while they take long, and that they say it only in a terminal."""

import importlib
import io
import json
import sys

import pytest

from dpjax.cli import options
from dpjax.cli.main import main

PLAN = importlib.import_module("dpjax.study.plan")
LINE = "dpjax {}: {} (longer when programs are compiled) …"
PUBLIC = ("--schema", "schema.json", "--network", "naive-bayes:t")
BUDGET = ("--epsilon", "60", "--adjacency", "replace-one")
COMMANDS = {
    "release": ("data.csv", *PUBLIC, *BUDGET, "--out", "r.json"),
    "verify": ("r.json",),
    "predict": ("r.json", "data.csv", "--target", "t"),
    "plan": (*PUBLIC, *BUDGET, "--n", "20", "--repeats", "2"),
}
SAID = {
    "release": ["measuring the table and drawing private values"],
    "verify": ["deriving the content of the file again"],
    "predict": [
        "reading the records",
        "inferring the posterior",
        "predicting the records",
    ],
    "plan": ["simulating releases"],
}


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Elapsed:
    """A timer whose time has passed when it starts."""

    def __init__(self, seconds, function, args, kwargs):
        assert seconds == 2
        self.start = lambda: function(*args, **kwargs)

    def cancel(self):
        pass


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("waiting")
    variables = {name: {"levels": [0, 1]} for name in ("t", "x")}
    (made / "schema.json").write_text(json.dumps({"variables": variables}))
    (made / "data.csv").write_text("t,x\n" + "0,0\n0,1\n1,1\n" * 20)
    return made


@pytest.mark.slow
@pytest.mark.parametrize("stream", [Terminal, io.StringIO])
def test_a_command_that_takes_long_says_what_it_does(folder, stream, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(options.threading, "Timer", Elapsed)
    monkeypatch.setattr(PLAN, "_ESTIMATES", {"": "plug-in"})  # quick to compile
    (folder / "r.json").unlink(missing_ok=True)
    for command, arguments in COMMANDS.items():
        monkeypatch.setattr(sys, "stderr", stream())
        assert main([command, *arguments]) == 0, sys.stderr.getvalue()
        lines = sys.stderr.getvalue().splitlines()
        expected = [LINE.format(command, what) for what in SAID[command]]
        found = [line for line in lines if line.endswith("…")]
        assert found == (expected if stream is Terminal else [])
