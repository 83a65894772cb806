"""The benchmarks' runner reports what was missed or failed; each benchmark is known."""

import importlib
import inspect
import json
import math
import pathlib

import pytest

from benchmarks import __main__ as command, machine, record, runner, timing

ROOT = pathlib.Path(__file__).parents[1]
BY_HAND = {
    "bench_budgets",
    *("bench_fourier", "bench_regression", "bench_utility"),
    *("bench_coverage", "bench_event_logs", "bench_leaves", "bench_marginals"),
    *("bench_peer_utility", "bench_samplers", "bench_structure"),
}
CPU = {"platform": "cpu", "kind": "cpu", "count": 1, "copy_bytes_per_second": 5e9}
ROW = "from benchmarks.report import Row\n"
FAKES = {
    "bench_crashing": f"""{ROW}
def rows(full=False):
    yield Row("A1", "before", 2.0, "× peer", 1.0)
    raise ArithmeticError("no | such number")
""",
    "bench_by_hand": "def main(): pass",
    "bench_good": f"""{ROW}
def rows(full=False):
    print("no peer")
    yield Row("B1", "a | b", 3.0 + full, "× peer", 4.0, seconds=dict(peer=1.5))
    yield Row("B2", "none", float("nan"), "s", 2.5, at_least=False)
    yield Row("B3", "fast", 2.0, "s", 2.5, at_least=False)
    yield Row("", "free", 0.5, "exponent")
    for size in (1, 100):
        point = dict(seconds=dict(dpjax=size**1.5), size=size)
        yield Row("", "a point", 1.0, "s", curve="sorting", axis="records", **point)
""",
    "bench_unreadable": "import no_such_module\ndef rows(full=False): yield",
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Four benchmarks, of which one crashes and one cannot be imported."""
    folder = tmp_path / "fakebenchmarks"
    folder.mkdir()
    for name, text in FAKES.items():
        (folder / f"{name}.py").write_text(text)
    (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{ROOT}")
    monkeypatch.setattr(machine, "device", lambda: CPU)
    yield "fakebenchmarks"
    importlib.invalidate_caches()


def run(package, *arguments):
    return command.main([str(argument) for argument in arguments], package)


def test_a_run_reports_what_was_missed_and_what_failed(package, tmp_path, capsys):
    out, table = tmp_path / "out.json", tmp_path / "table.md"
    assert run(package, "--out", out, "--markdown", table) == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed[-1] == "missed: 4"
    assert sum("MISSED" in line for line in printed) == 2
    assert sum("FAILED" in line for line in printed) == 2

    document = json.loads(out.read_text())
    assert document["missed"] == 4
    assert document["sizes"] == "default"
    assert {"cpu", "cores", "memory_gib", "os"} == set(document["machine"])
    assert {"python", "jax", "numpy", "dpjax"} <= set(document["versions"])
    assert {"revision", "dirty"} == set(document["commit"])
    crashing, good, unreadable = document["benchmarks"]
    assert crashing["failed"] == "ArithmeticError: no | such number"
    assert [row["missed"] for row in crashing["rows"]] == [False]
    assert "no_such_module" in unreadable["failed"]
    assert good["notes"] == ["no peer"]
    assert good["rows"][0]["seconds"] == {"peer": 1.5}
    assert good["rows"][1]["ratio"] is None
    assert [row["missed"] for row in good["rows"]] == [True, True] + [False] * 4

    lines = table.read_text().splitlines()
    assert "| good | B1 | a \\| b | 3 × peer | ≥ 4 | MISSED |" in lines
    assert any(line.endswith("| FAILED |") for line in lines)
    assert lines[-1] == "- no peer"


def test_only_those_asked_for_run_and_at_the_sizes_asked_for(package, tmp_path, capsys):
    out = tmp_path / "out.json"
    assert run(package, "--out", out, "--only", "good", "--full") == 0
    assert capsys.readouterr().out.splitlines()[-1] == "missed: 1"  # 4 ≥ 4 with --full
    with pytest.raises(SystemExit, match="2"):
        run(package, "--out", out, "--only", "better")
    assert "`--only` must name benchmarks of" in capsys.readouterr().err


def test_a_record_is_read_back_and_put_between_the_marks(package, tmp_path, capsys):
    out, readme = tmp_path / "out.json", tmp_path / "README.md"
    run(package, "--out", out, "--only", "good", "crashing")
    found = record.load(out)
    assert math.isnan(found.results[1].rows[1].ratio)
    assert found.missed == 3
    readme.write_text("# Title\n\nBefore.\n")
    record.update_readme(found, readme)
    once = readme.read_text()
    marked = "# Title\n\nBefore.\n\n<!-- default run on cpu: begin -->\n"
    assert once.startswith(marked)
    more = f"{once}\nAfter.\n"
    readme.write_text(more.replace("3 × peer", "9 × peer"))
    record.update_readme(found, readme)
    assert readme.read_text() == more
    for other in ("{}", "", "[1]"):
        out.write_text(other)
        with pytest.raises(SystemExit, match="2"):
            run(package, "--read", out)
        assert "`--read` must be the record of a run" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        run(package, "--read", tmp_path / "none.json")
    assert "`--read` must be a file that can be read" in capsys.readouterr().err


def test_runs_of_other_sizes_have_tables_of_their_own(package, tmp_path):
    out, readme = tmp_path / "out.json", tmp_path / "README.md"
    readme.touch()
    for sizes in ([], ["--full"]):
        run(package, "--out", out, "--only", "good", *sizes)
        record.update_readme(record.load(out), readme)
    text = readme.read_text()
    assert text.index("default run on cpu") < text.index("full run on cpu")
    assert "| 3 × peer |" in text
    assert "| 4 × peer |" in text


def test_a_picture_shows_how_time_grows(package, tmp_path, capsys):
    out, picture = tmp_path / "out.json", tmp_path / "scaling.svg"
    run(package, "--out", out, "--only", "good", "--figure", picture)
    drawn = picture.read_text()
    for text in ("sorting: exponent 1.50", "records", "seconds"):
        assert f"<!-- {text} -->" in drawn, text
    with pytest.raises(SystemExit, match="2"):
        run(package, "--out", out, "--only", "crashing", "--figure", picture)
    assert "`--figure` must be of a run with" in capsys.readouterr().err


def test_exponents_are_slopes_of_logarithms():
    assert timing.exponent({10: 3.0, 1000: 30.0}) == pytest.approx(0.5)


@pytest.mark.slow
def test_a_benchmark_that_hangs_is_ended(package, tmp_path):
    path = tmp_path / package / "bench_slow.py"
    path.write_text("import time\ndef rows(full=False):\n yield time.sleep(60)\n")
    result = runner.run(package, "bench_slow", full=False, limit=0.5)
    assert (result.failed, result.missed) == ("longer than 0.5 s", 1)
    assert result.seconds < 30


def test_every_benchmark_can_be_run():
    """In its own process by `python -m benchmarks`, or by hand."""
    having, by_hand = runner.modules("benchmarks")
    assert set(by_hand) == BY_HAND
    readme = record.README.read_text(encoding="utf-8")
    for name in [*having, *by_hand]:
        assert f"`{name}" in readme, f"{name} is not in the README"
        module = importlib.import_module(f"benchmarks.{name}")
        if name in having:
            full = inspect.signature(module.rows).parameters["full"]
            assert full.default is False
            assert inspect.isgeneratorfunction(module.rows)
