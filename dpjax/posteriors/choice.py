"""The function `posterior`, which chooses a method of inference for a release."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from dpjax._checks import at_least_zero, brief
from dpjax._types import Key, Scalar
from dpjax.noise.keys import study_key
from dpjax.posteriors.base import Posterior
from dpjax.posteriors.estimate.pooled import pooled_estimate
from dpjax.posteriors.exact.clipped import check_all_clipped, clipped_posterior
from dpjax.posteriors.exact.windows import TooExpensive
from dpjax.posteriors.hidden_totals.family_posterior import family_posterior
from dpjax.posteriors.methods import METHODS, InferenceMethod, passes
from dpjax.posteriors.priors import is_hierarchical
from dpjax.posteriors.several import tables_of
from dpjax.releases.released import Released
from dpjax.statistics import FamilyStatistic


def posterior(
    released: Released | Sequence[Released | Sequence[Released]],
    prior: Any = None,
    *,
    method: str | None = None,
    noise_aware: bool = True,
    key: Key | None = None,
    increment: Scalar = 0.0,
    disjoint: bool | None = None,
) -> Posterior:
    """Compute the posterior distribution of a model's parameters, given a release.

    Several releases, by different mechanisms or budgets, give one posterior
    distribution: those of a network's tables a point estimate with its uncertainty (see
    `pooled_estimate`), and those of a family one by the law of clipped sums, if it
    suits all of them (see `clipped_posterior`), and otherwise by Markov chains over
    hidden totals (see `family_posterior`).

    For one release, the function uses the first of the following methods that suits
    the release and is not too expensive:

    - "samples" treats released samples as draws from the posterior distribution.
    - "exact" sums over the hidden exact counts of a network of stars, such as naive
      Bayes, with Laplace noise (see `exact_posterior`).
    - "exact-tree" sums over the hidden exact counts of a small tree of binary variables
      with Laplace noise (see `tree_posterior`).
    - "exact-proportions" sums over the hidden exact counts of a Bernoulli or
      categorical family with Laplace noise (see `proportions_posterior`).
    - "exact-clipped" computes the posterior of the only parameter of exponential times,
      Poisson counts or normal numbers of known variance, records of which may have been
      clipped to the bounds, with Laplace or normal noise (see `clipped_posterior`).
    - "point-estimate" estimates the tables of any other network from counts or Fourier
      coefficients with Laplace noise, or from counts with K-norm noise, with a normal
      approximation of the uncertainty.
    - "separate-tables" estimates the tables of a network from counts with Laplace noise
      where a point estimate is slow, because the network is large and has many paths
      between its variables. It uses less of what the release says about each table.
    - "random-field" runs Markov chains over the parameters of a Markov random field,
      given marginal tables without a network (see `field_posterior`).
    - "hidden-totals" runs Markov chains over the hidden total of the sufficient
      statistics of any other exponential family (see `family_posterior`), whose
      parameters are those of records after clipping.
    - "mixed" combines the tables of a network with numeric leaves, by the first method
      above that suits them, with chains for the leaves (see `mixed_posterior`).

    The following methods are used only if `method` names them:

    - "gibbs" and "normal" run Markov chains for a network, with noise of any known
      distribution (see `gibbs_posterior` and `normal_posterior`).
    - "plug-in" moves noisy numbers to possible values, and treats the possible values
      as exact, and no record as clipped. It underestimates the uncertainty.

    `METHODS` may be extended by further methods. `posterior(…).method` is the name of
    the method that was used.

    Args:
        released: a release of noisy statistics or of posterior samples; or a list of
            releases of a network's tables, or of the same statistic of a family. If
            `disjoint`, an entry of the list may be a list of releases of one table of
            records.
        prior: for a network, the Dirichlet parameter of all cells, > 0, or a dictionary
            from variable name to a table of parameters; by default 1. With
            "hierarchical", which needs the method "point-estimate", the rows of a
            variable may share a mean that is learned. For tables without a network,
            see `field_posterior`. For a family, its conjugate parameters; by default
            weak parameters from the public bounds, weaker for "hidden-totals" than for
            "plug-in". A prior is not allowed with released samples, which were drawn
            with a prior already.
        method: the name of a method. None means the first method that suits, and
            "plug-in" for numbers beyond 2^29, which noise-aware methods would round,
            and for networks with impossible combinations, which they would ignore.
        noise_aware: False means the method "plug-in", unless samples were released.
        key: key for Markov chains, which need not be secret. None means a fixed key, so
            that equal releases have equal posteriors.
        increment: number of records that the method "plug-in" adds to the total of each
            table of a network, in equal parts to all cells, before clamping (see
            `dpjax.theory.stealth`). Other methods do not allow it.
        disjoint: for a list, whether no record is in the tables of two entries. False:
            all releases are of the same records. If releases protect a person with
            several rows, all rows of a person must be in one of the tables.

    Privacy:
        Post-processing of releases has no privacy cost, and may be repeated. Several
        releases cost the sum of their costs if they are of the same records, and the
        largest cost if they are of disjoint tables: see `guarantee` of the result.

    Raises:
        ValueError: if no method suits the release, the named method does not suit it,
            the prior is not positive or has the wrong shape, the increment is negative,
            or the prior or the increment is not allowed; or if releases in a list do
            not fit each other.
        TooExpensive: if the named method is too expensive for this release.

    Reference:
        For "plug-in": Zhang, Rubinstein & Dimitrakakis (AAAI-16), Algorithm 1, lines
        4-5, and Appendix C.2; Foulds et al. (UAI-16), equations 11 and 16.
    """
    plain = isinstance(increment, int | float) and increment == 0
    if isinstance(released, list | tuple):
        aware = noise_aware is True and plain
        return _of_several(released, prior, method, key, disjoint, aware)
    if disjoint is not None:
        raise ValueError("`disjoint` must be left out for one release.")
    if not isinstance(released, Released):
        raise ValueError(
            "`released` must be a release, from `dpjax.release` or `dpjax.load`, got "
            f"{type(released).__name__}."
        )
    if not isinstance(noise_aware, bool):
        raise ValueError(f"`noise_aware` must be True or False, got {noise_aware!r}.")
    at_least_zero(increment=increment)
    key = study_key(0) if key is None else key
    pooled = method in (None, "point-estimate") and noise_aware and plain
    if released.learned is not None and pooled and not released.is_wide:
        return _pooled([released], prior, False)
    if released.network != released.statistic.network:
        raise ValueError(
            "`method` must be 'point-estimate' for a network with tables of pairs, "
            "with numbers up to 2^29, and without `noise_aware` and `increment`."
        )
    refusal, learned = None, is_hierarchical(prior)
    for tried in _candidates(released, method, noise_aware):
        if learned and not tried.learns_prior:
            continue
        if not (plain or tried.takes_increment):
            raise ValueError(
                "`increment` must come with noise_aware=False: noise-aware posteriors "
                "have no use for it."
            )
        try:
            return _made(tried, tried.infer(released, prior, key, increment))
        except TooExpensive as error:
            refusal = error
    raise refusal or (_not_learned() if learned else _none_suits(released))


def _made(method: type[InferenceMethod], found: object) -> Posterior:
    if not isinstance(found, Posterior):
        raise ValueError(
            f"`method` {method.kind!r} must return a `Posterior`, got "
            f"{type(found).__name__}."
        )
    return found


def _of_several(
    releases: Sequence[Any],
    prior: Any,
    method: str | None,
    key: Key | None,
    disjoint: bool | None,
    aware: bool,
) -> Posterior:
    tables = tables_of(releases, disjoint)
    names = ["point-estimate"]
    if isinstance(tables[0][0].statistic, FamilyStatistic):
        clipped = passes(check_all_clipped, tables)
        names = ["exact-clipped", "hidden-totals"] if clipped else ["hidden-totals"]
    if not aware or method not in (None, *names):
        raise ValueError(
            f"`method` must be {' or '.join(map(repr, names))} for several releases, "
            "without `noise_aware` and `increment`."
        )
    method = method or names[0]
    if method == "exact-clipped":
        return clipped_posterior(releases, prior, disjoint=disjoint)
    if method == "hidden-totals":
        key = study_key(0) if key is None else key
        return family_posterior(key, releases, prior, disjoint=disjoint)
    return _pooled(releases, prior, disjoint)


def _pooled(releases: Sequence[Any], prior: Any, disjoint: bool | None) -> Posterior:
    given = 1.0 if prior is None else prior
    return pooled_estimate(releases, given, disjoint=disjoint)


def _candidates(
    released: Released, method: str | None, noise_aware: bool
) -> Iterable[type[InferenceMethod]]:
    if method is None:
        kinds = [*METHODS.usable()]
        if not noise_aware or released.is_wide or released.statistic.zeros is not None:
            noise_aware = False
            kinds = [METHODS["samples"], METHODS["plug-in"]]
        ranked = [kind for kind in kinds if kind.rank is not None or not noise_aware]
        ranked.sort(key=lambda kind: math.inf if kind.rank is None else kind.rank)
        return _slow_ones_last(ranked, released)
    try:
        chosen = METHODS[method]
    except ValueError:
        if method in METHODS:  # its package cannot be imported
            raise
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


def _slow_ones_last(
    ranked: Iterable[type[InferenceMethod]], released: Released
) -> Iterator[type[InferenceMethod]]:
    """Yield the methods that suit; none is asked more than it needs to be."""
    slow = []
    for kind in ranked:
        if kind.suits(released):
            if kind.is_slow(released):
                slow.append(kind)
            else:
                yield kind
    yield from slow


def _suitable(released: Released) -> str:
    return ", ".join(kind.kind for kind in METHODS.usable() if kind.suits(released))


def _not_learned() -> ValueError:
    return ValueError(
        "`prior` must be left out, a number or tables for this release or method: "
        "'hierarchical' is for point estimates of a network."
    )


def _none_suits(released: Released) -> ValueError:
    if names := _suitable(released):
        return ValueError(f"`method` must be given for this release: use {names}.")
    return ValueError(
        "`released` must be for a network or of an exponential family, by a mechanism "
        "with a law for its output, or of samples, got "
        f"{type(released.mechanism).__name__} of {released.statistic.kind}: a method "
        "for it can be added to `dpjax.posteriors.METHODS`."
    )
