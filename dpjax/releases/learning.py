"""The function `learn`, which learns a network and its tables with privacy."""

__all__ = ["learn"]

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from dpjax._checks import whole
from dpjax._types import Records
from dpjax.data.bayes_net import BayesNet
from dpjax.data.encoding import encode_batches
from dpjax.data.persons import check_id, kept_rows
from dpjax.data.schema import Schema
from dpjax.data.sources import Table
from dpjax.mechanisms import ExactMechanism
from dpjax.mechanisms.recipes import Recipe, recipe_of
from dpjax.privacy import (
    REPLACE_ONE,
    Adjacency,
    Epsilon,
    Guarantee,
    Ledger,
)
from dpjax.releases.about import about_of
from dpjax.releases.candidates import Scores, chosen, expected_records, scores_of
from dpjax.releases.learned import Learned
from dpjax.releases.publish import (
    budget_for,
    refuse_empty,
    refuse_part,
    release,
)
from dpjax.releases.released import Released

Draw = Callable[[Sequence[int]], int]

_CHOICES = Fraction(3, 10)  # of the budget, for all draws of edges
_GROWTH = 3  # of the budget, from the tables of a network to those of the next
_FINE = 100  # least numerator of the ε of a draw, a decimal number


def learn(
    schema: Schema,
    table: Records | Table,
    *,
    epsilon: Epsilon | None = None,
    adjacency: Adjacency | None = None,
    budget: Guarantee | None = None,
    contributions: int | None = None,
    id: str | None = None,
    degree: int = 2,
    mechanism: str | Recipe = "auto",
    ledger: Ledger | None = None,
    part: str | None = None,
    ignore: str | Collection[str] = (),
    about: Mapping[str, str] | None = None,
) -> Released:
    """Learn a Bayesian network and its tables from records, with an exact guarantee.

    A network without edges is released first. Then every variable but the first ones
    gets a parent, by the exponential mechanism, where the expected counts of the
    earlier release are far from the records' counts; and the tables of the new network
    are released. This is repeated until variables have up to `degree` parents.

    Args:
        schema: the variables, all categorical, without impossible combinations.
        table: a table whose columns are the variables, encoded records, or any argument
            of `Schema.encode_batches`. All encoded records are kept in memory.
        epsilon: the whole privacy loss to spend, > 0, as for `dpjax.release`.
        adjacency: "replace-one" (the number n of records is public) or "add-remove" (n
            is private). None means the adjacency of the ledger.
        budget: a guarantee of kind pure-dp or zcdp to spend, instead of `epsilon`,
            `adjacency` and `contributions`.
        contributions: the most rows of a person, as for `dpjax.release`.
        id: name of a column that identifies the person of each row, as for
            `dpjax.release`.
        degree: the largest number of parents of a variable, at least 1. A higher degree
            needs more records or budget.
        mechanism: the recipe for the tables, or its name: of additive noise, with a
            cost of the budget's kind. "auto" is Gaussian noise for zCDP.
        ledger: ledger that is charged with the whole budget before any draw.
        part: as for `dpjax.release`.
        ignore: columns of the table to ignore, or "*" for all columns that are not
            variables.
        about: public facts for the readers of the release.

    Returns:
        The release of the tables of the last network, which holds the earlier releases
        and the ε of the draws, so that one file can be verified as a whole.

    Privacy:
        The budget is the exact cost of all draws together: three tenths of it are for
        edges, about half for the last tables, and the rest for earlier tables. Error
        messages about records, time and memory depend on the records.

    Raises:
        ValueError: if an argument is not valid, or the table cannot be read, is empty
            under replace-one or has too many records.
        BudgetExceeded: if the ledger's remaining budget is too small; records are not
            read.

    Reference:
        Zhang, Cormode, Procopiuc, Srivastava & Xiao (PrivBayes, TODS 2017), for greedy
        choices of parents; McKenna, Mullins, Sheldon & Miklau (AIM, VLDB 2022), for
        scores by the error of an earlier release.
    """
    budget = budget_for(schema, epsilon, adjacency, contributions, budget, ledger)
    refuse_part(part, ledger)
    net, facts = _without_edges(schema), about_of(about)
    plan = _plan(net, budget, degree, mechanism)
    if ledger is not None:
        ledger.require(budget, part)
    records = _records(net, table, budget, id, ignore)
    if ledger is not None:
        purpose = f"{plan.recipe}: {len(net.names)} variables and a network, learned"
        ledger.charge(budget, purpose, part)
    return replace(_learned(plan, net, records), about=facts)


class _Plan(NamedTuple):
    """The budget of each step, for a person, and the recipe of the tables."""

    recipe: Recipe
    tables: tuple[Guarantee, ...]  # one more than draws
    epsilons: tuple[Fraction, ...]  # of each draw, for one record


