"""The law of every parameter on its own, in stacked conjugate posteriors."""

__all__ = ["marginals"]

from typing import Any

import numpy as np

from dpjax.families import (
    BetaParameters,
    DirichletParameters,
    GammaParameters,
    KnownNoiseParameters,
    NormalInverseWishartParameters,
    NormalParameters,
)
from dpjax.families.conjugate_base import host
from dpjax.posteriors.families.mixtures import (
    BetaLaw,
    GammaLaw,
    InverseGammaLaw,
    Law,
    StudentLaw,
)


def marginals(parameters: Any, mean: Any, variance: Any) -> dict[str, Law]:
    """By name as in the posterior's `quantile`; "" if there is but one parameter.

    Args:
        parameters: of conjugate posteriors, stacked on the first axis.
        mean: theirs, as `ConjugatePosterior.mean` has it, stacked.
        variance: theirs; finite.
    """
    if isinstance(parameters, BetaParameters):
        return {"": BetaLaw(*host(*parameters))}
    if isinstance(parameters, DirichletParameters):
        (alpha,) = host(*parameters)
        return {"": BetaLaw(alpha, alpha.sum(-1, keepdims=True) - alpha)}
    if isinstance(parameters, GammaParameters):
        return {"": GammaLaw(*host(*parameters))}
    if isinstance(parameters, NormalParameters):
        middle, square = host(mean, variance)
        return {"": StudentLaw(middle, np.sqrt(square), None)}
    degrees, of_variance = _degrees(parameters)
    laws: dict[str, Law] = {}
    for name in mean:
        middle, square = host(mean[name], variance[name])
        if name in ("variance", "covariance"):
            if name == "covariance":
                middle = np.diagonal(middle, axis1=-2, axis2=-1)
            shape = _beside(of_variance, middle)
            laws["variance"] = InverseGammaLaw(shape, middle * (shape - 1))
        elif degrees is None:
            laws[name] = StudentLaw(middle, np.sqrt(square), None)
        else:
            free = _beside(degrees, middle)
            scale = np.sqrt(square * (free - 2) / free)
            laws[name] = StudentLaw(middle, scale, free)
    return laws


def _degrees(parameters: Any) -> tuple[np.ndarray | None, np.ndarray]:
    """Of means or weights, and the shape of variances."""
    if isinstance(parameters, KnownNoiseParameters):
        return None, np.empty(0)
    if isinstance(parameters, NormalInverseWishartParameters):
        (degrees,) = host(parameters.degrees)
        free = degrees - (parameters.scale.shape[-1] - 1)
        return free, free / 2
    (shape,) = host(parameters.shape)
    return 2 * shape, shape


def _beside(stacked: np.ndarray, values: np.ndarray) -> np.ndarray:
    """With axes of length 1 for all of the values' axes but the first."""
    return stacked.reshape((-1,) + (1,) * (values.ndim - 1))
