"""All walks of one posterior in one program, and what they are mixed from."""

__all__ = ["check_family", "infer"]

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array

from dpjax._types import Key
from dpjax.families import Family
from dpjax.families.conjugate import with_parameters
from dpjax.posteriors.families.total_moves import TotalMoves
from dpjax.posteriors.families.total_walk import walk
from dpjax.posteriors.families.totals import LAWS
from dpjax.posteriors.laws import law_of
from dpjax.releases.released import Released
from dpjax.statistics import FamilyStatistic


def infer(
    key: Key, released: Released, prior: Any, chains: int, warmup: int, draws: int
) -> tuple[Family, Any, tuple[Any, Array, Array, Array]]:
    """The family, its prior as arrays, and what was drawn.

    That is the fields of `NoiseAwareFamilyPosterior` from `parameters` on.

    Raises:
        ValueError: see `dpjax.posteriors.family_posterior`.
    """
    statistic = check_family(released)
    family = statistic.family
    prior = family.vague_prior() if prior is None else prior
    prior = with_parameters(family, prior).parameters
    moves = TotalMoves(statistic)
    _check_number(released, moves)
    return family, prior, _infer(key, released, prior, moves, chains, warmup, draws)


def check_family(released: Released) -> FamilyStatistic:
    """The statistic of a release that `family_posterior` is for.

    Raises:
        ValueError: if it is not, with the reason.
    """
    law_of(released)
    statistic = released.statistic
    if not isinstance(statistic, FamilyStatistic):
        raise ValueError(
            "`released` must be of the sufficient statistics of an exponential family, "
            f"got {statistic.describe()['kind']}."
        )
    if type(statistic.family) not in LAWS:
        raise ValueError(
            "`released` must be of a family with a law for its total, got "
            f'{statistic.family.name}: use `posterior(…, method="plug-in")`.'
        )
    return statistic


def _check_number(released: Released, moves: TotalMoves) -> None:
    """Where n is public and not traced."""
    try:
        n = np.inf if released.n is None else np.asarray(released.n)
    except jax.errors.TracerArrayConversionError:
        return
    if np.any(n < moves.fewest):
        raise ValueError(
            f"`released` must be of at least {moves.fewest} records, got "
            f"{released.n}: their total has no density, or the prior is all there is."
        )


@eqx.filter_jit
def _infer(
    key: Key,
    released: Released,
    prior: Any,
    moves: TotalMoves,
    chains: int,
    warmup: int,
    draws: int,
) -> tuple[Any, Array, Array, Array]:
    """All chains in one program."""
    noisy, mechanism = released.values.astype(float), law_of(released)
    family = moves.statistic.family

    def chain(key, share):
        return walk(
            key, noisy, mechanism, released.n, prior, share,
            moves=moves, warmup=warmup, draws=draws,
        )  # fmt: skip

    shares = jnp.linspace(0.02, 0.3, chains)
    seen = jax.vmap(chain)(jr.split(key, chains), shares)

    update = jax.vmap(jax.vmap(lambda total, n: family.update(prior, total, n)))
    return update(seen.totals, seen.n), seen.totals, seen.n, seen.accepted
