"""Repeat an experiment over data sets, mechanisms and budgets, thousands of times."""

__all__ = ["sweep"]

import math
import os
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.sharding import Mesh
from jaxtyping import PyTree

from dpjax._checks import typed_key, whole
from dpjax._types import Key
from dpjax.privacy import Epsilon, exact_epsilon
from dpjax.study.sweeps.checkpoint import recorded_block
from dpjax.study.sweeps.grid import Grid
from dpjax.study.sweeps.program import (
    Experiment,
    Inputs,
    Prepare,
    output_names,
    output_of,
)
from dpjax.study.sweeps.result import SweepResult
from dpjax.study.sweeps.run import Run

_BYTES_ON_CPU, _BYTES_ELSEWHERE = 1 << 25, 1 << 28  # of a block's data, or results
_LONGEST_BLOCK = 256


def sweep(
    key: Key,
    experiment: Experiment,
    data: PyTree = None,
    *,
    epsilons: Iterable[Epsilon],
    repeats: int,
    mechanisms: Any = None,
    datasets: Mapping[str, PyTree] | None = None,
    prepare: Prepare | None = None,
    block: int | None = None,
    checkpoint: str | os.PathLike | None = None,
    mesh: Mesh | None = None,
    progress: Callable[[Iterable], Iterable] = iter,
) -> SweepResult:
    """Run `experiment(key, mechanism, data)` for every cell of a grid.

    Blocks of repeats go through one compiled program, with all mechanisms and budgets
    at once. A cell's key is folded from the names of its data set and mechanism, the
    value of its ε and the number of its repeat: adding or reordering any of them leaves
    the others as they were. Integers are then bit-equal, and floats too at one block
    size, on any number of devices; at other block sizes within rounding.

    Args:
        key: typed.
        experiment: a pure function, mapped over budgets and repeats by `vmap`. Returns
            an array, or arrays by name; of the same form for every mechanism. Whatever
            records it reads come in `data`: arrays caught in a closure are written into
            the program's text.
        data: passed on as it is.
        epsilons: budgets, no two equal: "0.5", 1, Fraction(1, 3).
        repeats: at least 1.
        mechanisms: by name, or one alone: each stacked along a leading axis, an entry
            a budget, as from `DiscreteLaplace.calibrate_many` (what is scalar, all
            budgets share); or a function from `epsilons` to that. None: the experiment
            gets ε itself, as a number.
        datasets: instead of `data`, several of them by name. Those of equal shapes
            share one program.
        prepare: `prepare(key, data)`, run once a repeat, gives what the experiment gets
            as data in all cells of that repeat: such as a random split, the same one
            for every mechanism and budget, which makes their comparison sharper.
        block: repeats that one device computes at once: more is faster until memory or
            caches are full. None: the checkpoint's, or by the size of the data, or of
            what `experiment.bytes_a_cell(data)` says that a cell works on.
        checkpoint: a file that finished blocks are added to at least once a second. The
            same call with the same file goes on where it was, also with more repeats.
            It holds results, no data and no key.
        mesh: devices to spread blocks over (`dpjax.runtime.device_mesh()` is all of
            them, of all processes, each of which makes this call and gets all results).
            The program is compiled for every device of a process: a process a device
            starts soonest.
        progress: wraps the steps, as `tqdm` does.

    Returns:
        Results by name, with axes dataset and mechanism (where they have names),
        epsilon and repeat before the experiment's own.

    Raises:
        ValueError: if the key is not typed, an axis is empty or holds something twice,
            mechanisms are not stacked over the budgets, outputs have different forms,
            or the checkpoint is of another sweep (the message says what differs).
        PeerLost: if another process of the mesh died.

    Privacy:
        A simulation on data that the caller may see: nothing here is to be published.
    """
    typed_key(key=key)
    _check_forms(data, datasets, mesh)
    names = tuple(mechanisms) if isinstance(mechanisms, Mapping) else None
    labels = None if datasets is None else tuple(datasets)
    _check_data(data if datasets is None else datasets)
    epsilons = _listed(epsilons)
    grid = Grid.of(labels, names, epsilons, repeats)
    inputs = _inputs(
        key,
        grid,
        _stacked(mechanisms, names, epsilons),
        [data] if datasets is None else list(datasets.values()),
    )
    if block is None and checkpoint is not None:
        block = recorded_block(checkpoint)
    whole(1, block=1 if block is None else block)
    tried = block
    if tried is None:
        tried = _default_block(grid, _bytes_a_cell(experiment, inputs[0].data))
    outputs = [output_of(x, experiment, prepare, tried) for x in inputs]
    if any(output != outputs[0] for output in outputs):
        raise ValueError(
            "`experiment` must return the same names, shapes and dtypes for every data "
            "set."
        )
    _check_names(output_names(outputs[0]), grid)
    if block is None:  # less, where results are larger than data
        block = min(tried, _default_block(grid, _bytes_of(outputs[0])))
    secret = np.asarray(jr.key_data(key)).tobytes()
    run = Run(grid, inputs, outputs[0], experiment, prepare, block, mesh, secret)
    return run.result(checkpoint, progress)


