"""Where a run took place: the machine, the versions, the commit."""

import json
import os
import pathlib
import platform
import runpy
import subprocess
import sys
from importlib import metadata

PACKAGES = (
    "jax",
    "jaxlib",
    "numpy",
    "numpyro",
    "scipy",
    "scikit-learn",
    "pandas",
    "pyarrow",
    "polars",
    "duckdb",
    "opendp",
    "mbi",
)
ROOT = pathlib.Path(__file__).parents[1]


def machine() -> dict[str, object]:
    """Processor, cores that this process may use, memory, system."""
    pages = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cpu": _processor(),
        "cores": _cores(),
        "memory_gib": round(pages / 2**30, 1),
        "os": platform.platform(),
    }


def versions() -> dict[str, str | None]:
    """Of Python and packages; None where one is not installed."""
    ours = runpy.run_path(str(ROOT / "dpjax" / "_version.py"))["__version__"]
    found = {"python": platform.python_version(), "dpjax": ours}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = None
    return found


def commit() -> dict[str, object]:
    """The commit of the working tree, and whether tracked files differ from it."""
    try:
        revision = _git("rev-parse", "HEAD")
        changed = bool(_git("status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.CalledProcessError):
        return {"revision": None, "dirty": None}
    return {"revision": revision, "dirty": changed}


def device() -> dict[str, object]:
    """JAX's device, measured in a process of its own: an accelerator has one owner."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.device"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        return {"platform": "unknown", "failed": reason}
    return json.loads(done.stdout.strip().splitlines()[-1])


def _processor() -> str:
    """Its model's name, where the system tells."""
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if "model name" in line]
    return names[0] if names else platform.machine()


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()
