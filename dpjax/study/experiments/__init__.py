"""Experiments for `dpjax.sweep`, which measure how well mechanisms learn."""

__all__ = [
    "HiddenMarkovExperiment",
    "NaiveBayesExperiment",
    "NetworkExperiment",
    "RegressionExperiment",
    "is_binary_naive_bayes",
]

from dpjax.study.experiments.hidden_markov import HiddenMarkovExperiment
from dpjax.study.experiments.naive_bayes import (
    NaiveBayesExperiment,
    is_binary_naive_bayes,
)
from dpjax.study.experiments.network import NetworkExperiment
from dpjax.study.experiments.regression import RegressionExperiment
