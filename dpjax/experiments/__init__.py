"""Ready-made experiments for sweeps: how well mechanisms learn, measured at once.

Each is an object with `mechanisms(names, epsilons)`, `prepare(key, data)` and, called,
the scores of one cell; see `dpjax.sweep`.
"""

__all__ = ["NaiveBayesExperiment", "NetworkExperiment"]

from dpjax.experiments.naive_bayes import NaiveBayesExperiment
from dpjax.experiments.network import NetworkExperiment
