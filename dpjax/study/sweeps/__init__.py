"""An experiment over data sets, mechanisms, budgets and repeats, and its results."""

__all__ = ["SweepResult", "sweep"]

from dpjax.study.sweeps.result import SweepResult
from dpjax.study.sweeps.sweep import sweep
