"""Seconds of private fits on all devices: `python -m benchmarks.on_devices REPEATS`.

`bench_scaling` starts it with 1 to 8 virtual devices.
"""

import json
import sys

from benchmarks.private_fits import Study
from benchmarks.timing import medians
from dpjax.runtime.processes import device_mesh


def main() -> None:
    """Print the median of a few."""
    repeats, mesh = int(sys.argv[1]), device_mesh()
    study = Study()
    calls = {"sweep": lambda: study(repeats, mesh)["accuracy"]}
    print(json.dumps(medians(calls, rounds=5)["sweep"]))


if __name__ == "__main__":
    main()
