"""Differentially private Bayesian inference on accelerators."""

__all__ = [
    "BayesNet",
    "BudgetExceeded",
    "Interval",
    "Ledger",
    "Released",
    "Schema",
    "Variable",
    "audit",
    "learn",
    "load",
    "plan",
    "posterior",
    "recipes",
    "release",
    "study_key",
    "sweep",
]

from typing import TYPE_CHECKING

from dpjax._later import names_of
from dpjax._version import __version__ as __version__

if TYPE_CHECKING:
    from dpjax import (
        audits as audits,
        chains as chains,
        data as data,
        distributions as distributions,
        event_logs as event_logs,
        exports as exports,
        families as families,
        mechanisms as mechanisms,
        noise as noise,
        plots as plots,
        posteriors as posteriors,
        privacy as privacy,
        releases as releases,
        runtime as runtime,
        sklearn as sklearn,
        statistics as statistics,
        study as study,
        tables as tables,
        theory as theory,
    )
    from dpjax.audits import audit
    from dpjax.data import BayesNet, Interval, Schema, Variable
    from dpjax.mechanisms import recipes
    from dpjax.noise.keys import study_key
    from dpjax.posteriors import posterior
    from dpjax.privacy import BudgetExceeded, Ledger
    from dpjax.releases import Released, learn, load, release
    from dpjax.study import plan, sweep

_ROOMS = (
    *("audits", "chains", "data", "distributions", "event_logs", "exports"),
    *("families", "mechanisms", "noise", "plots", "posteriors", "privacy"),
    *("releases", "runtime", "sklearn", "statistics", "study", "tables", "theory"),
)
_NAMES = {
    "audits": ("audit",),
    "data": ("BayesNet", "Interval", "Schema", "Variable"),
    "mechanisms": ("recipes",),
    "noise.keys": ("study_key",),
    "posteriors": ("posterior",),
    "privacy": ("BudgetExceeded", "Ledger"),
    "releases": ("Released", "learn", "load", "release"),
    "study": ("plan", "sweep"),
}
__getattr__, __dir__ = names_of(__name__, _NAMES, _ROOMS)
