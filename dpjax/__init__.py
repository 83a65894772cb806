"""Differentially private Bayesian inference on accelerators."""

__all__ = [
    "BayesNet",
    "BayesNetPosterior",
    "BudgetExceeded",
    "Ledger",
    "Released",
    "Schema",
    "Variable",
    "bounds",
    "consistent",
    "counts",
    "datasets",
    "load",
    "mechanisms",
    "metrics",
    "plots",
    "posterior",
    "privacy",
    "random",
    "release",
    "statistics",
    "stealth",
    "sweep",
    "walsh_hadamard",
]

import importlib
from typing import TYPE_CHECKING

from dpjax import (
    bounds,
    counts,
    mechanisms,
    metrics,
    privacy,
    random,
    statistics,
    stealth,
)
from dpjax._version import __version__ as __version__
from dpjax.consistency import consistent
from dpjax.graph import BayesNet
from dpjax.models import BayesNetPosterior, posterior
from dpjax.privacy import BudgetExceeded, Ledger
from dpjax.publish import release
from dpjax.released import Released, load
from dpjax.schema import Schema
from dpjax.sweeps import sweep
from dpjax.variables import Variable
from dpjax.walsh import walsh_hadamard

if TYPE_CHECKING:
    from dpjax import datasets, plots


def __getattr__(name: str) -> object:
    """Modules with optional packages, when they are first wanted."""
    if name in ("datasets", "plots"):
        return importlib.import_module(f"dpjax.{name}")
    raise AttributeError(f"module 'dpjax' has no attribute {name!r}")
