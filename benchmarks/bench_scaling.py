"""How does time grow with records, variables, repeats and devices?

    python -m benchmarks.bench_scaling

For each, the time per unit at several sizes, and the exponent fitted to all of them by
least squares on logarithms: 1 is linear, less is where fixed costs still show. Devices
are virtual ones that share this machine's cores, which one device uses already: they
show what a mesh costs, not what it gains.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

import dpjax as dp
from benchmarks.private_fits import FITS
from benchmarks.report import Row, shown
from benchmarks.timing import exponent, medians
from dpjax import BayesNet
from dpjax.mechanisms import DiscreteLaplace, Laplace
from dpjax.noise.keys import release_key, study_key
from dpjax.privacy import Sensitivity
from dpjax.statistics import NetworkCounts

SENSITIVITY = Sensitivity(32, "replace-one", tight=True)
NO_MORE_THAN_LINEAR = 1.1  # an exponent; the rest is noise of the clock


def curve(
    axis: str,
    case: str,
    candidates: Mapping[int, Callable[[], object]],
    target: float | None = NO_MORE_THAN_LINEAR,
) -> Iterator[Row]:
    """A row for each size, and one for the exponent.

    Args:
        axis: what the sizes are a number of, such as "record".
        case: what is done.
        candidates: what to call, by size; all take turns.
        target: the largest exponent there should be; None for a limit that is shown.
    """
    named = {str(size): call for size, call in candidates.items()}
    seconds = {int(size): each for size, each in medians(named, rounds=5).items()}
    for size, whole in seconds.items():
        one = whole / size * 1e9
        name = f"{case}, {size:,} {axis}s"
        row = Row("", name, one, f"ns a {axis}", seconds={"dpjax": whole})
        yield replace(row, curve=case, axis=f"{axis}s", size=size)
    sizes = f"{min(seconds):,} to {max(seconds):,} {axis}s"
    unit, fitted = f"exponent of {axis}s", exponent(seconds)
    yield Row("", f"{case}, {sizes}", fitted, unit, target, at_least=False)


def naive_bayes(variables: int) -> NetworkCounts:
    """Counts of naive Bayes on so many binary variables, the class included."""
    names = {f"x{i}": [0, 1] for i in range(variables)}
    return NetworkCounts(BayesNet.naive_bayes(names, "x0"))


def over_records(sizes: tuple[int, ...]) -> Iterator[Row]:
    """Counting naive Bayes on 17 binary variables."""
    measure = jax.jit(naive_bayes(17).measure)
    rng = np.random.default_rng(0)
    records = rng.integers(0, 2, (max(sizes), 17), np.uint8)
    parts = {n: jnp.asarray(records[:n]) for n in sizes}
    calls = {n: lambda part=part: measure(part) for n, part in parts.items()}
    yield from curve("record", "counts, k = 17", calls)


def over_variables(n: int) -> Iterator[Row]:
    """Counting naive Bayes, and drawing its noise; and a mere read of the records.

    The fewest variables are read from a cache, which the most do not fit in.
    """
    sizes, rng = (8, 32, 125, 500), np.random.default_rng(0)
    records = rng.integers(0, 2, (n, max(sizes)), np.uint8)
    counting, reading, drawing = {}, {}, {}
    for k in sizes:
        statistic, given = naive_bayes(k), jnp.asarray(records[:, :k])
        noise = DiscreteLaplace.calibrate(1, statistic.sensitivity("replace-one"))
        measure = jax.jit(statistic.measure)
        draw = jax.jit(lambda key, noise, exact: noise.sample(key, exact))
        exact = measure(given)
        counting[k] = lambda f=measure, x=given: f(x)
        reading[k] = np.asarray(given).reshape(-1).view(np.uint64).sum
        drawing[k] = lambda f=draw, m=noise, x=exact: f(release_key(), m, x)
    yield from curve("variable", f"counts, n = {n:,}", counting)
    yield from curve("variable", f"a read, n = {n:,}", reading, target=None)
    yield from curve("variable", "exact noise", drawing)


def noisy(key, epsilon, counts):
    """How far noisy counts are from the truth."""
    released = Laplace(epsilon, SENSITIVITY).sample(key, counts)
    return {"error": jnp.abs(released - counts).mean()}


def over_repeats(sizes: tuple[int, ...]) -> Iterator[Row]:
    """A sweep: noise on 64 counts at 3 budgets."""
    counts = np.arange(64, dtype=np.int32)

    def swept(repeats: int) -> object:
        key, epsilons = study_key(0), ("0.1", "1", "10")
        return dp.sweep(key, noisy, counts, epsilons=epsilons, repeats=repeats)["error"]

    calls = {size: lambda size=size: swept(size) for size in sizes}
    yield from curve("repeat", "sweep, 64 counts × 3 ε", calls)


def over_devices(repeats: int) -> Iterator[Row]:
    """Private fits on a mesh, each number of devices in a process of its own."""
    seconds: dict[int, float] = {}
    fits = repeats * FITS
    for devices in (1, 2, 4, 8):
        flags = f"--xla_force_host_platform_device_count={devices}"
        flags = f"{os.environ.get('XLA_FLAGS', '')} {flags}"
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.on_devices", str(repeats)],
            env={**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
            capture_output=True,
            text=True,
            check=True,
        )
        seconds[devices] = json.loads(done.stdout.splitlines()[-1])
        case = f"sweep of {fits:,} fits, {devices} virtual devices"
        gain = seconds[1] / seconds[devices]
        each, curve = {"dpjax": seconds[devices]}, f"sweep of {fits:,} fits"
        row = Row("", case, gain, "× the speed of one", seconds=each)
        yield replace(row, curve=curve, axis="virtual devices", size=devices)
    case, unit = f"sweep of {fits:,} fits, 1 to 8 devices", "exponent of devices"
    yield Row("", case, exponent(seconds), unit)


def rows(full: bool = False) -> Iterator[Row]:
    """All four."""
    powers = tuple(10**i for i in range(2, 9))
    yield from over_records(powers[2:] if full else powers[2:6])
    yield from over_variables(1_000_000 if full else 100_000)
    yield from over_repeats(powers[:5] if full else powers[:4])
    yield from over_devices(30_000 if full else 2_000)


def main() -> None:
    """Print all."""
    for line in shown(rows()):
        print(line)


if __name__ == "__main__":
    main()
