"""Releases and priors of the parts of a network with numeric leaves."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr

from dpjax._types import Key
from dpjax.data.bayes_net import BayesNet
from dpjax.data.mixed_net import MixedNet
from dpjax.families import Gaussian, NormalInverseGammaParameters
from dpjax.families.conjugate_base import as_arrays
from dpjax.mechanisms import ParameterMechanism
from dpjax.posteriors.base import NetworkPosterior
from dpjax.posteriors.laws import noise_of
from dpjax.posteriors.mixed.leaves import USUAL, NumbersWithNoise, leaf_posteriors
from dpjax.posteriors.mixed.posterior import MixedPosterior
from dpjax.posteriors.random_fields import field
from dpjax.releases.released import Released
from dpjax.statistics import MixedTotals

Tables = Callable[[Key, Released, Any], NetworkPosterior]
"""Function from a key, a release of counts and a prior to the posterior of tables."""


def is_mixed(released: Released) -> bool:
    """Return whether a release is of `MixedTotals`, with noise on every number."""
    mixed = isinstance(released.statistic, MixedTotals)
    return mixed and not isinstance(released.mechanism, ParameterMechanism)


def network_of(released: Released) -> BayesNet | MixedNet:
    """Return the network of a release, with its numeric leaves, or of its random field.

    Raises:
        ValueError: if the release is neither for a network nor of marginal tables.
    """
    statistic = released.statistic
    mixed = isinstance(statistic, MixedTotals)
    return statistic.net if mixed else field.network_of(released)


def posterior_of_parts(
    key: Key,
    released: Released,
    prior: Any,
    tables: Tables,
    *,
    aware: bool,
    sizes: tuple[int, int, int] = USUAL,
) -> MixedPosterior:
    """Infer the tables by the function `tables`, and each leaf.

    The arguments and errors are those of `mixed_posterior`. If not `aware`, the noise
    is ignored. `sizes` are those of the chains of leaves (`leaf_posteriors`).
    """
    if not is_mixed(released):
        raise ValueError(
            "`released` must be of a network with numeric leaves, got "
            f"{released.statistic.kind}."
        )
    key_tables, key_leaves = jr.split(key)
    of_tables, of_leaves = _split_prior(released, prior)
    return MixedPosterior(
        released,
        tables(key_tables, counts_of(released), of_tables),
        leaf_posteriors(key_leaves, released, of_leaves, aware=aware, sizes=sizes),
        of_leaves,
    )


def counts_of(released: Released) -> Released:
    """Return the release of the counts alone, in units of records."""
    statistic: Any = released.statistic
    law = noise_of(released).of(slice(statistic.counts.length))
    noise = NumbersWithNoise(law.continuous(statistic.steps), released.mechanism)
    counts, _ = statistic.split(jnp.asarray(released.values, float))
    return Released(counts, statistic.counts, noise, released.n)


def _split_prior(
    released: Released, prior: Any
) -> tuple[Any, dict[str, NormalInverseGammaParameters]]:
    """Return the prior of the tables, and arrays for every leaf."""
    statistic: Any = released.statistic
    net = statistic.net
    given = dict(prior) if isinstance(prior, Mapping) else {}
    leaves = {}
    for i, leaf in enumerate(net.leaves):
        family = Gaussian(leaf.lower, leaf.upper)
        chosen = given.pop(leaf.name, family.prior())
        parameters = family.posterior(chosen).parameters  # raises if not positive
        shape = net.shape(i)
        try:
            leaves[leaf.name] = jax.tree.map(
                lambda x, s=shape: jnp.broadcast_to(x, s), as_arrays(parameters)
            )
        except ValueError:
            raise ValueError(
                f"`prior` of {leaf.name!r:.80} must be numbers or arrays of shape "
                f"{shape}, one number for each row."
            ) from None
    rest = (given or None) if isinstance(prior, Mapping) else prior
    return (1.0 if rest is None else rest), leaves
