"""Fresh processes for the package under test, forked from one that waits.

What the package imports is imported there once, but never the package itself.
"""

__all__ = ["python"]

import importlib
import multiprocessing
import os
import pathlib
import runpy
import sys
import warnings

for name in (
    *("jax", "equinox", "jaxtyping", "mpmath", "numpyro.infer", "pandas", "pytest"),
    *("pyarrow.dataset", "pyarrow.parquet", "scipy.stats"),
):
    importlib.import_module(name)
# Nothing has run in JAX when this is forked.
warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)


def python(
    folder: pathlib.Path, arguments: list[str], seconds: float | None
) -> tuple[int | None, str]:
    """Run `python -m` in a folder whose modules come first.

    Returns:
        Exit status, None if it took too long, and what was printed.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    printed = folder / f"printed{os.urandom(8).hex()}.txt"
    process = context.Process(target=_run, args=(folder, printed, arguments))
    process.start()
    process.join(seconds)
    if process.is_alive():
        process.kill()
        process.join()
        return None, f"more than {seconds} s"
    return process.exitcode, printed.read_text(errors="replace")


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
