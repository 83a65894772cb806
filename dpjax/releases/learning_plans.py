"""How a private learner divides its budget over tables and over draws of edges."""

__all__ = ["Plan", "best_plan", "noise_of", "plans_of"]

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
from dpjax.privacy import REPLACE_ONE, Guarantee
from dpjax.releases.candidates import MOST_CELLS, distance_sensitivity

_CHOICES = Fraction(3, 10)  # of the budget, for all draws of edges
_FIRST = Fraction(1, 8)  # of the budget, for the tables without edges
_GROWTH = 3  # of the budget, from the tables of a network to those of the next
_FINE = 100  # least numerator of the ε of a draw, a decimal number
_DEGREES = 3  # the most parents of a variable, if nobody chooses
_SMALL = 0.06  # of the records: errors of a table and a draw that are worth a degree


class Plan(NamedTuple):
    """The budget of each step, for a person, and the recipe of the tables."""

    recipe: Recipe
    tables: tuple[Guarantee, ...]  # one more than draws
    epsilons: tuple[Fraction, ...]  # of each draw, for one record


def plans_of(
    net: BayesNet, budget: Guarantee, degree: int | None, mechanism: str | Recipe
) -> list[Plan]:
    """Return the plan of a degree, or of each degree that `best_plan` may choose.

    All of them cost the budget, and have the same first tables.

    Raises:
        ValueError: if an argument does not fit.
    """
    most = len(net.names) - 1
    if most < 1:
        raise ValueError(
            "`schema` must have at least two variables for a network that is learned."
        )
    every = range(1, min(most, _DEGREES) + 1) if degree is None else (degree,)
    return [_plan(net, budget, x, mechanism) for x in every]


def best_plan(plans: Sequence[Plan], net: BayesNet, n: float) -> Plan:
    """Return the last plan whose errors are small for n records, or the first plan.

    Privacy:
        The result depends on public facts and, if n is private, its released estimate.
    """
    small = (plan for plan in plans[:0:-1] if _error(plan, net) <= _SMALL * n)
    return next(small, plans[0])


def _error(plan: Plan, net: BayesNet) -> float:
    """Return the records by which a table, and the score of its edge, are wrong.

    Nothing is known of edges yet. Here, variables have those before them as parents in
    an order in which few and many levels alternate.
    """
    degree, cost, many = len(plan.epsilons), plan.tables[-1], len(net.names)
    by_size = sorted(range(many), key=net.sizes.__getitem__)
    order = [by_size[-1 - i // 2 if i % 2 else i // 2] for i in range(many)]
    parents = {x: tuple(order[max(0, i - degree) : i]) for i, x in enumerate(order)}
    cells = [math.prod(net.sizes[i] for i in (x, *y)) for x, y in parents.items()]
    if max(cells) > MOST_CELLS:
        return math.inf
    made = BayesNet(net.variables, tuple(parents[i] for i in range(many)))
    table = noise_of(plan.recipe, made, cost) * sum(cells) / many
    return table + float(distance_sensitivity(cost.adjacency) / plan.epsilons[-1])


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
    parts = [Fraction(_GROWTH**step) for step in range(degree)]
    rest = (1 - _CHOICES - _FIRST) / sum(parts)
    tables = [budget.share(part) for part in (_FIRST, *(rest * x for x in parts[:-1]))]
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
    plan = Plan(recipe, (*tables, left), tuple(epsilons))
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


def noise_of(recipe: Recipe, net: BayesNet, cost: Guarantee) -> float:
    """Return the mean scale of the noise of all cells, from public facts alone."""
    length = recipe.statistic(net, cost.adjacency).length
    made: Any = _mechanism(recipe, net, cost).for_studies()
    return float(_mean_scale(made, length))


@eqx.filter_jit
def _mean_scale(mechanism: MechanismWithJointLaw, length: int) -> Array:
    return jnp.mean(mechanism.noise_scale(jnp.zeros(length)))


def _mechanism(recipe: Recipe, net: BayesNet, cost: Guarantee) -> ExactMechanism:
    """Make the mechanism for the tables of a network, without data."""
    public = 1 if cost.adjacency == REPLACE_ONE else None
    statistic = recipe.statistic(net, cost.adjacency)
    return recipe.mechanism(statistic, cost.per_record(), public)
