"""One sample from the truncated posterior of a multivariate Gaussian: for studies.

Its floats leak: it cannot be published. Noise on the sufficient statistics can.
"""

__all__ = ["GaussianSample"]

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from dpjax._checks import positive, typed_key
from dpjax._types import Key, Scalar, Scalars
from dpjax.families import MultivariateGaussian
from dpjax.families.conjugate_gaussian import NormalInverseWishartPosterior
from dpjax.mechanisms.base import Mechanism
from dpjax.mechanisms.sample_cost import sample_cost
from dpjax.privacy import REPLACE_ONE, Epsilon, PureDP, exact_epsilon
from dpjax.statistics import Sufficient

Sample = dict[str, Array]


class GaussianSample(Mechanism):
    """Draw mean and covariance from the tempered posterior, truncated.

    The mean is within the records' bounds, every eigenvalue of the covariance between
    `least` and `most`. Drawn by rejection from the posterior without these limits,
    until one fits: if they leave out nearly all of it, that takes nearly for ever.

    Args:
        statistic: of a "multivariate-gaussian".
        temperature: T > 0; the likelihood is taken to the power 1/T. Traced.
        least: smallest eigenvalue, > 0.
        most: largest eigenvalue.
        n: the number of records, where it is public.

    Privacy:
        For real numbers twice Δ over T under replace-one and Δ over T under add-remove,
        with Δ of `MultivariateGaussian.sampling_sensitivity`. The running time depends
        on the records, and floats leak: not to be published.

    Raises:
        ValueError: if an argument is outside its range, or the statistic another one.

    Reference:
        Foulds, Geumlek, Welling & Chaudhuri (UAI-16), section 3.1.
    """

    statistic: Sufficient = eqx.field(static=True)
    temperature: Scalars
    least: Scalar
    most: Scalar
    n: int | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        if not isinstance(self.statistic.family, MultivariateGaussian):
            raise ValueError(
                "`statistic` must be of a multivariate-gaussian, got "
                f"{self.statistic.family.name}."
            )
        positive(temperature=self.temperature, least=self.least, most=self.most)
        if self.n is None and self.adjacency == REPLACE_ONE:
            raise ValueError("`n` must be given under replace-one, where it is public.")

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
        """At the lowest temperature that `epsilon` allows, but at least 1."""
        at_one = cls(statistic, 1.0, least, most, n)
        ratio = at_one.guarantee().epsilon / exact_epsilon(epsilon)
        return cls(statistic, max(1.0, float(ratio) * (1 + 1e-9)), least, most, n)

    @property
    def adjacency(self) -> str:
        """That of the statistic."""
        return self.statistic.adjacency

    @property
    def family(self) -> MultivariateGaussian:
        """The Gaussian."""
        family = self.statistic.family
        assert isinstance(family, MultivariateGaussian)
        return family

    def sample(self, key: Key, exact: Int[Array, " m"]) -> Float[Array, "rows d"]:
        """The mean, and below it the covariance: d + 1 rows."""
        typed_key(key=key)
        family, heat = self.family, jnp.asarray(self.temperature, float)
        total, n = family.project(*self.statistic.decode(exact, self.n))
        parameters = family.update(family.prior(), total / heat, n / heat)
        posterior = NormalInverseWishartPosterior(family, parameters)

        def draw(state: tuple[Key, Sample]) -> tuple[Key, Sample]:
            key_next, key_draw = jr.split(state[0])
            return key_next, posterior.sample(key_draw)

        def outside(state: tuple[Key, Sample]) -> Bool[Array, ""]:
            return ~self._within(state[1])

        _, drawn = lax.while_loop(outside, draw, draw((key, {})))
        return jnp.concatenate([drawn["mean"][None], drawn["covariance"]])

    def _within(self, drawn: Sample) -> Bool[Array, ""]:
        lower, upper = (
            jnp.asarray(x, float) for x in zip(*self.family.bounds, strict=True)
        )
        inside = jnp.all((drawn["mean"] >= lower) & (drawn["mean"] <= upper))
        values = jnp.linalg.eigvalsh(drawn["covariance"])
        return inside & (values[0] >= self.least) & (values[-1] <= self.most)

    def guarantee(self) -> PureDP:
        """The loss of one sample for real numbers, rounded up; not traced."""
        limits = {"variance": (float(self.least), float(self.most))}
        return sample_cost(self.family, self.adjacency, limits, float(self.temperature))