def _plan(
    net: BayesNet, budget: Guarantee, degree: int, mechanism: str | Recipe
) -> _Plan:
    """Divide the budget; raise `ValueError` if an argument does not fit."""
    whole(1, degree=degree)
    most = len(net.names) - 1
    if degree > most:
        raise ValueError(
            f"`degree` must be at most {most} for {most + 1} variables, got {degree}."
        )
    parts = [Fraction(_GROWTH**step) for step in range(degree + 1)]
    rest = (1 - _CHOICES) / sum(parts)
    tables = [budget.share(part * rest) for part in parts[:-1]]
    left, epsilons = budget, []
    for step in range(degree):
        draws = most - step
        one = budget.per_record().share(_CHOICES / degree / draws).choice_epsilon
        epsilons.append(_short(one))
        drawn = budget.per_record().of_choice(epsilons[-1]).repeated(draws)
        left = left.minus(drawn.of_group(budget.contributions)).minus(tables[step])
    recipe, cost = recipe_of(mechanism).paid_by(budget)
    if cost.kind != budget.kind:
        raise ValueError(
            f"`mechanism` must be one whose cost is of the budget's kind, {budget.kind}"
            f", such as auto, for a network that is learned, got {recipe}."
        )
    plan = _Plan(recipe, (*tables, left), tuple(epsilons))
    for cost in plan.tables:
        if not _mechanism(plan.recipe, net, cost).additive:
            raise ValueError(
                "`mechanism` must add noise to tables for a network that is learned, "
                f"such as auto, got {recipe}."
            )
    return plan


def _short(epsilon: Fraction) -> Fraction:
    """Return a decimal number of a few digits, below ε by less than one part in 100."""
    scale = Fraction(1)
    while epsilon * scale < _FINE:
        scale *= 10
    return Fraction(int(epsilon * scale)) / scale


def _without_edges(schema: Schema) -> BayesNet:
    if schema.impossible:
        raise ValueError(
            "`schema` must have no impossible combinations for a network that is "
            "learned, since its edges must contain them: make one without them."
        )
    return BayesNet.from_parents(schema, {name: () for name in schema})


def _records(
    net: BayesNet,
    table: Records | Table,
    budget: Guarantee,
    id: str | None,
    ignore: str | Collection[str],
) -> np.ndarray:
    """Return all records, or those that are kept of each person, encoded."""
    if id is None:
        batches = list(encode_batches(table, net.variables, ignore=ignore))
        empty = np.zeros((0, len(net.names)), np.uint8)
        records = np.concatenate(batches) if batches else empty
    else:
        check_id(id, net.variables, budget.adjacency)
        k = budget.contributions
        records = kept_rows(table, net.variables, id, k, ignore=ignore)
    refuse_empty(len(records), budget.adjacency)
    return records


def _learned(plan: _Plan, net: BayesNet, records: np.ndarray) -> Released:
    """Release tables and draw edges, in turn, by the budgets of the plan."""
    order: list[int] = []
    made = release(net, [records], budget=plan.tables[0], mechanism=plan.recipe)
    for step, epsilon in enumerate(plan.epsilons):
        cost = plan.tables[step + 1]
        edges = list(itertools.permutations(range(len(net.names)), 2))
        if order:
            edges = [(x, y) for x, y in edges if _may_follow(order, net, x, y)]
        noise = _noise(plan.recipe, net, cost)
        found = scores_of(net, edges, records, expected_records(made), noise)
        draw = partial(chosen, epsilon=epsilon, adjacency=cost.adjacency)
        if order:
            net = _with_parents(net, order[step + 1 :], found, draw)
        else:
            net, order = _tree(net, found, draw)
        last = release(net, [records], budget=cost, mechanism=plan.recipe)
        made = replace(last, learned=Learned(made, epsilon))
    return made


def _may_follow(order: Sequence[int], net: BayesNet, x: int, y: int) -> bool:
    return order.index(y) < order.index(x) and y not in net.parents[x]


def _tree(net: BayesNet, scores: Scores, draw: Draw) -> tuple[BayesNet, list[int]]:
    """Draw a parent or none for each variable but the first, and an order of them."""
    order, parents = [0], list(net.parents)
    while len(order) < len(net.names):
        rest = [x for x in range(len(net.names)) if x not in order]
        edges = [(x, y) for x in rest for y in order if (x, y) in scores]
        among = [*(scores[edge] for edge in edges), *(0 for _ in rest)]
        place = draw(among)
        if place < len(edges):
            variable, parent = edges[place]
            parents[variable] = (parent,)
        else:
            variable = rest[place - len(edges)]
        order.append(variable)
    return BayesNet(net.variables, tuple(parents)), order


def _with_parents(
    net: BayesNet, variables: Sequence[int], scores: Scores, draw: Draw
) -> BayesNet:
    """Draw one more parent, or none, for each of these variables."""
    parents = list(net.parents)
    for variable in variables:
        edges = [edge for edge in scores if edge[0] == variable]
        place = draw([*(scores[edge] for edge in edges), 0])
        parents[variable] += tuple(y for _, y in edges[place : place + 1])
    return BayesNet(net.variables, tuple(parents))


def _mechanism(recipe: Recipe, net: BayesNet, cost: Guarantee) -> ExactMechanism:
    """Make the mechanism for the tables of a network, without data."""
    public = 1 if cost.adjacency == REPLACE_ONE else None
    statistic = recipe.statistic(net, cost.adjacency)
    return recipe.mechanism(statistic, cost.per_record(), public)


def _noise(recipe: Recipe, net: BayesNet, cost: Guarantee) -> float:
    """Return the mean scale of the noise of all cells, from public facts alone."""
    length = recipe.statistic(net, cost.adjacency).length
    made: Any = _mechanism(recipe, net, cost).for_studies()
    return float(jnp.mean(made.noise_scale(jnp.zeros(length))))
