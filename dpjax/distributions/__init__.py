"""Distributions for NumPyro: of releases, and truncated and tempered posteriors."""

__all__ = [
    "Dirichlet",
    "GaussianInBall",
    "NoisyNumbers",
    "TemperedSamples",
    "TruncatedBeta",
    "TruncatedDirichlet",
    "dirichlet_rows",
    "tempered",
    "tempered_posterior",
]

from typing import TYPE_CHECKING

from dpjax._later import names_of

if TYPE_CHECKING:
    from dpjax.distributions.noisy_numbers import NoisyNumbers
    from dpjax.distributions.tempering import (
        TemperedSamples,
        tempered,
        tempered_posterior,
    )
    from dpjax.distributions.truncated_beta import TruncatedBeta
    from dpjax.distributions.truncated_dirichlet import (
        Dirichlet,
        TruncatedDirichlet,
        dirichlet_rows,
    )
    from dpjax.distributions.truncated_gaussian import GaussianInBall

__getattr__, __dir__ = names_of(  # only these need NumPyro
    __name__,
    {
        "noisy_numbers": ("NoisyNumbers",),
        "tempering": ("TemperedSamples", "tempered", "tempered_posterior"),
        "truncated_beta": ("TruncatedBeta",),
        "truncated_dirichlet": ("Dirichlet", "TruncatedDirichlet", "dirichlet_rows"),
        "truncated_gaussian": ("GaussianInBall",),
    },
)
