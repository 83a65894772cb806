"""A shell completes commands, options, choices and files, as a user sees it."""

import os
import shutil
import subprocess
import sys

import pytest

BASH = """
dpjax() { "$PYTHON" -m dpjax "$@"; }
eval "$("$PYTHON" -m argcomplete.scripts.register_python_argcomplete dpjax)"
for COMP_LINE; do
    COMP_POINT=${#COMP_LINE} COMP_TYPE=9 COMPREPLY=()
    "$(complete -p dpjax | sed 's/.*-F \\([^ ]*\\) .*/\\1/')" dpjax
    echo "${COMPREPLY[@]}"
done
"""
LINES = {
    "dpjax rel": {"release"},
    "dpjax release --mech": {"--mechanism"},
    "dpjax release data.csv --mechanism k": {"k-norm"},
    "dpjax release data.csv --adjacency ": {"add-remove", "replace-one"},
    "dpjax release --adjacency add-remove da": {"data.csv"},
    "dpjax audit --mechanism counts --mechanism simul": {"simulated-laplace"},
    "dpjax nothing": set(),
}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_words(tmp_path):
    (tmp_path / "data.csv").touch()
    paths = os.pathsep.join(sys.path)
    done = subprocess.run(
        ["bash", "-c", BASH, "bash", *LINES],
        **{"cwd": tmp_path, "capture_output": True, "text": True, "check": True},
        env={**os.environ, "PYTHON": sys.executable, "PYTHONPATH": paths},
    )
    found = [{*line.split()} for line in done.stdout.splitlines()]
    assert dict(zip(LINES, found, strict=True)) == LINES
