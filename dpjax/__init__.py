"""Differentially private Bayesian inference on accelerators."""

__all__ = [
    "BayesNet",
    "BayesNetPosterior",
    "BudgetExceeded",
    "Interval",
    "Ledger",
    "Released",
    "Schema",
    "SweepResult",
    "Variable",
    "audit",
    "audits",
    "bounds",
    "cache_compilations",
    "calibrate",
    "consistent",
    "counts",
    "datasets",
    "distributions",
    "experiments",
    "expfam",
    "family_counts",
    "hidden_markov",
    "load",
    "mechanisms",
    "metrics",
    "models",
    "noise_aware",
    "plan",
    "plots",
    "posterior",
    "privacy",
    "processes",
    "random",
    "release",
    "reproductions",
    "statistics",
    "stealth",
    "sweep",
    "tempered_posterior",
    "to_arviz",
    "tune_allocator",
    "walsh_hadamard",
]

import importlib
from typing import TYPE_CHECKING

from dpjax import (
    audits,
    bounds,
    counts,
    distributions,
    experiments,
    expfam,
    hidden_markov,
    mechanisms,
    metrics,
    models,
    noise_aware,
    privacy,
    processes,
    random,
    statistics,
    stealth,
)
from dpjax._version import __version__ as __version__
from dpjax.audits import audit
from dpjax.calibration import calibrate
from dpjax.consistency import consistent
from dpjax.distributions import tempered_posterior
from dpjax.from_release import posterior
from dpjax.graph import BayesNet
from dpjax.intervals import Interval
from dpjax.models import BayesNetPosterior
from dpjax.plan import plan
from dpjax.privacy import BudgetExceeded, Ledger
from dpjax.publish import release
from dpjax.released import Released, load
from dpjax.schema import Schema
from dpjax.streaming import family_counts
from dpjax.sweeps import SweepResult, sweep
from dpjax.tuning import cache_compilations, tune_allocator
from dpjax.variables import Variable
from dpjax.walsh import walsh_hadamard

if TYPE_CHECKING:
    from dpjax import datasets, plots, reproductions
    from dpjax.arviz_export import to_arviz


def __getattr__(name: str) -> object:
    """Modules with optional packages, when they are first wanted."""
    if name in ("datasets", "plots", "reproductions"):
        return importlib.import_module(f"dpjax.{name}")
    if name == "to_arviz":
        return importlib.import_module("dpjax.arviz_export").to_arviz
    raise AttributeError(f"module 'dpjax' has no attribute {name!r}")
