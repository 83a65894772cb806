"""Gibbs sampling of the tables and hidden records, given a network's release."""

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
    check_proposals,
    gibbs_start,
    gibbs_step,
    highest_total,
    law_scale,
)
from dpjax.posteriors.laws import joint_law_of
from dpjax.posteriors.priors import Prior, flat_prior
from dpjax.releases.released import Released
from dpjax.statistics import TableStatistic

_SPARE = 16  # noise scales above the released totals: the density is smaller by e^-16
_ROUND = 64  # capacities are multiples of this, to reuse compiled programs
_SQUARES = 128  # proposals for each squared noise scale: cells move by several scales
_SWEEPS = 16  # in which there are as many proposals as hidden records, or more
_highest = partial(jax.jit, static_argnames="scales")(highest_total)
_scale = jax.jit(lambda released: law_scale(released).max())


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
    proposals: int | None = None,
) -> ChainPosterior:
    r"""Draw a network's tables from their posterior given a release, by Gibbs sampling.

    The chains draw the hidden exact records as well as the tables; `gibbs_step`
    describes a sweep. The finite length of the chains is the only approximation (see
    `ChainPosterior.diagnostics`). If the noise is much larger than the sampling error
    of the counts, draws are strongly autocorrelated. If ε is large, few proposed
    records are accepted, but each has an acceptance probability of at least
    $e^{-\epsilon}$ ($e^{-2\epsilon}$ under add-remove). On a CPU, a sweep evaluates the
    noise's log-density 2km times (3nm under add-remove) for k proposals, n records and
    m released numbers.

    Args:
        key: typed JAX key.
        released: noisy counts, contrasts or Fourier coefficients of a network, by
            Laplace or K-norm noise. Releases stacked along leading axes need `vmap`.
        prior: Dirichlet parameter of all cells, > 0; or a dictionary from variable name
            to a table of parameters. Under add-remove, the number n of records has a
            flat prior on n ≥ 0.
        chains: number of chains, run in parallel, from dispersed starts.
        warmup: number of discarded first sweeps of each chain.
        sweeps: number of further sweeps of each chain.
        thin: interval between kept sweeps; it must divide `sweeps`.
        capacity: largest number of hidden records. None means n if it is public,
            otherwise 16 noise scales more than the largest released total of a table.
            Required under `jit` or `vmap` if the release is traced.
        proposals: number of hidden records that a sweep proposes to replace. None means
            all of them; but if n is public, only as many as change a count by several
            times its noise, and at least a sixteenth, unless the release is traced.
            Must be None under add-remove.

    Privacy:
        Post-processing has no privacy cost, and may be repeated with other priors.

    Raises:
        ValueError: if an argument is out of its range, the prior has the wrong shape,
            the distribution of the noise is not known, the release is not of noisy
            counts or coefficients of a network, or n reaches the capacity after warm-up
            (under `vmap`, `reports["full"]` is true instead).
    """
    typed_key(key=key)
    whole(1, chains=chains, sweeps=sweeps, thin=thin)
    whole(0, warmup=warmup)
    if sweeps % thin:
        raise ValueError(f"`thin` must divide `sweeps`, {sweeps}, got {thin}.")
    check_gibbs(released)
    sizes = {"chains": chains, "warmup": warmup, "sweeps": sweeps, "thin": thin}
    settings = (*sizes.items(), ("capacity", capacity), ("proposals", proposals))
    sampler = ChainSampler("gibbs", gibbs_posterior, settings)
    flat = flat_prior(released.net, prior)
    most = _capacity(released, capacity)
    fewest = _proposals(released, proposals)
    reports, theta, statistic, n = _run(
        key, released, flat, most, proposals=fewest, **sizes
    )
    _refuse_full(reports["full"], most)
    return ChainPosterior(released, flat, theta, statistic, n, reports, sampler)


def check_gibbs(released: Released) -> tuple[BayesNet, TableStatistic]:
    """Return the network and statistic of a release that `gibbs_posterior` accepts.

    A release that `gibbs_posterior` does not accept raises `ValueError`.
    """
    joint_law_of(released)
    return released.net, released.counted


@partial(
    jax.jit,
    static_argnames=("capacity", "chains", "warmup", "sweeps", "thin", "proposals"),
)
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
    proposals: int | None,
) -> tuple[dict[str, Array], Array, Array, Array]:
    warmup = -(-warmup // thin)  # number of discarded draws
    draws = warmup + sweeps // thin

    def one_sweep(carried, _):
        key, state = carried
        key, key_step = jr.split(key)
        state, info = gibbs_step(key_step, state, released, prior, proposals=proposals)
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


def _proposals(released: Released, proposals: int | None) -> int | None:
    check_proposals(proposals, released)
    if proposals is not None or released.n is None:
        return proposals
    try:
        scale, n = float(_scale(released)), int(released.n)
    except jax.errors.ConcretizationTypeError:
        return None
    least = max(_SQUARES * scale**2, n / _SWEEPS, 1)
    # A power of two, to reuse compiled programs.
    number = 1 << int(np.ceil(np.log2(least)))
    return number if number < n else None


def _refuse_full(full: Array, capacity: int) -> None:
    with contextlib.suppress(jax.errors.ConcretizationTypeError):
        if full:
            raise ValueError(
                "`capacity` must be larger than the number of hidden records ever is, "
                f"got {capacity}, which a chain reached: give a larger one."
            )
