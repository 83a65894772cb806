"""Steps of Gibbs samplers, which draw a part of the state given all other parts.

A step is a pure function `step(key, state)` that returns the next state and its info,
any tree of arrays that reports on the step. A state is any tree of arrays; for a
`block` it is a dictionary. To run many chains, add an axis to every array. These steps
read no records; steps that read records are in `dpjax.chains.private_chain`.
"""

from collections.abc import Callable
from typing import Any

import jax.random as jr
from jax import lax

from dpjax._checks import typed_key, whole
from dpjax._types import Key

State = Any
"""State of a Markov chain: any tree of arrays."""
Step = Callable[[Key, State], tuple[State, Any]]
"""Function from a key and a state to the next state and an info, a report."""


def block(
    name: str, draw: Callable[[Key, Any], Any], conditional: Callable[[State], Any]
) -> Step:
    """Make the Gibbs step that draws one entry of the state given all other entries.

    Args:
        name: name of the entry; the state is a dictionary.
        draw: function from a key and the parameters of the entry's conditional
            distribution to a draw, such as `draw_dirichlet` or `draw_gamma`.
        conditional: function from the state to these parameters.

    Returns:
        A function from a key and a state to the next state and these parameters.
        Averages of expectations given the parameters have less variance than averages
        of the draws (Rao and Blackwell).
    """

    def step(key: Key, state: State) -> tuple[State, Any]:
        law = conditional(state)
        return {**state, name: draw(key, law)}, law

    return step


def in_turn(*steps: Step) -> Step:
    """Combine steps into one that runs them in turn and returns a tuple of infos."""

    def step(key: Key, state: State) -> tuple[State, tuple[Any, ...]]:
        infos = []
        for each, key_now in zip(steps, jr.split(key, len(steps)), strict=True):
            state, info = each(key_now, state)
            infos.append(info)
        return state, tuple(infos)

    return step


def run(key: Key, step: Step, state: State, sweeps: int) -> tuple[State, Any]:
    """Run a Markov chain, and return the state and the info after every sweep.

    The function is pure. Compile it as `jax.jit(run, static_argnums=(1, 3))`, and reuse
    the step: each new step is compiled again.

    Args:
        key: typed JAX key.
        step: `step(key, state)` returns the next state and an info, any tree of arrays
            that reports on the sweep.
        state: state before the first sweep; the results do not contain it.
        sweeps: number of sweeps.

    Returns:
        All states and all infos, with sweeps on the first axis of each array.

    Raises:
        ValueError: if the key is not typed, or `sweeps` is not an integer ≥ 1.
    """
    typed_key(key=key)
    whole(1, sweeps=sweeps)

    def sweep(carried: tuple[Key, State], _: None) -> tuple[tuple, tuple]:
        key, state = carried
        key, key_step = jr.split(key)
        state, info = step(key_step, state)
        return (key, state), (state, info)

    return lax.scan(sweep, (key, state), length=sweeps)[1]
