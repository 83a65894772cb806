"""Run every notebook from start to end: `python -m tests.notebooks [NAME …]`.

Each in a kernel of its own and in an empty folder, two at a time. Exits with 1 if one
fails, and says in which cell.
"""

import os
import pathlib
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

FOLDER = pathlib.Path(__file__).parents[1] / "notebooks"
_SECONDS_A_CELL = 300
_AT_ONCE = 2


def run(path: pathlib.Path) -> tuple[float, str]:
    """Seconds that a notebook took, and what went wrong; nothing, if nothing did."""
    notebook, began = nbformat.read(path, as_version=4), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook,
            timeout=_SECONDS_A_CELL,
            kernel_name="python3",
            resources={"metadata": {"path": folder}},
        )
        try:
            client.execute()
            trouble = ""
        except CellExecutionError as error:
            trouble = str(error)
        except Exception as error:  # no kernel, a cell that takes too long
            trouble = f"{type(error).__name__}: {error}"
        left = os.listdir(folder)
    if not trouble and left:
        trouble = f"files are left where it ran: {', '.join(sorted(left))}"
    return time.perf_counter() - began, trouble


def main(names: list[str]) -> int:
    """Run the notebooks whose names begin so, or all."""
    every = sorted(FOLDER.glob("*.ipynb"))
    chosen = [x for x in every if not names or x.name.startswith(tuple(names))]
    if not chosen:
        print(f"no notebook in {FOLDER.name}/ is called {' or '.join(names)}")
        return 1
    began, failed = time.perf_counter(), False
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for path, (seconds, trouble) in zip(chosen, pool.map(run, chosen), strict=True):
            print(f"{seconds:6.1f} s  {path.name}", flush=True)
            if trouble:
                print(trouble, flush=True)
                failed = True
                pool.shutdown(cancel_futures=True)
                break
    print(f"{time.perf_counter() - began:6.1f} s  in all")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
