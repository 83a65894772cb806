"""Execution of a sweep: the blocks to compute, their devices, and the checkpoint."""

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
from dpjax.study.sweeps import program
from dpjax.study.sweeps.checkpoint import (
    Checkpoint,
    Leaf,
    arrays_in,
    blocks_in,
    fingerprint,
)
from dpjax.study.sweeps.grid import Grid
from dpjax.study.sweeps.result import SweepResult

_SECONDS_UNWRITTEN = 1.0  # of work that an interrupted run can lose

Progress = Callable[[Iterable], Iterable]
Device = Any  # a JAX device, or None for the default one
Block = tuple[int, list[np.ndarray]]  # number of a block, and its arrays


@dataclass(frozen=True, eq=False)
class Run:
    """A sweep with all its parameters, ready to be computed.

    A block is a set of consecutive repeats on one data set that one call of the program
    computes. Block k of data set d has the number d · 2^32 + k.
    """

    grid: Grid
    inputs: Sequence[program.Inputs]  # one for each data set
    output: PyTree  # shapes and dtypes of the experiment's results
    experiment: program.Experiment
    prepare: program.Prepare | None
    block: int  # number of repeats
    mesh: Mesh | None
    secret: bytes  # of the sweep's key, for fingerprints

    @property
    def blocks(self) -> int:
        """Number of blocks of repeats of each data set."""
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
        """Return all results, read from the checkpoint file or else computed."""
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
                    finished.add(number)
                    self._store(found, number, arrays)
            write = stack.enter_context(_writing(file))
            for number, arrays in self._computed(finished, progress):
                self._store(found, number, arrays)
                write(number, arrays)
        return self._named(found)

    def describe(self) -> dict[str, object]:
        """Return the JSON object that identifies the sweep in its checkpoint file."""
        lower: Callable = getattr(program.block_program, "lower")  # noqa: B009  (types hide it)
        first, secret = jnp.zeros((), jnp.int32), self.secret
        arguments = (first, self.experiment, self.prepare, self.block)
        texts = [lower(x, *arguments).as_text().encode() for x in self.inputs]
        experiment = getattr(self.experiment, "__qualname__", "")
        return {
            "experiment": experiment or type(self.experiment).__name__,
            "datasets": self.grid.datasets,
            "mechanisms": self.grid.mechanisms,
            "epsilons": [str(epsilon) for epsilon in self.grid.epsilons],
            "block": self.block,
            "key": fingerprint(secret, secret=secret),
            # If the experiment is a module, its arrays are not in the program's text.
            "arrays of the experiment": _digest_of(arguments[1:3], secret),
            "data": _digest_of([x.data for x in self.inputs], secret),
            "numbers": _digest_of(self.inputs[0].mechanisms, secret),
            "program": fingerprint(*texts, secret=secret),
            "JAX version": jax.__version__,
            "platform": jax.default_backend(),
        }

    @property
    def devices(self) -> list[Device]:
        """Devices of all processes; `[None]` means the default device."""
        return [None] if self.mesh is None else list(self.mesh.devices.flat)

    def _computed(self, finished: set[int], progress: Progress) -> Iterator[Block]:
        """Compute unfinished blocks in groups; fetch one group while the next runs."""
        size = len(self.devices)
        groups = []
        for dataset in range(len(self.inputs)):
            numbers = range(dataset << 32, (dataset << 32) + self.blocks)
            missing = [number for number in numbers if number not in finished]
            groups += [missing[i : i + size] for i in range(0, len(missing), size)]
        placed: dict[Device, tuple[int, program.Inputs]] = {}
        waiting = None
        for group in progress(groups):
            started = self._start(group, placed)
            if waiting is not None:
                yield from self._fetched(*waiting)
            waiting = group, started
        if waiting is not None:
            yield from self._fetched(*waiting)

    def _start(
        self, group: list[int], placed: dict[Device, tuple[int, program.Inputs]]
    ) -> list[PyTree]:
        """Start this process's blocks of a group, one on each of its devices.

        `placed` maps a device to the number and inputs of the data set on the device.
        """
        started = []
        for device, block in zip(self.devices, group, strict=False):
            if device is not None and device.process_index != jax.process_index():
                continue
            dataset, place = divmod(block, 1 << 32)
            if device not in placed or placed[device][0] != dataset:
                placed.pop(device, None)  # one data set on a device at a time
                placed[device] = dataset, _on_device(self.inputs[dataset], device)
            first = jax.device_put(np.int32(place * self.block), device)
            arguments = (self.experiment, self.prepare, self.block)
            started.append(program.block_program(placed[device][1], first, *arguments))
        return started

    def _fetched(self, group: list[int], started: list[PyTree]) -> Iterator[Block]:
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
        for device, number in zip(self.mesh.devices.flat, group, strict=False):
            process = device.process_index
            start = size * taken[process]
            taken[process] += 1
            yield number, arrays_in(contents[process], start, self.leaves)

    def _store(
        self, found: list[np.ndarray], number: int, arrays: list[np.ndarray]
    ) -> None:
        dataset, place = divmod(number, 1 << 32)
        # A checkpoint may have more repeats than this sweep.
        if dataset < len(self.inputs) and place < self.blocks:
            for into, array in zip(found, arrays, strict=True):
                into[dataset, place] = array

    def _named(self, found: list[np.ndarray]) -> SweepResult:
        named = [x is not None for x in (self.grid.datasets, self.grid.mechanisms)]
        unnamed = tuple(axis for axis, is_named in enumerate(named) if not is_named)
        arrays = {}
        for name, array in zip(program.output_names(self.output), found, strict=True):
            # (data set, block, m, e, repeat, …) to (data set, m, e, block, repeat, …)
            array = np.moveaxis(array, 1, 3)
            repeats = self.blocks * self.block
            shape = (*array.shape[:3], repeats, *array.shape[5:])
            array = array.reshape(shape)[:, :, :, : self.grid.repeats]
            arrays[name] = array.squeeze(unnamed)
        return SweepResult(arrays, self.grid.coordinates)


def _on_device(inputs: program.Inputs, device: Device) -> program.Inputs:
    arrays, static = eqx.partition(inputs, eqx.is_array)
    return eqx.combine(jax.device_put(arrays, device), static)


@contextlib.contextmanager
def _writing(file: Checkpoint | None) -> Iterator[Callable]:
    """Yield a function that buffers blocks; all are written by the end."""
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
