"""Reproductions: claims, files, the page of all, and the command."""

import json
import math
from functools import partial

import numpy as np
import pytest

from dpjax.plots import Panel, Series, TopAxis, draw_panels
from papers import (
    Claim,
    Reproduced,
    Reproduction,
    catalogue,
    names,
    reproduce,
    write_page,
)
from papers.__main__ import main


def tiny(setting):
    """Numbers, a picture and claims, one of which is known to fail."""
    x = setting.rng().normal(size=5) + np.arange(5)
    panel = Panel(
        [Series("noise", [1, 2, 3, 4, 5], x, np.ones(5)), Series("", [1, 5], [0, 1])],
        "x (records)",
        "y (nats)",
        levels={"zero": 0.0},
        top=TopAxis("ε", [1, 5], ["a", "b"]),
    )
    return Reproduced(
        f"The last number is {x[-1]:.3f}.",
        {"": {"x": [*map(float, x)], "name": [*"abcde"]}},
        {"": partial(draw_panels, [panel], title="tiny")},
        [
            Claim.certain("numbers are numbers", True),
            Claim("the first is large", -7.25, expected="fails"),
            Claim("others are larger", 4.0, expected="not checkable here"),
        ],
    )


@pytest.fixture
def tiny_one(monkeypatch):
    one = Reproduction("tiny", "A tiny one", "nobody, Figure 0", tiny)
    monkeypatch.setitem(catalogue._ALL, "tiny", one)


def test_a_claim_is_decided_by_three_standard_errors():
    verdicts = [Claim("", x).verdict for x in (-4, -3, -2.9, 0, 2.9, 3, math.inf)]
    assert verdicts == ["fails", "fails", *["undecided"] * 3, "holds", "holds"]
    assert Claim("", -4, expected="fails").as_expected
    assert not Claim("", 2.9).as_expected
    assert not Claim("", -4).as_expected
    assert all(Claim("", x, expected="undecided").as_expected for x in (-4, 0, 4))
    elsewhere = [Claim("", x, expected="not checkable here") for x in (-4, 0, 4)]
    assert {x.verdict for x in elsewhere} == {"not checkable here"}
    assert all(x.as_expected for x in elsewhere)


def test_a_claim_about_several_numbers_is_as_sure_as_the_least_sure():
    assert Claim.positive("", [10.0, 6.0], [1.0, 2.0]).standard_errors == 3
    assert Claim.positive("", [1.0, 0.0]).verdict == "undecided"  # 0 is not above 0
    assert Claim.positive("", [1.0, 1e-9]).standard_errors == math.inf
    assert Claim.positive("", [1.0, -1e-9]).standard_errors == -math.inf


def test_the_standard_error_of_a_mean_over_repeats():
    repeats = np.array([[1.0, 3.0], [4.0, 6.0]])  # errors of the means: 1
    assert Claim.mean_positive("", repeats).standard_errors == 2


@pytest.mark.parametrize(
    "facts", [{"by": "hearsay"}, {"expected": "maybe"}, {"standard_errors": math.nan}]
)
def test_a_claim_is_somebodys_and_a_number(facts):
    with pytest.raises(ValueError, match="must be"):
        Claim(**{"words": "", "standard_errors": 1.0, **facts})


def test_files_of_a_reproduction_are_the_same_bytes_again(tiny_one, tmp_path):
    for folder in ("a", "b"):
        one = reproduce("tiny", tmp_path / folder)
        assert one.files == ("tiny.csv", "tiny.png", "tiny.svg", "tiny.md")
        assert one.as_expected
    for file in one.files:
        first, second = ((tmp_path / folder / file).read_bytes() for folder in "ab")
        assert first == second, file
    text = (tmp_path / "a" / "tiny.md").read_text()
    assert "| the first is large | paper | fails | -7.25 |" in text
    assert "| others are larger | paper | not checkable here | 4.00 |" in text
    lines = (tmp_path / "a" / "tiny.csv").read_text().splitlines()
    assert lines[0] == "x,name"
    assert len(lines) == 6


def test_another_seed_makes_other_numbers(tiny_one, tmp_path):
    first, second = (
        reproduce("tiny", tmp_path, seed=seed).found.paragraph for seed in (0, 1)
    )
    assert first != second


def test_the_page_of_all_counts_claims(tiny_one, tmp_path):
    one = reproduce("tiny", tmp_path)
    write_page(tmp_path, [one, one], "By hand.")
    text = (tmp_path / "README.md").read_text()
    assert "| of the papers | 6 | 2 | 2 | 0 | 2 |" in text
    assert text.count("![A tiny one](tiny.png)") == 2


def test_the_command_writes_and_says_what_it_found(tiny_one, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["tiny", "--out", str(out)]) == 0
    assert "✓ fails by 7.2 s.e., by paper" in capsys.readouterr().out
    assert main(["tiny", "--out", str(out), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    verdicts = [claim["verdict"] for claim in found["claims"]]
    assert verdicts == ["holds", "fails", "not checkable here"]


def test_nothing_is_expected_of_ones_own_data(monkeypatch, tmp_path, capsys):
    def other(setting):
        assert setting.data.name == "own.csv"
        return Reproduced("", {}, {}, [Claim("surprise", -5)])

    one = Reproduction("other", "", "", other, data="any")
    monkeypatch.setitem(catalogue._ALL, "other", one)
    own = ["--data", "own.csv", "--schema", "own.json"]
    assert main(["other", *own, "--out", str(tmp_path)]) == 0
    assert "· fails by 5.0 s.e." in capsys.readouterr().out
    assert "fails, nothing was expected" in (tmp_path / "other.md").read_text()


def test_a_claim_that_turns_out_otherwise_is_exit_status_1(monkeypatch, tmp_path):
    def other(setting):
        found = tiny(setting)
        return Reproduced(found.paragraph, {}, {}, [Claim("surprise", -5)])

    one = Reproduction("other", "", "", other)
    monkeypatch.setitem(catalogue._ALL, "other", one)
    assert main(["other", "--out", str(tmp_path)]) == 1
    assert "not what is known" in (tmp_path / "other.md").read_text()


def test_the_list_names_all(capsys):
    assert main(["--list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in listed] == [*names()]
    assert main(["--list"]) == 0
    assert "foulds-figure-2" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "--all"),
        (["--all", "--list"], "--all"),
        (["tinny"], "such as tiny, got tinny"),
        (["tiny", "--data", "x.csv"], "come with a schema"),
        (["tiny", "--data", "x.csv", "--schema", "y.json"], "takes none"),
        (["tiny", "--data", "", "--schema", ""], "come with a schema"),
        (["--all", "--data", "x.csv", "--schema", "y.json"], "`data` must come with"),
    ],
)
def test_wrong_words_leave_nothing(words, says, tiny_one, tmp_path, capsys):
    out = tmp_path / "out"
    assert main([*words, "--out", str(out)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line
    assert not out.exists()


def test_a_folder_that_cannot_be_made_is_refused(tiny_one, tmp_path):
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(ValueError, match="`out` must be a folder"):
        reproduce("tiny", file)


def test_a_picture_is_png_or_svg(tmp_path):
    panel = Panel([Series("a", [1, 2], [1, 2])], "x", "y")
    with pytest.raises(ValueError, match=r"\.png or \.svg"):
        draw_panels([panel], tmp_path / "a.pdf")
    with pytest.raises(ValueError, match="at least one"):
        draw_panels([], tmp_path / "a.png")
    with pytest.raises(ValueError, match="style"):
        Series("a", [1], [1], style="dotted")
