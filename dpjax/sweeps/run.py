"""A sweep under way: which blocks are finished, the next ones, and the checkpoint."""

__all__ = ["Run"]

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, PyTree

from dpjax.processes import broadcast, gathered, is_first, replicated
from dpjax.sweeps.checkpoint import Checkpoint, Leaf, blocks_in, fingerprint
from dpjax.sweeps.grid import Grid
from dpjax.sweeps.program import Experiment, Inputs, Prepare, block_program
from dpjax.sweeps.result import SweepResult

_SECONDS_UNWRITTEN = 1.0  # of work that a killed run may lose

Progress = Callable[[Iterable], Iterable]
Block = tuple[int, int]  # number of the data set, number among its blocks


@dataclass(frozen=True, eq=False)
class Run:
    """What is to be computed, and how.

    Args:
        grid: the cells.
        inputs: of each data set.
        output: shapes and dtypes of a cell's result.
        experiment, prepare: the functions.
        block: repeats of a block.
        mesh: of the devices, or None for the default one.
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
        """Blocks of each data set; the last one may go beyond the repeats."""
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
        """All cells, computed or read from the checkpoint."""
        lead = (self.grid.shape[0], self.blocks)
        found = [np.empty((*lead, *shape), dtype) for shape, dtype in self.leaves]
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
        """What must be equal for a checkpoint's blocks to be this sweep's."""
        lower: Callable = getattr(block_program, "lower")  # noqa: B009  (of `filter_jit`)
        texts = [
            lower(
                inputs,
                jnp.zeros(1, jnp.int32),
                self.experiment,
                self.prepare,
                self.block,
                None,  # a checkpoint does not depend on the devices
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
            "data": _digest_of([x.data for x in self.inputs], secret),
            "numbers": _digest_of(self.inputs[0].mechanisms, secret),
            "program": fingerprint(*texts, secret=secret),
            "JAX version": jax.__version__,
            "platform": jax.default_backend(),
        }

    def _computed(
        self, finished: set[Block], progress: Progress
    ) -> Iterator[tuple[Block, list[np.ndarray]]]:
        """Blocks that are not finished; the next is under way while one is fetched."""
        size = 1 if self.mesh is None else self.mesh.size
        places = [
            [(d, b) for b in range(self.blocks) if (d, b) not in finished]
            for d in range(len(self.inputs))
        ]
        groups = [
            some[i : i + size] for some in places for i in range(0, len(some), size)
        ]
        placed: dict[int, Inputs] = {}
        waiting = None
        for group in progress(groups):
            result = self._dispatch(group, size, placed)
            if waiting is not None:
                yield from _fetched(*waiting)
            waiting = group, result
        if waiting is not None:
            yield from _fetched(*waiting)

    def _dispatch(
        self, group: list[Block], size: int, placed: dict[int, Inputs]
    ) -> list[Array]:
        """Start a block on each device; beyond the last, the last one once more."""
        dataset = group[0][0]
        if dataset not in placed:
            placed.clear()  # one data set on the devices at a time
            placed[dataset] = self._on_devices(self.inputs[dataset])
        numbers = [b for _, b in group] + [group[-1][1]] * (size - len(group))
        firsts = np.array(numbers, np.int32) * np.int32(self.block)
        result = block_program(
            placed[dataset],
            self._spread(firsts),
            self.experiment,
            self.prepare,
            self.block,
            self.mesh,
        )
        return jax.tree.leaves(result)

    def _on_devices(self, inputs: Inputs) -> Inputs:
        arrays, static = eqx.partition(inputs, eqx.is_array)
        if self.mesh is None:
            arrays = jax.device_put(arrays)
        else:
            arrays = replicated(arrays, self.mesh)
        return eqx.combine(arrays, static)

    def _spread(self, firsts: np.ndarray) -> Array:
        if self.mesh is None:
            return jnp.asarray(firsts)
        along = NamedSharding(self.mesh, PartitionSpec(self.mesh.axis_names))
        return jax.make_array_from_callback(firsts.shape, along, lambda i: firsts[i])

    def _store(
        self, found: list[np.ndarray], place: Block, arrays: list[np.ndarray]
    ) -> None:
        dataset, number = place
        if number < self.blocks:  # a checkpoint may have more repeats than are asked
            for into, array in zip(found, arrays, strict=True):
                into[dataset, number] = array

    def _named(self, found: list[np.ndarray]) -> SweepResult:
        """Blocks in a row, padding off, by the names of the experiment's output."""
        paths, _ = jax.tree_util.tree_flatten_with_path(self.output)
        named = [x is not None for x in (self.grid.datasets, self.grid.mechanisms)]
        unnamed = tuple(axis for axis, is_named in enumerate(named) if not is_named)
        arrays = {}
        for (path, _), array in zip(paths, found, strict=True):
            # (data set, block, m, e, repeat, …) to (data set, m, e, block, repeat, …)
            array = np.moveaxis(array, 1, 3)
            shape = (*array.shape[:3], -1, *array.shape[5:])
            array = array.reshape(shape)[:, :, :, : self.grid.repeats]
            name = jax.tree_util.keystr(path, simple=True, separator=".")
            arrays[name or "value"] = array.squeeze(unnamed)
        return SweepResult(arrays, self.grid.coordinates)


def _fetched(
    group: list[Block], result: list[Array]
) -> Iterator[tuple[Block, list[np.ndarray]]]:
    arrays = [gathered(leaf) for leaf in result]
    for i, place in enumerate(group):
        yield place, [array[i] for array in arrays]


@contextlib.contextmanager
def _writing(file: Checkpoint | None) -> Iterator[Callable]:
    """A function that takes blocks to be written, soon, and at the end in any case."""
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
    """Of the arrays of a tree, with their places, shapes and dtypes."""
    contents = []
    for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]:
        if eqx.is_array(leaf):
            host = np.ascontiguousarray(leaf)
            form = f"{jax.tree_util.keystr(path)} {host.shape} {host.dtype}"
            contents += [form.encode(), host.tobytes()]
    return fingerprint(*contents, secret=secret)
