"""Checks of types that take less time where no annotation has a shape.

jaxtyping binds the arguments of every call to their names, keeps a table of shapes and
checks the arguments twice. A function without an annotation of jaxtyping needs none of
this: beartype alone checks the same arguments and the same result.
"""

__all__ = ["install"]

import functools
import inspect
import typing
from collections.abc import Callable, Iterator
from typing import Any

import jaxtyping
from beartype import BeartypeConf, beartype
from jaxtyping import TypeCheckError

_thorough = jaxtyping.jaxtyped
_check = beartype(conf=BeartypeConf(violation_type=TypeCheckError))


def install() -> None:
    """Let modules that are imported from now on have these checks."""
    jaxtyping.jaxtyped = _jaxtyped


def _jaxtyped(function: Any = None, *, typechecker: Any = None) -> Any:
    if function is None:
        return functools.partial(_jaxtyped, typechecker=typechecker)
    if inspect.isfunction(function) and _is_plain(function):
        return _checked(function)
    return _thorough(function, typechecker=typechecker)


def _checked(function: Callable) -> Callable:
    found = _check(function)
    if found is function:  # nothing is annotated
        return function

    @functools.wraps(function)
    def call(*args, **kwargs):
        if jaxtyping.config.jaxtyping_disable:
            return function(*args, **kwargs)
        return found(*args, **kwargs)

    return call


def _is_plain(function: Callable) -> bool:
    """Whether it is no generator, and no annotation is text or has a shape."""
    if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
        return False
    if getattr(function, "__no_type_check__", False):
        return False
    parts = [x for one in function.__annotations__.values() for x in _parts(one)]
    return not any(map(_needs_more, parts))


def _parts(annotation: Any) -> Iterator[Any]:
    yield annotation
    found = annotation if isinstance(annotation, list) else typing.get_args(annotation)
    for part in found:
        yield from _parts(part)


def _needs_more(part: Any) -> bool:
    if isinstance(part, (str, typing.ForwardRef, typing.TypeVar)):
        return True
    modules = getattr(part, "__module__", ""), type(part).__module__
    return any(str(x).startswith("jaxtyping") for x in modules)
