"""The one impure door: charges the budget, takes a key from the system, draws."""

__all__ = ["MECHANISMS", "Recipe", "release"]

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import NamedTuple

from dpjax._checks import one_of
from dpjax._types import Records
from dpjax.data.bayes_net import BayesNet
from dpjax.data.columns import Table
from dpjax.mechanisms import (
    CellMass,
    DiscreteLaplace,
    ExactMechanism,
    FamilyPosteriorSampler,
    NetworkPosteriorSampler,
    SplitLaplace,
)
from dpjax.privacy import (
    ADJACENCIES,
    REPLACE_ONE,
    Epsilon,
    Ledger,
    PureDP,
    exact_epsilon,
)
from dpjax.releases.measuring import measured
from dpjax.releases.released import Released
from dpjax.statistics import (
    FourierCoefficients,
    NetworkCounts,
    Statistic,
    Sufficient,
    TableStatistic,
)


class Recipe(NamedTuple):
    """What the name of a mechanism stands for.

    Attributes:
        statistic: what it measures of a network, under an adjacency.
        mechanism: how that is made private, from the statistic, ε, the adjacency, the
            number of records where it is public, and options.
        accepts: the statistics that it may be asked to release as they are.
        options: names of its options.
    """

    statistic: Callable[[BayesNet, str], TableStatistic]
    mechanism: Callable[..., ExactMechanism]
    accepts: tuple[type[Statistic], ...]
    options: tuple[str, ...] = ()


def _noise(
    statistic, epsilon, adjacency, n, split=None
) -> DiscreteLaplace | SplitLaplace:
    if split is None:
        return DiscreteLaplace.calibrate(epsilon, statistic.sensitivity(adjacency))
    if not isinstance(split, Mapping):
        raise ValueError(
            "`split` must be a mapping from tables to budgets, such as {'kind': '1/4', "
            f"'deaths': '3/4'}}, got {type(split).__name__}."
        )
    one_table = statistic.sensitivity_of_one(adjacency)
    noise = SplitLaplace.calibrate(split, statistic.measured_cells, one_table)
    spent = noise.guarantee().epsilon
    if spent != epsilon:
        raise ValueError(
            f"`split` must add up to `epsilon`, {epsilon}, exactly, got {spent}."
        )
    return noise


def _posterior_sample(
    statistic, epsilon, adjacency, n, **options
) -> NetworkPosteriorSampler | FamilyPosteriorSampler:
    if isinstance(statistic, Sufficient):
        return FamilyPosteriorSampler.calibrate(
            statistic.family,
            statistic.steps,
            statistic.lowest,
            epsilon,
            adjacency,
            n=n,
            **options,
        )
    return NetworkPosteriorSampler.posterior(
        statistic.layout, epsilon, adjacency, n=n, **options
    )


def _map(statistic, epsilon, adjacency, n, **options) -> NetworkPosteriorSampler:
    return NetworkPosteriorSampler.map(
        statistic.layout, epsilon, adjacency, n=n, **options
    )


def _cell_mass(statistic, epsilon, adjacency, n, **options) -> CellMass:
    if "omega" not in options:
        raise ValueError("`omega` must be given for map-cells, such as '0.1'.")
    return CellMass.calibrate(statistic.layout, epsilon, adjacency, **options)


_GRID_OPTIONS = ("omega", "temperature", "prior", "units")
_GRID_ONLY, _FAMILY_ONLY = {"omega", "units"}, {"truncation", "points"}
_COUNTS_ONLY = {"split"}

MECHANISMS = {
    "laplace": Recipe(
        lambda net, _: NetworkCounts(net), _noise, (Statistic,), ("split",)
    ),
    "fourier": Recipe(FourierCoefficients.of_network, _noise, (FourierCoefficients,)),
    "posterior-sample": Recipe(
        lambda net, _: NetworkCounts(net, "all"),
        _posterior_sample,
        (NetworkCounts, Sufficient),
        ("samples", "truncation", "points", *_GRID_OPTIONS),
    ),
    "map": Recipe(
        lambda net, _: NetworkCounts(net, "all"), _map, (NetworkCounts,), _GRID_OPTIONS
    ),
    "map-cells": Recipe(
        lambda net, _: NetworkCounts(net, "all"),
        _cell_mass,
        (NetworkCounts,),
        _GRID_OPTIONS,
    ),
}
"""What each mechanism's name stands for."""


