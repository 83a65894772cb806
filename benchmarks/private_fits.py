"""A sweep of private naive Bayes: three mechanisms at seven ε, many random splits.

Each repeat trains on 700 of 1,000 records with 16 binary features, and predicts the
others.
"""

import jax
import jax.numpy as jnp
import numpy as np

import dpjax as dp
from dpjax.noise.keys import study_key
from dpjax.study.experiments import NaiveBayesExperiment

EPSILONS = ("0.1", "0.2", "0.5", "1", "2", "5", "10")
MECHANISMS = ("laplace", "fourier", "posterior-sample")
FITS = len(EPSILONS) * len(MECHANISMS)  # a repeat
RECORDS, FEATURES, TRAINING = 1000, 16, 700
BLOCK = 256  # what `sweep` would choose
CHANGE = "replace-one"


def survey() -> np.ndarray:
    """Records of a target and features that depend on it; the target first."""
    rng = np.random.default_rng(0)
    target = rng.random(RECORDS) < 0.4
    laws = rng.random((2, FEATURES))
    features = rng.random((RECORDS, FEATURES)) < laws[target.astype(int)]
    return np.column_stack([target, features]).astype(np.uint8)


def experiment() -> NaiveBayesExperiment:
    levels = {f"x{i}": [0, 1] for i in range(FEATURES + 1)}
    net = dp.BayesNet.naive_bayes(levels, "x0")
    return NaiveBayesExperiment(net, "x0", TRAINING, CHANGE, scores=("accuracy",))


class Study:
    """The sweep, called with a number of repeats."""

    def __init__(self) -> None:
        self.experiment, self.records = experiment(), jnp.asarray(survey())
        self.mechanisms = self.experiment.mechanisms(MECHANISMS, EPSILONS)

    def __call__(
        self, repeats: int, mesh: jax.sharding.Mesh | None = None
    ) -> dp.study.SweepResult:
        return dp.sweep(
            study_key(0),
            self.experiment,
            self.records,
            epsilons=EPSILONS,
            mechanisms=self.mechanisms,
            prepare=self.experiment.prepare,
            repeats=repeats,
            block=BLOCK,
            mesh=mesh,
        )
