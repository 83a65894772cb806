r"""One sample from the truncated posterior of a linear regression: for studies.

The paper's posterior sampler for regression, beside which noise on the sufficient
statistics belongs. Its floats leak: it cannot be published.
"""

__all__ = ["RegressionSample"]

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Int, Real

from dpjax._checks import positive, typed_key
from dpjax._types import Key, Scalar, Scalars
from dpjax.distributions import GaussianInBall
from dpjax.families import (
    KnownNoiseParameters,
    LinearRegression,
    regression_line as line,
)
from dpjax.mechanisms.base import Mechanism
from dpjax.mechanisms.sample_cost import sample_cost
from dpjax.privacy import REPLACE_ONE, Epsilon, PureDP, exact_epsilon
from dpjax.statistics import Sufficient


class RegressionSample(Mechanism):
    r"""Draw w from $N(0, I/b) \prod_i N(y_i; w^\top x_i, 1/\tau)^{1/T}$ in a ball.

    Args:
        statistic: of a "linear-regression".
        temperature: T > 0; the likelihood is taken to the power 1/T. Traced.
        radius: B > 0, of the ball that weights are truncated to, the intercept of the
            centred columns included if there is one.
        prior_precision: b > 0. Traced.
        noise_precision: τ > 0, known.
        n: the number of records, where it is public.

    Privacy:
        For real numbers at most $\tau (R_y + B R_x)^2 / T$ under replace-one, with
        $|y| \le R_y$ and $\|x\|_2 \le R_x$ by the bounds, and no more than half of it
        under add-remove. At R_x = R_y = τ = T = 1 and the paper's $B = 10 / \sqrt b$
        that is 121 for b = 1 and 4 for b = 100. Floats leak: not to be published.

    Raises:
        ValueError: if an argument is outside its range, or the statistic another one.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), section 5.2 and Appendix D.
    """

    statistic: Sufficient = eqx.field(static=True)
    temperature: Scalars
    radius: Scalar
    prior_precision: Scalar
    noise_precision: Scalar = 1.0
    n: int | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        if not isinstance(self.statistic.family, LinearRegression):
            raise ValueError(
                "`statistic` must be of a linear-regression, got "
                f"{self.statistic.family.name}."
            )
        positive(
            temperature=self.temperature,
            radius=self.radius,
            prior_precision=self.prior_precision,
            noise_precision=self.noise_precision,
        )
        if self.n is None and self.adjacency == REPLACE_ONE:
            raise ValueError("`n` must be given under replace-one, where it is public.")

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
        r"""At the lowest temperature that `epsilon` allows, but at least 1.

        The radius is $10 / \sqrt b$, as in the paper, unless it is given.
        """
        ball = 10 / float(prior_precision) ** 0.5 if radius is None else radius
        at_one = cls(statistic, 1.0, ball, prior_precision, noise_precision, n)
        ratio = at_one.guarantee().epsilon / exact_epsilon(epsilon)
        heat = max(1.0, float(ratio) * (1 + 1e-9))
        return cls(statistic, heat, ball, prior_precision, noise_precision, n)

    @property
    def adjacency(self) -> str:
        """That of the statistic."""
        return self.statistic.adjacency

    @property
    def family(self) -> LinearRegression:
        """The regression."""
        family = self.statistic.family
        assert isinstance(family, LinearRegression)
        return family

    def sample(self, key: Key, exact: Int[Array, " m"]) -> Float[Array, " p"]:
        """Weights as the family has them: of centred columns, its intercept first."""
        typed_key(key=key)
        family = self.family
        total, n = self.statistic.decode(exact, self.n)
        total, n = family.project(total, n)
        size = family.columns - 1 + family.intercept
        heat = jnp.asarray(self.temperature, float)
        prior = KnownNoiseParameters(
            jnp.zeros(size),
            jnp.eye(size) * jnp.asarray(self.prior_precision, float),
            jnp.asarray(self.noise_precision, float),
        )
        tempered = family.update(prior, total / heat, n / heat)
        law = GaussianInBall(tempered.mean, tempered.precision, self.radius)
        return law.sample(key)

    def predict(
        self, weights: Float[Array, " p"], features: Real[ArrayLike, "n f"]
    ) -> Float[Array, " n"]:
        """Expected targets under sampled weights."""
        return line.design(self.family, features) @ weights + self.family.centre[-1]

    def guarantee(self) -> PureDP:
        """The loss of one sample for real numbers, rounded up; not traced."""
        noise = float(self.noise_precision)
        limits = {"norm": (0.0, float(self.radius)), "precision": (noise, noise)}
        return sample_cost(self.family, self.adjacency, limits, float(self.temperature))
