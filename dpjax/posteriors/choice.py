"""`posterior`: the posterior given a release, by the first method that suits it."""

__all__ = ["posterior"]

import math
from typing import Any

from dpjax._checks import at_least_zero, brief
from dpjax._types import Key, Scalar
from dpjax.noise.keys import study_key
from dpjax.posteriors.base import Posterior
from dpjax.posteriors.exact.windows import TooExpensive
from dpjax.posteriors.methods import METHODS, InferenceMethod
from dpjax.releases.released import Released


def posterior(
    released: Released,
    prior: Any = None,
    *,
    method: str | None = None,
    noise_aware: bool = True,
    key: Key | None = None,
    increment: Scalar = 0.0,
) -> Posterior:
    """The posterior of a model's parameters, given a release of any kind.

    The first of these methods that suits the release and is not too expensive is used:

    - "samples": released samples represent the posterior, without any computation.
    - "exact": summation over all hidden counts of a network of stars (such as naive
      Bayes), under Laplace noise.
    - "exact-tree": summation over all hidden counts of a small tree of binary
      variables, under Laplace noise.
    - "exact-proportions": summation over the hidden counts of a Bernoulli or
      categorical family, under Laplace noise.
    - "point-estimate": an estimate for any other network under Laplace noise on its
      counts or Fourier coefficients, with a normal approximation of its uncertainty.
    - "hidden-totals": Markov chains over the hidden totals of another family.

    The following methods are used only if `method` names them:

    - "gibbs" and "normal": Markov chains for networks under any noise of known law (see
      `gibbs_posterior` and `normal_posterior`).
    - "plug-in": noisy numbers are clamped or projected to possible values, and then
      treated as exact, as in the papers; the uncertainty is underestimated.

    Further methods may be added to `METHODS`. `posterior(…).method` is the name of the
    method that was used.

    Args:
        released: a release.
        prior: for a network, the Dirichlet parameter of every cell, > 0, or a table of
            parameters for each variable (None: 1); for a family, its conjugate
            parameters (None: weak ones from the public bounds, weaker if noise-aware).
            Not for released samples, which were drawn under a prior already.
        method: the name of a method; None: the first that suits.
        noise_aware: False means the method "plug-in", unless samples were released.
        key: for methods that run Markov chains; None: a fixed key, so that the same
            release has the same posterior. The key need not be secret.
        increment: number of records to add to the total of a network's noisy counts, in
            equal parts to all cells of a table, before clamping (see `dpjax.theory`);
            only for the method "plug-in".

    Privacy:
        Post-processing of a release: costs nothing, and may be repeated.

    Raises:
        ValueError: if no method suits the release, or the named method does not, the
            prior is not positive or of the wrong kind or shape, the increment is
            negative or cannot be used, or a prior is given for released samples.
        TooExpensive: if the named method is too expensive for this release.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Algorithm 1, lines 4-5, and Appendix
        C.2; Foulds et al. (UAI-16), equations 11 and 16: for "plug-in".
    """
    if not isinstance(released, Released):
        raise ValueError(
            "`released` must be a release, from `dpjax.release` or `dpjax.load`, got "
            f"{type(released).__name__}."
        )
    if not isinstance(noise_aware, bool):
        raise ValueError(f"`noise_aware` must be True or False, got {noise_aware!r}.")
    at_least_zero(increment=increment)
    plain = isinstance(increment, int | float) and increment == 0
    key = study_key(0) if key is None else key
    refusal = None
    for tried in _candidates(released, method, noise_aware):
        if not (plain or tried.takes_increment):
            raise ValueError(
                "`increment` must come with noise_aware=False: noise-aware posteriors "
                "have no use for it."
            )
        try:
            return tried.infer(released, prior, key, increment)
        except TooExpensive as error:
            refusal = error
    raise refusal or _none_suits(released)


def _candidates(
    released: Released, method: str | None, noise_aware: bool
) -> list[type[InferenceMethod]]:
    """Methods that suit the release, in the order in which they are tried."""
    if method is None:
        kinds = [METHODS[kind] for kind in METHODS]
        if not noise_aware:
            kinds = [METHODS["samples"], METHODS["plug-in"]]
        ranked = [kind for kind in kinds if kind.rank is not None or not noise_aware]
        ranked.sort(key=lambda kind: math.inf if kind.rank is None else kind.rank)
        return [kind for kind in ranked if kind.suits(released)]
    try:
        chosen = METHODS[method]
    except ValueError:
        raise ValueError(
            f"`method` must be one of {', '.join(METHODS)}, got {brief(method)}."
        ) from None
    if not (noise_aware or method == "plug-in"):
        raise ValueError(
            "`noise_aware` must be left out where `method` is given, got False with "
            f"{method!r}."
        )
    if not chosen.suits(released):
        raise ValueError(
            f"`method` must suit the release, got {method!r}: use "
            f"{_suitable(released) or 'another release'}."
        )
    return [chosen]


def _suitable(released: Released) -> str:
    return ", ".join(kind for kind in METHODS if METHODS[kind].suits(released))


def _none_suits(released: Released) -> ValueError:
    if suitable := _suitable(released):
        return ValueError(f"`method` must be given for this release: use {suitable}.")
    return ValueError(
        "`released` must be for a network or of an exponential family, by a mechanism "
        "with a law for its output, or of samples, got "
        f"{type(released.mechanism).__name__} of {released.statistic.kind}."
    )
