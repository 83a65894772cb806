"""The methods of inference that `posterior` chooses from."""

__all__ = ["METHODS", "InferenceMethod"]

import abc
import contextlib
from collections.abc import Callable
from typing import Any, ClassVar

import jax.numpy as jnp

from dpjax._registry import Registry
from dpjax._types import Key, Scalar
from dpjax.families import conjugate_posterior
from dpjax.mechanisms import ParameterMechanism
from dpjax.posteriors.base import Posterior
from dpjax.posteriors.estimate.point_estimate import check_estimate, point_estimate
from dpjax.posteriors.exact.exact_posterior import check_exact, exact_posterior
from dpjax.posteriors.exact.proportions import check_proportions, proportions_posterior
from dpjax.posteriors.exact.tree_posterior import check_tree, tree_posterior
from dpjax.posteriors.families.family_posterior import family_posterior
from dpjax.posteriors.families.total_walk import check_family
from dpjax.posteriors.gibbs.gibbs import gibbs_posterior
from dpjax.posteriors.gibbs.normal_model import check_normal, normal_posterior
from dpjax.posteriors.laws import law_of
from dpjax.posteriors.plug_in import plug_in_posterior
from dpjax.posteriors.sampled import SampledParameters, SampledPosterior
from dpjax.releases.released import Released
from dpjax.statistics import FamilyStatistic


class InferenceMethod(abc.ABC):
    """A method of inference: which releases it is for, and what it makes of them.

    A method of one's own is a subclass, added to `METHODS`: then `posterior` uses it.
    """

    kind: ClassVar[str]
    """Its name, also the `method` of the posteriors it makes."""

    rank: ClassVar[float | None] = None
    """Methods are tried in increasing order of it; None: only where it is named."""

    takes_increment: ClassVar[bool] = False
    """Whether `increment` is for it."""

    @classmethod
    @abc.abstractmethod
    def suits(cls, released: Released) -> bool:
        """Whether it is for releases like this one; found without much work."""

    @classmethod
    @abc.abstractmethod
    def infer(
        cls, released: Released, prior: Any, key: Key, increment: Scalar
    ) -> Posterior:
        """The posterior, for a release that it suits.

        Args:
            released: a release.
            prior: as `posterior` was given it; None: the method's own default.
            key: of a Markov chain, where one is run.
            increment: see `posterior`; 0 unless the method takes one.

        Raises:
            TooExpensive: if it cannot be found at a bounded cost; `posterior` then
                tries the next method, unless this one was named.
        """


METHODS: Registry[InferenceMethod] = Registry("inference method")
"""Methods of inference by name."""


@METHODS.add
class _Samples(InferenceMethod):
    kind, rank, takes_increment = "samples", 0, True  # to refuse it with its reason

    @classmethod
    def suits(cls, released: Released) -> bool:
        return isinstance(released.mechanism, ParameterMechanism)

    @classmethod
    def infer(
        cls, released: Released, prior: Any, key: Key, increment: Scalar
    ) -> Posterior:
        mechanism = released.mechanism
        assert isinstance(mechanism, ParameterMechanism)
        if prior is not None or increment != 0:
            raise ValueError(
                "`prior` and `increment` must not be given with released samples, "
                "which were drawn with a prior of their own."
            )
        values, names = mechanism.parameters(released.values), mechanism.parameter_names
        if names is not None:
            return SampledParameters(names, values)
        return SampledPosterior(released.net, jnp.atleast_2d(values))


class _Checked(InferenceMethod):
    """A function for releases that pass a check; chains take a key first."""

    check: ClassVar[Callable[[Released], object]]
    function: ClassVar[Callable[..., Posterior]]
    chains: ClassVar[bool] = False

    @classmethod
    def suits(cls, released: Released) -> bool:
        return _passes(cls.check, released)

    @classmethod
    def infer(
        cls, released: Released, prior: Any, key: Key, increment: Scalar
    ) -> Posterior:
        given = (key, released) if cls.chains else (released,)
        return cls.function(*given) if prior is None else cls.function(*given, prior)


@METHODS.add
class _Exact(_Checked):
    kind, rank = "exact", 10
    check, function = staticmethod(check_exact), staticmethod(exact_posterior)


@METHODS.add
class _Tree(_Checked):
    kind, rank = "exact-tree", 20
    check, function = staticmethod(check_tree), staticmethod(tree_posterior)


@METHODS.add
class _Proportions(_Checked):
    kind, rank = "exact-proportions", 30
    check = staticmethod(check_proportions)
    function = staticmethod(proportions_posterior)


@METHODS.add
class _Estimate(_Checked):
    kind, rank = "point-estimate", 40
    check, function = staticmethod(check_estimate), staticmethod(point_estimate)


@METHODS.add
class _HiddenTotals(_Checked):
    kind, rank, chains = "hidden-totals", 50, True
    check, function = staticmethod(check_family), staticmethod(family_posterior)


@METHODS.add
class _Gibbs(_Checked):
    kind, chains = "gibbs", True
    check = staticmethod(lambda released: (law_of(released), _network(released)))
    function = staticmethod(gibbs_posterior)


@METHODS.add
class _Normal(_Checked):
    kind, chains = "normal", True
    check, function = staticmethod(check_normal), staticmethod(normal_posterior)


@METHODS.add
class _PlugIn(InferenceMethod):
    kind, takes_increment = "plug-in", True

    @classmethod
    def suits(cls, released: Released) -> bool:
        if isinstance(released.statistic, FamilyStatistic):
            return not isinstance(released.mechanism, ParameterMechanism)
        return _passes(_network, released)

    @classmethod
    def infer(
        cls, released: Released, prior: Any, key: Key, increment: Scalar
    ) -> Posterior:
        statistic = released.statistic
        if not isinstance(statistic, FamilyStatistic):
            return plug_in_posterior(
                released, 1.0 if prior is None else prior, increment=increment
            )
        if not (isinstance(increment, int | float) and increment == 0):
            raise ValueError("`increment` must be left out for an exponential family.")
        total, n = statistic.decode(released.values, released.n)
        return conjugate_posterior(statistic.family, total, n, prior)


def _passes(check: Callable[[Released], object], released: Released) -> bool:
    with contextlib.suppress(ValueError):
        check(released)
        return True
    return False


def _network(released: Released) -> object:
    """The network and the statistic, where noisy tables of a network were released."""
    return released.net, released.counted
