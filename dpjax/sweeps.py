"""Repeat an experiment over a grid of budgets in one compiled call."""

__all__ = ["sweep"]

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import PyTree

from dpjax._checks import typed_key, whole
from dpjax._types import Key
from dpjax.mechanisms import Mechanism


def sweep(
    key: Key,
    experiment: Callable[[Key, Mechanism, PyTree], PyTree],
    mechanisms: Mechanism,
    data: PyTree,
    repeats: int,
) -> PyTree:
    """Run `experiment(key, mechanism, data)` for every mechanism and every repeat.

    Args:
        key: typed; every cell of the grid gets its own, folded from repeat and budget,
            which does not depend on the size of the grid.
        experiment: a pure function. Whatever records it reads come in `data`, as
            arguments: arrays caught in a closure are written into the program's text.
        mechanisms: stacked, as from `DiscreteLaplace.calibrate_many` or, simulated,
            `Laplace(epsilons, sensitivity)`; what is scalar they share.
        data: passed on as it is.
        repeats: at least 1.

    Returns:
        The experiment's output with two leading axes, (e, repeats).

    Raises:
        ValueError: if the key is not typed, or the mechanisms are not stacked, or there
            is no repeat.

    Privacy:
        A simulation on data that the caller may see: nothing here is to be published.
    """
    typed_key(key=key)
    whole(1, repeats=repeats)
    lengths = {jnp.shape(x)[0] for x in jax.tree.leaves(mechanisms) if jnp.ndim(x)}
    if len(lengths) != 1:
        raise ValueError(
            "`mechanisms` must be stacked along one leading axis, as by "
            "`DiscreteLaplace.calibrate_many` or `Laplace(epsilons, sensitivity)`."
        )
    return _sweep(key, mechanisms, data, experiment, repeats)


@eqx.filter_jit
def _sweep(key, mechanisms, data, experiment, repeats):
    axes = jax.tree.map(lambda leaf: 0 if jnp.ndim(leaf) else None, mechanisms)
    stacked = [leaf for leaf in jax.tree.leaves(mechanisms) if jnp.ndim(leaf)]
    budgets = jnp.arange(stacked[0].shape[0])

    def one_repeat(repeat):
        key_repeat = jr.fold_in(key, repeat)

        def one_cell(budget, mechanism):
            return experiment(jr.fold_in(key_repeat, budget), mechanism, data)

        return jax.vmap(one_cell, in_axes=(0, axes))(budgets, mechanisms)

    results = lax.map(one_repeat, jnp.arange(repeats))
    return jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 0, 1), results)
