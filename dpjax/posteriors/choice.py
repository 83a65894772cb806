"""From a release to the posterior that it stands for, whatever it holds."""

__all__ = ["Posterior", "posterior"]

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from dpjax._checks import at_least_zero
from dpjax._types import Key, Scalar
from dpjax.families import (
    Bernoulli,
    Categorical,
    ConjugatePosterior,
    conjugate_posterior,
)
from dpjax.mechanisms import FamilyPosteriorSampler, ParameterMechanism
from dpjax.noise.keys import study_key
from dpjax.posteriors.estimate.point_estimate import PointEstimate, point_estimate
from dpjax.posteriors.exact.exact_posterior import ExactPosterior, exact_posterior
from dpjax.posteriors.exact.proportions import (
    ProportionsPosterior,
    proportions_posterior,
)
from dpjax.posteriors.exact.releases import check_exact
from dpjax.posteriors.exact.tree_posterior import (
    TreePosterior,
    check_tree,
    tree_posterior,
)
from dpjax.posteriors.exact.windows import TooExpensive
from dpjax.posteriors.families.family_posterior import (
    NoiseAwareFamilyPosterior,
    family_posterior,
)
from dpjax.posteriors.plug_in import PlugInPosterior, plug_in_posterior
from dpjax.posteriors.sampled import SampledPosterior
from dpjax.posteriors.sampled_parameters import SampledParameters
from dpjax.releases.released import Released
from dpjax.statistics import Sufficient

Posterior = (
    PlugInPosterior
    | ConjugatePosterior
    | ExactPosterior
    | NoiseAwareFamilyPosterior
    | PointEstimate
    | ProportionsPosterior
    | SampledParameters
    | SampledPosterior
    | TreePosterior
)


def posterior(
    released: Released,
    prior: Any = None,
    *,
    noise_aware: bool = True,
    key: Key | None = None,
    increment: Scalar = 0.0,
) -> Posterior:
    """What anyone makes of a release: post-processing, free, as often as one likes.

    Where noisy numbers were released, the exact ones are unknown, and are taken to be:

    - Of a network of stars (naive Bayes is one), or a small tree of binary variables,
      under Laplace noise on its counts: exactly, by sums over all hidden counts, unless
      these would be too dear.
    - Of another network, or of Fourier coefficients: a point estimate with standard
      deviations from its curvature (`gibbs_posterior` has the whole law).
    - Of an exponential family: exactly if it is Bernoulli or categorical, else by a
      Markov chain over the hidden totals.

    `posterior.method` says which it was. Released samples stand for themselves, and
    have none.

    Args:
        released: a release.
        prior: of a network, the Dirichlet parameter of every cell, > 0, or, by
            variable, of each (None: 1); of a family, its conjugate parameters (None:
            weak ones from the public bounds, weaker if noise-aware). Samples were drawn
            under a prior already.
        noise_aware: False for the form of the papers, which takes noisy numbers at
            their word, clamped to or projected onto what is possible: it claims to
            know more than it does.
        key: of the Markov chain, where one is run; None: a fixed one, so that the same
            release has the same posterior. No secret depends on it.
        increment: records to add to the total of a network's noisy counts, in equal
            parts to all cells of a table, before clamping (see `dpjax.theory`); only
            where these are taken at their word.

    Raises:
        ValueError: if the prior is not positive or of the wrong kind or shape, the
            increment is negative or cannot be used, the release is not of a model, or
            there is a prior or an increment where samples were released.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Algorithm 1, lines 4-5, and Appendix
        C.2; Foulds et al. (UAI-16), equations 11 and 16: for noise_aware=False.
    """
    if not isinstance(released, Released):
        raise ValueError(
            "`released` must be a release, from `dpjax.release` or `dpjax.load`, got "
            f"{type(released).__name__}."
        )
    if not isinstance(noise_aware, bool):
        raise ValueError(f"`noise_aware` must be True or False, got {noise_aware!r}.")
    statistic, mechanism = released.statistic, released.mechanism
    at_least_zero(increment=increment)
    if isinstance(mechanism, ParameterMechanism):
        return _of_samples(released, mechanism, prior, increment)
    plain = isinstance(increment, int | float) and increment == 0
    if isinstance(statistic, Sufficient):
        if not plain:
            raise ValueError("`increment` must be left out for an exponential family.")
        if noise_aware:
            return _of_family(released, statistic, prior, key)
        total, n = statistic.decode(released.values, released.n)
        return conjugate_posterior(statistic.family, total, n, prior)
    prior = 1.0 if prior is None else prior
    if not noise_aware:
        return plug_in_posterior(released, prior, increment=increment)
    if not plain:
        raise ValueError(
            "`increment` must come with noise_aware=False: noise-aware posteriors have "
            "no use for it."
        )
    return _of_network(released, prior)


def _of_network(
    released: Released, prior: Any
) -> ExactPosterior | TreePosterior | PointEstimate:
    """The sums where they are possible and cheap, else the estimate."""
    try:
        if _suits(check_exact, released):
            return exact_posterior(released, prior)
    except TooExpensive:
        pass
    try:
        if _suits(check_tree, released):
            return tree_posterior(released, prior)
    except TooExpensive:
        pass
    return point_estimate(released, prior)


def _of_family(
    released: Released, statistic: Sufficient, prior: Any, key: Key | None
) -> ProportionsPosterior | NoiseAwareFamilyPosterior:
    try:
        if isinstance(statistic.family, Bernoulli | Categorical):
            return proportions_posterior(released, prior)
    except TooExpensive:
        pass
    return family_posterior(study_key(0) if key is None else key, released, prior)


def _of_samples(
    released: Released, mechanism: ParameterMechanism, prior: Any, increment: Scalar
) -> SampledParameters | SampledPosterior:
    if prior is not None or increment != 0:
        raise ValueError(
            "`prior` and `increment` must not be given with released samples, which "
            "were drawn with a prior of their own."
        )
    values = mechanism.parameters(released.values)
    if isinstance(mechanism, FamilyPosteriorSampler):
        names = tuple(name for name, *_ in mechanism.grid.limits)
        return SampledParameters(names, values)
    return SampledPosterior(released.net, jnp.atleast_2d(values))


def _suits(check: Callable[[Released], None], released: Released) -> bool:
    try:
        check(released)
    except ValueError:
        return False
    return True
