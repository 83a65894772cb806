"""Moments of several statistics of one record, one statistic after the other."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from dpjax.statistics.record_moments import RecordMoments
from dpjax.tables.gathers import Gather, add, marginals
from dpjax.tables.layout import TableLayout


@dataclass(frozen=True)
class JoinedMoments(RecordMoments):
    """Moments of several statistics of one record, given the tables of one layout.

    For the arguments of the methods, see `RecordMoments`.

    Args:
        layout: layout of the tables whose probabilities are given.
        parts: the moments of each statistic, and the layout of its tables. Each of
            these tables is a marginal of a table of `layout`.

    Raises:
        ValueError: if a table is not a marginal of a table of `layout`.
    """

    layout: TableLayout
    parts: tuple[tuple[RecordMoments, TableLayout], ...]

    def __post_init__(self) -> None:
        assert self._gathers  # raises

    @cached_property
    def _gathers(self) -> list[Gather]:
        return [marginals(self.layout, wanted) for _, wanted in self.parts]

    @property
    def counts(self) -> Bool[np.ndarray, " m"]:
        """For each component, whether it is a number of records."""
        return np.concatenate([moments.counts for moments, _ in self.parts])

    def mean(self, marginals: Float[Array, " c"]) -> Float[Array, " m"]:
        """Return the expectation of each component of one record's statistics."""
        return self._joined(marginals, lambda moments: moments.mean)

    def second(self, marginals: Float[Array, " c"]) -> Float[Array, " m"]:
        """Return the expected square of each component of one record's statistics."""
        return self._joined(marginals, lambda moments: moments.second)

    def _joined(
        self,
        given: Array,
        function: Callable[[RecordMoments], Callable[[Array], Array]],
    ) -> Array:
        pairs = zip(self.parts, self._gathers, strict=True)
        return jnp.concatenate(
            [function(moments)(gather(add, given, 0)) for (moments, _), gather in pairs]
        )
