"""The one impure door: charges the budget, takes a key from the system, draws."""

__all__ = ["MECHANISMS", "release"]

from collections.abc import Callable
from functools import partial

import jax
import numpy as np
from jaxtyping import Array

from dpjax._checks import one_of
from dpjax._types import Key, Records
from dpjax.columns import Table
from dpjax.graph import BayesNet
from dpjax.mechanisms import DiscreteLaplace
from dpjax.noise.discrete_laplace import LARGEST
from dpjax.privacy import ADJACENCIES, REPLACE_ONE, Epsilon, Ledger
from dpjax.random import release_key
from dpjax.released import Released
from dpjax.schema import as_records
from dpjax.statistics import FamilyCounts, FourierCoefficients, Statistic

MECHANISMS: dict[str, Callable[[BayesNet, str], Statistic]] = {
    "laplace": lambda net, adjacency: FamilyCounts(net),
    "fourier": FourierCoefficients.of_network,
}
"""The statistic that each mechanism's name stands for; the noise is the same."""


def release(
    what: BayesNet | Statistic,
    records: Records | Table,
    *,
    epsilon: Epsilon,
    adjacency: str,
    mechanism: str = "laplace",
    ledger: Ledger | None = None,
) -> Released:
    """Publish a private posterior of a Bayesian network, with exact integer noise.

    Args:
        what: the network; or a statistic, for a choice other than the mechanism's own.
        records: encoded records (`Schema.encode`), or a table whose columns are the
            network's variables.
        epsilon: the privacy loss to spend, > 0: "0.5", Fraction(1, 2), or 0.5, which
            means its shortest decimal.
        adjacency: "replace-one" (n is public) or "add-remove" (n is private).
        mechanism: "laplace", noise on the posterior updates, or "fourier", noise on
            their Fourier coefficients, so that all tables agree. Of no effect where
            `what` is a statistic.
        ledger: charged before anything is drawn.

    Returns:
        The noisy statistic with everything needed to use and to verify it.

    Privacy:
        ε-DP, exactly, for the adjacency. The key has 256 bits from the operating system
        and is not kept. Errors about records depend on them: for the curator's eyes
        only, like the time and the memory it takes.

    Raises:
        ValueError: if an argument is not valid, the table is empty under replace-one,
            there are more than 2^29 records, or this is inside `jit` or `vmap`.
        BudgetExceeded: if the ledger has less left; the records are not touched.
    """
    one_of(tuple(MECHANISMS), mechanism=mechanism)
    one_of(ADJACENCIES, adjacency=adjacency)
    statistic = (
        MECHANISMS[mechanism](what, adjacency) if isinstance(what, BayesNet) else what
    )
    noise = DiscreteLaplace.calibrate(epsilon, statistic.sensitivity(adjacency))
    if ledger is not None:
        ledger.require(noise.guarantee())
    encoded = as_records(records, statistic.variables)
    _refuse_traced(encoded)
    n = encoded.shape[0]
    if n > LARGEST:
        raise ValueError(f"`records` must be at most 2^29 = {LARGEST} for exact noise.")
    if n == 0 and adjacency == REPLACE_ONE:
        raise ValueError(
            "`records` must not be empty under replace-one, where n is public and no "
            "record can be replaced; under add-remove they may be."
        )
    if ledger is not None:
        kind = statistic.describe()["kind"]
        ledger.charge(
            noise.guarantee(), f"{kind} of {len(statistic.variables)} variables"
        )
    values = _draw(release_key(), noise, _measure(encoded, statistic))
    return Released(values, statistic, noise, n if adjacency == REPLACE_ONE else None)


def _refuse_traced(records: Array) -> None:
    """Compiled or mapped code would draw once and use that noise again and again."""
    try:
        np.asarray(records[:0])
    except jax.errors.TracerArrayConversionError:
        raise ValueError(
            "`release` must be called outside of `jit` and `vmap`: studies draw with "
            "`mechanism.sample(key, exact)` there."
        ) from None


@partial(jax.jit, static_argnames="statistic")
def _measure(records: Array, statistic: Statistic) -> Array:
    return statistic.measure(records)


@jax.jit
def _draw(key: Key, mechanism: DiscreteLaplace, exact: Array) -> Array:
    return mechanism.sample(key, exact)
