"""Private Markov chains: `PublicChain` and `ChargedChain`.

The steps of a `PublicChain` receive the noisy statistics of a release and no records,
so that the chain costs nothing at any length. A `ChargedChain` has steps that read
records; each of these steps is charged every time it runs.
"""

import collections
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.random as jr
from jax import lax

from dpjax._checks import of_type, typed_key, whole
from dpjax._types import Key
from dpjax.chains.blocks import State, Step, run
from dpjax.chains.price import charge, refuse_traced
from dpjax.privacy import Epsilon, Guarantee, Ledger, advanced, basic, exact_epsilon
from dpjax.releases.released import Released


class ChargedStep(eqx.Module):
    """A step of a Markov chain that reads records, and its privacy cost.

    `latents`, `collapsed`, `choice`, `table` and `barker` make such steps. If you make
    a step yourself, you are responsible for its cost.

    Args:
        update: function from a key, the records and the state to the next state. It
            returns nothing else, since everything else could depend on records.
        each: cost of one draw that reads records, for any state.
        draws: number of draws that read records in one step.
        law: function from the records and the state to the parameters of a draw's
            distribution, for tests; its result is not private.
    """

    update: Callable[[Key, Any, State], State] = eqx.field(static=True)
    each: Guarantee = eqx.field(static=True)
    draws: int = eqx.field(static=True, default=1)
    law: Callable[[Any, State], Any] | None = eqx.field(static=True, default=None)

    def __hash__(self) -> int:
        return hash((self.update, self.each, self.draws))

    @property
    def cost(self) -> Guarantee:
        """The privacy cost of the whole step, of all its draws."""
        return self.each.repeated(self.draws)


class PublicChain(eqx.Module):
    """The result of `public_chain`, a chain that reads a release and no records.

    Args:
        states: the state after every sweep, with sweeps on the first axis.
        infos: the second result (report) of the step in every sweep, on the first axis.
    """

    states: State
    infos: Any


class ChargedChain(eqx.Module):
    """The result of `charged_chain`, a chain whose steps read records, and its cost.

    The cost is for draws in real arithmetic, from which the draws in floats differ by
    rounding. For studies: `release` and `save` do not accept chains.

    Args:
        states: the state after every sweep, with sweeps on the first axis.
        infos: the second results (reports) of the steps that read no records, in the
            order of these steps, with sweeps on the first axis.
        charges: for each step that reads records, the cost of one draw and the number
            of draws in a sweep.
        sweeps: number of sweeps.
        contributions: the most records of a person, whose cost `cost` is. `charges` are
            for one record.
    """

    states: State
    infos: tuple[Any, ...]
    charges: tuple[tuple[Guarantee, int], ...] = eqx.field(static=True)
    sweeps: int = eqx.field(static=True)
    contributions: int = eqx.field(static=True, default=1)

    @property
    def cost(self) -> Guarantee:
        """The total cost of all sweeps, which was charged to the ledger, if any."""
        return _total(self.charges, self.sweeps).of_group(self.contributions)

    @property
    def last(self) -> State:
        """The last state, from which another run may start at an additional cost."""
        return jax.tree.map(lambda x: x[-1], self.states)

    def approximate(self, delta: Epsilon) -> Guarantee:
        """Return the total (ε, δ) cost, by advanced composition of draws of equal cost.

        Args:
            delta: total δ, > 0 and below 1, divided equally among the different costs.

        Raises:
            ValueError: if `delta` is out of range.
        """
        numbers: collections.Counter[Guarantee] = collections.Counter()
        for each, draws in self.charges:
            numbers[each.of_group(self.contributions)] += draws * self.sweeps
        share = exact_epsilon(delta, "delta") / len(numbers)
        return basic(*(advanced(each, k, share) for each, k in numbers.items()))


def public_chain(
    key: Key,
    released: Released,
    step: Callable[[Key, Any, State], tuple[State, Any]],
    start: State,
    *,
    sweeps: int,
) -> PublicChain:
    """Run a Markov chain on released statistics, at no privacy cost.

    Args:
        key: typed JAX key.
        released: a release, from `dpjax.release` or `dpjax.load`.
        step: `step(key, values, state)` returns the next state and an info, any tree of
            arrays that reports on the step. `values` are the noisy integers of the
            release, which may be negative: `jnp.maximum(values, 0)` converts them to
            counts. Reuse the function: each new function is compiled again.
        start: the state before the first sweep.
        sweeps: number of sweeps.

    Privacy:
        Post-processing of a release costs nothing, whether the chain converges or not.

    Raises:
        ValueError: if `released` is not a release, or a number is out of range.

    Reference:
        Foulds, Geumlek, Welling & Chaudhuri (UAI-16), section 4.2.
    """
    remedy = "give one of `dpjax.release` or `dpjax.load`, or use `charged_chain`"
    of_type(Released, remedy, released=released)
    return PublicChain(*_run_public(key, released.values, step, start, sweeps))


