"""Sizes of blocks of work, chosen for the platform that runs a program.

A CPU is fastest if a block of work fits its caches. An accelerator is fastest with few
large blocks, since each of its kernels takes microseconds to launch. The mathematics is
written once, in functions whose first argument holds the sizes, and `by_platform` calls
them in compiled programs. Integers and random bits do not depend on the sizes; floats
may differ by their rounding.
"""

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh
from jaxtyping import Array

_MOST_TRIED = 4096  # numbers of blocks


class Sizes(NamedTuple):
    """Sizes of blocks of work.

    Attributes:
        whole: whether all records or random bits are computed at once.
        repeats_sums: whether a kernel computes a sum again for each result that needs
            it, which takes less time than to write sums to memory and to read them.
        double_rounds: double rounds of ChaCha20 in one kernel; the more there are, the
            longer takes the compilation.
        least_unrolled: number of ChaCha20 blocks from which one kernel has all rounds.
        lanes: random words of each row that are used at once.
        words: words of 32 records of each bit plane that are counted at once.
        cells: addresses of cells that are computed at once to add records to them.
        numbers: numbers that predictions hold at once.
        weights: weights of hidden counts that exact posteriors hold at once.
        estimates: stacked releases whose point estimates are computed at once.
        digit: bits of an order statistic that are settled at once, with one kernel.
        repeats: repeats of a sweep in one block, at most.
        repeat_bytes: bytes of a block's data or results, at most.
    """

    whole: bool
    repeats_sums: bool
    double_rounds: int
    least_unrolled: int
    lanes: int
    words: int
    cells: int
    numbers: int
    weights: int
    estimates: int
    digit: int
    repeats: int
    repeat_bytes: int

    def map(self, function: Callable[[Any], Any], inputs: Any) -> Any:
        """Map a function over the first axis of `inputs`, at once or in turn."""
        return jax.vmap(function)(inputs) if self.whole else lax.map(function, inputs)


CPU = Sizes(
    whole=False,
    repeats_sums=False,
    double_rounds=1,
    least_unrolled=1 << 62,
    lanes=1 << 32,
    words=1024,  # with 2048, XLA does not fuse: 3 times slower
    cells=1 << 18,  # 1 MiB, which fits the cache
    numbers=1 << 22,
    weights=1 << 20,  # more exceed the cache
    estimates=32,
    digit=1,
    repeats=1 << 8,
    repeat_bytes=1 << 25,
)
ACCELERATOR = Sizes(
    whole=True,
    repeats_sums=True,
    double_rounds=3,
    least_unrolled=1 << 15,  # the compilation takes 10 s
    lanes=1 << 32,
    words=1 << 26,  # those of all records, which are fewer than 2^31
    cells=1 << 26,
    numbers=1 << 29,
    weights=1 << 31,  # about 16 GiB of memory
    estimates=1 << 12,
    digit=4,
    repeats=1 << 14,
    repeat_bytes=1 << 31,
)
TPU = ACCELERATOR._replace(  # tiles pad short axes
    repeats_sums=False,
    lanes=1 << 24,
    words=1 << 15,
    numbers=1 << 17,
    weights=1 << 26,
)


def by_platform(
    function: Callable[..., Any], *args: Any, on_tpu: Sizes = ACCELERATOR
) -> Any:
    """Return `function(sizes, *args)`, with the sizes for the program's platform.

    The platform is that of the device that runs the program, also if the program is
    exported on a machine without such a device.

    Args:
        function: function of sizes and of `args`.
        args: arrays.
        on_tpu: `TPU` where its sizes matter; each other sizes take time to trace.
    """
    on_cpu, elsewhere = partial(function, CPU), partial(function, ACCELERATOR)
    tpu = {} if on_tpu is ACCELERATOR else {"tpu": partial(function, on_tpu)}
    return lax.platform_dependent(*args, cpu=on_cpu, default=elsewhere, **tpu)


def sizes_here(mesh: Mesh | None = None) -> Sizes:
    """Return the sizes for loops of the host that call programs of this process.

    Args:
        mesh: devices that run the programs; None means the default device.
    """
    platform = mesh.devices.flat[0].platform if mesh else jax.default_backend()
    return CPU if platform == "cpu" else ACCELERATOR


def on_cpu() -> AbstractContextManager:
    """Return a context in which programs run on the CPU, if JAX has one.

    The noise of a release is needed on the host, and its program compiles much sooner
    for a CPU than for an accelerator.
    """
    try:
        return jax.default_device(jax.local_devices(backend="cpu")[0])
    except RuntimeError:  # JAX was told to use other platforms alone
        return nullcontext()


def each(
    function: Callable[[Any], Any], inputs: Any, size: Callable[[Sizes], int]
) -> Any:
    """Map a function over the first axis of `inputs`, in blocks that bound memory.

    A block has every b-th entry, for b blocks. If the entries are sharded over devices
    and b divides the number of a device's entries, each device has equally many entries
    of every block, and needs none of another device.

    Args:
        function: function of one entry.
        inputs: arrays with one first axis.
        size: the largest number of entries of a block, for given sizes.
    """
    function = jax.jit(function)  # traced once for all platforms

    def in_blocks(sizes: Sizes, inputs: Any) -> Any:
        n = len(jax.tree.leaves(inputs)[0])
        blocks = _number_of_blocks(n, max(1, size(sizes)))
        if blocks == 1:
            return jax.vmap(function)(inputs)
        parts = jax.tree.map(partial(_split, blocks), inputs)
        return jax.tree.map(partial(_join, n), lax.map(jax.vmap(function), parts))

    on_tpu = TPU if size(TPU) != size(ACCELERATOR) else ACCELERATOR
    return by_platform(in_blocks, inputs, on_tpu=on_tpu)


def _number_of_blocks(n: int, most: int) -> int:
    """A number of blocks of at most `most` entries, if possible divisible by 2^8."""
    fewest = max(1, -(-n // most))
    tried = range(fewest, min(8 * fewest, fewest + _MOST_TRIED))
    whole = [b for b in tried if n % b == 0]
    return max(whole, key=lambda b: math.gcd(n // b, 1 << 8), default=fewest)


def _split(blocks: int, entries: Array) -> Array:
    rest = ((0, 0),) * (entries.ndim - 1)
    padded = jnp.pad(entries, ((0, -len(entries) % blocks), *rest), mode="edge")
    shape = len(padded) // blocks, blocks, *entries.shape[1:]
    return jnp.moveaxis(padded.reshape(shape), 1, 0)


def _join(n: int, parts: Array) -> Array:
    return jnp.moveaxis(parts, 0, 1).reshape(-1, *parts.shape[2:])[:n]
