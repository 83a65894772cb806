"""The opt-in settings, each in a process of its own: they hold for all of it."""

import pathlib
import platform
import subprocess
import sys

import pytest

import dpjax
from dpjax.runtime import tuning

FAULTS = """
import resource, sys
import dpjax
if sys.argv[1] == "tuned":
    dpjax.runtime.tune_allocator()
import jax, jax.numpy as jnp
add = jax.jit(lambda x: x + 1)
x = jnp.zeros(1 << 24, jnp.float32)
for _ in range(3):
    add(x).block_until_ready()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(3):
    add(x).block_until_ready()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
CACHED = """
import sys
import dpjax, jax, jax.numpy as jnp
dpjax.runtime.cache_compilations(sys.argv[1])
print(jax.jit(lambda x: x * 2 + 1)(jnp.arange(3)))
"""


def run(program, argument):
    command = [sys.executable, "-c", program, argument]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def has_huge_pages():
    setting = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")
    allowed = setting.exists() and "[never]" not in setting.read_text()
    return allowed and platform.libc_ver()[0] == "glibc"


@pytest.mark.thorough
@pytest.mark.skipif(not has_huge_pages(), reason="needs glibc and huge pages of Linux")
def test_large_results_come_with_few_page_faults():
    tuned, plain = int(run(FAULTS, "tuned")), int(run(FAULTS, "plain"))
    assert tuned < plain / 4  # of 3 x 64 MiB: 49,152 pages of 4 KiB


@pytest.fixture
def restarts(monkeypatch):
    """What the process would have been replaced by."""
    found = []
    monkeypatch.setattr(tuning.os, "execve", lambda *call: found.append(call))
    monkeypatch.setattr(tuning.platform, "libc_ver", lambda: ("glibc", "2.36"))
    monkeypatch.delenv("GLIBC_TUNABLES", raising=False)
    return found


def test_the_program_starts_again_once_and_with_its_arguments(restarts, monkeypatch):
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.check=0")
    dpjax.runtime.tune_allocator()
    ((program, arguments, environment),) = restarts
    assert (program, arguments) == (sys.executable, sys.orig_argv)
    both = "glibc.malloc.check=0:glibc.malloc.hugetlb=1"
    assert environment["GLIBC_TUNABLES"] == both
    monkeypatch.setenv("GLIBC_TUNABLES", both)
    dpjax.runtime.tune_allocator()
    assert len(restarts) == 1


@pytest.mark.parametrize("library", ["", "musl"])
def test_other_c_libraries_are_left_alone(library, restarts, monkeypatch):
    monkeypatch.setattr(tuning.platform, "libc_ver", lambda: (library, ""))
    with pytest.raises(ValueError, match="must be called on a system with glibc"):
        dpjax.runtime.tune_allocator()
    assert not restarts


def test_an_interactive_python_is_not_started_again(restarts, monkeypatch):
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    with pytest.raises(ValueError, match="must be called in a script"):
        dpjax.runtime.tune_allocator()
    assert not restarts


def test_the_cache_of_programs_is_a_folder(tmp_path):
    occupied = tmp_path / "file"
    occupied.touch()
    with pytest.raises(ValueError, match="`folder` must be a folder"):
        dpjax.runtime.cache_compilations(occupied)


@pytest.mark.slow
def test_programs_are_kept_in_the_folder(tmp_path):
    folder = tmp_path / "new" / "cache"
    assert run(CACHED, str(folder)).strip() == "[1 3 5]"
    assert any(folder.iterdir())
