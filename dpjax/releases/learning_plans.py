"""How a private learner divides its budget over tables and over draws of edges."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array

from dpjax._checks import whole
from dpjax.data.bayes_net import BayesNet
from dpjax.mechanisms import ExactMechanism, MechanismWithJointLaw
from dpjax.mechanisms.recipes import Recipe, recipe_of
from dpjax.privacy import REPLACE_ONE, Adjacency, Guarantee
from dpjax.releases.candidates import MOST_CELLS, distance_sensitivity
from dpjax.statistics import Statistic, TableStatistic

_CHOICES = Fraction(3, 10), Fraction(2, 5), Fraction(1, 2)  # of the budget, for draws
_FIRST = Fraction(3, 20)  # of the budget, for the tables without edges
_GROWTH = 3  # of the budget, from the tables of a network to those of the next
_FINE = 100  # least numerator of the ε of a draw, a decimal number
_DEGREES = 3  # the most parents of a variable, if nobody chooses
_TREE = Fraction(7, 20)  # of the budget, for the tables of a tree before pairs
_DRAWS = Fraction(1, 5), Fraction(1, 10)  # of it, for the edges of a tree and of pairs

# Of the records: errors of a table and a draw that are worth a further step.
_SMALL = 0.045  # of networks of more parents
_SMALL_IN_PAIRS = 0.03  # of pairs, and beyond those of a tree without pairs


class Plan(NamedTuple):
    """The budget of each step, for a person, and the recipe of the tables."""

    recipe: Recipe
    tables: tuple[Guarantee, ...]  # one more than draws
    epsilons: tuple[Fraction, ...]  # of each draw, for one record
    pairs: int = 0  # draws of the last step, if its tables are of pairs


def plans_of(
    net: BayesNet, budget: Guarantee, degree: int | None, mechanism: str | Recipe
) -> list[Plan]:
    """Return the plan of a degree, or all plans from which `best_plan` chooses.

    All of them cost the budget, and have the same first tables.

    Raises:
        ValueError: if an argument does not fit.
    """
    most = len(net.names) - 1
    if most < 1:
        raise ValueError(
            "`schema` must have at least two variables for a network that is learned."
        )
    if degree is not None:
        return [_plan(net, budget, degree, mechanism)]
    every = range(1, min(most, _DEGREES) + 1)
    tree, *more = (_plan(net, budget, x, mechanism) for x in every)
    every = range(1, -(-most // 4) + 1) if more else ()
    pairs = (_with_pairs(tree, net, budget, x) for x in every)
    return [tree, *(plan for plan in pairs if _is_possible(plan, net)), *more]


def _is_possible(plan: Plan, net: BayesNet) -> bool:
    """Return whether there is noise for tables of one pair, and of all pairs."""
    cost = plan.tables[-1]
    made = [_pairs(plan.recipe, net, x, cost.adjacency) for x in (1, plan.pairs)]
    try:
        for statistic in made:
            _mechanism(plan.recipe, statistic, cost)
    except ValueError:
        return False
    return all(map(plan.recipe.accepts, made))


def best_plan(plans: Sequence[Plan], net: BayesNet, n: float) -> Plan:
    """Return the last plan whose errors are small for n records, or the first plan.

    Privacy:
        The result depends on public facts and, if n is private, its released estimate.
    """
    small = (x for x in plans[:0:-1] if _is_small(x, plans[0], net, n))
    return next(small, plans[0])


def _is_small(plan: Plan, tree: Plan, net: BayesNet, n: float) -> bool:
    """Return whether the errors of a plan are small beside n records.

    With pairs, the errors of the tree count as far as they exceed those of `tree`.
    """
    if not plan.pairs:
        return _error(plan, net, len(plan.epsilons)) <= _SMALL * n
    statistic = _pairs(plan.recipe, net, plan.pairs, plan.tables[-1].adjacency)
    cells = statistic.layout.length / plan.pairs
    pairs = pair_noise(plan, net) * cells + _error_of_draw(plan, 2)
    added = _loss(plan, net, 1) - _loss(tree, net, 1)
    return max(added, pairs) <= _SMALL_IN_PAIRS * n


def _error(plan: Plan, net: BayesNet, degree: int) -> float:
    """Return the records by which a table, and the score of its edge, are wrong."""
    return _error_of_table(plan, net, degree) + _error_of_draw(plan, degree)


def _error_of_table(plan: Plan, net: BayesNet, degree: int) -> float:
    """Return the records by which a table is wrong; infinite if there is no noise.

    Nothing is known of edges yet. Here, variables have those before them as parents.
    """
    order = _mixed_order(net)
    parents = {x: tuple(order[max(0, i - degree) : i]) for i, x in enumerate(order)}
    cells = [math.prod(net.sizes[i] for i in (x, *y)) for x, y in parents.items()]
    if max(cells) > MOST_CELLS:
        return math.inf
    made = BayesNet(net.variables, tuple(parents[i] for i in range(len(order))))
    try:
        noise = noise_of(plan.recipe, made, plan.tables[degree])
    except ValueError:  # too small, or too wide
        return math.inf
    return noise * sum(cells) / len(cells)


def _error_of_draw(plan: Plan, step: int) -> float:
    change = distance_sensitivity(plan.tables[0].adjacency)
    return float(change / plan.epsilons[step - 1])


def _mixed_order(net: BayesNet) -> list[int]:
    """Return variables in an order in which few and many levels alternate."""
    many = len(net.names)
    by_size = sorted(range(many), key=net.sizes.__getitem__)
    return [by_size[-1 - i // 2 if i % 2 else i // 2] for i in range(many)]


def _pairs(
    recipe: Recipe, net: BayesNet, pairs: int, adjacency: Adjacency
) -> TableStatistic:
    """Return the statistic of some pairs of variables, of which none has two tables."""
    names = [net.names[i] for i in _mixed_order(net)]
    tables = [names[2 * i : 2 * i + 2] for i in range(pairs)]
    return recipe.of_tables(net.schema, tables, adjacency)


def pair_noise(plan: Plan, net: BayesNet) -> float:
    """Return the mean scale of the noise of cells of pairs, before pairs are known."""
    cost = plan.tables[-1]
    statistic = _pairs(plan.recipe, net, plan.pairs, cost.adjacency)
    return _noise(plan.recipe, statistic, cost)


def _with_pairs(tree: Plan, net: BayesNet, budget: Guarantee, pairs: int) -> Plan:
    """Divide the budget over a tree, and pairs that give variables a second parent."""
    row, many = budget.per_record(), (len(net.names) - 1, pairs)
    tables = [tree.tables[0], budget.share(_TREE)]
    left, epsilons = budget.minus(tables[0]).minus(tables[1]), []
    for draws, share in zip(many, _DRAWS, strict=True):
        epsilons.append(_short(row.share(share / draws).choice_epsilon))
        drawn = row.of_choice(epsilons[-1]).repeated(draws)
        left = left.minus(drawn.of_group(budget.contributions))
    return Plan(tree.recipe, (*tables, left), tuple(epsilons), pairs)


def _plan(
    net: BayesNet, budget: Guarantee, degree: int, mechanism: str | Recipe
) -> Plan:
    """Divide the budget; raise `ValueError` if an argument does not fit."""
    whole(1, degree=degree)
    most = len(net.names) - 1
    if degree > most:
        raise ValueError(
            f"`degree` must be at most {most} for {most + 1} variables, got {degree}."
        )
    recipe, cost = recipe_of(mechanism).paid_by(budget)
    plans = [_divided(recipe, most, budget, degree, share) for share in _CHOICES]
    if cost.kind != budget.kind:
        raise ValueError(
            f"`mechanism` must be one whose cost is of the budget's kind, {budget.kind}"
            f", such as auto, for a network that is learned, got {recipe}."
        )
    statistic = recipe.statistic(net, budget.adjacency)
    if not _mechanism(recipe, statistic, plans[0].tables[0]).additive:
        raise ValueError(
            "`mechanism` must add noise to tables for a network that is learned, "
            f"such as auto, got {recipe}."
        )
    plan = min(plans, key=lambda plan: _loss(plan, net, degree))
    for cost in plan.tables:
        _mechanism(recipe, statistic, cost)  # raises, before anything is charged
    return plan


def _divided(
    recipe: Recipe, most: int, budget: Guarantee, degree: int, choices: Fraction
) -> Plan:
    """Divide the budget over tables, and draws that get the share `choices`."""
    parts = [Fraction(_GROWTH**step) for step in range(degree)]
    rest = (1 - choices - _FIRST) / sum(parts)
    tables = [budget.share(part) for part in (_FIRST, *(rest * x for x in parts[:-1]))]
    left, epsilons = budget, []
    for step in range(degree):
        draws = most - step
        one = budget.per_record().share(choices / degree / draws).choice_epsilon
        epsilons.append(_short(one))
        drawn = budget.per_record().of_choice(epsilons[-1]).repeated(draws)
        left = left.minus(drawn.of_group(budget.contributions)).minus(tables[step])
    return Plan(recipe, (*tables, left), tuple(epsilons))


def _loss(plan: Plan, net: BayesNet, degree: int) -> float:
    """Return what is to be least for a division of the budget, from public facts.

    The error of a draw counts log(d / 2) times for d variables: the best of the wrong
    edges is ahead by more if there are more of them. The factor is from trials.
    """
    often = math.log(len(net.names) / 2)
    return _error_of_table(plan, net, degree) + often * _error_of_draw(plan, degree)


def _short(epsilon: Fraction) -> Fraction:
    """Return a decimal number of a few digits, below ε by less than one part in 100."""
    scale = Fraction(1)
    while epsilon * scale < _FINE:
        scale *= 10
    return Fraction(int(epsilon * scale)) / scale


def noise_of(recipe: Recipe, net: BayesNet, cost: Guarantee) -> float:
    """Return the mean scale of the noise of all cells, from public facts alone."""
    return _noise(recipe, recipe.statistic(net, cost.adjacency), cost)


def _noise(recipe: Recipe, statistic: Statistic, cost: Guarantee) -> float:
    made: Any = _mechanism(recipe, statistic, cost).for_studies()
    return float(_mean_scale(made, statistic.length))


@eqx.filter_jit
def _mean_scale(mechanism: MechanismWithJointLaw, length: int) -> Array:
    return jnp.mean(mechanism.noise_scale(jnp.zeros(length)))


def _mechanism(recipe: Recipe, statistic: Statistic, cost: Guarantee) -> ExactMechanism:
    """Make the mechanism for a statistic, without data."""
    public = 1 if cost.adjacency == REPLACE_ONE else None
    return recipe.mechanism(statistic, cost.per_record(), public)
