"""The script of the guide for a published table runs on files of its form."""

import io
import pathlib
import re
from contextlib import redirect_stdout

import pytest

GUIDE = pathlib.Path(__file__).parents[1] / "docs" / "how-to-predict.md"
WORDS = {
    "education-num": ["9", "13"],
    "marital-status": ["Divorced", "Married-civ-spouse"],
    "occupation": ["?", "Sales"],
}
NUMBERS = {"age": 95, "hours-per-week": 99, "capital-gain": 99999, "capital-loss": 4356}


@pytest.fixture
def script():
    (found,) = re.findall(
        r"```{code-block} python\n(import pandas.*?)```", GUIDE.read_text(), re.S
    )
    return found


def published(script, rng, rows, end):
    """Rows whose words and numbers tell the income, as the files of the donors."""
    names = re.search(r"names = \((.*?)\)\.split", script, re.S)[1]
    names = " ".join(re.findall(r'"(.*?)"', names)).split()
    for _ in range(rows):
        rich = int(rng.random() < 0.4)
        cells = dict.fromkeys(names, "?")
        cells |= {name: words[rich] for name, words in WORDS.items()}
        cells |= {
            name: str(rng.integers(0, 9) + rich * most)
            for name, most in NUMBERS.items()
        }
        cells["income"] = ("<=50K", ">50K")[rich] + end
        yield ", ".join(cells.values())


def test_the_script_of_the_guide_is_short(script):
    compile(script, GUIDE.name, "exec")
    assert len(script.splitlines()) <= 25


@pytest.mark.thorough
def test_the_script_of_the_guide_runs(script, rng, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "adult.data").write_text("\n".join(published(script, rng, 300, "")))
    lines = ["|1x3 Cross validator", *published(script, rng, 50, ".")]
    (tmp_path / "adult.test").write_text("\n".join(lines))
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(script, GUIDE.name, "exec"), {})
    kind, accuracy = printed.getvalue().split()
    assert kind == "accuracy"
    assert float(accuracy) > 0.9
