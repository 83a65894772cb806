"""The function `release`, which charges a ledger and draws private values."""

__all__ = ["measured", "release"]

from collections.abc import Collection, Iterable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Int32

from dpjax._checks import brief
from dpjax._types import Records
from dpjax.data.bayes_net import BayesNet
from dpjax.data.encoding import encode_batches
from dpjax.data.persons import check_id, kept_rows
from dpjax.data.schema import as_records
from dpjax.data.sources import Table, is_in_memory
from dpjax.mechanisms.recipes import Recipe, recipe_of
from dpjax.noise.discrete_laplace import LARGEST
from dpjax.privacy import REPLACE_ONE, Adjacency, Epsilon, Guarantee, Ledger, budget_of
from dpjax.releases.released import Released
from dpjax.statistics import Statistic, TableStatistic
from dpjax.tables.counts import sum_batches


def release(
    what: BayesNet | Statistic,
    table: Records | Table,
    *,
    epsilon: Epsilon | None = None,
    adjacency: Adjacency | None = None,
    budget: Guarantee | None = None,
    contributions: int | None = None,
    id: str | None = None,
    mechanism: str | Recipe = "laplace",
    ledger: Ledger | None = None,
    ignore: str | Collection[str] = (),
) -> Released:
    """Release noisy sufficient statistics or posterior draws, with an exact guarantee.

    Args:
        what: a Bayesian network, to measure the table of each variable with its
            parents; or another statistic, such as `Sufficient` of a family.
        table: a table whose columns are the variables, encoded records
            (`Schema.encode`), or any argument of `Schema.encode_batches`. For counts,
            `release` reads files, folders, Arrow data sets and iterables in batches, in
            bounded memory.
        epsilon: the privacy loss to spend, > 0, as "0.5", Fraction(1, 2) or 0.5. A
            float is converted to the shortest decimal number that rounds to it.
        adjacency: "replace-one" (the number n of records is public) or "add-remove" (n
            is private). None means the adjacency of the statistic or of the ledger.
        budget: a privacy guarantee to spend, instead of `epsilon`, `adjacency` and
            `contributions`.
        contributions: the most rows k of a person. `epsilon` is then the loss of a
            person with up to k rows, and the noise is that of ε / k for one row. None
            means 1, which protects each row on its own. Without `id` the curator
            promises that nobody has more rows.
        id: name of a column that says whose row it is, which is no variable. At most
            `contributions` rows of each person are kept, chosen by a hash of their
            content with a new key. Only under "add-remove", for a table with names.
        mechanism: a recipe of `dpjax.mechanisms.recipes` with its options, or the name
            of a recipe with default options. "laplace" adds noise to the statistic;
            "fourier" adds noise to Fourier coefficients of counts, so that all tables
            agree; "posterior-sample" draws from the truncated and tempered posterior;
            "map" draws near the posterior mode with utility given by the joint
            probability; "map-cells" draws near the posterior mode with utility given
            by the posterior mass of cells, if tables have few rows.
        ledger: ledger that is charged before any draw.
        ignore: columns of the table to ignore, or "*" for all columns that are not
            variables.

    Returns:
        The release, with all metadata needed to use and verify it.

    Privacy:
        `epsilon` or `budget` is an exact upper bound of the privacy cost for the given
        adjacency and unit (one row, or a person with up to `contributions` rows); less
        is charged if the recipe's options cost less. Random bits come
        from the operating system, and are not stored. Error messages about records,
        the running time and the memory use depend on the records: only the curator may
        see them.

    Raises:
        ValueError: if an argument is not valid, the table is empty under replace-one,
            cannot be read, or has too many records for exact integers, or the call is
            inside `jit` or `vmap`. If there is an error, nothing is charged.
        BudgetExceeded: if the ledger's remaining budget is too small; records are not
            read.
    """
    if id is not None and contributions is None and budget is None:
        raise ValueError(
            "`contributions` must be given with an `id`: the most rows of a person."
        )
    budget = _budget(what, epsilon, adjacency, contributions, budget, ledger)
    k = budget.contributions
    recipe = recipe_of(mechanism)
    recipe = recipe.per_record(k) if k > 1 else recipe
    statistic = _statistic(recipe, what, budget.adjacency)
    statistic.sensitivity(budget.adjacency)  # raises if only for the other adjacency
    if id is not None:
        check_id(id, statistic.variables, budget.adjacency)
    public = budget.adjacency == REPLACE_ONE
    make = partial(recipe.mechanism, statistic, budget.per_record())
    make(n=1 if public else None)  # mistakes show before any record
    if ledger is not None:
        ledger.require(budget)
    if id is not None:
        table, ignore = kept_rows(table, statistic.variables, id, k, ignore=ignore), ()
    exact, size = measured(statistic, table, ignore)
    _refuse_empty(size, budget.adjacency)
    n = size if public else None
    private = make(n=n)
    if ledger is not None:
        purpose = f"{recipe}: {statistic.kind} of {len(statistic.variables)} variables"
        ledger.charge(private.guarantee().of_group(k), purpose)
    return Released(private.draw(exact), statistic, private, n, contributions=k)


