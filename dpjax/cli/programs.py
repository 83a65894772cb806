"""Where the command line keeps compiled programs, so that its next run is sooner."""

import os
import pathlib
import sys
import tempfile

import jax

from dpjax.runtime.tuning import cache_compilations

VARIABLE = "DPJAX_CACHE"
_OFF = "off"


def keep_programs(command: str) -> None:
    """Keep the compiled programs of this process in a folder of the user.

    The folder is that of the environment variable `DPJAX_CACHE`, which "off" turns off,
    or else that of the platform's convention. Nothing is kept if JAX has a folder
    already, if this one cannot be written, or, with a line on the standard error, if
    others can write to it: they could run code in this process.
    """
    chosen = os.environ.get(VARIABLE)
    if chosen == _OFF or jax.config.values["jax_compilation_cache_dir"]:
        return
    try:
        folder = pathlib.Path(chosen) if chosen else _of_platform() / "dpjax"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()  # permission bits can mislead
    except (OSError, RuntimeError):  # the latter if the user has no home
        return
    if not _is_own(folder):
        print(
            f"dpjax {command}: compiled programs are not kept, since others can write "
            f"to {folder}",
            file=sys.stderr,
        )
        return
    cache_compilations(folder)


def _of_platform() -> pathlib.Path:
    home = pathlib.Path.home()
    if sys.platform == "win32":
        return pathlib.Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local"))
    if sys.platform == "darwin":
        return home / "Library" / "Caches"
    stated = pathlib.Path(os.environ.get("XDG_CACHE_HOME", ""))
    return stated if stated.is_absolute() else home / ".cache"


def _is_own(folder: pathlib.Path) -> bool:
    if sys.platform == "win32":
        return True  # access lists of the user's folders exclude others
    facts = folder.stat()
    return facts.st_uid == os.getuid() and not facts.st_mode & 0o022
