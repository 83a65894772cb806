"""What does exact noise cost beside floating-point noise? (performance.md, N1)"""

from fractions import Fraction

import jax
import jax.numpy as jnp
import jax.random as jr

from benchmarks.timing import first_call, medians
from dpjax.noise import discrete_laplace, tables
from dpjax.random import release_key, study_key

DRAWS = 10_000_000
TARGETS = {Fraction(1): 1.5, Fraction(1, 10): 2.5, Fraction(1, 100): 4.0}


def main() -> None:
    """Print the time of exact draws as a ratio to `jax.random.laplace`."""
    exact = jnp.zeros(DRAWS, jnp.int32)
    laplace = jax.jit(lambda key: jr.laplace(key, (DRAWS,)))
    print(f"{DRAWS:,} draws; ratios to jax.random.laplace with JAX's default key")
    print(f"{'ε/Δ':>6} {'threefry':>9} {'ChaCha20':>9} {'target':>7} {'compile s':>10}")
    for rho, target in TARGETS.items():
        table = tables.build(rho)
        add = jax.jit(discrete_laplace.add)
        compiling = first_call(lambda a=add, t=table: a(study_key(0), t, exact))
        seconds = medians(
            {
                "laplace": lambda: laplace(jr.key(0)),
                "threefry": lambda a=add, t=table: a(study_key(0), t, exact),
                "chacha": lambda a=add, t=table: a(release_key(), t, exact),
            }
        )
        ratios = [seconds[name] / seconds["laplace"] for name in ("threefry", "chacha")]
        shown = f"{ratios[0]:>9.2f} {ratios[1]:>9.2f} {target:>7} {compiling:>10.2f}"
        print(f"{rho!s:>6} {shown}")


if __name__ == "__main__":
    main()
