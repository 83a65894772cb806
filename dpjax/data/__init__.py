"""Schemas, network structures, and the encoding of tables of records."""

__all__ = [
    "BayesNet",
    "Bins",
    "Grouped",
    "Interval",
    "MixedNet",
    "Periods",
    "Schema",
    "Variable",
    "datasets",
    "group",
]

from typing import TYPE_CHECKING

from dpjax._later import names_of
from dpjax.data.bayes_net import BayesNet
from dpjax.data.bins import Bins
from dpjax.data.grouping import Grouped, group
from dpjax.data.intervals import Interval
from dpjax.data.levels import Variable
from dpjax.data.mixed_net import MixedNet
from dpjax.data.periods import Periods
from dpjax.data.schema import Schema

if TYPE_CHECKING:
    from dpjax.data import datasets

__getattr__, __dir__ = names_of(
    __name__, {}, ("datasets",)
)  # needs an optional package
