"""The methods of inference from which `posterior` chooses."""

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
from dpjax.posteriors.estimate.point_estimate import (
    check_estimate,
    is_slow,
    point_estimate,
)
from dpjax.posteriors.estimate.separate_tables import (
    check_separate_tables,
    separate_tables,
)
from dpjax.posteriors.exact.clipped import check_clipped, clipped_posterior
from dpjax.posteriors.exact.exact_posterior import check_exact, exact_posterior
from dpjax.posteriors.exact.proportions import check_proportions, proportions_posterior
from dpjax.posteriors.exact.tree_posterior import check_tree, tree_posterior
from dpjax.posteriors.gibbs.gibbs import check_gibbs, gibbs_posterior
from dpjax.posteriors.gibbs.normal_model import check_normal, normal_posterior
from dpjax.posteriors.hidden_totals.family_posterior import family_posterior
from dpjax.posteriors.hidden_totals.total_walk import check_family
from dpjax.posteriors.mixed.parts import is_mixed, posterior_of_parts
from dpjax.posteriors.plug_in import PlugInPosterior, plug_in_posterior
from dpjax.posteriors.random_fields.field import network_of
from dpjax.posteriors.random_fields.posterior import (
    check_field,
    field_posterior,
)
from dpjax.posteriors.sampled import SampledPosterior
from dpjax.posteriors.sampled_parameters import SampledParameters
from dpjax.releases.released import Released
from dpjax.statistics import FamilyStatistic


class InferenceMethod(abc.ABC):
    """A method that computes a posterior distribution from a release.

    To extend `posterior` by a method, define a subclass and add it to `METHODS`.
    """

    kind: ClassVar[str]
    """Name of the method, which is also the property `method` of its posteriors."""

    rank: ClassVar[float | None] = None
    """Position in the order of `posterior`; None if it must be named to be used."""

    takes_increment: ClassVar[bool] = False
    """Whether the method accepts an `increment` other than 0."""

    learns_prior: ClassVar[bool] = False
    """Whether the method accepts the prior "hierarchical"."""

    @classmethod
    @abc.abstractmethod
    def suits(cls, released: Released) -> bool:
        """Return whether the method can be used for a release, at a low cost."""

    @classmethod
    def is_slow(cls, released: Released) -> bool:
        """Return whether `posterior` tries all other methods that suit before it."""
        return False

    @classmethod
    @abc.abstractmethod
    def infer(
        cls, released: Released, prior: Any, key: Key, increment: Scalar
    ) -> Posterior:
        """Compute the posterior distribution of a model's parameters, given a release.

        Args:
            released: a release that the method suits.
            prior: the argument of `posterior`. None means the method's default prior.
            key: key for Markov chains.
            increment: the argument of `posterior`, 0 unless `takes_increment` is true.

        Raises:
            TooExpensive: if the cost exceeds a limit; `posterior` then tries the next
                method, unless this method was named.
        """


METHODS: Registry[InferenceMethod] = Registry(InferenceMethod, "method")
"""Registry of the methods of inference, from method name to class."""


@METHODS.add
class _Samples(InferenceMethod):
    kind, rank, takes_increment = "samples", 0, True  # `infer` refuses it

    @classmethod
    def suits(cls, released: Released) -> bool:
        return isinstance(released.mechanism, ParameterMechanism)

    @classmethod
    def infer(
        cls, released: Released, prior: Any, key: Key, increment: Scalar
    ) -> Posterior:
        if prior is not None or increment != 0:
            raise ValueError(
                "`prior` and `increment` must not be given with released samples, "
                "which were drawn with a prior of their own."
            )
        mechanism = released.mechanism
        assert isinstance(mechanism, ParameterMechanism)
        values, statistic = mechanism.parameters(released.values), released.statistic
        shapes = mechanism.parameter_shapes
        if shapes is not None or isinstance(statistic, FamilyStatistic):
            shapes = shapes or {"probability": (statistic.length,)}
            values = jnp.atleast_2d(values)
            names, sizes = tuple(shapes), tuple(shapes.values())
            return SampledParameters(names, values, statistic, sizes)
        return SampledPosterior(released.net, jnp.atleast_2d(values))


def _add(
    name: str,
    place: int | None,
    check: Callable[[Released], object],
    function: Callable[..., Posterior],
    chains: bool = False,
    slow: Callable[[Released], bool] = lambda released: False,
    learns: bool = False,
) -> None:
    """Add a method that calls `function`, with a key as first argument if `chains`."""

    class Checked(InferenceMethod):
        kind, rank, learns_prior = name, place, learns

        @classmethod
        def suits(cls, released: Released) -> bool:
            return passes(check, released)

        @classmethod
        def is_slow(cls, released: Released) -> bool:
            return slow(released)

        @classmethod
        def infer(
            cls, released: Released, prior: Any, key: Key, increment: Scalar
        ) -> Posterior:
            given = (key, released) if chains else (released,)
            return function(*given) if prior is None else function(*given, prior)

    METHODS.add(Checked)


_add("exact", 10, check_exact, exact_posterior)
_add("exact-tree", 20, check_tree, tree_posterior)
_add("exact-proportions", 30, check_proportions, proportions_posterior)
_add("exact-clipped", 35, check_clipped, clipped_posterior)
_add("point-estimate", 40, check_estimate, point_estimate, slow=is_slow, learns=True)
_add("separate-tables", 45, check_separate_tables, separate_tables)
_add("random-field", 47, check_field, field_posterior, chains=True)
_add("hidden-totals", 50, check_family, family_posterior, chains=True)
_add("gibbs", None, check_gibbs, gibbs_posterior, chains=True)
_add("normal", None, check_normal, normal_posterior, chains=True)


@METHODS.add
class _PlugIn(InferenceMethod):
    kind, takes_increment = "plug-in", True

    @classmethod
    def suits(cls, released: Released) -> bool:
        if isinstance(released.statistic, FamilyStatistic):
            return not isinstance(released.mechanism, ParameterMechanism)
        if is_mixed(released):
            return True
        return passes(lambda released: network_of(released).layout, released)

    @classmethod
    def infer(
        cls, released: Released, prior: Any, key: Key, increment: Scalar
    ) -> Posterior:
        statistic = released.statistic
        flat = 1.0 if prior is None else prior
        if is_mixed(released):
            _refuse_increment(increment, "a network with numeric leaves")
            return posterior_of_parts(key, released, prior, _tables, aware=False)
        if statistic.network is None and not isinstance(statistic, FamilyStatistic):
            _refuse_increment(increment, "marginal tables without a network")
            return field_posterior(key, released, flat, noise_aware=False)
        if not isinstance(statistic, FamilyStatistic):
            return plug_in_posterior(released, flat, increment=increment)
        _refuse_increment(increment, "an exponential family")
        total, n = statistic.decode(jnp.asarray(released.values), released.n)
        return conjugate_posterior(statistic.family, total, n, prior)


def _tables(key: Key, released: Released, prior: Any) -> PlugInPosterior:
    return plug_in_posterior(released, prior)


def _refuse_increment(increment: Scalar, what: str) -> None:
    if not (isinstance(increment, int | float) and increment == 0):
        raise ValueError(f"`increment` must be left out for {what}.")


def passes(check: Callable[[Any], object], released: Any) -> bool:
    """Return whether `check` raises no `ValueError` for a release, or for several."""
    with contextlib.suppress(ValueError):
        check(released)
        return True
    return False
