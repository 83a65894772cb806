r"""Metropolis–Hastings moves that read records, accepted by Barker's rule.

Let r be the ratio of the target densities times the ratio of the proposal densities. A
move is accepted with probability r / (1 + r): a draw from {stay, move} in proportion to
1 and r, which is an exponential mechanism. A replaced record changes $\log r$ by at
most 2Δ/T, and the logarithms of r / (1 + r) and 1 / (1 + r) by no more, so that a move
costs at most 2Δ/T. Barker's rule satisfies detailed balance, as the usual rule does,
and accepts at least half as often.

A lazy rule has the same cost ε = 2Δ/T and accepts at least as often as Barker's, so
that no average over its chain has a larger asymptotic variance (Peskun 1973). It
accepts with the larger of r / (1 + r) and σ(ε) min(1, r), where σ is the logistic
function: for r = 1 with probability σ(ε) in place of ½.

The usual rule, min(1, r), has no guarantee: if r ≥ 1 for one table and r < 1 for its
neighbour, a chain that stays reveals that the table is the neighbour.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array

from dpjax._types import Key
from dpjax.chains.blocks import State
from dpjax.chains.price import (
    Bounds,
    clip_to,
    float_below,
    full_loss,
    of_each,
    price_of,
    shaped,
)
from dpjax.chains.private_chain import ChargedStep
from dpjax.privacy import Adjacency, Epsilon


def barker(
    name: str,
    propose: Callable[[Key, Array], tuple[Array, Array]],
    log_likelihood: Callable[[State, Any, State], Array],
    bounds: Bounds,
    epsilon: Epsilon,
    *,
    adjacency: Adjacency,
    log_prior: Callable[[State], Array],
    latents: Sequence[str] = (),
    acceptance: str = "barker",
) -> ChargedStep:
    """Make a Metropolis–Hastings step that accepts proposals by Barker's rule.

    A proposal reads no records. Its acceptance probability is r / (1 + r), where r is
    the ratio of target densities times the ratio of proposal densities, or that of the
    lazy rule, `log_lazy`.

    Args:
        name: name of the entry of the state, a dictionary, that the step updates.
        propose: function from a key and the current value x to a new value y and
            log(q(x | y) / q(y | x)), which is 0 if the proposal q is symmetric.
        log_likelihood: scalar function of the state, a record and the record's latents.
        bounds: lower and upper bound of `log_likelihood`; values outside are clipped.
        epsilon: largest ε of one step, whether the proposal is accepted or not.
        adjacency: "replace-one" or "add-remove".
        log_prior: function from the state to a scalar.
        latents: names of entries with one latent per record; none under add-remove.
        acceptance: "barker", or "lazy", which costs the same and never accepts less
            often; "metropolis", which accepts with min(1, r), is refused.

    Privacy:
        At temperature 1 a step costs 2Δ under replace-one and Δ under add-remove, where
        Δ is the width of `bounds`. If that exceeds ε, the likelihood is tempered.

    Raises:
        ValueError: if an argument is out of range, or `acceptance` is neither "barker"
            nor "lazy".

    Reference:
        Barker (1965) for the rule; Foulds, Geumlek, Welling & Chaudhuri (UAI-16),
        section 4, which promises a guarantee for Metropolis–Hastings.
    """
    if acceptance not in ("barker", "lazy"):
        raise ValueError(
            "`acceptance` must be 'barker' or 'lazy': min(1, r) moves surely where r "
            "is at least 1, so that staying shows which table it was, an infinite "
            f"loss; got {acceptance!r}."
        )
    clip = clip_to(bounds)
    cost, temperature = price_of(clip.width, epsilon, adjacency, latents)
    change = full_loss(clip.width, adjacency) / Fraction(temperature)  # of log r
    lazy = partial(log_lazy, epsilon=float_below(change))
    rule = lazy if acceptance == "lazy" else jax.nn.log_sigmoid
    each = of_each(log_likelihood, latents)

    def log_target(records: Any, state: State) -> Array:
        fits = each(state, records)
        shaped(fits, (len(fits),), "log_likelihood")
        prior = shaped(log_prior(state), (), "log_prior")
        return prior + clip(fits).sum() / temperature

    def update(key: Key, records: Any, state: State) -> State:
        key_propose, key_accept = jr.split(key)
        proposed, log_proposals = propose(key_propose, state[name])
        moved = {**state, name: proposed}
        ratio = log_target(records, moved) - log_target(records, state)
        ratio = ratio + shaped(log_proposals, (), "propose")
        return {**state, name: choose(key_accept, rule(ratio), proposed, state[name])}

    return ChargedStep(update, cost, law=log_target)


def log_lazy(log_ratio: Array, epsilon: float) -> Array:
    r"""Return the log-probability that the lazy rule accepts a proposal.

    It is the logarithm of $\max(\sigma(s), \sigma(\epsilon) \min(1, e^s))$, where s is
    `log_ratio`.

    Privacy:
        A change of s by at most ε changes the logarithms of the probabilities of moving
        and of staying by at most ε, and by ε for s = 0 and s = -ε.
    """
    steep = jax.nn.log_sigmoid(epsilon) + jnp.minimum(log_ratio, 0)
    return jnp.maximum(jax.nn.log_sigmoid(log_ratio), steep)


def choose(key: Key, log_acceptance: Array, moved: Array, stayed: Array) -> Array:
    """Return `moved` with probability exp(log_acceptance), otherwise `stayed`."""
    accepted = jnp.log(jr.uniform(key)) < log_acceptance
    return jnp.where(accepted, moved, stayed)
