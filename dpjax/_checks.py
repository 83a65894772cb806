"""Checks of values at construction. Arguments come by keyword, to be named in errors.

Values that JAX is tracing pass through: they have no value to check yet.
"""

__all__ = [
    "array_of",
    "at_least_zero",
    "brief",
    "one_of",
    "positive",
    "typed_key",
    "whole",
]

import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def positive(**values: object) -> None:
    """Raise `ValueError` unless every concrete value is > 0 and finite everywhere."""
    for name, value in values.items():
        if not _everywhere(lambda xp, x: (x > 0) & xp.isfinite(x), value):
            raise ValueError(
                f"`{name}` must be positive and finite, got {_shown(value)}."
            )


def at_least_zero(**values: object) -> None:
    """Raise `ValueError` unless every concrete value is >= 0 and finite everywhere."""
    for name, value in values.items():
        if not _everywhere(lambda xp, x: (x >= 0) & xp.isfinite(x), value):
            raise ValueError(
                f"`{name}` must be at least 0 and finite, got {_shown(value)}."
            )


def _shown(value: Any) -> str:
    """A number that was given; of an array, which may hold exact counts, its shape."""
    if isinstance(value, bool | int | float | Fraction | np.generic):
        return str(value)
    return f"some entry of shape {np.shape(value)} that is not"


def _everywhere(condition: Callable[[Any, Any], Any], value: object) -> bool:
    """Whether the condition, in the terms of NumPy or JAX, holds of all entries."""
    try:
        # On the host, where no shape needs a program of its own.
        return bool(np.all(condition(np, np.asarray(value))))
    except jax.errors.TracerArrayConversionError:
        pass
    try:
        return bool(jnp.all(condition(jnp, value)))
    except jax.errors.TracerBoolConversionError:
        return True


def whole(least: int, /, **values: object) -> None:
    """Raise `ValueError` unless every value is an integer of at least `least`."""
    for name, value in values.items():
        try:
            valid = not isinstance(value, bool) and operator.index(value) >= least  # pyright: ignore[reportArgumentType]  (that is the question)
        except TypeError:
            valid = False
        if not valid:
            raise ValueError(
                f"`{name}` must be an integer of at least {least}, got {brief(value)}."
            )


def array_of(numbers: object, name: str) -> jax.Array:
    """Numbers as an array of JAX, which would quote what it cannot take.

    Raises:
        ValueError: if they are none: the message names `name`, and shows no value.
    """
    if isinstance(numbers, jax.Array):
        return numbers
    try:
        array = np.asarray(numbers)
    except Exception:  # of whatever was given; it may quote that
        array = np.empty(0, object)
    if not any(jnp.issubdtype(array.dtype, kind) for kind in (np.number, np.bool_)):
        raise ValueError(
            f"`{name}` must be numbers in an array, such as `Schema.encode` makes of a "
            f"table, got {type(numbers).__name__}."
        )
    return jnp.asarray(array)


def one_of(choices: Sequence[str], **values: object) -> None:
    """Raise `ValueError` unless every value is among `choices`."""
    for name, value in values.items():
        if value not in choices:
            options = " or ".join(repr(choice) for choice in choices)
            raise ValueError(f"`{name}` must be {options}, got {brief(value)}.")


def brief(value: object) -> str:
    """What an error shows of an argument: of an array, or whatever holds one, its type.

    Someone who swaps two arguments must not see a key or records in the message.
    """
    leaves = jax.tree.leaves(value)
    if any(isinstance(leaf, jax.Array) or np.ndim(leaf) for leaf in leaves):
        return f"an object of type {type(value).__name__}"
    return f"{value!r:.80}"


def typed_key(**keys: object) -> None:
    """Raise `ValueError` unless every value is a typed JAX key."""
    for name, key in keys.items():
        dtype = getattr(key, "dtype", None)
        if dtype is None or not jnp.issubdtype(dtype, jax.dtypes.prng_key):
            raise ValueError(
                f"`{name}` must be a typed key, such as `dpjax.study_key(seed)` "
                f"or `jax.random.key(seed)`, not a seed or a legacy uint32 array."
            )
