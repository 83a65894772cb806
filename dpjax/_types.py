"""Array annotations of the whole package; the test suite checks them.

Axes: n records, d variables, m components of a statistic, c cells of all node tables,
k levels, e budgets, r repeats.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jaxtyping import Array, ArrayLike, Integer, Key as _Key, Real

Key = _Key[Array, ""]
Records = Integer[ArrayLike, "n d"]
Flat = Real[Array, "*batch m"]
Cells = Real[Array, "*batch c"]
Described = Mapping[str, Any]  # plain data of a file

if TYPE_CHECKING:
    Scalar = int | float | Array
    Scalars = int | float | Array
else:
    Scalar = Real[ArrayLike, ""]
    Scalars = Real[ArrayLike, "*batch"]
