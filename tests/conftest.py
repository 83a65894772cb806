"""Strictness that the library must live under, but never sets itself."""

import itertools
import os
import zlib

import jax
import jax.random as jr
import jaxtyping
import numpy as np
import pytest

from dpjax.noise.keys import study_key

FILES = itertools.count(1)  # of this process

os.environ["DPJAX_CACHE"] = "off"  # tests run the command line in their processes
jax.config.update("jax_enable_x64", os.environ.get("DPJAX_X64", "0") == "1")


def pytest_addoption(parser):
    parser.addoption("--seed", type=int, default=0, help="re-roll every random test")


@pytest.fixture(scope="module", autouse=True)
def keys_once(request):
    """No key is used twice, also where the fixtures of a module run."""
    relaxed = request.node.get_closest_marker("relaxed")
    with jax.debug_key_reuse(relaxed is None):
        yield


@pytest.fixture(scope="module", autouse=True)
def programs_of_few_files():
    """Compiled programs are freed after every tenth file: all of them take 5 GB.

    After each file it would take a fifth more time, since files share programs.
    """
    yield
    if next(FILES) % 10 == 0:
        jax.clear_caches()


@pytest.fixture(autouse=True)
def strict(request):
    """No silent change of dtype or rank, no key used twice.

    `relaxed` is for tests that call NumPyro, whose samplers do all three.
    """
    if request.node.get_closest_marker("relaxed"):
        with jax.debug_key_reuse(False):
            yield
        return
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        yield


@pytest.fixture
def key(request):
    """A key of the test's own: reproducible, and independent of the tests' order."""
    seed = study_key(request.config.getoption("--seed"))
    return jr.fold_in(seed, zlib.crc32(request.node.nodeid.encode()))


@pytest.fixture(scope="module")
def module_rng(request):
    """A NumPy generator for what the tests of a module share: what JAX compiles for."""
    seed = request.config.getoption("--seed")
    return np.random.default_rng([seed, zlib.crc32(request.node.nodeid.encode())])


@pytest.fixture
def rng(request):
    """A NumPy generator of the test's own."""
    seed = request.config.getoption("--seed")
    return np.random.default_rng([seed, zlib.crc32(request.node.nodeid.encode())])


@pytest.fixture
def as_for_a_user():
    """Without the checks of types that tests add."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