def charged_chain(
    key: Key,
    records: Any,
    steps: Sequence[ChargedStep | Step],
    start: State,
    *,
    sweeps: int,
    contributions: int = 1,
    ledger: Ledger | None = None,
) -> ChargedChain:
    """Run a Markov chain whose steps read records, at a cost for each such step.

    Args:
        key: typed JAX key. The guarantee holds only if nobody can guess the key: to
            show the result, use a key from `dpjax.noise.keys.release_key`.
        records: records for the charged steps: an array, or a tuple or dictionary of
            arrays, with records on the first axis.
        steps: the steps of one sweep, in order. Steps that are not a `ChargedStep` are
            functions from a key and the state to the next state and a report (info),
            and cost nothing. Reuse steps: new steps are compiled again.
        start: the state before the first sweep. It must not depend on the records: a
            start that was fitted to them breaks the guarantee.
        sweeps: number of sweeps.
        contributions: the most records k of a person. The costs of the steps are for
            one record, and k times as large for a person.
        ledger: ledger that is charged for all sweeps before the first sweep. To
            continue, run again from `chain.last` with a new key, for a new charge. A
            ledger is refused inside `jit` or `vmap`, where one charge would be for many
            draws; there, the `cost` of a result is the cost of one chain.

    Privacy:
        The sum of the steps' costs times the number of sweeps and `contributions`, in
        real arithmetic; then all states may be shown. Every run on the same records has
        this cost.

    Raises:
        ValueError: if no step reads records, adjacencies differ, a number is out of
            range, or a ledger is given inside `jit` or `vmap`.
        BudgetExceeded: if the cost exceeds the remaining budget; nothing is drawn.

    Reference:
        Foulds, Geumlek, Welling & Chaudhuri (UAI-16), section 4.1.
    """
    typed_key(key=key)
    whole(1, sweeps=sweeps)
    charges = tuple((x.each, x.draws) for x in steps if isinstance(x, ChargedStep))
    if not charges:
        raise ValueError(
            "`steps` must have one that reads records, a ChargedStep; got none: a "
            "chain without is `dpjax.chains.run`."
        )
    total = _total(charges, sweeps).of_group(contributions)
    arguments = key, records, start
    program = partial(_run_charged, steps=tuple(steps), sweeps=sweeps)
    jax.eval_shape(program, *arguments)  # errors in a step before any charge
    if ledger is not None:
        purpose = f"chain of {sweeps} sweeps with {len(charges)} paid steps"
        charge(ledger, total, purpose, arguments)
    states, infos = program(*arguments)
    if ledger is not None:
        refuse_traced(states)  # a step may contain traced arrays
    return ChargedChain(states, infos, charges, sweeps, contributions)


def _total(charges: tuple[tuple[Guarantee, int], ...], sweeps: int) -> Guarantee:
    return basic(*(each.repeated(draws) for each, draws in charges)).repeated(sweeps)


@partial(jax.jit, static_argnums=(2, 4))
def _run_public(key: Key, values: Any, step: Callable, start: State, sweeps: int):
    return run(key, lambda key, state: step(key, values, state), start, sweeps)


@partial(jax.jit, static_argnames=("steps", "sweeps"))
def _run_charged(
    key: Key, records: Any, start: State, *, steps: tuple, sweeps: int
) -> tuple[State, tuple[Any, ...]]:
    def sweep(carried: tuple[Key, State], _: None) -> tuple[tuple, tuple]:
        key, state = carried
        key, *keys = jr.split(key, 1 + len(steps))
        infos = []
        for step, key_step in zip(steps, keys, strict=True):
            if isinstance(step, ChargedStep):
                state = step.update(key_step, records, state)
            else:
                state, info = step(key_step, state)
                infos.append(info)
        return (key, state), (state, tuple(infos))

    return lax.scan(sweep, (key, start), length=sweeps)[1]
