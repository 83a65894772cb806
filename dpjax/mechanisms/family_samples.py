"""Samples from truncated posteriors of exponential families, in real arithmetic.

The samples are for studies only, since floats leak data. Publish noisy sufficient
statistics or samples by `FamilyPosteriorSampler` instead.
"""

import abc
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array, ArrayLike, Bool, Float, Int, Real

from dpjax import distributions
from dpjax._checks import positive, typed_key
from dpjax._products import matmul
from dpjax._types import Key, Scalar, Scalars
from dpjax.families import (
    KnownNoiseParameters,
    LinearRegression,
    MultivariateGaussian,
    Truncation,
)
from dpjax.mechanisms.base import Mechanism
from dpjax.privacy import REPLACE_ONE, Adjacency, Epsilon, PureDP, exact_epsilon
from dpjax.statistics import Sufficient

Sample = dict[str, Array]

_MARGIN = 1e-9  # far above rounding errors in double precision
_ROUNDING = 1 << 30  # costs are multiples of 2^-30


class _FamilySample(Mechanism):
    """Base class of samplers with the fields `statistic`, `temperature` and `n`."""

    name: ClassVar[str]

    def __check_init__(self: Any):
        if self.statistic.family.name != self.name:
            raise ValueError(
                f"`statistic` must be of a {self.name}, got "
                f"{self.statistic.family.name}."
            )
        positive(temperature=self.temperature)
        if self.n is None and self.adjacency == REPLACE_ONE:
            raise ValueError("`n` must be given under replace-one, where it is public.")

    @property
    def adjacency(self: Any) -> Adjacency:
        """The adjacency for which the statistic was made."""
        return self.statistic.adjacency

    @property
    def family(self: Any) -> Any:
        """The exponential family of the statistic."""
        return self.statistic.family

    @abc.abstractmethod
    def _limits(self) -> Truncation: ...

    def _tempered(self: Any, exact: Int[Array, " m"], prior: Any) -> Any:
        """Posterior parameters if the likelihood is taken to the power 1/T."""
        total, n = self.family.project(*self.statistic.decode(exact, self.n))
        temperature = jnp.asarray(self.temperature, float)
        return self.family.update(prior, total / temperature, n / temperature)

    def guarantee(self: Any) -> PureDP:
        r"""Return the cost of one sample in real arithmetic; T must not be traced.

        ε is $2\Delta / T$ under replace-one and $\Delta / T$ under add-remove, rounded
        up, where T is the temperature and Δ is `Family.sampling_sensitivity`.

        Reference:
            Foulds, Geumlek, Welling & Chaudhuri (UAI-16), Theorem 2 and equation 14.
        """
        times = 2 if self.adjacency == REPLACE_ONE else 1
        bound = self.family.sampling_sensitivity(self.adjacency, self._limits()).value
        loss = times * bound / float(self.temperature) * (1 + _MARGIN)
        cost = Fraction(math.ceil(loss * _ROUNDING), _ROUNDING)
        return PureDP(cost, self.adjacency)

    def _spending(self: Any, epsilon: Epsilon) -> Any:
        """Return this sampler, whose T is 1, at the lowest T ≥ 1 that ε allows."""
        ratio = float(self.guarantee().epsilon / exact_epsilon(epsilon))
        return replace(self, temperature=max(1.0, ratio * (1 + _MARGIN)))


class GaussianSample(_FamilySample):
    r"""Draw a Gaussian's mean and covariance from the truncated, tempered posterior.

    The truncation limits the mean to the records' bounds, and every eigenvalue of the
    covariance to the range from `least` to `most`. Draws from the posterior without
    truncation are repeated until one is within the limits; if the limits exclude nearly
    all of the posterior, the running time has no useful bound.

    Args:
        statistic: sufficient statistics of the family "multivariate-gaussian".
        temperature: T > 0; the likelihood is taken to the power 1/T. Traced.
        least: lower limit of the eigenvalues of the covariance, > 0.
        most: upper limit of the eigenvalues of the covariance.
        n: the number of records if it is public, else None.

    Privacy:
        In real arithmetic, a sample costs $2\Delta / T$ under replace-one and
        $\Delta/T$ under add-remove, with Δ of
        `MultivariateGaussian.sampling_sensitivity`. The running time depends on the
        records, and floats leak data: do not publish the draws.

    Raises:
        ValueError: if an argument is out of range, or the statistic has another family.

    Reference:
        Foulds, Geumlek, Welling & Chaudhuri (UAI-16), section 3.1.
    """

    name: ClassVar[str] = MultivariateGaussian.name

    statistic: Sufficient = eqx.field(static=True)
    temperature: Scalars
    least: Scalar
    most: Scalar
    n: int | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        positive(least=self.least, most=self.most)

    @classmethod
    def calibrate(
        cls,
        statistic: Sufficient,
        epsilon: Epsilon,
        least: Scalar,
        most: Scalar,
        *,
        n: int | None = None,
    ) -> "GaussianSample":
        """Make the sampler with the lowest temperature ≥ 1 that `epsilon` allows."""
        return cls(statistic, 1.0, least, most, n)._spending(epsilon)

    def sample(self, key: Key, exact: Int[Array, " m"]) -> Float[Array, "rows d"]:
        """Draw one sample: the mean in row 0, and the covariance in the next d rows."""
        typed_key(key=key)
        parameters = self._tempered(exact, self.family.prior())
        posterior = self.family.posterior(parameters)

        def draw(state: tuple[Key, Sample]) -> tuple[Key, Sample]:
            key_next, key_draw = jr.split(state[0])
            return key_next, posterior.sample(key_draw)

        def outside(state: tuple[Key, Sample]) -> Bool[Array, ""]:
            return ~self._within(state[1])

        _, drawn = lax.while_loop(outside, draw, draw((key, {})))
        return jnp.concatenate([drawn["mean"][None], drawn["covariance"]])

    def _within(self, drawn: Sample) -> Bool[Array, ""]:
        bounds = zip(*self.family.bounds, strict=True)
        lower, upper = (jnp.asarray(x, float) for x in bounds)
        inside = jnp.all((drawn["mean"] >= lower) & (drawn["mean"] <= upper))
        values = jnp.linalg.eigvalsh(drawn["covariance"])
        return inside & (values[0] >= self.least) & (values[-1] <= self.most)

    def _limits(self) -> Truncation:
        return {"variance": (float(self.least), float(self.most))}


