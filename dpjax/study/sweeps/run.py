"""Execution of a sweep: the blocks to compute, their devices, and the checkpoint."""

__all__ = ["Run"]

import contextlib
import math
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.sharding import Mesh
from jaxtyping import PyTree

from dpjax.runtime.processes import broadcast, exchanged, is_first
from dpjax.study.sweeps.checkpoint import (
    Checkpoint,
    Leaf,
    arrays_in,
    blocks_in,
    fingerprint,
)
from dpjax.study.sweeps.grid import Grid
from dpjax.study.sweeps.program import (
    Experiment,
    Inputs,
    Prepare,
    block_program,
    output_names,
)
from dpjax.study.sweeps.result import SweepResult

_SECONDS_UNWRITTEN = 1.0  # of work that an interrupted run can lose

Progress = Callable[[Iterable], Iterable]
Device = Any  # a JAX device, or None for the default one
Block = tuple[int, int]  # number of the data set, number among its blocks


@dataclass(frozen=True, eq=False)
class Run:
    """A sweep with all its parameters.

    Args:
        grid: the cells.
        inputs: inputs of each data set.
        output: shapes and dtypes of a cell's result.
        experiment, prepare: as for `sweep`.
        block: repeats of a block.
        mesh: mesh of the devices, or None for the default one.
        secret: bytes of the sweep's key, for fingerprints.
    """

    grid: Grid
    inputs: Sequence[Inputs]
    output: PyTree
    experiment: Experiment
    prepare: Prepare | None
    block: int
    mesh: Mesh | None
    secret: bytes

    @property
    def blocks(self) -> int:
        """Number of blocks of each data set; the last one may exceed the repeats."""
        return -(-self.grid.repeats // self.block)

    @property
    def leaves(self) -> list[Leaf]:
        """Shape and dtype of each array of a block."""
        lead = (*self.grid.shape[1:], self.block)
        return [
            ((*lead, *leaf.shape), np.dtype(leaf.dtype))
            for leaf in jax.tree.leaves(self.output)
        ]

    def result(
        self, checkpoint: str | os.PathLike | None, progress: Progress
    ) -> SweepResult:
        """Return all cells, computed or read from the checkpoint."""
        lead = (self.grid.shape[0], self.blocks)
        try:
            found = [np.empty((*lead, *shape), dtype) for shape, dtype in self.leaves]
        except MemoryError:
            raise ValueError(
                "`repeats` must be few enough for all results to fit in memory, got "
                f"{self.grid.repeats}."
            ) from None
        with contextlib.ExitStack() as stack:
            file = None
            if checkpoint is not None and is_first():
                file = Checkpoint(checkpoint, self.describe(), self.leaves)
                stack.enter_context(file)
            finished = set()
            if checkpoint is not None:
                content = broadcast(file.read() if file else b"")
                for number, arrays in blocks_in(content, self.leaves):
                    finished.add(_place(number))
                    self._store(found, _place(number), arrays)
            writer = stack.enter_context(_writing(file))
            for place, arrays in self._computed(finished, progress):
                self._store(found, place, arrays)
                writer(_number(place), arrays)
        return self._named(found)

    def describe(self) -> dict[str, object]:
        """Return the identification of the sweep for its checkpoint."""
        lower: Callable = getattr(block_program, "lower")  # noqa: B009  (types hide it)
        texts = [
            lower(
                inputs,
                jnp.zeros((), jnp.int32),
                self.experiment,
                self.prepare,
                self.block,
            )
            .as_text()
            .encode()
            for inputs in self.inputs
        ]
        secret = self.secret
        experiment = getattr(self.experiment, "__qualname__", "")
        return {
            "experiment": experiment or type(self.experiment).__name__,
            "datasets": self.grid.datasets,
            "mechanisms": self.grid.mechanisms,
            "epsilons": [str(epsilon) for epsilon in self.grid.epsilons],
            "block": self.block,
            "key": fingerprint(secret, secret=secret),
            # If the experiment is a module, its arrays are not in the program's text.
            "arrays of the experiment": _digest_of(
                (self.experiment, self.prepare), secret
            ),
            "data": _digest_of([x.data for x in self.inputs], secret),
            "numbers": _digest_of(self.inputs[0].mechanisms, secret),
            "program": fingerprint(*texts, secret=secret),
            "JAX version": jax.__version__,
            "platform": jax.default_backend(),
        }

    @property
    def devices(self) -> list[Device]:
        """Devices of all processes; None is the default device."""
        return [None] if self.mesh is None else list(self.mesh.devices.flat)

    def _computed(
        self, finished: set[Block], progress: Progress
    ) -> Iterator[tuple[Block, list[np.ndarray]]]:
        """Compute the unfinished blocks; a group runs while the last one is fetched."""
        size = len(self.devices)
        places = [
            [(d, b) for b in range(self.blocks) if (d, b) not in finished]
            for d in range(len(self.inputs))
        ]
        groups = [
            some[i : i + size] for some in places for i in range(0, len(some), size)
        ]
        placed: dict[tuple, Inputs] = {}
        waiting = None
        for group in progress(groups):
            started = self._start(group, placed)
            if waiting is not None:
                yield from self._fetched(*waiting)
            waiting = group, started
        if waiting is not None:
            yield from self._fetched(*waiting)

    def _start(self, group: list[Block], placed: dict[tuple, Inputs]) -> list[PyTree]:
        """Start this process's blocks of a group, one on each of its devices."""
        started = []
        for device, (dataset, number) in self._own(group):
            if (device, dataset) not in placed:
                for old in [x for x in placed if x[0] == device]:
                    del placed[old]  # one data set on a device at a time
                placed[device, dataset] = _on_device(self.inputs[dataset], device)
            first = jax.device_put(np.int32(number * self.block), device)
            inputs = placed[device, dataset]
            arguments = (self.experiment, self.prepare, self.block)
            started.append(block_program(inputs, first, *arguments))
        return started

    def _own(self, group: list[Block]) -> list[tuple[Device, Block]]:
        here = jax.process_index()
        return [
            (device, place)
            for device, place in zip(self.devices, group, strict=False)
            if device is None or device.process_index == here
        ]

    def _fetched(
        self, group: list[Block], started: list[PyTree]
    ) -> Iterator[tuple[Block, list[np.ndarray]]]:
        """Fetch the results of a group from all processes."""
        leaves = [[np.asarray(x) for x in jax.tree.leaves(one)] for one in started]
        if self.mesh is None or jax.process_count() == 1:
            yield from zip(group, leaves, strict=True)
            return
        per_process = Counter(device.process_index for device in self.mesh.devices.flat)
        own = b"".join(x.tobytes() for one in leaves for x in one)
        size = sum(math.prod(shape) * dtype.itemsize for shape, dtype in self.leaves)
        padded = own.ljust(size * max(per_process.values()), b"\0")
        contents = exchanged(padded)
        taken = Counter()
        for device, place in zip(self.mesh.devices.flat, group, strict=False):
            process = device.process_index
            start = size * taken[process]
            taken[process] += 1
            yield place, arrays_in(contents[process], start, self.leaves)

    def _store(
        self, found: list[np.ndarray], place: Block, arrays: list[np.ndarray]
    ) -> None:
        dataset, number = place
        # A checkpoint may have more repeats than this sweep.
        if dataset < len(self.inputs) and number < self.blocks:
            for into, array in zip(found, arrays, strict=True):
                into[dataset, number] = array

    def _named(self, found: list[np.ndarray]) -> SweepResult:
        """Join the blocks and drop their padding."""
        named = [x is not None for x in (self.grid.datasets, self.grid.mechanisms)]
        unnamed = tuple(axis for axis, is_named in enumerate(named) if not is_named)
        arrays = {}
        for name, array in zip(output_names(self.output), found, strict=True):
            # (data set, block, m, e, repeat, …) to (data set, m, e, block, repeat, …)
            array = np.moveaxis(array, 1, 3)
            repeats = self.blocks * self.block
            shape = (*array.shape[:3], repeats, *array.shape[5:])
            array = array.reshape(shape)[:, :, :, : self.grid.repeats]
            arrays[name] = array.squeeze(unnamed)
        return SweepResult(arrays, self.grid.coordinates)


def _on_device(inputs: Inputs, device: Device) -> Inputs:
    arrays, static = eqx.partition(inputs, eqx.is_array)
    return eqx.combine(jax.device_put(arrays, device), static)


@contextlib.contextmanager
def _writing(file: Checkpoint | None) -> Iterator[Callable]:
    """Give a function that buffers blocks, which are written at least at the end."""
    unwritten: dict[int, list[np.ndarray]] = {}
    last = time.monotonic()

    def take(number: int, arrays: list[np.ndarray]) -> None:
        nonlocal last
        if file is None:
            return
        unwritten[number] = arrays
        if time.monotonic() - last >= _SECONDS_UNWRITTEN:
            file.append(unwritten)
            unwritten.clear()
            last = time.monotonic()

    try:
        yield take
    finally:
        if file is not None and unwritten:
            file.append(unwritten)


def _number(place: Block) -> int:
    return (place[0] << 32) + place[1]


def _place(number: int) -> Block:
    return number >> 32, number & 0xFFFFFFFF


def _digest_of(tree: PyTree, secret: bytes) -> str:
    """Fingerprint of the arrays of a tree, with their paths, shapes and dtypes."""
    contents = []
    for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]:
        if eqx.is_array(leaf):
            is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
            host = np.ascontiguousarray(jr.key_data(leaf) if is_key else leaf)
            form = f"{jax.tree_util.keystr(path)} {host.shape} {host.dtype}"
            contents += [form.encode(), host.tobytes()]
    return fingerprint(*contents, secret=secret)
