"""Gibbs sampling of the parameters and hidden records behind a network's release."""

__all__ = ["check_gibbs", "gibbs_posterior"]

import contextlib
from functools import partial

import jax
import jax.random as jr
import numpy as np
from jax import lax
from jaxtyping import Array

from dpjax._checks import typed_key, whole
from dpjax._types import Key
from dpjax.data.bayes_net import BayesNet
from dpjax.posteriors.gibbs.chain_posterior import ChainPosterior, ChainSampler
from dpjax.posteriors.gibbs.latent_records import (
    check_capacity,
    gibbs_start,
    gibbs_step,
    highest_total,
)
from dpjax.posteriors.laws import law_of
from dpjax.posteriors.priors import Prior, flat_prior
from dpjax.releases.released import Released
from dpjax.statistics import TableStatistic

_SPARE = 16  # noise scales above the released totals: the density is smaller by e^-16
_ROUND = 64  # capacities are multiples of this, to reuse compiled programs
_highest = partial(jax.jit, static_argnames="scales")(highest_total)


def gibbs_posterior(
    key: Key,
    released: Released,
    prior: Prior = 1.0,
    *,
    chains: int = 4,
    warmup: int = 1000,
    sweeps: int = 4000,
    thin: int = 4,
    capacity: int | None = None,
) -> ChainPosterior:
    r"""The posterior of a network given a noisy release, by Gibbs sampling.

    The exact records are unknowns, as the parameters are; `gibbs_step` describes a
    sweep. The finite length of the chains is the only approximation (see
    `diagnostics`). If the noise is much larger than the sampling error of the counts,
    draws are strongly autocorrelated. If ε is large, few proposals are accepted, but at
    least a share $e^{-\epsilon}$ ($e^{-2\epsilon}$ under add-remove). A sweep evaluates
    the law of the noise 2nm times (3nm under add-remove) for n records and m components
    of the statistic.

    Args:
        key: typed JAX key.
        released: noisy counts or coefficients for a network. Releases stacked along
            leading axes need `vmap`.
        prior: Dirichlet parameter of every cell, > 0; or a table for each variable.
            Under add-remove the number of records has a flat prior on n ≥ 0.
        chains: number of chains, run in parallel, from dispersed starts.
        warmup: number of discarded first sweeps of each chain.
        sweeps: number of further sweeps of each chain.
        thin: every `thin`-th sweep is kept.
        capacity: the largest number of hidden records. None: n if it is public,
            otherwise 16 noise scales above the released totals. Required under `jit` or
            `vmap` if the release is traced.

    Privacy:
        Post-processing: costs nothing, and may be repeated with other priors.

    Raises:
        ValueError: if an argument is out of its range, the prior has the wrong shape,
            the mechanism has no law for its output, the release is not for a network,
            or n reaches the capacity after warm-up (under `vmap`, `reports["full"]`
            is true instead).
    """
    typed_key(key=key)
    whole(1, chains=chains, sweeps=sweeps, thin=thin)
    whole(0, warmup=warmup)
    if sweeps % thin:
        raise ValueError(f"`thin` must divide `sweeps`, {sweeps}, got {thin}.")
    check_gibbs(released)
    sizes = {"chains": chains, "warmup": warmup, "sweeps": sweeps, "thin": thin}
    settings = (*sizes.items(), ("capacity", capacity))
    sampler = ChainSampler("gibbs", gibbs_posterior, settings)
    flat = flat_prior(released.net, prior)
    most = _capacity(released, capacity)
    reports, theta, statistic, n = _run(key, released, flat, most, **sizes)
    _refuse_full(reports["full"], most)
    return ChainPosterior(released, flat, theta, statistic, n, reports, sampler)


def check_gibbs(released: Released) -> tuple[BayesNet, TableStatistic]:
    """The network and the statistic of a release, if `gibbs_posterior` suits it.

    Raises:
        ValueError: if it does not, with the reason.
    """
    law_of(released)
    return released.net, released.counted


@partial(jax.jit, static_argnames=("capacity", "chains", "warmup", "sweeps", "thin"))
def _run(
    key: Key,
    released: Released,
    prior: Array,
    capacity: int,
    *,
    chains: int,
    warmup: int,
    sweeps: int,
    thin: int,
) -> tuple[dict[str, Array], Array, Array, Array]:
    """Run all chains in one compiled program, with one loop over sweeps."""
    warmup = -(-warmup // thin)  # number of discarded draws
    draws = warmup + sweeps // thin

    def one_sweep(carried, _):
        key, state = carried
        key, key_step = jr.split(key)
        state, info = gibbs_step(key_step, state, released, prior)
        return (key, state), info

    def one_draw(carried, _):
        carried, info = lax.scan(one_sweep, carried, length=thin)
        state = carried[1]
        return carried, (state.theta, state.statistic, state.n, info)

    def one_chain(key):
        key_start, key_sweeps = jr.split(key)
        start = gibbs_start(key_start, released, prior, capacity)
        kept = lax.scan(one_draw, (key_sweeps, start), length=draws)[1]
        return jax.tree.map(lambda x: x[warmup:], kept)

    theta, statistic, n, info = jax.vmap(one_chain)(jr.split(key, chains))
    acceptance = info.acceptance.mean(axis=(1, 2))
    reports = {"acceptance": acceptance, "full": info.full.any()}
    return reports, theta, statistic, n


def _capacity(released: Released, capacity: int | None) -> int:
    """The largest number of hidden records, from public values."""
    if capacity is not None:
        check_capacity(capacity, released)
        return capacity
    try:
        if released.n is not None:
            return max(int(released.n), 1)
        most = float(_highest(released, _SPARE))
        return _ROUND * max(1, int(np.ceil(most / _ROUND)))
    except jax.errors.ConcretizationTypeError:
        raise ValueError(
            "`capacity` must be given where the release is traced, under `jit` or "
            "`vmap`, got None."
        ) from None


def _refuse_full(full: Array, capacity: int) -> None:
    with contextlib.suppress(jax.errors.ConcretizationTypeError):
        if full:
            raise ValueError(
                "`capacity` must be larger than the number of hidden records ever is, "
                f"got {capacity}, which a chain reached: give a larger one."
            )
