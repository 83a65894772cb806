"""`sweep`: repeat an experiment over data sets, mechanisms and budgets."""

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
from dpjax._platforms import Sizes, sizes_here
from dpjax._types import Key
from dpjax.mechanisms import MechanismWithJointLaw
from dpjax.privacy import Epsilon, exact_epsilon
from dpjax.study.sweeps import program
from dpjax.study.sweeps.checkpoint import recorded_block
from dpjax.study.sweeps.closures import with_values
from dpjax.study.sweeps.grid import Grid
from dpjax.study.sweeps.result import SweepResult
from dpjax.study.sweeps.run import Run


def sweep(
    key: Key,
    experiment: program.Experiment,
    data: PyTree = None,
    *,
    epsilons: Iterable[Epsilon],
    repeats: int,
    mechanisms: Any = None,
    datasets: Mapping[str, PyTree] | None = None,
    prepare: program.Prepare | None = None,
    block: int | None = None,
    checkpoint: str | os.PathLike | None = None,
    mesh: Mesh | None = None,
    progress: Callable[[Iterable], Iterable] = iter,
) -> SweepResult:
    """Run an experiment for all data sets, mechanisms, budgets and repeats.

    Each combination is one call `experiment(key, mechanism, data)`. Its key depends on
    the names of data set and mechanism, on ε and on the number of the repeat, so that
    its result does not depend on other combinations. One compiled program runs a block
    of repeats for all mechanisms and budgets. The block size affects only the rounding
    of floats; the devices do not affect the results.

    Args:
        key: typed JAX key.
        experiment: a pure function, mapped over budgets and repeats by `vmap`. It
            returns an array, or a dictionary of arrays, with equal names, shapes and
            dtypes for every mechanism. Give records as `data`, since arrays in a
            closure become part of the program. It is compiled anew if a later call's
            function uses other values. An object that was changed in place, and a
            function that JAX has compiled, count as unchanged.
        data: arrays that the experiment needs, such as records.
        epsilons: different budgets, such as "0.5", 1 or Fraction(1, 3).
        repeats: number of repeats, at least 1.
        mechanisms: one mechanism, or a mapping from names to mechanisms. The arrays of
            a mechanism have a leading axis over the budgets, as from
            `DiscreteLaplace.calibrate_many`; scalars hold for all budgets. A function
            that maps `epsilons` to such a mechanism is accepted too; it may give a
            mechanism a part of each budget. If None, the experiment gets ε as its
            mechanism.
        datasets: a mapping from names to data sets, instead of `data`. Data sets of
            equal shapes share one program.
        prepare: a function that is called as `prepare(key, data)` once in each repeat,
            and returns the data for all mechanisms and budgets, such as a random split.
        block: number of repeats that one device computes at once; larger blocks are
            faster until memory or caches are full. None means the size in the
            checkpoint, or else a size chosen from `experiment.bytes_a_cell(data)`, if
            this method exists, or from the size of the data.
        checkpoint: path of a file to which finished blocks are added about every
            second. An equal call, possibly with more repeats, continues from the file.
            The file holds results, but no data and no key.
        mesh: devices to use (`dpjax.runtime.device_mesh()` holds all devices of all
            processes). Each process must call this function, and gets all results. The
            program is compiled for every device of a process, so that one process for
            each device starts fastest.
        progress: function that wraps the iterable of steps, such as `tqdm`.

    Returns:
        A mapping from the names of results to arrays with the axes dataset and
        mechanism (if they have names), epsilon and repeat, before further axes.

    Raises:
        ValueError: if the key is not typed, an axis is empty or has a repeated label,
            mechanisms are not stacked over the budgets or have others, results differ
            in form, or the checkpoint belongs to another sweep (the message names the
            differences).
        PeerLost: if another process of the mesh died.

    Privacy:
        The results are not private: show them only to those who may see the data.
    """
    typed_key(key=key)
    _check_forms(data, datasets, mesh)
    _check_functions(experiment=experiment, progress=progress)
    if prepare is not None:
        _check_functions(prepare=prepare)
    names = tuple(mechanisms) if isinstance(mechanisms, Mapping) else None
    labels = None if datasets is None else tuple(datasets)
    for one in [data] if datasets is None else datasets.values():
        _check_data(one)
    experiment, prepare = with_values(experiment), with_values(prepare)
    whole(1, repeats=repeats)
    epsilons, repeats = _listed(epsilons), int(repeats)
    grid = Grid.of(labels, names, epsilons, repeats)
    keys, shared = grid.keys(key)
    stacked, implementation = _stacked(mechanisms, names, epsilons), jr.key_impl(key)
    inputs = [
        program.Inputs(keys[i], shared[i], stacked, x, implementation, names)
        for i, x in enumerate([data] if datasets is None else datasets.values())
    ]
    if block is None and checkpoint is not None:
        block = recorded_block(checkpoint)
    if block is not None:
        whole(1, block=block)
        block = int(block)
    tried, sizes = block, sizes_here(mesh)
    if tried is None:
        of_cell = getattr(experiment, "bytes_a_cell", _bytes_of)
        tried = default_block(grid, of_cell(inputs[0].data), sizes)
    outputs = [program.output_of(x, experiment, prepare, tried) for x in inputs]
    if any(output != outputs[0] for output in outputs):
        raise ValueError(
            "`experiment` must return the same names, shapes and dtypes for every data "
            "set."
        )
    _check_names(program.output_names(outputs[0]), grid)
    if block is None:  # smaller if results are larger than data
        block = min(tried, default_block(grid, _bytes_of(outputs[0]), sizes))
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


