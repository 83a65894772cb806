"""One compiled program for a block of a sweep: mechanisms × budgets × some repeats.

Every block has one shape, whatever the number of repeats, devices or processes: the
same program on the same shape gives the same floats.
"""

__all__ = [
    "Experiment",
    "Inputs",
    "Prepare",
    "block_program",
    "check_outputs",
    "output_names",
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
    """What the blocks of one data set read.

    Args:
        keys: raw words of a key for each mechanism and budget, (m, e, words).
        shared: those of the key of what a repeat's cells share.
        mechanisms: one for each mechanism, its arrays stacked over budgets.
        data: of the experiment.
        implementation: of the keys.
    """

    keys: UInt32[Array | np.ndarray, "m e words"]
    shared: UInt32[Array | np.ndarray, " words"]
    mechanisms: tuple[PyTree, ...]
    data: PyTree
    implementation: Any = eqx.field(static=True)

    def wrapped(self) -> tuple[Array, Array]:
        """The keys as typed ones."""
        keys, shared = jnp.asarray(self.keys), jnp.asarray(self.shared)
        wrap = partial(jr.wrap_key_data, impl=self.implementation)
        return wrap(keys), wrap(shared)


@eqx.filter_jit
def block_program(
    inputs: Inputs,
    first: Int32[Array, ""],
    experiment: Experiment,
    prepare: Prepare | None,
    block: int,
) -> PyTree:
    """The repeats from `first` on, for all mechanisms and budgets.

    Not sharded: each device runs it on blocks of its own, for XLA rounds differently in
    a program that is partitioned.

    Returns:
        The experiment's output with three leading axes: (m, e, block).
    """
    keys, shared = inputs.wrapped()
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
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), *found)

    results = jax.vmap(one_repeat)(repeats)
    return jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 0, 2), results)


def check_outputs(
    inputs: Inputs,
    names: tuple[str, ...] | None,
    experiment: Experiment,
    prepare: Prepare | None,
) -> PyTree:
    """Shapes and dtypes of the experiment's output for one cell.

    Raises:
        ValueError: if they are not the same for all mechanisms, or there is no output.
    """

    def one_cell(inputs, mechanism):
        keys, shared = inputs.wrapped()
        data = prepare(shared, inputs.data) if prepare else inputs.data
        one = jax.tree.map(lambda x: x[0] if jnp.ndim(x) else x, mechanism)
        return _as_arrays(experiment(keys[0, 0], one, data))

    outputs = []
    for mechanism in inputs.mechanisms:
        arrays, static = eqx.partition((inputs, mechanism), eqx.is_array)
        outputs.append(
            jax.eval_shape(lambda x, y=static: one_cell(*eqx.combine(x, y)), arrays)
        )
    for name, output in zip(names or [""], outputs, strict=True):
        if output != outputs[0]:
            raise ValueError(
                "`experiment` must return the same names, shapes and dtypes for every "
                f"mechanism, it does not for {name!r}."
            )
    return outputs[0]


def output_names(output: PyTree) -> list[str]:
    """Names of the arrays of a cell: those of nested ones are joined by dots."""
    paths, _ = jax.tree_util.tree_flatten_with_path(output)
    names = [
        jax.tree_util.keystr(path, simple=True, separator=".") for path, _ in paths
    ]
    return [name or "value" for name in names]


def _as_arrays(output: PyTree) -> PyTree:
    """Plain numbers as arrays too."""
    try:
        arrays = jax.tree.map(jnp.asarray, output)
    except (TypeError, ValueError):
        arrays = None
    if not jax.tree.leaves(arrays):
        raise ValueError(
            "`experiment` must return numbers or arrays, best by name, such as "
            '{"accuracy": …}.'
        )
    return arrays
