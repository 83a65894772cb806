"""From a release to the posterior that it stands for, whatever it holds."""

__all__ = ["posterior"]

from typing import Any

import jax.numpy as jnp

from dpjax._types import Scalar
from dpjax.mechanisms import FamilyPosterior, ParameterMechanism
from dpjax.models.bayes_net import BayesNetPosterior, dirichlet_posterior
from dpjax.models.conjugate import ConjugatePosterior, conjugate_posterior
from dpjax.models.sampled import SampledPosterior
from dpjax.models.sampled_parameters import SampledParameters
from dpjax.released import Released
from dpjax.statistics import Sufficient

Posterior = (
    BayesNetPosterior | ConjugatePosterior | SampledParameters | SampledPosterior
)


def posterior(
    released: Released, prior: Any = None, *, increment: Scalar = 0.0
) -> Posterior:
    """What anyone makes of a release: post-processing, free, as often as one likes.

    - Noisy counts or coefficients of a network: Dirichlet laws of its tables, which
      take the counts at their word, clamped to what is possible.
    - Noisy sufficient statistics of an exponential family: its conjugate posterior,
      which takes them at their word, projected onto what is possible.
    - Samples: their empirical law.

    Args:
        released: a release.
        prior: of a network, the Dirichlet parameter of every cell, > 0, or, by
            variable, of each (None: 1); of a family, its conjugate parameters (None:
            weak ones from the public bounds). Samples were drawn under a prior already.
        increment: records to add to the total of a network's noisy counts, in equal
            parts to all cells of a table, before clamping (see `dpjax.stealth`).

    Raises:
        ValueError: if the prior is not positive or of the wrong kind or shape, the
            increment is negative, the release is not of a model, or there is a prior or
            an increment where samples were released.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Algorithm 1, lines 4-5, and Appendix
        C.2; Foulds et al. (UAI-16), equations 11 and 16.
    """
    statistic, mechanism = released.statistic, released.mechanism
    if isinstance(mechanism, ParameterMechanism):
        if prior is not None or increment != 0:
            raise ValueError(
                "`prior` and `increment` must not be given with released samples, "
                "which were drawn with a prior of their own."
            )
        values = mechanism.parameters(released.values)
        if isinstance(mechanism, FamilyPosterior):
            names = tuple(name for name, *_ in mechanism.grid.limits)
            return SampledParameters(names, values)
        return SampledPosterior(released.net, jnp.atleast_2d(values))
    if isinstance(statistic, Sufficient):
        total, n = statistic.decode(released.values, released.n)
        return conjugate_posterior(statistic.family, total, n, prior)
    prior = 1.0 if prior is None else prior
    return dirichlet_posterior(released, prior, increment=increment)
