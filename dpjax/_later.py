"""Packages that are slow to import, imported when a name of theirs is first used."""

__all__ = [
    "diagnostics",
    "dist",
    "infer",
    "names_of",
    "numpyro",
    "optax",
    "optimize",
    "special",
    "stats",
]

import importlib
import sys
from collections.abc import Callable, Collection, Mapping
from types import ModuleType
from typing import TYPE_CHECKING


def names_of(
    package: str, homes: Mapping[str, Collection[str]], modules: Collection[str] = ()
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package that imports names at first use.

    Args:
        package: full name of the package.
        homes: names that each module of the package defines, by the module's name.
        modules: names of modules of the package.
    """
    home = {name: module for module, names in homes.items() for name in names}

    def get(name: str) -> object:
        if name in modules:
            return importlib.import_module(f"{package}.{name}")
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = importlib.import_module(f"{package}.{home[name]}")
        found = getattr(module, name)
        setattr(sys.modules[package], name, found)
        return found

    own = {"TYPE_CHECKING", "names_of"}  # which a package needs for this alone
    return get, lambda: sorted({*vars(sys.modules[package]), *home, *modules} - own)


class _Later(ModuleType):
    """Stands for the module of its name, which is imported at the first use."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(self.__name__), name)


if TYPE_CHECKING:
    import numpyro
    import numpyro.distributions as dist
    import optax
    from jax.scipy import stats
    from numpyro import diagnostics, infer
    from scipy import optimize, special
else:
    diagnostics = _Later("numpyro.diagnostics")
    dist = _Later("numpyro.distributions")
    infer = _Later("numpyro.infer")
    numpyro = _Later("numpyro")
    optax = _Later("optax")
    optimize = _Later("scipy.optimize")
    special = _Later("scipy.special")
    stats = _Later("jax.scipy.stats")
