"""The ledger's charge for what is about to be drawn in floats."""

__all__ = ["charge", "refuse_traced"]

from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from dpjax.privacy import Ledger, PureDP


def charge(ledger: Ledger, cost: PureDP, purpose: str, arguments: Any) -> None:
    """Spend the cost of one run with these arguments.

    Raises:
        ValueError: inside `jit` or `vmap`, which would run many times for one charge.
        BudgetExceeded: if less is left; then nothing is charged.
    """
    refuse_traced(arguments)
    ledger.charge(cost, purpose)


def refuse_traced(*trees: Any) -> None:
    """Refuse what `jit` or `vmap` is tracing, for one charge would be for many draws.

    Raises:
        ValueError: as said.
    """
    for leaf in jax.tree.leaves(trees):
        if not isinstance(leaf, jax.Array):
            continue
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            leaf = jr.key_data(leaf)
        try:
            np.asarray(leaf.ravel()[:0])
        except jax.errors.TracerArrayConversionError:
            raise ValueError(
                "`ledger` must be left out inside `jit` and `vmap`, which would draw "
                "many times for one charge: charge it outside, for all."
            ) from None