def release(
    what: BayesNet | Statistic,
    records: Records | Table,
    *,
    epsilon: Epsilon,
    adjacency: str,
    mechanism: str = "laplace",
    ledger: Ledger | None = None,
    **options: object,
) -> Released:
    """Publish what Bayesian inference needs of a table, privately and exactly.

    Args:
        what: a Bayesian network; or a statistic, such as `Sufficient` of an
            exponential family or a choice other than the mechanism's own.
        records: encoded records (`Schema.encode`), or a table whose columns are the
            variables, or whatever `Schema.encode_batches` takes. Files, folders, Arrow
            data sets and iterables are read a batch at a time where tables are counted,
            in flat memory and with the same result.
        epsilon: the privacy loss to spend, > 0: "0.5", Fraction(1, 2), or 0.5, which
            means its shortest decimal.
        adjacency: "replace-one" (n is public) or "add-remove" (n is private).
        mechanism: "laplace", noise on the posterior updates; "fourier", noise on their
            Fourier coefficients, so that all tables agree; "posterior-sample", draws
            from the truncated and tempered posterior; "map", a draw near its mode, by
            the joint probability; or "map-cells", the same by the posterior mass of
            cells, for a few rows.
        ledger: charged before anything is drawn.
        options: of "laplace" on the counts of families, `split`: the budget of each
            measured table, by the name of the family's child, as {"kind": "1/4",
            "deaths": "3/4"}; they add up to ε (None: all get the same noise). A table
            whose family is part of another's is not measured, and has none. Of the
            last three, those of `NetworkPosteriorSampler.posterior`,
            `NetworkPosteriorSampler.map` and `CellMass.calibrate`: omega, temperature,
            samples, prior, units; of a family's samples those of
            `FamilyPosteriorSampler.calibrate`.

    Returns:
        What was drawn with everything needed to use and to verify it.

    Privacy:
        ε-DP, exactly, for the adjacency; less than ε is charged where options cost
        less. Randomness is the operating system's, and is not kept. Errors about
        records depend on them: for the curator's eyes only, like the time and the
        memory it takes.

    Raises:
        ValueError: if an argument is not valid, the table is empty under replace-one,
            it cannot be read or has too many records for exact integers, or this is
            inside `jit` or `vmap`. Nothing is charged then.
        BudgetExceeded: if the ledger has less left; the records are not touched.
    """
    one_of(tuple(MECHANISMS), mechanism=mechanism)
    one_of(ADJACENCIES, adjacency=adjacency)
    _refuse_statistic(mechanism, what)
    _refuse_options(mechanism, what, options)
    recipe = MECHANISMS[mechanism]
    budget = PureDP(exact_epsilon(epsilon), adjacency)
    statistic = (
        recipe.statistic(what, adjacency) if isinstance(what, BayesNet) else what
    )
    statistic.sensitivity(adjacency)  # refuses a statistic for the other adjacency
    make = partial(recipe.mechanism, statistic, budget.epsilon, adjacency, **options)
    make(n=1 if adjacency == REPLACE_ONE else None)  # mistakes show before any record
    if ledger is not None:
        ledger.require(budget)
    exact, size = measured(statistic, records)
    _refuse_empty(size, adjacency)
    n = size if adjacency == REPLACE_ONE else None
    private = make(n=n)
    if ledger is not None:
        kind, variables = statistic.describe()["kind"], len(statistic.variables)
        ledger.charge(
            private.guarantee(), f"{mechanism}: {kind} of {variables} variables"
        )
    return Released(private.draw(exact), statistic, private, n)


def _refuse_statistic(mechanism: str, what: BayesNet | Statistic) -> None:
    """Refuse a mechanism whose guarantee is for something else."""
    if not isinstance(what, BayesNet | Statistic):
        raise ValueError(
            "`what` must be a network or a statistic, to be made private exactly, got "
            f"{type(what).__name__}."
        )
    if isinstance(what, BayesNet):
        return
    some = isinstance(what, NetworkCounts) and what.families != "all"
    if not isinstance(what, MECHANISMS[mechanism].accepts) or (
        some and mechanism != "laplace"
    ):
        raise ValueError(
            f"`mechanism` must be one for {what.describe()['kind']}, such as "
            f"'laplace', got {mechanism!r}: it is for a network, all families of it."
        )


def _refuse_options(
    mechanism: str, what: BayesNet | Statistic, options: Collection[str]
) -> None:
    """Refuse options of other mechanisms or models."""
    foreign = _GRID_ONLY if isinstance(what, Sufficient) else _FAMILY_ONLY
    if not isinstance(what, BayesNet | NetworkCounts):
        foreign = foreign | _COUNTS_ONLY
    allowed = [x for x in MECHANISMS[mechanism].options if x not in foreign]
    for name in options:
        if name not in allowed:
            raise ValueError(
                f"`{name}` must be left out: the options of {mechanism} here are "
                f"{', '.join(allowed) or 'none'}."
            )


def _refuse_empty(n: int, adjacency: str) -> None:
    if n == 0 and adjacency == REPLACE_ONE:
        raise ValueError(
            "`records` must not be empty under replace-one, where n is public and no "
            "record can be replaced; under add-remove they may be."
        )
