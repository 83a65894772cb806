"""Plants the catalogue's faults, one at a time, and demands that each is noticed.

    python -m tests.mutants                # all; exits 1 if one is not noticed
    python -m tests.mutants ledger events  # those with one of these words in their line

A fault is planted in a copy of the package that Python imports, beside a copy of the
tests. They pass before anything is planted: what fails then, fails for the fault.
Thorough cases are not tried before, since they take as long as half of all faults. A
failed assertion counts, as do a refusal that did not come, a key used twice and a
certificate that fails; a crash, an import error or an error in a fixture counts for
nothing. An audit must exit with 1.
"""

import argparse
import concurrent.futures
import os
import pathlib
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree

import pytest

import dpjax
from tests.helpers import compiling
from tests.mutants.catalogue import MUTANTS
from tests.mutants.child import python
from tests.mutants.mutant import Mutant

ROOT = pathlib.Path(__file__).parents[2]
PACKAGE = pathlib.Path(dpjax.__file__).parent
LIMIT = 300  # seconds a fault: one that hangs is not noticed
NOTICED = (
    "AssertionError",
    "assert ",
    "Failed: DID NOT RAISE",
    "jax.errors.KeyReuseError",
    "ValueError: the noise table must keep the ratio",  # the library's own certificate
    "ValueError: the noise table must keep Rényi divergences",  # and that of Gaussians
    "ValueError: `groups` must have the numbers of points",  # and that of K-norm noise
    "ValueError: `temperature` must be at least what the budget",  # and its own price
)
PLUGIN = """import pathlib, dpjax
assert pathlib.Path(dpjax.__file__).parents[1] == pathlib.Path(__file__).parent
"""  # of pytest: the package under test is the copy beside it