class RegressionSample(_FamilySample):
    r"""Draw w from $N(0, I/b) \prod_i N(y_i; w^\top x_i, 1/\tau)^{1/T}$ in a ball.

    w are the weights of a linear regression with features x_i and targets y_i.

    Args:
        statistic: sufficient statistics of the family "linear-regression".
        temperature: T > 0; the likelihood is taken to the power 1/T. Traced.
        radius: radius B > 0 of the ball to which the weights are truncated. The weights
            include the intercept of the centred columns if there is one.
        prior_precision: b > 0, the prior precision of each weight. Traced.
        noise_precision: τ > 0, the known precision of a target given its features.
        n: the number of records if it is public, else None.

    Privacy:
        In real arithmetic, a sample costs at most $\tau (R_y + B R_x)^2 / T$ under
        replace-one, where the bounds ensure $|y| \le R_y$ and $\|x\|_2 \le R_x$, and
        half of that under add-remove. At R_x = R_y = τ = T = 1 and $B = 10 / \sqrt b$
        (Appendix D) the loss is 121 for b = 1 and 4 for b = 100. Floats leak data: do
        not publish.

    Raises:
        ValueError: if an argument is out of range, or the statistic has another family.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), section 5.2 and Appendix D.
    """

    name: ClassVar[str] = LinearRegression.name

    statistic: Sufficient = eqx.field(static=True)
    temperature: Scalars
    radius: Scalar
    prior_precision: Scalar
    noise_precision: Scalar = 1.0
    n: int | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        positive(
            radius=self.radius,
            prior_precision=self.prior_precision,
            noise_precision=self.noise_precision,
        )

    @classmethod
    def calibrate(
        cls,
        statistic: Sufficient,
        epsilon: Epsilon,
        prior_precision: Scalar,
        *,
        radius: Scalar | None = None,
        noise_precision: Scalar = 1.0,
        n: int | None = None,
    ) -> "RegressionSample":
        r"""Make the sampler with the lowest temperature ≥ 1 that `epsilon` allows.

        The default `radius` is $10 / \sqrt b$, where b is `prior_precision`.
        """
        ball = 10 / float(prior_precision) ** 0.5 if radius is None else radius
        at_one = cls(statistic, 1.0, ball, prior_precision, noise_precision, n)
        return at_one._spending(epsilon)

    def sample(self, key: Key, exact: Int[Array, " m"]) -> Float[Array, " p"]:
        """Draw the weights of the centred columns; the intercept, if any, is first."""
        typed_key(key=key)
        size = self.family.columns - 1 + self.family.intercept
        prior = KnownNoiseParameters(
            jnp.zeros(size),
            jnp.eye(size) * jnp.asarray(self.prior_precision, float),
            jnp.asarray(self.noise_precision, float),
        )
        tempered = self._tempered(exact, prior)
        law = distributions.GaussianInBall(
            tempered.mean, tempered.precision, self.radius
        )
        return law.sample(key)

    def predict(
        self, weights: Float[Array, " p"], features: Real[ArrayLike, "n f"]
    ) -> Float[Array, " n"]:
        """Return the expected target of each row of `features`, given the weights."""
        return matmul(self.family.design(features), weights) + self.family.centre[-1]

    def _limits(self) -> Truncation:
        noise = float(self.noise_precision)
        return {"norm": (0.0, float(self.radius)), "precision": (noise, noise)}
