"""The compiled program for a block of a sweep: mechanisms × budgets × some repeats.

All blocks have one shape, for any number of repeats, devices or processes, so that
their floats are the same.
"""

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
    """Keys, mechanisms and data for the repeats of a sweep on one data set."""

    keys: UInt32[Array | np.ndarray, "m e words"]  # one for each mechanism and budget
    shared: UInt32[Array | np.ndarray, " words"]  # the key for `prepare`
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
    """Compute the results of `block` repeats, from the repeat `first` on.

    The leading axes of each result are mechanism, budget and repeat. The program is not
    sharded over devices, since XLA would then round differently.
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
    """Return the shapes and dtypes of the experiment's results, by tracing the program.

    Raises:
        ValueError: if the mechanisms' results differ in form, or there is no result.
    """
    first = np.zeros((), np.int32)
    whole = eqx.filter_eval_shape(
        block_program, inputs, first, experiment, prepare, block
    )
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[3:], x.dtype), whole)


def output_names(output: PyTree) -> list[str]:
    """Return the names of the experiment's results; dots join nested names."""
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
