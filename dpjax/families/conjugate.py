"""Conjugate posteriors of exponential families, from exact or noisy statistics."""

__all__ = [
    "BetaPosterior",
    "ConjugatePosterior",
    "DirichletPosterior",
    "GammaPosterior",
    "KnownNoisePosterior",
    "NormalInverseGammaPosterior",
    "NormalInverseWishartPosterior",
    "NormalPosterior",
    "RegressionPosterior",
    "conjugate_posterior",
    "with_parameters",
]

from typing import Any

from jaxtyping import Array, Real

from dpjax._types import Scalar
from dpjax.families.base import Family
from dpjax.families.conjugate_base import ConjugatePosterior
from dpjax.families.conjugate_gaussian import (
    NormalInverseGammaPosterior,
    NormalInverseWishartPosterior,
)
from dpjax.families.conjugate_regression import KnownNoisePosterior, RegressionPosterior
from dpjax.families.conjugate_scalar import (
    BetaPosterior,
    DirichletPosterior,
    GammaPosterior,
    NormalPosterior,
)
from dpjax.families.parameters import (
    BetaParameters,
    DirichletParameters,
    GammaParameters,
    KnownNoiseParameters,
    NormalInverseGammaParameters,
    NormalInverseWishartParameters,
    NormalParameters,
    RegressionParameters,
)

_POSTERIORS: dict[type, Any] = {
    BetaParameters: BetaPosterior,
    DirichletParameters: DirichletPosterior,
    GammaParameters: GammaPosterior,
    NormalParameters: NormalPosterior,
    NormalInverseGammaParameters: NormalInverseGammaPosterior,
    NormalInverseWishartParameters: NormalInverseWishartPosterior,
    RegressionParameters: RegressionPosterior,
    KnownNoiseParameters: KnownNoisePosterior,
}


def conjugate_posterior(
    family: Family, total: Real[Array, " m"], n: Scalar, prior: Any = None
) -> ConjugatePosterior:
    """The posterior that treats a total, made a possible one, as exact.

    Args:
        family: an exponential family.
        total: of its statistic over all records, exact or noisy, in natural units (see
            `dpjax.statistics.Sufficient.decode`).
        n: number of records, exact or noisy.
        prior: the family's conjugate parameters; None: `family.prior()`, which is weak.
            Of a regression, `KnownNoiseParameters` make the noise's precision known.

    Privacy:
        Post-processing: costs nothing more, and may be repeated with other priors.

    Raises:
        ValueError: if the prior is of another family, or not positive.

    Reference:
        Foulds, Geumlek, Welling & Chaudhuri (UAI-16), equations 11 and 16.
    """
    prior = family.prior() if prior is None else prior
    _check_kind(family, prior)
    total, n = family.project(total, n)
    return with_parameters(family, family.update(prior, total, n))


def with_parameters(family: Family, parameters: Any) -> ConjugatePosterior:
    """The conjugate law with these parameters, be it a prior or a posterior.

    Raises:
        ValueError: if the parameters are of another family, or not positive.
    """
    _check_kind(family, parameters)
    return _POSTERIORS[type(parameters)](family, parameters)


def _check_kind(family: Family, prior: Any) -> None:
    if not isinstance(prior, family.priors):
        expected = " or ".join(kind.__name__ for kind in family.priors)
        raise ValueError(
            f"`prior` must be of type {expected} for the {family.name} family, got "
            f"{type(prior).__name__}."
        )
