"""The compiled program for a block of a sweep: mechanisms × budgets × some repeats.

All blocks have one shape, for any number of repeats, devices or processes, so that
their floats are the same.
"""

__all__ = [
    "Experiment",
    "Inputs",
    "Prepare",
    "block_program",
    "output_names",
    "output_of",
]

from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Int32, PyTree, UInt32

from dpjax._types import Key

Experiment = Callable[[Key, Any, PyTree], PyTree]
Prepare = Callable[[Key, PyTree], PyTree]


class Inputs(eqx.Module):
    """Inputs of the blocks of one data set."""

    keys: UInt32[Array | np.ndarray, "m e words"]  # of cells, for any repeat
    shared: UInt32[Array | np.ndarray, " words"]  # of the key for `prepare`
    mechanisms: tuple[PyTree, ...]  # each with its arrays stacked over budgets
    data: PyTree
    implementation: Any = eqx.field(static=True)  # of the keys
    names: tuple[str, ...] | None = eqx.field(static=True)  # of the mechanisms


@eqx.filter_jit
def block_program(
    inputs: Inputs,
    first: Int32[Array, ""],
    experiment: Experiment,
    prepare: Prepare | None,
    block: int,
) -> PyTree:
    """Compute results of repeats from `first` on, with leading axes (m, e, block).

    Each device runs whole blocks, since XLA rounds differently in a sharded program.
    """
    wrap = partial(jr.wrap_key_data, impl=inputs.implementation)
    keys, shared = wrap(jnp.asarray(inputs.keys)), wrap(jnp.asarray(inputs.shared))
    repeats = first + jnp.arange(block, dtype=jnp.int32)

    def one_repeat(repeat):
        data = inputs.data
        if prepare is not None:
            data = prepare(jr.fold_in(shared, repeat), data)

        def one_mechanism(keys, mechanism):
            def one_cell(key, mechanism):
                return _as_arrays(experiment(jr.fold_in(key, repeat), mechanism, data))

            arrays, static = eqx.partition(mechanism, eqx.is_array)
            axes = jax.tree.map(lambda leaf: 0 if jnp.ndim(leaf) else None, arrays)
            return jax.vmap(
                lambda key, arrays: one_cell(key, eqx.combine(arrays, static)),
                in_axes=(0, axes),
            )(keys, arrays)

        found = [
            one_mechanism(keys[i], mechanism)
            for i, mechanism in enumerate(inputs.mechanisms)
        ]
        _check_alike(inputs.names or ("",), found)
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), *found)

    results = jax.vmap(one_repeat)(repeats)
    return jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 0, 2), results)


def output_of(
    inputs: Inputs, experiment: Experiment, prepare: Prepare | None, block: int
) -> PyTree:
    """Find the shapes and dtypes of a cell's results by tracing the whole program.

    Raises:
        ValueError: if they differ between mechanisms, or there are no results.
    """
    first = np.zeros((), np.int32)
    whole = eqx.filter_eval_shape(
        block_program, inputs, first, experiment, prepare, block
    )
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[3:], x.dtype), whole)


def output_names(output: PyTree) -> list[str]:
    """Return the names of a cell's arrays; dots join the names of nested arrays."""
    paths, _ = jax.tree_util.tree_flatten_with_path(output)
    name_of = partial(jax.tree_util.keystr, simple=True, separator=".")
    return [name_of(path) or "value" for path, _ in paths]


def _as_arrays(output: PyTree) -> PyTree:
    try:
        arrays = jax.tree.map(jnp.asarray, output)
    except (TypeError, ValueError):
        arrays = None
    if not jax.tree.leaves(arrays):
        raise ValueError(
            "`experiment` must return numbers or arrays, preferably by name, such as "
            '{"accuracy": …}.'
        )
    return arrays


def _check_alike(names: tuple[str, ...], found: list[PyTree]) -> None:
    forms = [jax.tree.map(lambda x: (x.shape, x.dtype), one) for one in found]
    for name, form in zip(names, forms, strict=True):
        if form != forms[0]:
            raise ValueError(
                "`experiment` must return the same names, shapes and dtypes for every "
                f"mechanism, it does not for {name!r}."
            )
