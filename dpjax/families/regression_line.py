"""The weights of a regression as its family has them, and as users see them.

With an intercept, the family's first weight is the target's expectation at the middle
of the features' bounds, less the middle of the target's; users see it at 0.
"""

__all__ = ["as_seen", "by_name", "design", "directions", "from_names", "spread"]

from typing import Any

import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, ArrayLike, Float, Real

from dpjax._checks import array_of
from dpjax.families.linear_regression import LinearRegression


def design(
    family: LinearRegression, features: Real[ArrayLike, "n f"]
) -> Float[Array, "n p"]:
    """Features as the family's weights meet them."""
    rows = array_of(features, "features").astype(float)
    rows = rows - jnp.asarray(family.centre[:-1])[None, :]
    if not family.intercept:
        return rows
    return jnp.concatenate([jnp.ones((rows.shape[0], 1)), rows], axis=1)


def directions(family: LinearRegression) -> Float[Array, "p p"]:
    """In rows: what users see, as combinations of the family's weights."""
    if not family.intercept:
        return jnp.eye(len(family.lower))
    first = jnp.asarray([1.0, *(-c for c in family.centre[:-1])])
    return jnp.eye(len(first)).at[0].set(first)


def as_seen(
    family: LinearRegression, weights: Float[Array, "*shape p"]
) -> Float[Array, "*shape p"]:
    """The family's weights as users see them, intercept first."""
    seen = jnp.einsum("ij,...j->...i", directions(family), weights)
    return seen.at[..., 0].add(family.centre[-1]) if family.intercept else seen


def by_name(family: LinearRegression, seen: Any) -> dict[str, Any]:
    """The "intercept", if there is one, and the "weights", from one array (…, p)."""
    if not family.intercept:
        return {"weights": seen}
    return {"intercept": seen[..., 0], "weights": seen[..., 1:]}


def from_names(
    family: LinearRegression, values: dict[str, Array]
) -> Float[Array, " p"]:
    """The family's weights: the inverse of `as_seen` and `by_name`."""
    if not family.intercept:
        return values["weights"]
    middle = values["weights"] @ jnp.asarray(family.centre[:-1])
    first = values["intercept"] + middle - family.centre[-1]
    return jnp.concatenate([first[None], values["weights"]])


def spread(
    precision: Float[Array, "*batch p p"], rows: Float[Array, "n p"]
) -> Float[Array, "*batch n"]:
    """Variance of each row times weights with that precision."""
    root = jnp.linalg.cholesky(precision)
    turned = jnp.broadcast_to(rows.T, (*root.shape[:-2], *rows.T.shape))
    return (solve_triangular(root, turned, lower=True) ** 2).sum(axis=-2)
