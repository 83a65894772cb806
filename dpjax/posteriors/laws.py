"""Checks of a release's noise distribution and statistic, for inference."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from dpjax.mechanisms import MechanismWithJointLaw, MechanismWithLaw
from dpjax.noise import LaplaceLaw, NoiseLaw
from dpjax.releases.released import Released
from dpjax.statistics import TableStatistic
from dpjax.statistics.family_statistic import FamilyStatistic
from dpjax.tables.layout import maximal_groups


def law_of(released: Released) -> MechanismWithLaw:
    """Return a release's mechanism, whose output must have a known distribution.

    Raises:
        ValueError: if the mechanism is not a `MechanismWithLaw`, numbers do not fit 32
            bits, or the network has impossible combinations.
    """
    refuse_wide(released)
    mechanism = released.mechanism
    if not isinstance(mechanism, MechanismWithLaw):
        raise ValueError(
            "`released` must be of a mechanism with a law for its output, "
            f"such as DiscreteLaplace or Laplace, got {type(mechanism).__name__}."
        )
    return mechanism


def family_statistic(released: Released) -> FamilyStatistic:
    """Return a release's statistic; `ValueError` unless it is that of a family."""
    statistic = released.statistic
    if not isinstance(statistic, FamilyStatistic):
        raise ValueError(
            "`released` must be of the sufficient statistics of a family, got "
            f"{statistic.kind}."
        )
    return statistic


def joint_law_of(released: Released) -> MechanismWithJointLaw:
    """Return a mechanism for the joint distribution of a release's numbers.

    Its budget is an array, so that releases at several budgets share a program.

    Raises:
        ValueError: if the joint distribution is not known, or as for `law_of`.
    """
    refuse_wide(released)
    mechanism = released.mechanism.for_studies()
    if not isinstance(mechanism, MechanismWithJointLaw):
        raise ValueError(
            "`released` must be of a mechanism with a law for its output, "
            "such as DiscreteLaplace or FamilyKNorm, got "
            f"{type(released.mechanism).__name__}."
        )
    return mechanism


def refuse_wide(released: Released) -> None:
    """Raise `ValueError` for numbers beyond 32 bits or impossible combinations."""
    if released.is_wide:
        raise ValueError(
            "`released` must have numbers up to 2^29 for noise-aware methods, which "
            "round larger ones by more than the noise: use the method 'plug-in'."
        )
    if released.statistic.zeros is not None:
        released.net.refuse_impossible("noise-aware methods")


def laplace_law(released: Released) -> LaplaceLaw:
    """Return the Laplace distribution of the noise of every released number.

    Raises:
        ValueError: if the noise has another distribution.
    """
    noise = _noise(released)
    law = None if noise is None else noise.as_laplace()
    if law is None:
        raise ValueError(
            "`released` must have Laplace noise, got "
            f"{type(released.mechanism).__name__}: `gibbs_posterior` takes any law."
        )
    return law


def noise_of(released: Released) -> NoiseLaw:
    """Return the distribution of the independent noise of every released number.

    Raises:
        ValueError: if the numbers do not have such noise.
    """
    noise = _noise(released)
    if noise is None:
        raise ValueError(
            "`released` must have independent noise with a known distribution, got "
            f"{type(released.mechanism).__name__}."
        )
    return noise


def laplace_scale(released: Released) -> Float[Array, "*batch m"]:
    """Scale of each number's Laplace noise; raises the errors of `laplace_law`."""
    return 1 / jnp.asarray(laplace_law(released).rate)


def normal_deviation(released: Released) -> Float[Array, "*batch m"] | None:
    """Return each number's standard deviation if the noise is normal, else None."""
    noise = _noise(released)
    return None if noise is None else noise.normal_deviation()


def _noise(released: Released) -> NoiseLaw | None:
    return law_of(released).noise(jnp.shape(released.values))


def network_counts(released: Released) -> TableStatistic | None:
    """Return a release's statistic, if its tables are the node tables of a network.

    A node table counts a variable with its parents. The result is None if a node table
    is neither measured nor a part of a measured one, or if other tables are measured.
    """
    statistic = released.statistic
    if not isinstance(statistic, TableStatistic):
        return None
    net, measured = statistic.network, statistic.measured
    if net is None or measured is None:
        return None
    groups = set(measured.groups)
    wanted = set(maximal_groups(net.families)) <= groups <= set(net.families)
    return statistic if wanted else None
