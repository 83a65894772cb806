"""Audit cases for Gibbs chains whose updates read records and are charged."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from dpjax._types import Key
from dpjax.audits.subjects import EVENTS, IN_REALS, Case, Subject, cases
from dpjax.chains import ChargedStep, barker, charged_chain, choice, latents, table
from dpjax.event_logs import charged_hidden_markov
from dpjax.privacy import REPLACE_ONE, Adjacency, basic, budget_of

_BOUNDS = ("-2.302585093", "-0.105360516")
_LOGS = (math.log(0.1), math.log(0.9))
_SOME, _FEW = 50_000, 5000  # draws of slow and of slower releases


def _fit(candidate: Array, record: Array) -> Array:
    """The log-likelihood of a coin whose candidate side has probability 0.9."""
    return jnp.where(candidate == record, _LOGS[1], _LOGS[0])


def _prior(state: Any) -> Array:
    """Log-prior of the two candidates; no record supports the likelier candidate."""
    return jnp.log(jnp.array([0.95, 0.05]))


def _both() -> Array:
    return jnp.arange(2, dtype=jnp.int32)


def _choice(epsilon: Fraction, adjacency: Adjacency) -> ChargedStep:
    return choice(
        "side",
        lambda state, record, own: _fit(_both(), record),
        _BOUNDS,
        epsilon,
        adjacency=adjacency,
        log_prior=_prior,
    )


def _labels(epsilon: Fraction) -> ChargedStep:
    return latents(
        "labels",
        lambda state, record: _fit((_both() + state["side"]) % 2, record),
        _BOUNDS,
        epsilon,
        log_prior=_prior,
    )


def _barker(epsilon: Fraction, adjacency: Adjacency) -> ChargedStep:
    return barker(
        "side",
        lambda key, side: (1 - side, jnp.zeros(())),
        lambda state, record, own: _fit(state["side"], record),
        _BOUNDS,
        epsilon,
        adjacency=adjacency,
        log_prior=lambda state: _prior(state)[state["side"]],
    )


def _table(epsilon: Fraction, adjacency: Adjacency) -> ChargedStep:
    return table(
        "table",
        lambda state, record, own: (jnp.zeros((), jnp.int32), record),
        (1, 2),
        epsilon,
        adjacency=adjacency,
        least="0.1",
    )


def _chain(
    make: Callable[[Fraction, Adjacency], list[ChargedStep]],
    shown: tuple[str, ...],
    sweeps: int,
    records: int,
    epsilon: Fraction,
    adjacency: Adjacency,
) -> Subject:
    steps = make(epsilon, adjacency)
    data, neighbour = _coins(records, adjacency)

    def draw(key: Key, records: Array) -> dict[str, Array]:
        start = {
            "side": jnp.zeros((), jnp.int32),
            "labels": jnp.zeros(len(data), jnp.int32),
            "table": jnp.full((1, 2), 0.5),
        }
        start = {name: start[name] for name in shown}
        return charged_chain(key, records, steps, start, sweeps=sweeps).states

    return Subject(
        basic(*(step.cost for step in steps)).repeated(sweeps),
        release=draw,
        data=data,
        neighbour=neighbour,
        scores=IN_REALS,
        most=_SOME,
    )


def _coins(n: int, adjacency: Adjacency) -> tuple[Array, Array]:
    """A data set of zeros, and a neighbour in which one record is a one."""
    zeros = jnp.zeros(n, jnp.int32)
    one = jnp.ones(1, jnp.int32)
    kept = zeros[1:] if adjacency == REPLACE_ONE else zeros
    return zeros, jnp.concatenate([kept, one])


def _only(step: Callable[[Fraction, Adjacency], ChargedStep]) -> Callable[..., list]:
    return lambda epsilon, adjacency: [step(epsilon, adjacency)]


def _two_sweeps(epsilon: Fraction, adjacency: Adjacency) -> list[ChargedStep]:
    return [_labels(epsilon / 4), _choice(epsilon / 4, adjacency)]


def _hidden_markov(epsilon: Fraction, adjacency: Adjacency) -> Subject:
    """A chain of one sweep, with two draws; neighbours differ in one event."""

    def draw(key: Key, records: Array) -> tuple[Array, ...]:
        charged = charged_hidden_markov(
            key,
            EVENTS,
            records,
            2,
            epsilon=epsilon / 2,
            adjacency=adjacency,
            truncation=10,
            sweeps=1,
            burn_in=0,
        )
        return charged.posterior.paths, charged.posterior.emission

    data = np.array([[0, 0, 0]] * 3, np.int32)
    other = np.array([[0, 1, 1]], np.int32)
    kept = data[1:] if adjacency == REPLACE_ONE else data
    return Subject(
        budget_of(epsilon, adjacency),
        release=draw,
        data=data,
        neighbour=np.concatenate([kept, other]),
        scores=IN_REALS,
        most=_FEW,
    )


CHAIN_CASES = (
    Case(
        "paid-chain",
        REPLACE_ONE,
        "real",
        partial(_chain, _two_sweeps, ("labels", "side"), 2, 2),
    ),
    *cases(
        "real",
        {
            "paid-choice": partial(_chain, _only(_choice), ("side",), 1, 1),
            "paid-barker": partial(_chain, _only(_barker), ("side",), 1, 1),
            "paid-table": partial(_chain, _only(_table), ("table",), 1, 4),
        },
    ),
    Case("paid-hmm", REPLACE_ONE, "real", _hidden_markov),  # slow: one adjacency
)
"""Audit cases for Gibbs chains that read records, in real arithmetic."""
