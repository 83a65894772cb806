"""Ready-made experiments for sweeps: how well mechanisms learn, measured at once.

Each is an object with `mechanisms(names, epsilons)`, `prepare(key, data)` and, called,
the scores of one cell; see `dpjax.sweep`.
"""

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
