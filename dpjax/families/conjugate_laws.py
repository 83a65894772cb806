"""NumPyro distributions of conjugate posteriors and of their predictions."""

__all__ = [
    "Bernoulli",
    "Beta",
    "Categorical",
    "Dirichlet",
    "Distribution",
    "Gamma",
    "GammaPoisson",
    "InverseGamma",
    "InverseWishart",
    "MultivariateNormal",
    "MultivariateStudentT",
    "Normal",
    "StudentT",
    "lomax",
]

from jaxtyping import Array, Float
from numpyro.distributions import (
    Beta,
    Dirichlet,
    Distribution,
    Gamma,
    GammaPoisson,
    InverseGamma,
    InverseWishart,
    MultivariateNormal,
    MultivariateStudentT,
    Normal,
    Pareto,
    StudentT,
    TransformedDistribution,
)
from numpyro.distributions.discrete import (
    BernoulliProbs as Bernoulli,
    CategoricalProbs as Categorical,
)
from numpyro.distributions.transforms import AffineTransform


def lomax(
    shape: Float[Array, "*batch"], rate: Float[Array, "*batch"]
) -> TransformedDistribution:
    """An exponential law whose rate has a gamma law: a Pareto law that starts at 0."""
    return TransformedDistribution(Pareto(rate, shape), AffineTransform(-rate, 1.0))
