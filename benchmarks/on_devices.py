"""Seconds of a sweep on all devices: `python -m benchmarks.on_devices REPEATS`.

`bench_scaling` starts it with 1 to 8 virtual devices.
"""

import json
import sys

import jax
import jax.numpy as jnp
import numpy as np

import dpjax as dp
from benchmarks.timing import medians
from dpjax.mechanisms import Laplace
from dpjax.privacy import Sensitivity
from dpjax.processes import device_mesh
from dpjax.random import study_key

EPSILONS = ("0.1", "1", "10")
SENSITIVITY = Sensitivity(32, "replace-one", tight=True)
COUNTS = np.arange(64, dtype=np.int32)


def experiment(key, epsilon, counts):
    """How far 64 noisy counts are from the truth."""
    noisy = Laplace(epsilon, SENSITIVITY).sample(key, counts)
    return {"error": jnp.abs(noisy - counts).mean()}


def sweep_repeats(repeats: int, mesh: jax.sharding.Mesh | None = None) -> np.ndarray:
    """All errors of so many repeats, (e, repeats)."""
    result = dp.sweep(
        study_key(0), experiment, COUNTS, epsilons=EPSILONS, repeats=repeats, mesh=mesh
    )
    return result["error"]


def main() -> None:
    """Print the median of a few."""
    repeats, mesh = int(sys.argv[1]), device_mesh()
    seconds = medians({"sweep": lambda: sweep_repeats(repeats, mesh)}, rounds=5)
    print(json.dumps(seconds["sweep"]))


if __name__ == "__main__":
    main()
