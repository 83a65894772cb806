r"""Annealed importance sampling that reads records, with moves of Barker's rule.

A chain starts from a draw of the prior, and moves at increasing powers
$0 < \beta_1 < \dots \le 1$ of the likelihood L to the posterior. A move at power β
costs β times a move at power 1. The expectation of the weight
$\prod_j L(\theta_{j-1})^{\beta_j - \beta_{j-1}}$ is the evidence. The weight depends on
the records too: its logarithm is returned with Laplace noise, for a cost, or omitted.
"""

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from dpjax._checks import one_of, typed_key
from dpjax._types import Key
from dpjax.chains.barker import choose
from dpjax.chains.price import (
    Bounds,
    Clip,
    charge,
    clip_to,
    float_above,
    float_below,
    full_loss,
    of_each,
    refuse_traced,
    shaped,
)
from dpjax.privacy import (
    ADJACENCIES,
    REPLACE_ONE,
    Adjacency,
    Epsilon,
    Guarantee,
    Ledger,
    basic,
    budget_of,
    exact_epsilon,
)


class AnnealedSample(eqx.Module):
    """The result of `annealed`: a draw in floats, for studies only, and its cost.

    Args:
        value: the parameter after the last move.
        log_weight: the noisy logarithm of the importance weight, or None.
        cost: privacy cost of all moves and of the weight.
    """

    value: Array
    log_weight: Float[Array, ""] | None
    cost: Guarantee = eqx.field(static=True)


def annealed(
    key: Key,
    records: Any,
    begin: Callable[[Key], Array],
    propose: Callable[[Key, Array], tuple[Array, Array]],
    log_likelihood: Callable[[Array, Any], Array],
    bounds: Bounds,
    powers: Sequence[Epsilon],
    *,
    adjacency: Adjacency,
    log_prior: Callable[[Array], Array],
    weight_epsilon: Epsilon | None = None,
    contributions: int = 1,
    ledger: Ledger | None = None,
) -> AnnealedSample:
    r"""Draw a parameter approximately from the posterior, by annealing.

    A chain starts from the prior and makes one move by Barker's rule for each power of
    the likelihood. Reuse function objects: new ones are compiled again.

    Args:
        key: typed JAX key. The guarantee holds only if nobody can guess the key: to
            show the result, use a key from `dpjax.noise.keys.release_key`.
        records: an array, or a tuple or dictionary of arrays, with one entry on the
            first axis for each record.
        begin: function from a key to a draw of the prior; it must not read records.
        propose: function from a key and a value x to a new value y and
            log(q(x | y) / q(y | x)), which is 0 if the proposal q is symmetric.
        log_likelihood: function from the parameter and a record to a scalar.
        bounds: lower and upper bound of `log_likelihood`; values outside are clipped.
        powers: increasing powers β of the likelihood, above 0 and at most 1. The last
            power defines the target, and is 1 / temperature.
        adjacency: "replace-one" or "add-remove".
        log_prior: function from the parameter to a scalar.
        weight_epsilon: ε of the noisy log-weight, for one record. None: no weight is
            returned.
        contributions: the most records k of a person, whose cost is k times as large.
        ledger: ledger that is charged before any draw; refused inside `jit` or `vmap`.

    Privacy:
        The cost is $2 \Delta \sum_j \beta_j$ under replace-one, half of it under
        add-remove, plus `weight_epsilon`, for one record. Δ is the width of `bounds`.
        The log-weight changes by at most Δ times the last power if a record is
        replaced, and by the larger magnitude of the bounds times the last power if a
        record appears.

    Raises:
        ValueError: if an argument is out of range.
        BudgetExceeded: if the cost exceeds the remaining budget; nothing is drawn.

    Reference:
        Neal, "Annealed importance sampling" (2001).
    """
    typed_key(key=key)
    one_of(ADJACENCIES, adjacency=adjacency)
    clip, exact = clip_to(bounds), _rising(powers)
    cost = _cost(clip, exact, adjacency, weight_epsilon).of_group(contributions)
    steps = jnp.asarray(np.array([float_below(power) for power in exact]))
    key_chain, key_noise = jr.split(key)
    functions = begin, propose, log_likelihood, clip, log_prior
    program = partial(_anneal, functions=functions)
    jax.eval_shape(program, key_chain, records, steps)  # errors before a charge
    if ledger is not None:
        charge(ledger, cost, f"annealing with {len(exact)} moves", (key, records))
    value, log_weight = program(key_chain, records, steps)
    if ledger is not None:
        refuse_traced(value, log_weight)
    if weight_epsilon is None:
        return AnnealedSample(value, None, cost)
    largest = max(abs(clip.low), abs(clip.high))
    change = clip.width if adjacency == REPLACE_ONE else largest
    scale = exact[-1] * change / exact_epsilon(weight_epsilon, "weight_epsilon")
    noise = float_above(scale) * jr.laplace(key_noise, (), log_weight.dtype)
    return AnnealedSample(value, log_weight + noise, cost)


@partial(jax.jit, static_argnames="functions")
def _anneal(
    key: Key, records: Any, powers: Array, *, functions: tuple
) -> tuple[Array, Array]:
    begin, propose, log_likelihood, clip, log_prior = functions
    each = of_each(lambda state, record, _: log_likelihood(state["value"], record))

    def fit(value: Array) -> Array:
        fits = each({"value": value}, records)
        return clip(shaped(fits, (len(fits),), "log_likelihood")).sum()

    key_begin, key_moves = jr.split(key)

    def move(carry, power):
        key, value, log_weight, before = carry
        key, key_propose, key_accept = jr.split(key, 3)
        now = fit(value)
        log_weight = log_weight + (power - before) * now
        proposed, log_proposals = propose(key_propose, value)
        ratio = shaped(log_prior(proposed) - log_prior(value), (), "log_prior")
        ratio = ratio + shaped(log_proposals, (), "propose")
        ratio = ratio + power * (fit(proposed) - now)
        value = choose(key_accept, jax.nn.log_sigmoid(ratio), proposed, value)
        return (key, value, log_weight, power), None

    zero = jnp.zeros((), powers.dtype)
    start = key_moves, begin(key_begin), zero, zero
    (_, value, log_weight, _), _ = lax.scan(move, start, powers)
    return value, log_weight


def _rising(powers: Sequence[Epsilon]) -> list[Fraction]:
    exact = [exact_epsilon(power, "powers") for power in powers]
    pairs = itertools.pairwise(exact)
    if not exact or exact[-1] > 1 or any(x >= y for x, y in pairs):
        raise ValueError(
            "`powers` must rise, above 0 and at most 1, such as ['0.25', '0.5', '1']."
        )
    return exact


def _cost(
    clip: Clip,
    powers: list[Fraction],
    adjacency: Adjacency,
    weight_epsilon: Epsilon | None,
) -> Guarantee:
    full = full_loss(clip.width, adjacency)
    costs = [budget_of(full * power, adjacency) for power in powers]
    if weight_epsilon is not None:
        costs.append(budget_of(weight_epsilon, adjacency, "weight_epsilon"))
    return basic(*costs)
