"""Optional performance settings of the process."""

import os
import platform
import sys
from pathlib import Path

import jax

_VARIABLE, _SETTING = "GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"


def tune_allocator() -> None:
    """Restart the program with huge memory pages on Linux, for fewer page faults.

    On a CPU, JAX allocates new memory for each large result, and clearing the pages can
    take longer than the computation. glibc can use huge pages, but reads this setting
    only at the start of a program. Therefore **this function restarts the program**
    with `GLIBC_TUNABLES=glibc.malloc.hugetlb=1` in its environment, unless the setting
    is present. Call it at the start of a script.

    Raises:
        ValueError: if the C library is not glibc (macOS, Windows, musl), or Python is
            interactive or in a notebook, whose state a restart would lose.
    """
    settings = os.environ.get(_VARIABLE, "")
    if _SETTING in settings.split(":"):
        return
    library, _ = platform.libc_ver()
    if library != "glibc":
        raise ValueError(
            "`tune_allocator` must be called on a system with glibc, got "
            f"{library or platform.system()}: do not call it there."
        )
    if hasattr(sys, "ps1") or sys.flags.interactive or "ipykernel" in sys.modules:
        raise ValueError(
            "`tune_allocator` must be called in a script, got an interactive Python: "
            f"start it with {_VARIABLE}={_SETTING} in its environment."
        )
    both = ":".join(filter(None, (settings, _SETTING)))
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, sys.orig_argv, {**os.environ, _VARIABLE: both})


def cache_compilations(folder: str | os.PathLike[str]) -> None:
    """Store compiled programs in `folder`, for this process and later processes.

    Call it before the first computation. It sets `jax_compilation_cache_dir` and two
    thresholds for all of JAX in this process, so that every program is stored.

    Args:
        folder: folder of the programs, created if necessary. Anyone who can write to
            it can run code in this process.

    Privacy:
        dpjax's programs contain shapes, of which some are numbers of records, and
        public structure, but no records. Your own programs contain any records that are
        constants of their functions.

    Raises:
        ValueError: if `folder` is a file.
    """
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise ValueError(f"`folder` must be a folder, got the file {path}.")
    path.mkdir(parents=True, exist_ok=True)
    jax.config.update("jax_compilation_cache_dir", str(path))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
