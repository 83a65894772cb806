"""The catalogue of mutants fits the package; the runner believes no crash."""

import collections
import pathlib

import pytest

import dpjax
from tests.mutants.__main__ import run
from tests.mutants.branches import branches, lines_changed
from tests.mutants.catalogue import MUTANTS
from tests.mutants.critical import EXEMPT, FUNCTIONS, REFUSALS
from tests.mutants.mutant import FAULTS, Mutant

PACKAGE = pathlib.Path(dpjax.__file__).parent
LIMITS = {"fault": 23, "what": 62}


@pytest.mark.slow
def test_every_fault_can_be_planted_and_has_something_that_must_notice_it():
    seen = collections.Counter(mutant.fault for mutant in MUTANTS)
    assert {*seen} == {*FAULTS}
    assert min(seen.values()) >= 2
    assert len({(x.fault, x.what) for x in MUTANTS}) == len(MUTANTS)
    for mutant in MUTANTS:
        source = mutant.planted((PACKAGE / mutant.file).read_text())
        compile(source, mutant.file, "exec")
        assert mutant.tests or mutant.audit
        assert all(len(getattr(mutant, x)) < most for x, most in LIMITS.items())
        for test in mutant.tests:
            path, _, name = test.partition("::")
            text = (PACKAGE.parent / path).read_text()
            assert f"def {name.partition('[')[0]}(" in text or not name


def lacking():
    """The branches of critical functions with neither a mutant nor a reason."""
    for file, names in FUNCTIONS.items():
        source = (PACKAGE / file).read_text()
        planted = [lines_changed(x, source) for x in MUTANTS if x.file == file]
        for branch in branches(file, source, names):
            needed = not branch.refuses or branch.function in REFUSALS
            if needed and not any(branch.lines & lines for lines in planted):
                yield branch


def test_every_branch_of_a_critical_function_has_a_mutant_or_a_reason():
    """A reason that is no longer needed, and a gap that is filled, must go."""
    used = set()
    for branch in lacking():
        found = {
            x
            for x in EXEMPT
            if x[0] == branch.function and branch.start.startswith(x[1])
        }
        assert found, f"no mutant of {branch.function}: {branch.start}"
        used |= found
    assert used == {*EXEMPT}
    assert {x.partition(":")[0] for x in REFUSALS} <= {*FUNCTIONS}
    for refusal in REFUSALS:
        file, _, name = refusal.partition(":")
        assert name in FUNCTIONS[file]


def test_lines_and_branches_are_those_of_the_source():
    source = """def f(x):
    '''Says what.'''
    if x > 0 and x < 5:
        return 1  # an arm
    elif x == 7:
        raise ValueError(
            'no' if x else 'yes'
        )
    else:
        for y in range(x):
            x += 1 if y else 2
    return [z for z in range(x) if z]
"""
    found = {
        (b.start, *sorted(b.lines)): b.refuses for b in branches("f.py", source, ["f"])
    }
    assert found == {
        ("if x > 0 and x < 5:", 3, 4): False,
        ("elif x == 7:", 5, 6, 7): True,
        ("for y in range(x):", 10): False,
        ("x += 1 if y else 2", 11): False,
        ("return [z for z in range(x) if z]", 12): False,
    }
    for old, new, lines in (
        ("return 1", "return 2", {4}),
        (
            "    return 1  # an arm\n    elif x",
            "    return 1  # an arm\n    elif 2 * x",
            {5},
        ),
        ("x += 1 if y else 2\n", "x += 1 if y else 2\n        x = 3\n", {11}),
        ("            x += 1 if y else 2\n", "", {11}),
    ):
        mutant = Mutant("law changed", "f", "f.py", old, new, ("x",))
        assert lines_changed(mutant, source) == lines


LEDGER = ("tests/test_ledger.py::test_asking_charges_nothing",)


@pytest.mark.thorough
def test_a_mutant_that_lives_or_crashes_is_not_killed(capsys):
    harmless = ("privacy/ledger.py", "Raised if a cost", "Raised when a cost")
    crash = ("privacy/ledger.py", "import threading\n", "import no_such_module\n")
    asks = "    def require(self, cost: Guarantee, part: str | None = None) -> None:\n"
    real = ("privacy/ledger.py", asks, asks + "        return\n")
    for edit, status, word in (
        (harmless, 1, "NOBODY"),
        (crash, 1, "NOBODY"),
        (real, 0, "test_asking_charges_nothing"),
    ):
        assert run([Mutant("ε doubled", "ledger", *edit, tests=LEDGER)]) == status
        assert word in capsys.readouterr().out
