"""Checks of arguments, which are passed by keyword so that errors can name them.

Values that JAX is tracing pass every check, since their values are not known.
"""

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

_SHOWN = bool | int | float | Fraction | np.generic | str | None


def positive(**values: object) -> None:
    """Raise `ValueError` unless all entries of all values are > 0 and finite."""
    _require("positive and finite", lambda xp, x: (x > 0) & xp.isfinite(x), values)


def at_least_zero(**values: object) -> None:
    """Raise `ValueError` unless all entries of all values are >= 0 and finite."""
    _require("at least 0 and finite", lambda xp, x: (x >= 0) & xp.isfinite(x), values)


def _require(
    what: str, condition: Callable[[Any, Any], Any], values: dict[str, Any]
) -> None:
    for name, value in values.items():
        if not _everywhere(condition, value):
            if not isinstance(value, _SHOWN):
                # An array may hold exact counts: only its shape is shown.
                value = f"an array of shape {np.shape(value)} that is not"
            raise ValueError(f"`{name}` must be {what}, got {value}.")


def _everywhere(condition: Callable[[Any, Any], Any], value: object) -> bool:
    """Whether `condition(numpy or jax.numpy, value)` is true for all entries."""
    try:
        # NumPy needs no compiled program for each shape.
        return bool(np.all(condition(np, np.asarray(value))))
    except jax.errors.TracerArrayConversionError:
        pass
    except TypeError:  # no numbers
        return False
    try:
        return bool(jnp.all(condition(jnp, value)))
    except jax.errors.TracerBoolConversionError:
        return True


def whole(least: int, /, **values: object) -> None:
    """Raise `ValueError` unless every value is an integer of at least `least`."""
    for name, value in values.items():
        try:
            valid = not isinstance(value, bool) and operator.index(value) >= least  # pyright: ignore[reportArgumentType]
        except TypeError:
            valid = False
        if not valid:
            raise ValueError(
                f"`{name}` must be an integer of at least {least}, got {brief(value)}."
            )


def probability(**values: float) -> None:
    """Raise `ValueError` unless every value is one number between 0 and 1."""
    for name, value in values.items():
        try:
            valid = bool(0 < value < 1)
        except jax.errors.ConcretizationTypeError:  # of a number that is traced
            raise
        except (TypeError, ValueError):
            valid = False
        if not valid:
            raise ValueError(
                f"`{name}` must be between 0 and 1 and one number, got {brief(value)}."
            )


def array_of(numbers: object, name: str) -> jax.Array:
    """Convert numbers to a JAX array; `name` is the argument's name in error messages.

    Raises:
        ValueError: if a value is not a number; the message does not show the value.
    """
    if isinstance(numbers, jax.Array):
        return numbers
    try:
        array = np.asarray(numbers)
    except Exception:  # its message may quote the values
        array = np.empty(0, object)
    if not any(jnp.issubdtype(array.dtype, kind) for kind in (np.number, np.bool_)):
        raise ValueError(
            f"`{name}` must be an array of numbers, such as the result of "
            f"`Schema.encode`, got {type(numbers).__name__}."
        )
    return jnp.asarray(array)


def rows_of(width: int, **rows: object) -> jax.Array:
    """Convert rows of numbers, given by keyword, to a JAX array with `width` columns.

    Raises:
        ValueError: if a value is not a number, or the rows have another length.
    """
    ((name, values),) = rows.items()
    array = array_of(values, name)
    if array.ndim != 2 or array.shape[1] != width:
        raise ValueError(
            f"`{name}` must be rows of {width} numbers, got an array of shape "
            f"{array.shape}."
        )
    return array


def one_of(choices: Sequence[str], **values: object) -> None:
    """Raise `ValueError` unless every value is among `choices`."""
    for name, value in values.items():
        if value not in choices:
            options = " or ".join(repr(choice) for choice in choices)
            raise ValueError(f"`{name}` must be {options}, got {brief(value)}.")


def of_type(kind: type, remedy: str, /, **values: object) -> None:
    """Raise `ValueError` unless every value is of a type; its message ends in `remedy`.

    The message shows the type of a value alone, since it may hold records.
    """
    for name, value in values.items():
        if not isinstance(value, kind):
            raise ValueError(
                f"`{name}` must be a {kind.__name__}, got {type(value).__name__}: "
                f"{remedy}."
            )


def brief(value: object) -> str:
    """Describe a value in an error message: only by its type if it contains an array.

    An array could be records or a key, which the message must not show.
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


def sample_shape(key: Any, shape: Any) -> tuple[int, ...]:
    """Check the arguments of `sample`, and return the shape as a tuple.

    Raises:
        ValueError: if the key is not typed, or the shape is not a tuple of integers.
    """
    typed_key(key=key)
    try:
        sizes = tuple(operator.index(size) for size in shape)
    except TypeError:
        sizes = (-1,)
    if min(sizes, default=0) < 0:
        raise ValueError(
            "`shape` must be a tuple of integers of at least 0, such as (3,) for 3 "
            f"draws, got {brief(shape)}."
        )
    return sizes


def parameters_of(names: Iterable[str], values: object) -> dict[str, Any]:
    """Return the values that a dictionary of parameters has for `names`, in order.

    Raises:
        ValueError: if it is not a dictionary, or lacks one of these names.
    """
    names = list(names)
    if isinstance(values, Mapping):
        got = [f"one without {name!r}" for name in names if name not in values]
    else:
        got = [brief(values)]
    if not isinstance(values, Mapping) or got:
        raise ValueError(
            "`values` must be a dictionary in the form that `sample` returns, got "
            f"{got[0]}."
        )
    return {name: values[name] for name in names}
