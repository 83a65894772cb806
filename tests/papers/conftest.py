"""Every test of this folder has the marker `papers`."""

import pathlib

import pytest

from papers import Setting

HERE = pathlib.Path(__file__).parent


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("papers")


@pytest.fixture
def setting(request):
    """Of a reproduction, in quick size: as random as `key`."""
    seed = request.config.getoption("--seed")
    return Setting(seed, request.node.nodeid, quick=True)
