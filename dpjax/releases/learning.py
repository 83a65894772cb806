"""The function `learn`, which learns a network and its tables with privacy."""

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from dpjax._checks import of_type
from dpjax._types import Records
from dpjax.data.bayes_net import BayesNet
from dpjax.data.encoding import encode_batches
from dpjax.data.persons import check_id, kept_rows
from dpjax.data.schema import Schema
from dpjax.data.sources import Table
from dpjax.mechanisms.recipes import Recipe
from dpjax.privacy import Adjacency, Epsilon, Guarantee, Ledger
from dpjax.releases.about import about_of
from dpjax.releases.candidates import (
    MOST_CELLS,
    Edge,
    Scores,
    cells_of,
    chosen,
    expected_records,
    number_of_records,
    scores_of,
)
from dpjax.releases.learned import Learned
from dpjax.releases.learning_plans import (
    Plan,
    best_plan,
    noise_of,
    pair_noise,
    plans_of,
)
from dpjax.releases.publish import (
    budget_for,
    refuse_empty,
    refuse_part,
    release,
)
from dpjax.releases.released import Released

Draw = Callable[[Sequence[int]], int]


def learn(
    schema: Schema,
    table: Records | Table,
    *,
    epsilon: Epsilon | None = None,
    adjacency: Adjacency | None = None,
    budget: Guarantee | None = None,
    contributions: int | None = None,
    id: str | None = None,
    degree: int | None = None,
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
    are released. This is repeated until variables have up to `degree` parents. Without
    `degree`, some variables may get a second parent by the table of this pair alone.

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
        degree: the largest number of parents of a variable, at least 1. None: 1, 2 or
            3, the most for which the tables' expected errors are small beside the
            number of records, as far as the budget and the first release tell. Between
            1 and 2, up to a quarter of the variables get a second parent. Edges are
            drawn among all, and the tables of these pairs are released.
        mechanism: the recipe for the tables, or its name: of additive noise, with a
            cost of the budget's kind. "auto" is Gaussian noise for zCDP.
        ledger: ledger that is charged with the whole budget before any draw.
        part: as for `dpjax.release`.
        ignore: columns of the table to ignore, or "*" for all columns that are not
            variables.
        about: public facts for the readers of the release.

    Returns:
        The release of the tables of the last network, or of its new pairs, which holds
        the earlier releases and the ε of the draws, so that one file can be verified as
        a whole. `Released.net` is the network.

    Privacy:
        The budget is the exact cost of all draws together. From three to five tenths
        of it are for edges, by public facts, and three twentieths for the first tables.
        A degree that is not given follows from the first tables, at no cost. Error
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
    refuse_part(part, ledger, id)
    net, facts = _without_edges(schema), about_of(about)
    plans = plans_of(net, budget, degree, mechanism)
    if ledger is not None:
        ledger.require(budget, part)
    records = _records(net, table, budget, id, ignore)
    if ledger is not None:
        many = f"{len(net.names)} variables and a network, learned"
        purpose = f"{plans[0].recipe}: {many}"
        ledger.charge(budget, purpose, part)
    return replace(_learned(plans, net, records), about=facts)


def _without_edges(schema: Schema) -> BayesNet:
    remedy = "make it with `dpjax.Schema`, or give the `schema` of a network"
    of_type(Schema, remedy, schema=schema)
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


def _learned(plans: Sequence[Plan], net: BayesNet, records: np.ndarray) -> Released:
    """Release tables and draw edges, in turn, by the budgets of one of the plans."""
    order: list[int] = []
    first, recipe = plans[0].tables[0], plans[0].recipe  # of all plans
    made = release(net, [records], budget=first, mechanism=recipe)
    plan = best_plan(plans, net, number_of_records(made))
    for step, epsilon in enumerate(plan.epsilons[: 1 if plan.pairs else None]):
        cost = plan.tables[step + 1]
        edges, noise = _edges(net, order), noise_of(recipe, net, cost)
        found = scores_of(net, edges, records, expected_records(made), noise)
        draw = partial(chosen, epsilon=epsilon, adjacency=cost.adjacency)
        if order:
            net = _with_parents(net, order[step + 1 :], found, draw)
        else:
            net, order = _tree(net, found, draw)
        last = release(net, [records], budget=cost, mechanism=recipe)
        made = replace(last, learned=Learned(made, epsilon))
    return _with_pairs(plan, made, order, records) if plan.pairs else made


def _edges(net: BayesNet, order: Sequence[int]) -> list[Edge]:
    """Return the edges that may be added: all, if there is no order yet."""
    edges = itertools.permutations(range(len(net.names)), 2)
    return [edge for edge in edges if not order or _may_follow(order, net, *edge)]


def _with_pairs(
    plan: Plan, made: Released, order: Sequence[int], records: np.ndarray
) -> Released:
    """Draw edges, one after the other, and release the tables of these pairs alone.

    If no edge is drawn, the tables of the network are released again.
    """
    net, cost, epsilon = made.net, plan.tables[-1], plan.epsilons[-1]
    empty, noise = _without_edges(net.schema), pair_noise(plan, net)
    edges = [edge for edge in _edges(net, order) if cells_of(net, edge) <= MOST_CELLS]
    scores = scores_of(empty, edges, records, expected_records(made), noise)
    new: list[tuple[int, ...]] = [()] * len(net.names)
    for _ in range(plan.pairs):
        edges = [edge for edge in scores if not new[edge[0]]]
        among = [*(scores[edge] for edge in edges), 0]
        place = chosen(among, epsilon, cost.adjacency)
        for variable, parent in edges[place : place + 1]:
            new[variable] = (parent,)
    pairs = [(net.names[i], net.names[y[0]]) for i, y in enumerate(new) if y]
    what, larger = net, None
    if pairs:
        what = plan.recipe.of_tables(net.schema, pairs, cost.adjacency)
        parents = (x + y for x, y in zip(net.parents, new, strict=True))
        larger = BayesNet(net.variables, tuple(parents))
    last = release(what, [records], budget=cost, mechanism=plan.recipe)
    return replace(last, learned=Learned(made, epsilon, plan.pairs, larger))


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
