"""Simulation studies: sweeps, experiments, planning and coverage of intervals."""

__all__ = [
    "HiddenMarkovExperiment",
    "NaiveBayesExperiment",
    "NetworkExperiment",
    "RegressionExperiment",
    "SweepResult",
    "combine_synthetic",
    "coverage",
    "ecdf_band",
    "metrics",
    "plan",
    "sweep",
]

from dpjax.study import metrics
from dpjax.study.coverage import coverage
from dpjax.study.ecdf import ecdf_band
from dpjax.study.experiments import (
    HiddenMarkovExperiment,
    NaiveBayesExperiment,
    NetworkExperiment,
    RegressionExperiment,
)
from dpjax.study.plan import plan
from dpjax.study.sweeps import SweepResult, sweep
from dpjax.study.synthetic import combine_synthetic
