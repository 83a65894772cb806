"""Steps of Gibbs samplers: one entry of the state drawn given all others.

A state is a dictionary of arrays, a step a pure function `step(key, state)` that
returns the next state and what it drew from. Many chains are one more axis of every
array. Steps know no records: those that read some are in `dpjax.private_chains`.
"""

__all__ = ["State", "Step", "block", "in_turn", "run"]

from collections.abc import Callable
from typing import Any

import jax.random as jr
from jax import lax

from dpjax._checks import typed_key, whole
from dpjax._types import Key

State = dict[str, Any]
Step = Callable[[Key, State], tuple[State, dict[str, Any]]]


def block(
    name: str,
    draw: Callable[[Key, Any], Any],
    conditional: Callable[[State], Any],
) -> Step:
    """The step that draws one entry from its law given the others.

    Args:
        name: of the entry.
        draw: from the parameters of that law: `draw_dirichlet`, `draw_beta`,
            `draw_gamma`, `draw_gaussian`, `draw_categorical`, or one's own.
        conditional: its parameters, given the state.

    Returns:
        A step whose info has these parameters under the same name. Their averages over
        a chain are smoother than those of the draws (Rao and Blackwell).
    """

    def step(key: Key, state: State) -> tuple[State, dict[str, Any]]:
        law = conditional(state)
        return {**state, name: draw(key, law)}, {name: law}

    return step


def in_turn(*steps: Step) -> Step:
    """One step that takes several, each with a key of its own; infos are merged."""

    def step(key: Key, state: State) -> tuple[State, dict[str, Any]]:
        infos: dict[str, Any] = {}
        for each, key_now in zip(steps, jr.split(key, len(steps)), strict=True):
            state, info = each(key_now, state)
            infos |= info
        return state, infos

    return step


def run(
    key: Key, step: Step, state: State, sweeps: int
) -> tuple[State, dict[str, Any]]:
    """All states and infos of a chain, sweeps on the first axis; pure.

    Args:
        key: typed.
        step: of the chain.
        state: before the first sweep; it is not among the results.
        sweeps: how many.

    Raises:
        ValueError: if the key is not typed or `sweeps` not an integer of at least 1.
    """
    typed_key(key=key)
    whole(1, sweeps=sweeps)

    def sweep(state: State, key: Key) -> tuple[State, tuple[State, dict[str, Any]]]:
        state, info = step(key, state)
        return state, (state, info)

    return lax.scan(sweep, state, jr.split(key, sweeps))[1]