def run(mutants: Sequence[Mutant]) -> int:
    """Print the kill table; 0 if every fault was noticed, else 1."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(pathlib.Path(folder))
        broken = lab.baseline(mutants)
        if broken:
            print(f"not planted, for without a fault this fails: {broken}")
            return 1
        print(f"{'fault':<23}{'planted where':<58}{'s':>4}  noticed by")
        alive = []
        for mutant, seconds, killer, why in lab.kill(mutants):
            line = f"{mutant.fault:<23}{mutant.what:<58}{seconds:>4.0f}"
            print(f"{line}  {killer or 'NOBODY'}", flush=True)
            alive += [] if killer else [f"{line}  NOBODY\n{why}"]
    seconds = time.monotonic() - start
    killed = len(mutants) - len(alive)
    print(*alive, f"killed: {killed} of {len(mutants)}, in {seconds:.0f} s", sep="\n")
    return 0 if mutants and not alive else 1


class Lab:
    """A folder with copies of the package and of the tests."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        programs = str(self.folder / "programs")
        os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", programs)
        os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
        os.environ.update(compiling.sooner())
        self.pool = concurrent.futures.ThreadPoolExecutor(min(os.cpu_count() or 1, 8))

    def baseline(self, mutants: Sequence[Mutant]) -> str | None:
        """The first thing that fails although nothing is planted; None: nothing."""
        copy = self._sound()
        tests = sorted({test for mutant in mutants for test in mutant.tests})
        audits = sorted({mutant.audit for mutant in mutants if mutant.audit})
        files = sorted({test.partition("::")[0] for test in tests})
        parts = [
            [x for x in tests if x.partition("::")[0] in files[i::2]] for i in (0, 1)
        ]
        runs = [
            self.pool.submit(self._pytest, copy, part, str(i), "not thorough")
            for i, part in enumerate(parts)
            if part
        ]
        runs += [self.pool.submit(self._audit, copy, audit) for audit in audits]
        results = [one.result() for one in runs]
        return next((text for status, text in results if status != 0), None)

    def kill(
        self, mutants: Sequence[Mutant]
    ) -> Iterator[tuple[Mutant, float, str, str]]:
        """By mutant, in turn: seconds, what noticed it ("": nothing), and why not."""
        yield from self.pool.map(self._kill, mutants, range(len(mutants)))

    def _kill(self, mutant: Mutant, number: int) -> tuple[Mutant, float, str, str]:
        start = time.monotonic()
        copy, file = self.folder / f"mutant{number}", f"dpjax/{mutant.file}"
        mirror(self.folder / "sound", copy, file.split("/"))
        path = copy / file
        path.write_text(mutant.planted(path.read_text()))
        killer = text = ""
        if mutant.audit:
            status, text = self._audit(copy, mutant.audit)
            killer = "dpjax audit " + " ".join(mutant.audit) if status == 1 else ""
        if mutant.tests and not killer:
            status, text = self._pytest(copy, mutant.tests, "0")
            killer = text if status == 1 else ""
        shutil.rmtree(copy)
        return mutant, time.monotonic() - start, killer, text or "all tests passed"

    def _sound(self) -> pathlib.Path:
        """Copy the installed package and the tests, so that later edits do no harm."""
        copy = self.folder / "sound"
        shutil.copytree(PACKAGE, copy / "dpjax")
        shutil.copytree(ROOT / "tests", copy / "tests")
        shutil.copytree(ROOT / "docs", copy / "docs")  # what tests read
        shutil.copy(ROOT / "pyproject.toml", copy)
        (copy / "beside.py").write_text(PLUGIN)
        return copy

    def _pytest(
        self, copy: pathlib.Path, tests: Sequence[str], name: str, marks: str = ""
    ) -> tuple[int | None, str]:
        """1 and the test that noticed something; 0 if all passed; else None and why."""
        report = copy / f"report{name}.xml"
        options = ["-q", "-x", "--tb=line", "-p", "no:cacheprovider", "-p", "beside"]
        options += ["-o", "addopts=", f"--junitxml={report}", "-m", marks]
        # An assertion is not explained: where `CI` is set, pytest compares long lists
        # line by line, for longer than the limit.
        options += ["--assert=plain"]
        options += ["-W", "ignore:Module already imported"]  # where this forked from
        status, output = python(copy, ["pytest", *options, *tests], _limit(copy))
        if status == 0 or (marks and status == pytest.ExitCode.NO_TESTS_COLLECTED):
            return 0, ""
        failed = status == 1 and report.exists()
        for case in ElementTree.parse(report).iter("testcase") if failed else ():
            for failure in case.iter("failure"):
                if failure.get("message", "").startswith(NOTICED):
                    return 1, f"{case.get('classname')}::{case.get('name')}"
        return None, f"status {status}: {output[-2000:]}"

    def _audit(
        self, copy: pathlib.Path, arguments: Sequence[str]
    ) -> tuple[int | None, str]:
        """0 if the audit finds nothing, 1 if it finds a violation."""
        status, output = python(copy, ["dpjax", "audit", *arguments], _limit(copy))
        return status, f"status {status}: {output[-2000:]}"


def mirror(folder: pathlib.Path, into: pathlib.Path, way: Sequence[str]) -> None:
    """Make a folder of links to what is in another, but of copies on the way to a file.

    Bytecode beside the file is copied too: that of the altered file is no other's.
    """
    into.mkdir()
    for entry in folder.iterdir():
        copy = into / entry.name
        if entry.name == way[0] and len(way) > 1:
            mirror(entry, copy, way[1:])
        elif entry.name == way[0]:
            shutil.copy2(entry, copy)
        elif entry.name == "__pycache__":
            shutil.copytree(entry, copy)
        elif not entry.match("report*.xml"):
            copy.symlink_to(entry)


def _limit(copy: pathlib.Path) -> float | None:
    return None if copy.name == "sound" else LIMIT


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("words", nargs="*", help="of the lines wanted; none: all")
    words = parser.parse_args().words
    return run([x for x in MUTANTS if not words or x.matches(words)])


if __name__ == "__main__":
    sys.exit(main())
