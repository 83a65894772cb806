"""Strictness that the library must live under, but never sets itself."""

import gc
import os
import pathlib
import random
import secrets
import tempfile
import zlib
from unittest import mock

import jax
import jax.random as jr
import jaxtyping
import numpy as np
import pytest

from tests.helpers import compiling, type_checks

type_checks.install()  # before the library is imported

from dpjax.noise.keys import study_key  # noqa: E402  (checked from its import on)

PROGRAMS = 1000  # compiled ones that a process keeps, of about 2 MB each
COMPILED = "/jax/core/compile/backend_compile_duration"

gc.disable()  # until all tests are imported
os.environ["DPJAX_CACHE"] = "off"  # tests run the command line in their processes
jax.config.update("jax_enable_x64", os.environ.get("DPJAX_X64", "0") == "1")


def pytest_addoption(parser):
    parser.addoption("--seed", type=int, default=0, help="re-roll every random test")


def pytest_configure(config):
    """The plain pass is spared what XLA takes long for: most of it is compilation.

    With the thorough tests, programs are compiled as for a user. Workers share a folder
    of compiled programs: to read one takes a fifth of the time in which one is made.
    """
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # of workers: more wait for each other
    if "not thorough" in config.getoption("markexpr"):
        os.environ.update(compiling.sooner())
        jax.config.update("jax_disable_most_optimizations", True)
    if jax.config.values["jax_compilation_cache_dir"] is None:  # workers have one
        folder = tempfile.TemporaryDirectory()
        config.add_cleanup(folder.cleanup)
        os.environ["JAX_COMPILATION_CACHE_DIR"] = folder.name
        os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
        jax.config.update("jax_compilation_cache_dir", folder.name)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)


def pytest_ignore_collect(collection_path, config):
    """The plain pass asks nothing of the papers, and so imports none of them."""
    papers = collection_path == pathlib.Path(__file__).parent / "papers"
    return True if papers and "not papers" in config.getoption("markexpr") else None


def pytest_collection_finish():
    """What is imported by now stays: Python need not look for cycles in it again."""
    gc.enable()
    gc.freeze()
    gc.set_threshold(20_000, 10, 100)  # traces are many objects, and few of them cycles


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """What a test gets from the system's randomness is its own, as its key is.

    A run that failed can be repeated, and `--seed` re-rolls it.
    """
    source = random.Random(f"{item.config.getoption('--seed')} {item.nodeid}")
    with (
        mock.patch.object(os, "urandom", source.randbytes),
        mock.patch.object(secrets, "randbits", source.getrandbits),
    ):
        return (yield)


@pytest.fixture(scope="session")
def compiled():
    """The programs compiled since the last ones were freed: a list of seconds."""
    found = []

    def listen(event, seconds, **_):
        if event == COMPILED:
            found.append(seconds)

    jax.monitoring.register_event_duration_secs_listener(listen)
    return found


@pytest.fixture(scope="module", autouse=True)
def keys_once(request):
    """No key is used twice, also where the fixtures of a module run."""
    relaxed = request.node.get_closest_marker("relaxed")
    with jax.debug_key_reuse(relaxed is None):
        yield


@pytest.fixture(scope="module", autouse=True)
def programs_of_few_files(compiled):
    """Compiled programs are freed after a file, if there are many: all take 5 GB.

    After each file it would take a fifth more time, since files share programs.
    """
    yield
    if len(compiled) > PROGRAMS:
        jax.clear_caches()
        compiled.clear()


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
def recipes_alone(monkeypatch):
    """`release` does not compare what a recipe has made with its budget: tests do."""
    for module in ("publish", "trial"):
        monkeypatch.setattr(f"dpjax.releases.{module}.refuse_cost", lambda *_: None)


@pytest.fixture
def as_for_a_user():
    """Without the checks of types that tests add."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
