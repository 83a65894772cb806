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
    "sweep",
]

from dpjax import (
    bounds,
    datasets,
    mechanisms,
    metrics,
    plots,
    privacy,
    random,
    statistics,
)
from dpjax._version import __version__ as __version__
from dpjax.graph import BayesNet
from dpjax.models import BayesNetPosterior, posterior
from dpjax.privacy import BudgetExceeded, Ledger
from dpjax.release import release
from dpjax.released import Released, load
from dpjax.schema import Schema
from dpjax.sweep import sweep
from dpjax.variables import Variable
