"""Experiment for sweeps: prediction by linear regression."""

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int32, Real

from dpjax._checks import array_of, one_of, positive, whole
from dpjax._private import Unpickled
from dpjax._types import Key, Scalars
from dpjax.families import KnownNoiseParameters, conjugate_posterior
from dpjax.mechanisms import (
    ContinuousFamilyKNorm,
    DiscreteLaplace,
    Mechanism,
    RegressionSample,
)
from dpjax.privacy import REPLACE_ONE, Epsilon
from dpjax.statistics import Sufficient
from dpjax.study.experiments.learners import (
    Experiment,
    refuse_unprepared,
    repeated,
    stacked,
)
from dpjax.study.experiments.splits import split

MECHANISMS = ("laplace", "k-norm", "posterior-sample", "non-private")


class RegressionTrial(Unpickled, eqx.Module):
    """Exact statistic of one repeat's training records, and its held-out records."""

    exact: Int32[Array, " m"]
    features: Float[Array, "rest f"]
    targets: Float[Array, " rest"]


class WeightLearner(eqx.Module):
    """A simulated mechanism, which predicts targets from an exact statistic."""

    @abc.abstractmethod
    def predict(
        self, key: Key, exact: Int32[Array, " m"], features: Float[Array, "n f"]
    ) -> Float[Array, " n"]:
        """Simulate one release of the statistic `exact`, and predict targets from it.

        Privacy:
            The result is not private: show it only to those who may see the data.
        """


class ReleasedWeights(WeightLearner):
    """Predict by the mean weights of the posterior, given noisy projected totals."""

    statistic: Sufficient = eqx.field(static=True)  # of "linear-regression"
    noise: Mechanism | None  # added to the statistic; None: no privacy
    prior_precision: Scalars  # of every weight; one for each budget if stacked
    noise_precision: Scalars  # of a target about its expectation
    n: int | None = eqx.field(static=True)  # number of records, if it is public

    def predict(
        self, key: Key, exact: Int32[Array, " m"], features: Float[Array, "n f"]
    ) -> Float[Array, " n"]:
        """Add noise to `exact`, and predict targets by the posterior mean weights."""
        family: Any = self.statistic.family
        size = family.columns - 1 + family.intercept
        prior = KnownNoiseParameters(
            jnp.zeros(size),
            jnp.eye(size) * jnp.asarray(self.prior_precision, float),
            jnp.asarray(self.noise_precision, float),
        )
        values = exact if self.noise is None else self.noise.sample(key, exact)
        total, n = self.statistic.decode(values, self.n)
        return conjugate_posterior(family, total, n, prior).predict(features)


class SampledWeights(WeightLearner):
    """Predict by one sample of weights from the tempered posterior on a ball."""

    law: RegressionSample

    def predict(
        self, key: Key, exact: Int32[Array, " m"], features: Float[Array, "n f"]
    ) -> Float[Array, " n"]:
        """Sample weights given the statistic `exact`, and predict targets by them."""
        return self.law.predict(self.law.sample(key, exact), features)


@dataclass(frozen=True)
class RegressionExperiment(Experiment):
    r"""Fit a linear regression to some records, and predict the others' targets.

    Records are rows of numbers with the target last. Each repeat of the sweep splits
    them at random into training and held-out records, equally for all mechanisms and
    budgets. For each mechanism and budget, the weights are then fitted once. The score
    is `mse`, the mean squared error of the predicted held-out targets. The mechanisms
    are "laplace" (noise on the sufficient statistic), "k-norm" (noise with the shape of
    one record's changes; always in floats), "posterior-sample" (a sample from the
    posterior, tempered for ε) and "non-private".

    Args:
        statistic: statistic of the family "linear-regression"; it gives the adjacency.
        training: number of training records, which is public; all others are held out.
        prior_precision: prior precision of every weight (of centred columns if there is
            an intercept).
        noise_precision: known precision of a target about its expectation.
        radius: radius of the ball to which sampled weights are truncated; None means
            10 / √`prior_precision`, as in the reference.

    Privacy:
        The results are not private: show them only to those who may see the data.

    Raises:
        ValueError: if a number is out of range, or the statistic is of another family.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), section 5.2 and Appendix D, for the
        sampler.
    """

    statistic: Sufficient
    training: int
    prior_precision: float = 1.0
    noise_precision: float = 1.0
    radius: float | None = None

    def __post_init__(self):
        if self.statistic.family.name != "linear-regression":
            raise ValueError(
                "`statistic` must be of a linear-regression, got "
                f"{self.statistic.family.name}."
            )
        whole(1, training=self.training)
        positive(
            prior_precision=self.prior_precision,
            noise_precision=self.noise_precision,
            radius=1.0 if self.radius is None else self.radius,
        )

    def learner(self, name: str, epsilons: Sequence[Epsilon]) -> WeightLearner:
        """Return the mechanism `name`, with parameters stacked over budgets."""
        one_of(MECHANISMS, mechanism=name)
        adjacency = self.statistic.adjacency
        n = self.training if adjacency == REPLACE_ONE else None
        if name == "posterior-sample":
            laws = [
                RegressionSample.calibrate(
                    self.statistic,
                    epsilon,
                    self.prior_precision,
                    radius=self.radius,
                    noise_precision=self.noise_precision,
                    n=n,
                )
                for epsilon in epsilons
            ]
            return SampledWeights(stacked(laws))
        noise = None
        if name == "laplace":
            change = self.statistic.sensitivity(adjacency)
            noise = DiscreteLaplace.calibrate_many(epsilons, change)
        elif name == "k-norm":
            noise = ContinuousFamilyKNorm.calibrate_many(epsilons, self.statistic)
        return ReleasedWeights(
            self.statistic,
            noise,
            repeated(self.prior_precision, len(epsilons)),
            repeated(self.noise_precision, len(epsilons)),
            n,
        )

    def prepare(self, key: Key, data: Real[Array, "n d"]) -> RegressionTrial:
        """Prepare one repeat: measure the training records, and hold out the others.

        Privacy:
            The sums are exact, so they are not private.
        """
        train, rest = split(key, array_of(data, "data"), self.training)
        rest = rest.astype(float)
        return RegressionTrial(self.statistic.measure(train), rest[:, :-1], rest[:, -1])

    def __call__(
        self, key: Key, mechanism: WeightLearner, data: RegressionTrial
    ) -> dict[str, Float[Array, ""]]:
        """Predict targets by one mechanism and budget; return the error by name."""
        refuse_unprepared(data, RegressionTrial)
        predicted = mechanism.predict(key, data.exact, data.features)
        return {"mse": ((predicted - data.targets) ** 2).mean()}
