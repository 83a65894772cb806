"""An experiment over data sets, mechanisms, budgets and repeats, and its results."""

__all__ = ["SweepResult", "sweep"]

from dpjax.sweeps.result import SweepResult
from dpjax.sweeps.sweep import sweep
