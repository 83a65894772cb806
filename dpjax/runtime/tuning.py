"""Opt-in settings of the process for speed; nothing here is set unless it is called."""

__all__ = ["cache_compilations", "tune_allocator"]

import os
import platform
import sys
from pathlib import Path

import jax

_VARIABLE, _SETTING = "GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"


def tune_allocator() -> None:
    """Let large results come with few page faults: in huge pages, if Linux has them.

    Every large result of JAX on CPU is new memory, whose pages the system clears one
    by one, which can take longer than the computation. glibc can ask for huge pages
    instead, but reads that setting only when a program starts: so **this starts the
    program again**, with `GLIBC_TUNABLES=glibc.malloc.hugetlb=1` in its environment,
    and does nothing where that is already set. Call it first of all in a script. (The
    settings that a running program can change, of `mallopt`, were measured not to
    help: other threads have arenas of their own, too small for large blocks.)

    Raises:
        ValueError: if the C library is not glibc (macOS, Windows, musl), or Python is
            interactive or in a notebook, which a new start would lose.
    """
    settings = os.environ.get(_VARIABLE, "")
    if _SETTING in settings.split(":"):
        return
    library, _ = platform.libc_ver()
    if library != "glibc":
        raise ValueError(
            "`tune_allocator` must be called where the C library is glibc, got "
            f"{library or platform.system()}: leave the allocator as it is."
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
    """Keep compiled programs in `folder`, for this process and for later ones.

    Sets JAX's own configuration (`jax_compilation_cache_dir` and the two thresholds,
    to keep programs however small and however soon compiled), so that it holds for all
    of JAX in this process. dpjax's programs hold shapes and public structure, and no
    records; a function of your own that closes over records has them in its program.

    To be called before the first computation.

    Args:
        folder: made if it is not there. Whoever can write to it can run code here.

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
