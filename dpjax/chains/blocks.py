"""Steps of Gibbs samplers: a part of the state drawn given all others.

A step is a pure function `step(key, state)` that returns the next state and an info,
which is what it reports. A state is any tree of arrays; that of a `block` is a
dictionary. Many chains are one more axis of every array. These steps read no records:
those that do are in `dpjax.chains.private_chain`.
"""

__all__ = ["State", "Step", "block", "in_turn", "run"]

from collections.abc import Callable
from typing import Any

import jax.random as jr
from jax import lax

from dpjax._checks import typed_key, whole
from dpjax._types import Key

State = Any
Step = Callable[[Key, State], tuple[State, Any]]


def block(
    name: str, draw: Callable[[Key, Any], Any], conditional: Callable[[State], Any]
) -> Step:
    """Make the step that draws one entry of a dictionary from its law given the others.

    Args:
        name: of the entry.
        draw: from the parameters of that law: `draw_dirichlet`, `draw_beta`,
            `draw_gamma`, `draw_gaussian`, `draw_categorical`, or a function of your
            own.
        conditional: its parameters, given the state.

    Returns:
        A step whose info are these parameters. Their averages over a chain are smoother
        than those of the draws (Rao and Blackwell).
    """

    def step(key: Key, state: State) -> tuple[State, Any]:
        law = conditional(state)
        return {**state, name: draw(key, law)}, law

    return step


def in_turn(*steps: Step) -> Step:
    """Make one step of several, each with a key of its own; its info are theirs."""

    def step(key: Key, state: State) -> tuple[State, tuple[Any, ...]]:
        infos = []
        for each, key_now in zip(steps, jr.split(key, len(steps)), strict=True):
            state, info = each(key_now, state)
            infos.append(info)
        return state, tuple(infos)

    return step


def run(key: Key, step: Step, state: State, sweeps: int) -> tuple[State, Any]:
    """Run a chain and return all states and infos, sweeps on the first axis; pure.

    Compile it as `jax.jit(run, static_argnums=(1, 3))`, with a step that is built once:
    each new one is compiled again.

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

    def sweep(carried: tuple[Key, State], _: None) -> tuple[tuple, tuple]:
        key, state = carried
        key, key_step = jr.split(key)
        state, info = step(key_step, state)
        return (key, state), (state, info)

    return lax.scan(sweep, (key, state), length=sweeps)[1]
