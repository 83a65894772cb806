"""What exact inference is given: a star's noisy counts and prior, and windows."""

__all__ = ["Leaves", "Star", "Windows"]

from dataclasses import asdict, dataclass

import equinox as eqx
from jaxtyping import Array, Float

from dpjax._checks import whole
from dpjax._types import Scalar
from dpjax.noise import LaplaceLaw


@dataclass(frozen=True)
class Windows:
    """How many values of each hidden count are looked at: static, for compiled code.

    Args:
        cells: of the count in a cell of a leaf's table.
        hub: of the number of records with a level of the hub.
        kept: of these, once most turned out to be improbable.
        records: of the number of records, where it is private.

    Raises:
        ValueError: unless all are integers of at least 1.
    """

    cells: int
    hub: int
    kept: int
    records: int = 1

    def __post_init__(self):
        whole(1, **asdict(self))


class Leaves(eqx.Module):
    """Leaves with equally many levels: a row a leaf and level of the hub.

    Args:
        values: noisy counts.
        alpha: Dirichlet parameters.
        noise: the law of every leaf's table, with rates (leaves, 1).
    """

    values: Float[Array, "cells leaves levels"]
    alpha: Float[Array, "cells leaves levels"]
    noise: LaplaceLaw


class Star(eqx.Module):
    """What was released of a star, and the prior.

    Args:
        values: noisy counts of the hub's levels; what is not `seen` is ignored.
        alpha: Dirichlet parameters of the hub's probabilities.
        leaves: groups of leaves.
        n: the number of records, where it is public.
        noise: the law of `values`, with one rate.
        seen: which levels of the hub were measured on their own.
        step: by how much one record moves a number of the release.
        given: whether all `alpha` are probabilities, which are not to be inferred.
    """

    values: Float[Array, " levels"]
    alpha: Float[Array, " levels"]
    leaves: list[Leaves]
    n: Scalar | None
    noise: LaplaceLaw
    seen: tuple[bool, ...] = eqx.field(static=True)
    step: int = eqx.field(static=True, default=1)
    given: bool = eqx.field(static=True, default=False)
