"""The function `release`, which charges a ledger and draws private values."""

import contextlib
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

import jax
from jax.sharding import Mesh

from dpjax._checks import brief, of_type
from dpjax._types import Records
from dpjax.data.bayes_net import BayesNet
from dpjax.data.grouping import Grouped
from dpjax.data.mixed_net import MixedNet
from dpjax.data.multiplicities import MOST
from dpjax.data.sources import Table
from dpjax.mechanisms import ExactMechanism
from dpjax.mechanisms.recipes import Recipe, noise_for, recipe_of
from dpjax.privacy import REPLACE_ONE, Adjacency, Epsilon, Guarantee, Ledger, budget_of
from dpjax.releases.about import about_of
from dpjax.releases.measuring import Rows, measured
from dpjax.releases.released import Released
from dpjax.releases.sampled import Sampled
from dpjax.releases.selection import check_columns, refuse_sample, some_rows
from dpjax.releases.trial import draw, refuse_cost, try_out
from dpjax.statistics import MixedTotals, Statistic, check_statistic
from dpjax.statistics.trial import family_of, is_foreign

_MANY = 1 << 20  # records, for which a sample at a given temperature costs little ρ


def release(
    what: BayesNet | MixedNet | Statistic,
    table: Records | Table | Grouped,
    *,
    epsilon: Epsilon | None = None,
    adjacency: Adjacency | None = None,
    budget: Guarantee | None = None,
    contributions: int | None = None,
    id: str | None = None,
    mechanism: str | Recipe | None = None,
    ledger: Ledger | None = None,
    part: str | None = None,
    ignore: str | Collection[str] = (),
    multiplicity: str | None = None,
    weights: str | None = None,
    sample_rate: Epsilon | None = None,
    mesh: Mesh | None = None,
    about: Mapping[str, str] | None = None,
) -> Released:
    """Release noisy sufficient statistics or posterior draws, with an exact guarantee.

    Args:
        what: a Bayesian network, to measure the table of each variable with its
            parents; a network with numeric leaves, for `MixedTotals`; or another
            statistic, such as `Sufficient` of a family.
        table: a table whose columns are the variables, encoded records
            (`Schema.encode`), or any argument of `Schema.encode_batches`. For counts,
            `release` reads files, folders, Arrow data sets and iterables in batches, in
            bounded memory. A lazy table of DuckDB, Polars, Ibis, PySpark or Dask is
            counted in its engine, by one query for each measured table, if its columns
            are text, integers, booleans and dates. A `dpjax.data.Grouped` table holds
            the results of such queries.
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
        id: name of a column that identifies the person of each row; it is not a
            variable. At most `contributions` rows of each person are kept, chosen at
            random. Only under "add-remove", for a table with names of columns.
        mechanism: a recipe of `dpjax.mechanisms.recipes` with its options, or the name
            of a recipe with default options. None means Gaussian noise for a budget of
            ρ, and on counts for one of (ε, δ), else Laplace noise: "auto" is often
            better, as `plan` shows without data. "laplace" and "gaussian" add noise to
            the statistic; "fourier" adds noise to Fourier coefficients of counts, so
            that all tables agree; "k-norm" adds noise with the shape of one record's
            changes to all tables of a network or to the sums of a family, which is less
            noise for most of them; "auto" takes the best of these by public facts;
            "posterior-sample" draws from the truncated and tempered posterior; "map"
            draws near the posterior mode with utility given by the joint probability;
            "map-cells" draws near the posterior mode with utility given by the
            posterior mass of cells, if tables have few rows.
        ledger: ledger that is charged before any draw.
        part: public name of the part of the ledger's table that `table` is, if it is
            not the whole (see `Ledger.charge`).
        ignore: columns of the table to ignore, or "*" for all columns that are not
            variables.
        multiplicity: name of a column of integers ≥ 0, the number of records for which
            a row stands. The guarantee is for one of these records.
        weights: name of a column of integers from 0 to `contributions`, the weight with
            which a row counts. `contributions` is then the largest sum of the weights
            of one person's rows. Only under "add-remove".
        sample_rate: rate q > 0 and < 1 of a secret random sample, from which the
            release is computed in place of all records. The mechanism may then spend
            ln(1 + (e^ε - 1) / q), which is more than ε. Under add-remove each record is
            sampled independently; under replace-one the sample has ⌊qn⌋ records, and
            `Released.n` is this number. With Gaussian noise, only for a budget (ε, δ).
        mesh: devices on which to count; None means the default device.
        about: public facts for the readers of the release, by name: "title",
            "description", "record" (what a row is), "period", "region", "steward",
            "contact", "published" and "use". They are part of the file and of its hash,
            and must not depend on the records.

    Returns:
        The release, with all metadata needed to use and verify it.

    Privacy:
        `epsilon` or `budget` is an exact upper bound of the privacy cost for the given
        adjacency and unit (one row, or a person with up to `contributions` rows); less
        is charged if the recipe's options cost less. Random bits come from the
        operating system, and are not stored. Error messages about records, the running
        time and the memory use depend on the records: only the curator may see them.
        Cells of impossible combinations are 0 without noise, since no accepted table
        has such records.

    Raises:
        ValueError: if an argument is not valid, the table is empty under replace-one,
            cannot be read, has too many records for exact integers or a record with an
            impossible combination, or the call is inside `jit` or `vmap`. If there is
            an error, nothing is charged.
        BudgetExceeded: if the ledger's remaining budget is too small; records are not
            read.
    """
    if (id or weights) and contributions is None and budget is None:
        raise ValueError(
            "`contributions` must be given with an `id`, as the most rows of a person, "
            "and with `weights`, as the largest weight."
        )
    budget = budget_for(what, epsilon, adjacency, contributions, budget, ledger)
    refuse_part(part, ledger, id)
    k, facts = budget.contributions, about_of(about)
    recipe = recipe_of(noise_for(what, budget) if mechanism is None else mechanism)
    sampled, recipe, cost = Sampled.of(sample_rate, recipe, budget)
    statistic = _statistic(recipe, what, budget.adjacency)
    check_columns(statistic.variables, budget.adjacency, id, multiplicity, weights)
    if sample_rate is not None:
        refuse_sample(table, id, multiplicity, weights, mesh)
    rows = Rows(ignore, multiplicity, weights, k if weights else MOST, mesh)
    public = budget.adjacency == REPLACE_ONE
    make = partial(recipe.mechanism, statistic, cost)
    tried, some = _tried(make, public)
    try_out(statistic, recipe, tried, cost, some)
    if statistic.network is not None and not tried.additive:
        statistic.network.refuse_impossible(f"the mechanism {tried.kind!r}")
    if ledger is not None:
        ledger.require((cost if sampled is None else sampled.cost).of_group(k), part)
    if id is not None or sampled is not None:
        table, sampled = some_rows(table, statistic, ignore, id, k, sampled)
    exact, size = measured(statistic, table, rows, largest=tried.largest)
    refuse_empty(size, budget.adjacency)
    n = size if public else None
    private = make(n=n)
    refuse_cost(private, recipe, cost)
    if sampled is not None:
        sampled = sampled.charged(private.guarantee(), cost)
    if ledger is not None:
        purpose = f"{recipe}: {statistic.kind} of {len(statistic.variables)} variables"
        spent = private.guarantee() if sampled is None else sampled.cost
        ledger.charge(spent.of_group(k), purpose, part)
    values = draw(private, statistic, exact)
    return Released(
        values, statistic, private, n, contributions=k, about=facts, sampled=sampled
    )