def _check_forms(data: PyTree, datasets: object, mesh: object) -> None:
    if (data is None) == (datasets is None):
        raise ValueError("`data` or `datasets` must be given, and not both.")
    if datasets is not None and not isinstance(datasets, Mapping):
        raise ValueError("`datasets` must be a mapping from names to data.")
    if mesh is not None and not isinstance(mesh, Mesh):
        raise ValueError(
            "`mesh` must be a mesh of JAX, such as `dpjax.runtime.device_mesh()`."
        )


def _check_data(data: PyTree) -> None:
    """Refuse tables and strings: JAX would hash them, and print them when it cannot."""
    for leaf in jax.tree.leaves(data):
        if eqx.is_array(leaf):
            sound = isinstance(leaf, jax.Array) or leaf.dtype.kind not in "OSUMm"
        else:
            sound = isinstance(leaf, Hashable)
        if not sound:
            raise ValueError(
                "`data` must be numbers in arrays, such as `Schema.encode` makes of a "
                f"table, got {type(leaf).__name__}."
            )


def _listed(epsilons: object) -> tuple:
    if isinstance(epsilons, str) or not isinstance(epsilons, Iterable):
        raise ValueError(
            "`epsilons` must be a sequence of budgets, such as ['0.1', 1], got "
            f"{epsilons!r}."
        )
    return tuple(epsilons)


def _check_names(names: Sequence[str], grid: Grid) -> None:
    """Refuse results that would hide each other or the labels of the cells."""
    for name, times in Counter([*grid.dimensions, *names]).items():
        if times > 1:
            raise ValueError(
                f"`experiment` must return each name once, and none of an axis, got "
                f"{name!r}: give it another name."
            )


def _inputs(
    key: Key, grid: Grid, mechanisms: tuple[PyTree, ...], datasets: Sequence[PyTree]
) -> list[Inputs]:
    keys, shared = grid.keys(key)
    implementation, names = jr.key_impl(key), grid.mechanisms
    return [
        Inputs(keys[i], shared[i], mechanisms, data, implementation, names)
        for i, data in enumerate(datasets)
    ]


def _stacked(
    mechanisms: Any, names: tuple[str, ...] | None, epsilons: Sequence[Epsilon]
) -> tuple[PyTree, ...]:
    """One for each name, its arrays stacked over the budgets."""
    if mechanisms is None:
        budgets = [float(exact_epsilon(epsilon, "epsilons")) for epsilon in epsilons]
        return (np.array(budgets, jnp.result_type(float)),)
    given = [mechanisms] if names is None else list(mechanisms.values())
    made = []
    for name, mechanism in zip(names or ("",), given, strict=True):
        if callable(mechanism) and not isinstance(mechanism, eqx.Module):
            mechanism = mechanism(epsilons)
        lengths = {x.shape[0] for x in jax.tree.leaves(mechanism) if np.ndim(x)}
        if lengths - {len(epsilons)}:
            raise ValueError(
                "`mechanisms` must be stacked along one leading axis, an entry for "
                f"each of the {len(epsilons)} epsilons, as by `DiscreteLaplace."
                "calibrate_many` or `Laplace(epsilons, sensitivity)`"
                f"{f': {name!r} is not' if name else ''}."
            )
        made.append(mechanism)
    return tuple(made)


def _default_block(grid: Grid, bytes_a_cell: int) -> int:
    """Repeats whose data, or results, once for each cell fill a cache."""
    cells = grid.shape[1] * grid.shape[2]
    on_cpu = jax.default_backend() == "cpu"
    limit = _BYTES_ON_CPU if on_cpu else _BYTES_ELSEWHERE
    most = min(_LONGEST_BLOCK, limit // max(1, bytes_a_cell * cells))
    wanted = 1 << (grid.repeats - 1).bit_length()  # no more than there are
    return max(1, min(1 << max(0, most.bit_length() - 1), wanted))


def _bytes_a_cell(experiment: Experiment, data: PyTree) -> int:
    """What the experiment says that a cell works on, or else the size of the data."""
    own = getattr(experiment, "bytes_a_cell", None)
    return _bytes_of(data) if own is None else own(data)


def _bytes_of(tree: PyTree) -> int:
    leaves = [x for x in jax.tree.leaves(tree) if hasattr(x, "dtype")]
    return sum(math.prod(x.shape) * x.dtype.itemsize for x in leaves)
