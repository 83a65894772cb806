"""Fresh processes for the package under test, forked from one that waits.

What the package imports is imported there once, but never the package itself. The
process that waits has one thread: locks of others would stay locked in a fork.
"""

__all__ = ["python"]

import importlib
import multiprocessing
import os
import pathlib
import runpy
import subprocess
import sys
import warnings

_ONE_THREAD = {
    "OPENBLAS_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}
os.environ.update(_ONE_THREAD)  # before NumPy and Arrow are imported
# Bytecode is written, since copies of the package share that of the unaltered files.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

for name in (
    *("jax", "equinox", "jaxtyping", "mpmath", "numpyro.infer", "pandas", "pytest"),
    *("pyarrow.dataset", "pyarrow.parquet", "scipy.stats"),
):
    importlib.import_module(name)
# Nothing has run in JAX when this is forked.
warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)
_FORKED = 120  # seconds


def python(
    folder: pathlib.Path, arguments: list[str], seconds: float | None
) -> tuple[int | None, str]:
    """Run `python -m` in a folder whose modules come first.

    What takes long in a forked process, or ends there with neither 0 nor 1, runs again
    in one that is not forked: a fork can crash as it ends, after its work is done.

    Returns:
        Exit status, None if it took too long, and what was printed.
    """
    printed = folder / f"printed{os.urandom(8).hex()}.txt"
    if seconds is None:
        return _fresh(folder, printed, arguments, None)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    process = context.Process(target=_run, args=(folder, printed, arguments))
    process.start()
    process.join(_FORKED)
    if process.is_alive():
        process.kill()
        process.join()
    if process.exitcode not in (0, 1):
        return _fresh(folder, printed, arguments, seconds)
    return process.exitcode, printed.read_text(errors="replace")


def _fresh(
    folder: pathlib.Path,
    printed: pathlib.Path,
    arguments: list[str],
    seconds: float | None,
) -> tuple[int | None, str]:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    with printed.open("w") as file:
        try:
            status = subprocess.run(
                [sys.executable, "-m", *arguments],
                cwd=folder,
                env=environment,
                stdout=file,
                stderr=subprocess.STDOUT,
                timeout=seconds,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            return None, f"more than {seconds} s"
    return status, printed.read_text(errors="replace")


def _run(folder: pathlib.Path, printed: pathlib.Path, arguments: list[str]) -> None:
    for name in [x for x in sys.modules if x.split(".")[0] in ("tests", "dpjax")]:
        del sys.modules[name]
    with printed.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.chdir(folder)
    os.environ["PYTHONPATH"] = str(folder)
    sys.path.insert(0, str(folder))
    sys.argv[1:] = arguments[1:]
    runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
