"""The catalogue of mutants fits the package; the runner believes no crash."""

import collections
import pathlib

import pytest

import dpjax
from tests.mutants.__main__ import run
from tests.mutants.catalogue import MUTANTS
from tests.mutants.mutant import FAULTS, Mutant

PACKAGE = pathlib.Path(dpjax.__file__).parent
LIMITS = {"fault": 23, "what": 62}


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


LEDGER = ("tests/test_ledger.py::test_asking_charges_nothing",)


@pytest.mark.thorough
def test_a_mutant_that_lives_or_crashes_is_not_killed(capsys):
    harmless = ("privacy/ledger.py", "nothing was charged.", "nothing is charged.")
    crash = ("privacy/ledger.py", "import threading\n", "import no_such_module\n")
    real = (
        "privacy/ledger.py",
        "    def require(self, cost: PureDP) -> None:\n",
        "    def require(self, cost: PureDP) -> None:\n        return\n",
    )
    for edit, status, word in (
        (harmless, 1, "NOBODY"),
        (crash, 1, "NOBODY"),
        (real, 0, "test_asking_charges_nothing"),
    ):
        assert run([Mutant("ε doubled", "ledger", *edit, tests=LEDGER)]) == status
        assert word in capsys.readouterr().out
