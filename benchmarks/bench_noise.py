"""What does noise cost, exact or simulated, beside others' noise? (N1, R1, R2)"""

import itertools
from collections.abc import Iterator
from fractions import Fraction

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from benchmarks.report import Row, shown
from benchmarks.timing import medians
from dpjax._types import Key
from dpjax.noise import (
    discrete_gaussian,
    discrete_laplace,
    gaussian_tables,
    laplace,
    tables,
)
from dpjax.noise.keys import release_key, study_key

TARGETS = {Fraction(1): 1.5, Fraction(1, 10): 2.5, Fraction(1, 100): 4.0}


def exact(draws: int) -> Iterator[Row]:
    """N1: exact discrete Laplace beside `jax.random.laplace` with JAX's default key.

    And the random words alone, one for each digit of each draw: the rest is search.
    """
    counts = jnp.zeros(draws, jnp.int32)
    floating = jax.jit(lambda key: jr.laplace(key, (draws,)))
    add = jax.jit(discrete_laplace.add)
    keys = {"threefry": lambda: study_key(0), "ChaCha20": release_key}
    for rho, target in TARGETS.items():
        table = tables.build(rho)
        shape = (table.largest.size, draws)
        words = jax.jit(lambda key, shape=shape: jr.bits(key, shape, jnp.uint32))
        candidates = {"laplace": lambda: floating(jr.key(0))}
        for name, key in keys.items():
            candidates[name] = lambda key=key, t=table: add(key(), t, counts)
            candidates[f"{name}, words alone"] = lambda key=key, w=words: w(key())
        seconds = medians(candidates, rounds=5)
        for key, most in itertools.product(keys, (target, None)):
            name = key if most else f"{key}, words alone"
            case = f"{draws:,} exact draws, ε/Δ = {rho}, {name}"
            ratio = seconds[name] / seconds["laplace"]
            unit = "× time of jax.random.laplace"
            yield Row("N1", case, ratio, unit, most, at_least=False, seconds=seconds)


def gaussian(draws: int) -> Iterator[Row]:
    """N1: exact discrete Gaussian noise beside exact discrete Laplace noise.

    Their variances are equal, and so are their keys.
    """
    counts = jnp.zeros(draws, jnp.int32)
    add = {x: jax.jit(x.add) for x in (discrete_gaussian, discrete_laplace)}
    for sigma in (1, 10, 100):
        rate = Fraction(1, 2 * sigma**2)
        normal = gaussian_tables.build(rate, gaussian_tables.columns_shared(rate))
        wide = tables.build(Fraction(round(1000 * 2**0.5 / sigma), 1000))
        seconds = medians(
            {
                "gaussian": lambda t=normal: add[discrete_gaussian](
                    study_key(0), t, counts
                ),
                "laplace": lambda t=wide: add[discrete_laplace](
                    study_key(0), t, counts
                ),
            },
            rounds=5,
        )
        case = f"{draws:,} exact Gaussian draws, σ = {sigma}"
        ratio = seconds["gaussian"] / seconds["laplace"]
        unit = "× time of exact Laplace draws of equal variance"
        yield Row("N1", case, ratio, unit, 1.5, at_least=False, seconds=seconds)


def simulated(draws: int) -> Iterator[Row]:
    """R1: draws as an array beside NumPy's, and summed as they are made (fused)."""

    def batch(key: Key) -> jax.Array:
        return laplace.sample(key, 2.0, (draws,))

    def total(key: Key) -> jax.Array:
        return jnp.sum(batch(key))

    array, fused = jax.jit(batch), jax.jit(total)
    rng = np.random.default_rng(0)
    seconds = medians(
        {
            "numpy": lambda: rng.laplace(scale=2.0, size=draws),
            "numpy sum": lambda: rng.laplace(scale=2.0, size=draws).sum(),
            "array": lambda: array(study_key(0)),
            "fused": lambda: fused(study_key(0)),
            "default": lambda: fused(jr.key(0)),
        }
    )
    case, faster = f"{draws:,} Laplace draws", "× as fast as NumPy"
    ratio = seconds["numpy"] / seconds["array"]
    yield Row("R1", f"{case}, an array", ratio, faster, 4, seconds=seconds)
    ratio = seconds["numpy sum"] / seconds["fused"]
    yield Row("R1", f"{case}, summed", ratio, faster, 4)
    ratio = seconds["default"] / seconds["fused"]
    yield Row("R1", f"{case}, summed", ratio, "× JAX's default key", 4)


def bits(words: int) -> Iterator[Row]:
    """R2: what keys of 256 bits cost in bulk, beside JAX's default threefry."""
    draw = jax.jit(lambda key: jr.bits(key, (words,), jnp.uint32))
    seconds = medians(
        {
            "threefry": lambda: draw(jr.key(0)),
            "ChaCha20": lambda: draw(release_key()),
            "unrolled": lambda: draw(study_key(0)),
        }
    )
    for name, target in {"ChaCha20": 1.2, "unrolled": None}.items():
        case = f"{words:,} random words, {name}"
        ratio = seconds[name] / seconds["threefry"]
        unit = "× time of JAX's default threefry"
        yield Row("R2", case, ratio, unit, target, at_least=False, seconds=seconds)


def rows(full: bool = False) -> Iterator[Row]:
    """The exact law, the simulated one, bits alone; OpenDP is in bench_peers."""
    yield from exact(10_000_000)
    yield from gaussian(10_000_000)
    yield from simulated(1 << (24 if full else 22))
    yield from bits(10_000_000)


def main() -> None:
    """Print the rows."""
    for line in shown(rows()):
        print(line)


if __name__ == "__main__":
    main()
