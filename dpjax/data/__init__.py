"""Schemas, network structures, and the encoding of tables of records."""

__all__ = [
    "BayesNet",
    "Bins",
    "Grouped",
    "Interval",
    "Periods",
    "Schema",
    "Variable",
    "datasets",
    "group",
]

import importlib
from typing import TYPE_CHECKING

from dpjax.data.bayes_net import BayesNet
from dpjax.data.bins import Bins
from dpjax.data.grouping import Grouped, group
from dpjax.data.intervals import Interval
from dpjax.data.levels import Variable
from dpjax.data.periods import Periods
from dpjax.data.schema import Schema

if TYPE_CHECKING:
    from dpjax.data import datasets


def __getattr__(name: str) -> object:
    """Import `datasets`, which needs an optional package, on first use."""
    if name == "datasets":
        return importlib.import_module("dpjax.data.datasets")
    raise AttributeError(f"module 'dpjax.data' has no attribute {name!r}")
