"""How near is the transform to a copy, and to NumPy? (performance.md, F1 and F2)"""

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.timing import first_call, medians
from dpjax.walsh import walsh_hadamard

LEVELS = range(14, 25, 2)


def radix_2(table: np.ndarray) -> np.ndarray:
    """The transform by a loop over levels in NumPy."""
    table, stride = table.copy(), 1
    while stride < table.size:
        pairs = table.reshape(-1, 2, stride)
        sums, differences = pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]
        pairs[:, 0], pairs[:, 1] = sums, differences
        stride *= 2
    return table


def main() -> None:
    """Print the time of one transform as ratios to NumPy's and to a copy's."""
    print("float32; times faster than NumPy, and the number of copies of the table it")
    print("takes as long as, each beside its target")
    print(f"{'length':>6} {'× NumPy':>14} {'copies':>14} {'compile s':>10}")
    for levels in LEVELS:
        table = np.random.default_rng(0).integers(0, 2, 2**levels).astype(np.float32)
        given, copied = jnp.asarray(table), np.empty_like(table)
        transform = jax.jit(walsh_hadamard)
        compiling = first_call(lambda f=transform, x=given: f(x))
        np.testing.assert_array_equal(transform(given), radix_2(table))
        seconds = medians(
            {
                "numpy": lambda x=table: radix_2(x),
                "copy": lambda x=table, y=copied: np.copyto(y, x),
                "walsh": lambda f=transform, x=given: f(x),
            },
            rounds=21,
        )
        faster = seconds["numpy"] / seconds["walsh"]
        copies = seconds["walsh"] / seconds["copy"]
        shown = f"{faster:>8.1f} (≥ 7) {copies:>7.1f} (≤ {30 if levels < 24 else 20})"
        print(f"{f'2^{levels}':>6} {shown} {compiling:>10.2f}")


if __name__ == "__main__":
    main()
