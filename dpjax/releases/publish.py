"""`release`: charges the ledger, then draws from the operating system's randomness."""

__all__ = ["release"]

from collections.abc import Collection
from functools import partial
from typing import Any

from dpjax._checks import brief
from dpjax._types import Records
from dpjax.data.bayes_net import BayesNet
from dpjax.data.columns import Table
from dpjax.mechanisms.recipes import Recipe, recipe_of
from dpjax.privacy import (
    REPLACE_ONE,
    Adjacency,
    Epsilon,
    Guarantee,
    Ledger,
    budget_of,
)
from dpjax.releases.measuring import measured
from dpjax.releases.released import Released
from dpjax.statistics import Statistic


def release(
    what: BayesNet | Statistic,
    table: Records | Table,
    *,
    epsilon: Epsilon | None = None,
    adjacency: Adjacency | None = None,
    budget: Guarantee | None = None,
    mechanism: str | Recipe = "laplace",
    ledger: Ledger | None = None,
    ignore: str | Collection[str] = (),
) -> Released:
    """Publish what Bayesian inference needs of a table, privately and exactly.

    Args:
        what: a Bayesian network; or a statistic, such as `Sufficient` of an exponential
            family, or other counts than the mechanism's own.
        table: a table whose columns are the variables, encoded records
            (`Schema.encode`), or what `Schema.encode_batches` takes. Files, folders,
            Arrow data sets and iterables are read a batch at a time where tables are
            counted, in bounded memory and with the same result.
        epsilon: the privacy loss to spend, > 0: "0.5", Fraction(1, 2), or 0.5, which
            means its shortest decimal.
        adjacency: "replace-one" (n is public) or "add-remove" (n is private). None:
            that of the statistic, or else of the ledger.
        budget: a guarantee to spend, in place of epsilon and adjacency.
        mechanism: a recipe of `dpjax.mechanisms.recipes` with its options, or the name
            of one with its defaults: "laplace", noise on the posterior updates;
            "fourier", noise on their Fourier coefficients, so that all tables agree;
            "posterior-sample", draws from the truncated and tempered posterior; "map",
            a draw near its mode, by the joint probability; or "map-cells", the same by
            the posterior mass of cells, for a few rows.
        ledger: charged before anything is drawn.
        ignore: columns of the table that are to be left out; "*" for all others.

    Returns:
        The release, with everything needed to use and to verify it.

    Privacy:
        The budget is kept exactly, for its adjacency; less is charged where options
        cost less. Randomness is the operating system's, and is not kept. Errors about
        records depend on them, as time and memory do: they are for the curator only.

    Raises:
        ValueError: if an argument is not valid, the table is empty under replace-one,
            it cannot be read or has too many records for exact integers, or this is
            inside `jit` or `vmap`. Nothing is charged then.
        BudgetExceeded: if the ledger has less left; the records are not touched.
    """
    if budget is None:
        budget = budget_of(_given(epsilon), adjacency or _adjacency_of(what, ledger))
    elif epsilon is not None or adjacency is not None:
        raise ValueError("`budget` must come without `epsilon` and `adjacency`.")
    elif not isinstance(budget, Guarantee):
        raise ValueError(
            "`budget` must be a guarantee, such as `dpjax.privacy.budget_of(1, "
            f"'add-remove')`, got {brief(budget)}."
        )
    recipe = recipe_of(mechanism)
    statistic = _statistic(recipe, what, budget.adjacency)
    statistic.sensitivity(budget.adjacency)  # refuses one for the other adjacency
    public = budget.adjacency == REPLACE_ONE
    make = partial(recipe.mechanism, statistic, budget)
    make(n=1 if public else None)  # mistakes show before any record
    if ledger is not None:
        ledger.require(budget)
    exact, size = measured(statistic, table, ignore)
    _refuse_empty(size, budget.adjacency)
    n = size if public else None
    private = make(n=n)
    if ledger is not None:
        purpose = f"{recipe}: {statistic.kind} of {len(statistic.variables)} variables"
        ledger.charge(private.guarantee(), purpose)
    return Released(private.draw(exact), statistic, private, n)


def _statistic(
    recipe: Recipe, what: BayesNet | Statistic, adjacency: Adjacency
) -> Statistic:
    """The statistic to measure; refused if the recipe's guarantee is for another."""
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
    """The adjacency that a user has already given; any other is refused later."""
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
