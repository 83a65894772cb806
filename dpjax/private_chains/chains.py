"""Two kinds of private chains, told apart by type.

A `PublicChain` runs on a release: its steps are given noisy statistics and never see a
record, so that it is free and may be as long as one likes. A `PaidChain` has steps that
read records, and each pays every time.
"""

__all__ = ["PaidChain", "PaidStep", "PublicChain", "paid_chain", "public_chain"]

import collections
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.random as jr
from jax import lax

from dpjax._checks import typed_key, whole
from dpjax._types import Key
from dpjax.gibbs import State, Step, run
from dpjax.privacy import (
    ApproximateDP,
    Epsilon,
    Ledger,
    PureDP,
    advanced,
    basic,
    exact_epsilon,
    repeated,
)
from dpjax.released import Released


class PaidStep(eqx.Module):
    """A step that reads records. Made by `latents`, `choice`, `table`, `barker`, ….

    One made by hand is as private as its author says.

    Args:
        update: the next state from a key, the records and the state. Unlike a plain
            step it has no info: what is known of its law depends on the records.
        cost: of one update, whatever the state.
        law: parameters of the law that is drawn from, given the records and the state:
            for tests, for it is not private.
    """

    update: Callable[[Key, Any, State], State] = eqx.field(static=True)
    cost: PureDP = eqx.field(static=True)
    law: Callable[[Any, State], Any] | None = eqx.field(static=True, default=None)


class PublicChain(eqx.Module):
    """Draws of a chain that saw a release and no records.

    Args:
        states: after each sweep, on the first axis.
        infos: of each step, likewise.
    """

    states: State
    infos: dict[str, Any]


class PaidChain(eqx.Module):
    """Draws of a chain whose steps read records, and what they cost together.

    Its numbers are floats: the cost is that of the law in real arithmetic, which a
    draw in floats leaves by rounding. For studies: `release` and `save` know no chains.

    Args:
        states: after each sweep, on the first axis.
        infos: of the steps that read no records, likewise.
        costs: of the steps that read some, once a sweep.
        sweeps: how many.
    """

    states: State
    infos: dict[str, Any]
    costs: tuple[PureDP, ...] = eqx.field(static=True)
    sweeps: int = eqx.field(static=True)

    @property
    def cost(self) -> PureDP:
        """All updates of all sweeps, added up: what the ledger was charged."""
        return repeated(basic(*self.costs), self.sweeps)

    @property
    def last(self) -> State:
        """The state from which one may go on, for a further charge."""
        return jax.tree.map(lambda x: x[-1], self.states)

    def approximate(self, delta: Epsilon) -> ApproximateDP:
        """The same with a δ, by advanced composition of the updates of equal cost.

        Args:
            delta: of all together, > 0 and below 1; equal parts for each cost.

        Raises:
            ValueError: if `delta` is out of range.
        """
        numbers = collections.Counter(self.costs)
        share = exact_epsilon(delta, "delta") / len(numbers)
        parts = [
            advanced(cost, times * self.sweeps, share)
            for cost, times in numbers.items()
        ]
        total = basic(*parts)
        if isinstance(total, PureDP):
            return ApproximateDP(total.epsilon, Fraction(0), total.adjacency)
        return total


def public_chain(
    key: Key,
    released: Released,
    step: Callable[[Key, Any, State], tuple[State, dict[str, Any]]],
    start: State,
    *,
    sweeps: int,
) -> PublicChain:
    """Run a chain on released statistics: any prior, any length, as often as one likes.

    Args:
        key: typed.
        released: from `dpjax.release` or `dpjax.load`; nothing else is accepted.
        step: `step(key, values, state)` returns the next state and an info, as steps of
            `dpjax.gibbs` do; `values` are the noisy integers of the release.
        start: the state before the first sweep.
        sweeps: how many.

    Privacy:
        Post-processing: costs nothing, whether the chain converges or not.

    Raises:
        ValueError: if `released` is no release, or a number out of range.

    Reference:
        Foulds, Geumlek, Welling & Chaudhuri (UAI-16), section 4.2.
    """
    if not isinstance(released, Released):
        raise ValueError(
            "`released` must be a release, from `dpjax.release` or `dpjax.load`, got "
            f"{type(released).__name__}: records are for `paid_chain`."
        )
    return PublicChain(*_run_public(key, released.values, step, start, sweeps))


def paid_chain(
    key: Key,
    records: Any,
    steps: Sequence[PaidStep | Step],
    start: State,
    *,
    sweeps: int,
    ledger: Ledger | None = None,
) -> PaidChain:
    """Run a chain that pays for each update that reads records.

    Args:
        key: typed.
        records: what the paid steps read: an array, or a tuple or dictionary of arrays
            with records on the first axis.
        steps: taken in turn in each sweep; plain steps of `dpjax.gibbs` among them are
            given the state only, and are free.
        start: the state before the first sweep. It must not depend on the records: one
            that does, such as a fit, breaks the guarantee.
        sweeps: how many.
        ledger: charged for all sweeps before the first one. To go on, run again from
            `chain.last`: it is charged again, or refuses.

    Privacy:
        The sum of the steps' costs times the sweeps, of the law in real arithmetic: all
        states may be shown. Every run on the same records costs that.

    Raises:
        ValueError: if no step is paid, adjacencies differ, or a number is out of range.
        BudgetExceeded: if the ledger has less left; nothing is drawn.

    Reference:
        Foulds, Geumlek, Welling & Chaudhuri (UAI-16), section 4.1.
    """
    typed_key(key=key)
    whole(1, sweeps=sweeps)
    costs = tuple(step.cost for step in steps if isinstance(step, PaidStep))
    if not costs:
        raise ValueError(
            "`steps` must have one that reads records, a PaidStep; got none: a chain "
            "without is `dpjax.gibbs.run`."
        )
    total = repeated(basic(*costs), sweeps)
    if ledger is not None:
        ledger.charge(total, f"chain of {sweeps} sweeps with {len(costs)} paid steps")
    states, infos = _run_paid(key, records, tuple(steps), start, sweeps)
    return PaidChain(states, infos, costs, sweeps)


@partial(jax.jit, static_argnums=(2, 4))
def _run_public(key: Key, values: Any, step: Callable, start: State, sweeps: int):
    return run(key, lambda key, state: step(key, values, state), start, sweeps)


@partial(jax.jit, static_argnums=(2, 4))
def _run_paid(
    key: Key, records: Any, steps: tuple, start: State, sweeps: int
) -> tuple[State, dict[str, Any]]:
    def sweep(state: State, key: Key) -> tuple[State, tuple[State, dict[str, Any]]]:
        infos: dict[str, Any] = {}
        for step, key_step in zip(steps, jr.split(key, len(steps)), strict=True):
            if isinstance(step, PaidStep):
                state = step.update(key_step, records, state)
            else:
                state, info = step(key_step, state)
                infos |= info
        return state, (state, infos)

    return lax.scan(sweep, start, jr.split(key, sweeps))[1]
