"""Cases of a parametrised test, of which the plain command runs few."""

from collections.abc import Iterable
from typing import Any

import pytest


def mostly_thorough(cases: Iterable[Any], quick: int = 1) -> list[Any]:
    """The first `quick` as they are; the others are `thorough`."""
    cases = list(cases)
    marks = pytest.mark.thorough
    return cases[:quick] + [pytest.param(case, marks=marks) for case in cases[quick:]]
