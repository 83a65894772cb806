"""By how much learned tables differ from true ones."""

__all__ = ["table_errors"]

import jax.numpy as jnp
from jax.scipy.special import xlogy
from jaxtyping import Array, Float

from dpjax._types import Cells
from dpjax.tables.layout import TableLayout


def table_errors(
    layout: TableLayout, truth: Cells, learned: Cells
) -> dict[str, Float[Array, ""]]:
    """Total variation and KL(true ‖ learned), in nats, means over all rows.

    Args:
        layout: of both, a variable's own axis last (`BayesNet.layout`).
        truth: rows that sum to 1.
        learned: rows that sum to 1.
    """
    rows = int(layout.rows[-1]) + 1
    variation = jnp.abs(truth - learned).sum() / 2
    divergence = (xlogy(truth, truth) - xlogy(truth, learned)).sum()
    return {"total_variation": variation / rows, "kl": divergence / rows}
