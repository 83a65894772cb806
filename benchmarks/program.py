"""A program to compile for any device and to run on any, with its budgets."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding
from jax.stages import Lowered

Call = tuple[Callable[..., Any], tuple[Any, ...]]  # a function and its arguments
_PRIMES = (0x9E3779B1, 0x85EBCA77)


@dataclasses.dataclass(frozen=True)
class Drawn:
    """An argument that is an array of whole numbers as if random.

    Args:
        shape, dtype: of the array; the first axis is sharded if there are devices.
        below: exclusive bound, at most 2^31.
    """

    shape: tuple[int, ...]
    dtype: str = "uint8"
    below: int = 2

    def array(self) -> jax.Array:
        """The numbers, the same on every device."""
        axes = range(len(self.shape))
        mixed = sum(
            lax.broadcasted_iota(np.uint32, self.shape, axis) * np.uint32(prime)
            for axis, prime in zip(axes, _PRIMES, strict=False)
        )
        mixed = (mixed ^ (mixed >> 15)) * np.uint32(0x2C1B3C6D)
        mixed = (mixed ^ (mixed >> 12)) >> 1
        return (mixed % np.uint32(self.below)).astype(self.dtype)


@dataclasses.dataclass(frozen=True)
class Program:
    """A hot program, at a size.

    Args:
        name: of its own.
        build: maps a size to a function and its arguments. Arrays and `Drawn` become
            arguments of the compiled program, and all else is static.
        size: that is compiled, such as a number of records.
        small: a size at which a CPU takes no time.
        launches, passes, temporaries: budgets: the number of launches; bytes that are
            moved over those of the arguments and results; and temporary bytes over
            those of the results. None where there is none.
        slower: name of another program, and how many times its time is the budget.
        turns: assumed turns of each loop whose end the data decide.
        devices: number of devices over which the first axes are sharded.
        exact: whether results have equal bits on every device.
        guarded: whether it is one of those that `.ci/run` compiles.
    """

    name: str
    build: Callable[[int], Call]
    size: int
    small: int
    launches: int | None = None
    passes: float | None = None
    temporaries: float | None = None
    slower: tuple[str, float] | None = None
    turns: float = 1
    devices: int = 1
    exact: bool = False
    guarded: bool = False

    def prepared(self, size: int) -> tuple[Callable[..., Any], list[Any]]:
        """A function of arrays alone, and these arrays, of which some are `Drawn`."""
        function, arguments = self.build(size)
        leaves, tree = jax.tree.flatten(arguments)
        varies = [isinstance(x, Drawn) or hasattr(x, "dtype") for x in leaves]

        def call(*given: Any) -> Any:
            rest = iter(given)
            filled = [
                next(rest) if variable else leaf
                for leaf, variable in zip(leaves, varies, strict=True)
            ]
            return function(*jax.tree.unflatten(tree, filled))

        pairs = zip(leaves, varies, strict=True)
        return call, [leaf for leaf, variable in pairs if variable]

    def sharding(self, argument: Any, devices: list[Any]) -> Sharding:
        """Of an argument or a result: the first axis of `Drawn` over all devices."""
        if self.devices == 1:
            return SingleDeviceSharding(devices[0])
        mesh = jax.sharding.Mesh(np.array(devices), ("devices",))
        axes = ("devices",) if isinstance(argument, Drawn) else ()
        return NamedSharding(mesh, PartitionSpec(*axes))

    def lowered(self, devices: list[Any], size: int | None = None) -> Lowered:
        """The program at a size, for these devices; None is its own size."""
        call, arguments = self.prepared(self.size if size is None else size)
        shapes = [
            jax.ShapeDtypeStruct(
                x.shape,
                jax.dtypes.canonicalize_dtype(x.dtype, allow_extended_dtype=True),
                sharding=self.sharding(x, devices),
            )
            for x in arguments
        ]
        return jax.jit(call).lower(*shapes)