def _budget(
    what: BayesNet | Statistic,
    epsilon: Epsilon | None,
    adjacency: Adjacency | None,
    contributions: int | None,
    budget: Guarantee | None,
    ledger: Ledger | None,
) -> Guarantee:
    """Return the guarantee to spend, from the arguments of `release`."""
    if budget is None:
        known = adjacency or _adjacency_of(what, ledger)
        rows = 1 if contributions is None else contributions
        return budget_of(_given(epsilon), known, contributions=rows)
    if not (epsilon is None and adjacency is None and contributions is None):
        raise ValueError(
            "`budget` must come without `epsilon`, `adjacency` and `contributions`."
        )
    if not isinstance(budget, Guarantee):
        raise ValueError(
            "`budget` must be a guarantee, such as `dpjax.privacy.budget_of(1, "
            f"'add-remove')`, got {brief(budget)}."
        )
    return budget


def _statistic(
    recipe: Recipe, what: BayesNet | Statistic, adjacency: Adjacency
) -> Statistic:
    if isinstance(what, BayesNet):
        return recipe.statistic(what, adjacency)
    if not isinstance(what, Statistic):
        raise ValueError(
            "`what` must be a network or a statistic, to be made private exactly, got "
            f"{type(what).__name__}."
        )
    if not recipe.accepts(what):
        raise ValueError(
            f"`mechanism` must be one for {what.kind}, such as 'laplace', got "
            f"{str(recipe)!r}, which is for other statistics."
        )
    return what


def _given(epsilon: Epsilon | None) -> Epsilon:
    if epsilon is None:
        raise ValueError("`epsilon` must be given, such as '0.5', or a `budget`.")
    return epsilon


def _adjacency_of(what: BayesNet | Statistic, ledger: Ledger | None) -> Adjacency:
    stated: Any = getattr(what, "adjacency", None)
    if stated is None and ledger is not None:
        stated = ledger.adjacency
    if stated is None:
        raise ValueError(
            "`adjacency` must be given, 'replace-one' or 'add-remove': an ε means "
            "nothing without it."
        )
    return stated


def _refuse_empty(n: int, adjacency: Adjacency) -> None:
    if n == 0 and adjacency == REPLACE_ONE:
        raise ValueError(
            "`table` must not be empty under replace-one, where n is public and no "
            "record can be replaced; under add-remove they may be."
        )


def measured(
    statistic: Statistic, table: Records | Table, ignore: str | Collection[str] = ()
) -> tuple[Int32[Array, " m"], int]:
    """Compute the exact statistic of a table and the number of its records.

    Counts are computed from files and batches in bounded memory.

    Privacy:
        Not private: the statistic is exact.

    Raises:
        ValueError: if the records do not fit the statistic, are too many for exact
            integers, or are traced.
    """
    if is_in_memory(table) or not isinstance(statistic, TableStatistic):
        encoded = as_records(table, statistic.variables, ignore=ignore)
        _refuse_traced(encoded)
        _refuse_size(encoded.shape[0], statistic)
        return _measure(encoded, statistic), encoded.shape[0]
    encoded = encode_batches(table, statistic.variables, ignore=ignore)
    batches = _of_few(encoded, statistic)
    measure = partial(_measure, statistic=statistic)
    total = sum_batches(measure, batches, statistic.length)
    return jnp.asarray(total.values.astype(np.int32)), total.records


def _of_few(
    batches: Iterable[np.ndarray], statistic: Statistic
) -> Iterator[np.ndarray]:
    size = 0
    for batch in batches:
        size += len(batch)
        _refuse_size(size, statistic)
        yield batch


def _refuse_size(n: int, statistic: Statistic) -> None:
    if n * statistic.most_per_record > LARGEST:
        raise ValueError(
            f"`table` must have at most {LARGEST // statistic.most_per_record} "
            "records for exact integers; a statistic with fewer units allows for more."
        )


def _refuse_traced(records: Array) -> None:
    """Raise `ValueError` in compiled or mapped code, which would reuse one draw."""
    try:
        np.asarray(records[:0])
    except jax.errors.TracerArrayConversionError:
        raise ValueError(
            "`release` must be called outside of `jit` and `vmap`: studies draw with "
            "`mechanism.sample(key, exact)` there."
        ) from None


@partial(jax.jit, static_argnames="statistic")
def _measure(records: ArrayLike, statistic: Statistic) -> Array:
    return statistic.measure(jnp.asarray(records))
