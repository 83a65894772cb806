"""What JAX computes on, and how fast that copies: `python -m benchmarks.device`.

The bandwidth of a copy counts the bytes read and the bytes written. It is NumPy's on a
CPU, the limit that the benchmarks compare with; on an accelerator, that of compiled
passes over 1 GiB, many of which are queued.
"""

import json

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.timing import QUEUED, medians, queued

WORDS = {"cpu": 2**26, "other": 2**28}


def device() -> dict[str, object]:
    """Platform, kind, number, and bytes per second of a copy."""
    first = jax.devices()[0]
    words = WORDS.get(first.platform, WORDS["other"])
    if first.platform == "cpu":
        given = np.ones(words, np.uint32)
        copied = np.empty_like(given)
        seconds = medians({"copy": lambda: np.copyto(copied, given)})["copy"]
    else:
        given, flip = jnp.ones(words, jnp.uint32), jax.jit(lambda x: x ^ 1)
        seconds = medians({"copy": queued(lambda: flip(given))}, rounds=21)["copy"]
        seconds /= QUEUED
    return {
        "platform": first.platform,
        "kind": first.device_kind,
        "count": jax.device_count(),
        "copy_bytes_per_second": 2 * 4 * words / seconds,
    }


if __name__ == "__main__":
    print(json.dumps(device()))