def _check_functions(**functions: object) -> None:
    for name, function in functions.items():
        if not callable(function):
            kind = type(function).__name__
            raise ValueError(f"`{name}` must be a function, got {kind}.")


def _check_data(data: PyTree) -> None:
    """Reject tables and text, which JAX would hash, or print in an error message."""
    for leaf in jax.tree.leaves(data):
        if eqx.is_array(leaf):
            sound = isinstance(leaf, jax.Array) or leaf.dtype.kind not in "OSUMm"
        else:
            is_path = leaf is data and isinstance(leaf, str | bytes)
            sound = isinstance(leaf, Hashable) and not is_path
        if not sound:
            raise ValueError(
                "`data` must be numbers in arrays, such as the result of "
                f"`Schema.encode`, got {type(leaf).__name__}."
            )


def _listed(epsilons: object) -> tuple:
    if isinstance(epsilons, str) or not isinstance(epsilons, Iterable):
        raise ValueError(
            "`epsilons` must be a sequence of budgets, such as ['0.1', 1], got "
            f"{epsilons!r}."
        )
    return tuple(epsilons)


def _check_names(names: Sequence[str], grid: Grid) -> None:
    """Reject names of results that are repeated, or are those of axes."""
    for name, times in Counter([*grid.coordinates, *names]).items():
        if times > 1:
            raise ValueError(
                "`experiment` must return different names, and not those of axes, got "
                f"{name!r}: give it another name."
            )


def _stacked(
    mechanisms: Any, names: tuple[str, ...] | None, epsilons: Sequence[Epsilon]
) -> tuple[PyTree, ...]:
    if mechanisms is None:
        budgets = [float(exact_epsilon(epsilon, "epsilons")) for epsilon in epsilons]
        return (np.array(budgets, jnp.result_type(float)),)
    given = [mechanisms] if names is None else list(mechanisms.values())
    made = []
    for name, ready in zip(names or ("",), given, strict=True):
        mechanism = ready
        if callable(ready) and not isinstance(ready, eqx.Module):
            mechanism = ready(epsilons)
        lengths = {x.shape[0] for x in jax.tree.leaves(mechanism) if np.ndim(x)}
        if isinstance(mechanism, str | list) and not lengths:
            raise ValueError(
                "`mechanisms` must be a mechanism, a function of the epsilons, or a "
                f"mapping from names to these, got {type(mechanism).__name__}."
            )
        if lengths - {len(epsilons)}:
            raise ValueError(
                "`mechanisms` must be stacked along one leading axis, one entry for "
                f"each of the {len(epsilons)} epsilons, as by `DiscreteLaplace."
                "calibrate_many` or `Laplace(epsilons, sensitivity)`"
                f"{f': {name!r} is not' if name else ''}."
            )
        if lengths and mechanism is ready:
            _check_budgets(mechanism, epsilons)
        made.append(mechanism)
    return tuple(made)


def _check_budgets(mechanism: Any, epsilons: Sequence[Epsilon]) -> None:
    """Reject mechanisms whose budgets are not those that label the results."""

    noise = getattr(mechanism, "mechanism", mechanism)  # of a learner of tables
    if not isinstance(noise, MechanismWithJointLaw):
        return
    host = jax.tree.map(lambda x: np.asarray(x) if eqx.is_array(x) else x, noise)
    for i, epsilon in enumerate(epsilons):
        one = jax.tree.map(lambda x, i=i: x[i] if np.ndim(x) else x, host)
        own = getattr(one.guarantee(), "epsilon", None)  # ρ has no ε to compare
        wanted = exact_epsilon(epsilon)
        if own is not None and not math.isclose(own, wanted, rel_tol=1e-5):
            raise ValueError(
                "`epsilons` must be the budgets of the mechanisms, in their order, got "
                f"{epsilon} where a {type(mechanism).__name__} has {float(own):g}: "
                "give a function of the epsilons if it has a part of each."
            )


def default_block(grid: Grid, bytes_a_cell: int, sizes: Sizes) -> int:
    """Return the number of repeats whose data or results a device computes at once.

    The devices that run the sweep decide, and a checkpoint records the number.
    """
    cells = grid.shape[1] * grid.shape[2]
    most = min(sizes.repeats, sizes.repeat_bytes // max(1, bytes_a_cell * cells))
    wanted = 1 << (grid.repeats - 1).bit_length()  # all repeats
    return max(1, min(1 << max(0, most.bit_length() - 1), wanted))


def _bytes_of(tree: PyTree) -> int:
    leaves = [x for x in jax.tree.leaves(tree) if hasattr(x, "dtype")]
    return sum(math.prod(x.shape) * x.dtype.itemsize for x in leaves)