def _tried(make: Callable[..., ExactMechanism], public: bool) -> tuple[Any, int | None]:
    """Make a mechanism before records are read, so that errors show without them.

    A sample at a given temperature may be affordable for few records or for many alone:
    it is refused if it is for neither. The mechanism is returned with its number of
    records.
    """
    if not public:
        return make(n=None), None
    try:
        return make(n=1), 1
    except ValueError:
        with contextlib.suppress(ValueError):
            return make(n=_MANY), _MANY
        raise


def refuse_part(part: str | None, ledger: Ledger | None, id: str | None) -> None:
    """Raise `ValueError` if a part is given without a ledger, or with persons.

    The ledger charges the largest part. A person may have rows in all parts, of which
    each is cut to `contributions` rows without a look at the others.
    """
    if part is not None and ledger is None:
        raise ValueError("`part` must be given with a `ledger`, got one without.")
    if part is not None and id is not None:
        raise ValueError(
            "`part` must be left out with `id`, since a person may have rows in "
            "several parts: charge the whole table."
        )


def budget_for(
    what: object,
    epsilon: Epsilon | None,
    adjacency: Adjacency | None,
    contributions: int | None,
    budget: Guarantee | None,
    ledger: Ledger | None,
) -> Guarantee:
    """Return the guarantee to spend, from the arguments of `release` or `learn`."""
    if ledger is not None:
        of_type(Ledger, "open it with `dpjax.Ledger(path=…)`", ledger=ledger)
    if budget is None:
        known = adjacency or _adjacency_of(what, ledger)
        rows = 1 if contributions is None else contributions
        return budget_of(_given(epsilon), known, contributions=rows)
    if not isinstance(budget, Guarantee):
        raise ValueError(
            "`budget` must be a guarantee, such as `dpjax.privacy.budget_of(1, "
            f"'add-remove')`, got {brief(budget)}; a number is given as `epsilon`."
        )
    if not (epsilon is None and adjacency is None and contributions is None):
        raise ValueError(
            "`budget` must come without `epsilon`, `adjacency` and `contributions`."
        )
    return budget


