"""Sweeps of an experiment over data sets, mechanisms, budgets and repeats."""

__all__ = ["SweepResult", "sweep"]

from dpjax.study.sweeps.result import SweepResult
from dpjax.study.sweeps.sweep import sweep
