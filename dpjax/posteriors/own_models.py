"""Releases in NumPyro models: the law of their numbers, and updates of hidden records.

A model has hidden exact numbers, or hidden records, and observes a release.
"""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array, ArrayLike, Float, Real

from dpjax._checks import brief
from dpjax._products import matmul
from dpjax._types import Scalar
from dpjax.distributions import NoisyNumbers
from dpjax.families import Family
from dpjax.posteriors.laws import family_statistic, joint_law_of
from dpjax.releases.released import Released

Sites = Mapping[str, Array]


def release_law(released: Released, exact: Real[Array, "*batch m"]) -> NoisyNumbers:
    """Return the NumPyro distribution of a release's numbers, given the exact ones.

    In a model, `numpyro.sample("release", release_law(released, exact), obs=
    released.values)` observes the release. `exact` may be a real vector, such as a
    normal approximation of the hidden statistic.

    Args:
        released: a release of noisy statistics, whose mechanism has a known law.
        exact: the exact statistic, as `released.statistic.measure` returns it.

    Privacy:
        Post-processing of a release has no privacy cost.

    Raises:
        ValueError: if the law of the release is not known, or `exact` does not have the
            length of the statistic.
    """
    law, exact = joint_law_of(released), jnp.asarray(exact, float)
    if exact.shape[-1:] != (released.statistic.length,):
        raise ValueError(
            f"`exact` must have the {released.statistic.length} numbers of the "
            f"statistic on its last axis, got shape {exact.shape}."
        )
    return NoisyNumbers(law, exact)


def release_law_of_total(
    released: Released, total: Real[Array, "*batch s"], n: Scalar | None = None
) -> NoisyNumbers:
    """Return `release_law` for a family, given the exact total in the data's units.

    Args:
        released: a release of the sufficient statistics of a family.
        total: the sum over records of `family.statistics`, as
            `released.statistic.decode` returns it.
        n: the number of records. None: the public number.

    Privacy:
        Post-processing of a release has no privacy cost.

    Raises:
        ValueError: if the release is not of a family, or n is private and not given;
            and as for `release_law`.
    """
    statistic = family_statistic(released)
    given = released.n if n is None else n
    if given is None:
        raise ValueError("`n` must be given, since the number is private here.")
    scales = jnp.reshape(jnp.asarray(statistic.family.scales(), float), (-1,))
    scaled = jnp.asarray(total, float) / scales
    return release_law(released, statistic.encode(scaled, given))


def total_of(
    family: Family,
    records: Real[Array, "k d"],
    n: Scalar,
    weights: Float[ArrayLike, " k"] | None = None,
) -> tuple[Float[Array, " s"], Float[Array, "s s"]]:
    """Return moments of the total of n records that are distributed as k records.

    In a model, `mean + root @ z` with independent standard normal numbers z is a normal
    approximation of the total of `family.statistics`, for `release_law_of_total`. The k
    records stand for the distribution of one record under the model's parameters: they
    are a function of the parameters and of fixed nodes, such as those of Gaussian
    quadrature, so that the moments have derivatives. Random nodes would have chance
    correlations, which bias the result. The records are clipped to the family's bounds,
    as released records are.

    Args:
        family: the exponential family.
        records: records of the model, at least as many as the family has statistics.
        n: the number of records of which the total is wanted.
        weights: probabilities of the k records, which sum to 1. None: equal ones.

    Returns:
        The mean of the total, and the lower Cholesky factor of its covariance.
    """
    statistics = family.statistics(records)
    equal = jnp.full(len(records), 1 / len(records))
    each = equal if weights is None else jnp.asarray(weights, statistics.dtype)
    mean = matmul(each, statistics)
    apart = (statistics - mean[None]) * jnp.sqrt(each)[:, None]
    covariance = matmul(apart.T, apart)
    least = 1e-6 * jnp.diagonal(covariance) + jnp.finfo(mean.dtype).tiny
    root = jnp.linalg.cholesky(covariance + jnp.diag(least))
    n = jnp.asarray(n, float)
    return n * mean, jnp.sqrt(n) * root


def record_updates(
    released: Released,
    draw: Callable[[Array, Sites, int], Real[Array, "n d"]],
    *,
    site: str = "records",
) -> Callable[[Array, Sites, Sites], Sites]:
    """Make a function that updates the hidden records of a NumPyro model by a release.

    Give it to `numpyro.infer.HMCGibbs` as `gibbs_fn`, with the site of the records in
    `gibbs_sites`. The model itself has the records as a site, and not the release. In
    each turn every record is proposed to be another record of the model, and accepted
    by the law of the release alone (data augmentation).

    Args:
        released: a release of any statistic, whose mechanism has a known law; the
            number of records n must be public.
        draw: function from a key, the values of the other sites and n to n records of
            the model, as `released.statistic.measure` takes them. It must draw them
            independently from the model's distribution of records.
        site: name of the site of the records.

    Privacy:
        Post-processing of a release has no privacy cost.

    Raises:
        ValueError: if the law of the release is not known, or n is private.

    Reference:
        Ju, Awan, Gong & Rao (NeurIPS 2022).
    """
    law, statistic = joint_law_of(released), released.statistic
    if released.n is None:
        raise ValueError(
            "`released` must have a public number of records, got one of "
            f"{brief(released.adjacency)}: use `release_law`."
        )
    n, noisy = int(released.n), jnp.asarray(released.values, float)
    each = jax.vmap(lambda record: statistic.measure(record[None]).astype(float))

    def update(
        rng_key: Array, gibbs_sites: Sites, hmc_sites: Sites
    ) -> dict[str, Array]:
        key_records, key_choice = jr.split(rng_key)
        old = gibbs_sites[site]
        new = draw(key_records, hmc_sites, n).astype(old.dtype)
        before, after = each(old), each(new)
        uniforms = jr.uniform(key_choice, (n,), before.dtype)

        def one(total: Array, step: Any) -> tuple[Array, Array]:
            minus, plus, uniform = step
            moved = total - minus + plus
            accepted = jnp.log(uniform) < law.gain(noisy, total, moved)
            return jnp.where(accepted, moved, total), accepted

        _, accepted = lax.scan(one, before.sum(axis=0), (before, after, uniforms))
        chosen = accepted.reshape(-1, *[1] * (old.ndim - 1))
        return {site: jnp.where(chosen, new, old)}

    return update
