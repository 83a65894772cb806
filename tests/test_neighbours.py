"""One record moves no other, in whatever way a table is read."""

import pytest

from tests.fuzz import neighbours
from tests.fuzz.sources import OPENED, SOURCES


@pytest.mark.slow
@pytest.mark.parametrize("inputs", [96, pytest.param(800, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("source", SOURCES)
def test_one_record_moves_itself_alone(source, inputs, request):
    seed = request.config.getoption("--seed")
    found = neighbours.search(inputs, seed, (source,))[source]
    assert found.faults == []
    assert found.above == 0
    assert found.inputs == inputs
    if source not in ("csv reader", "data set of csv"):  # which are always refused
        assert found.same > inputs / 8
    assert found.type == 0 or source not in OPENED
