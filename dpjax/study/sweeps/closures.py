"""Functions that are told apart by the values which they take from outside."""

import contextlib
import dis
import functools
import numbers
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

_PLAIN = (str, bytes, numbers.Number)  # compared by value, and others by identity


def with_values(function: Any) -> Any:
    """Return a function that is equal to another only if it uses equal values.

    A compiled program keeps the values of the global variables and of the enclosing
    scope that a function uses, and JAX runs this program again for an equal function.
    The result is not equal to that of an earlier call if such a variable has another
    value by now, also one that is used by a function which this one uses. An object
    that was changed in place is the same. Anything but a Python function, or a partial
    of one, is returned as it is.
    """
    plain = type(function) in (FunctionType, functools.partial)
    return _WithValues(function) if plain else function


class _WithValues:
    def __init__(self, function: Any):
        functools.update_wrapper(self, function)
        self.function, self.values = function, {}
        _collect(_inner(function), self.values)

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)

    def __hash__(self) -> int:
        return hash(self.function)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _WithValues)
            and self.function == other.function
            and self.values.keys() == other.values.keys()
            and all(_same(x, other.values[name]) for name, x in self.values.items())
        )


def _inner(function: Any) -> FunctionType | None:
    """Return the Python function of a function, a method or a partial; or None."""
    while type(function) is functools.partial:
        function = function.func
    function = getattr(function, "__func__", function)
    return function if isinstance(function, FunctionType) else None


def _collect(function: FunctionType | None, values: dict[tuple, Any]) -> None:
    """Add the values that a function takes from outside, by function and name."""
    if function is None:
        return
    found = {name: function.__globals__.get(name) for name in _names(function.__code__)}
    cells = function.__closure__ or ()
    for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
        with contextlib.suppress(ValueError):  # of a variable without a value
            found[name] = cell.cell_contents
    for name, value in found.items():
        if (function, name) not in values and not isinstance(value, ModuleType):
            values[function, name] = value
            _collect(_inner(value), values)


def _names(code: CodeType) -> Iterator[str]:
    """Yield the names of the global variables that a function uses."""
    for step in dis.get_instructions(code):
        if step.opname == "LOAD_GLOBAL":
            yield step.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _same(one: Any, other: Any) -> bool:
    plain = isinstance(one, _PLAIN) and type(one) is type(other)
    return one is other or bool(plain and one == other)