def _statistic(
    recipe: Recipe, what: BayesNet | MixedNet | Statistic, adjacency: Adjacency
) -> Statistic:
    if isinstance(what, BayesNet):
        return _defined(recipe.statistic(what, adjacency), adjacency)
    if isinstance(what, MixedNet):
        what = MixedTotals(what, adjacency)
    if not isinstance(what, Statistic):
        raise ValueError(
            "`what` must be a network or a statistic, such as `Sufficient`, got "
            f"{type(what).__name__}."
        )
    if not recipe.accepts(what):
        raise ValueError(
            f"`mechanism` must be one for {what.kind}, such as 'laplace', got "
            f"{str(recipe)!r}, which is for other statistics."
        )
    return _defined(what, adjacency)


def _defined(statistic: Statistic, adjacency: Adjacency) -> Statistic:
    """Return a statistic whose sensitivity is defined for the adjacency; else raise.

    One of another package is tried out.
    """
    statistic.sensitivity(adjacency)
    if is_foreign(statistic, family_of(statistic)):
        with jax.ensure_compile_time_eval():  # `release` refuses later to be compiled
            check_statistic(statistic, adjacency)
    return statistic


def _given(epsilon: Epsilon | None) -> Epsilon:
    if epsilon is None:
        raise ValueError("`epsilon` must be given, such as '0.5', or a `budget`.")
    return epsilon


def _adjacency_of(what: object, ledger: Ledger | None) -> Adjacency:
    stated: Any = getattr(what, "adjacency", None)
    if stated is None and ledger is not None:
        stated = ledger.adjacency
    if stated is None:
        raise ValueError(
            "`adjacency` must be given, 'replace-one' or 'add-remove': an ε means "
            "nothing without it."
        )
    return stated


def refuse_empty(n: int, adjacency: Adjacency) -> None:
    """Raise `ValueError` if a table without records has the public number 0."""
    if n == 0 and adjacency == REPLACE_ONE:
        raise ValueError(
            "`table` must not be empty under replace-one, where n is public and no "
            "record can be replaced; under add-remove they may be."
        )
