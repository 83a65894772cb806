"""Table 1 of Foulds et al.: what Gibbs sampling costs, once or per update."""

__all__ = [
    "RECORDS",
    "UPDATE",
    "claims_of_cost",
    "costs_of_sweeps",
    "paid",
    "panel_of_costs",
]

import math
from fractions import Fraction

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array

from dpjax._types import Key
from dpjax.chains import ChargedChain, charged_chain, choice, latents, public_chain
from dpjax.plots import Panel, Series
from dpjax.privacy import REPLACE_ONE, Ledger, PureDP, advanced
from dpjax.releases.publish import release
from papers.foulds.efficiency import EPSILON
from papers.networks import COIN
from papers.reproduction import Claim

UPDATE, SWEEPS, RECORDS = Fraction(1, 100), 200, 50


def paid(key: Key) -> tuple[ChargedChain, Ledger]:
    """A chain of a label a record and one parameter, and the ledger it was charged to.

    Records are bits, which agree with label xor parameter with a chance of .9.
    """
    bounds, logs = ("-2.302585093", "-0.105360516"), (math.log(0.1), math.log(0.9))
    both = jnp.arange(2, dtype=jnp.int32)

    def fit(labels, record):
        return jnp.where(labels % 2 == record, logs[1], logs[0])

    steps = [
        latents(
            "labels",
            lambda state, record: fit(both + state["side"], record),
            bounds,
            UPDATE,
            log_prior=lambda _: jnp.zeros(2),
        ),
        choice(
            "side",
            lambda state, record, own: fit(both + own["labels"], record),
            bounds,
            UPDATE,
            adjacency=REPLACE_ONE,
            log_prior=lambda _: jnp.zeros(2),
            latents=("labels",),
        ),
    ]
    start = {"side": jnp.zeros((), jnp.int32), "labels": jnp.zeros(RECORDS, jnp.int32)}
    ledger = Ledger(10, adjacency=REPLACE_ONE)
    records = jnp.zeros(RECORDS, jnp.int32)
    chain = charged_chain(key, records, steps, start, sweeps=SWEEPS, ledger=ledger)
    return chain, ledger


def costs_of_sweeps(sweeps: np.ndarray) -> dict[str, list[float]]:
    """ε after so many sweeps of two updates of ε = .01, by how it is accounted for."""
    each = PureDP(UPDATE, REPLACE_ONE)
    later = [advanced(each, 2 * int(n), "1e-6") for n in sweeps]
    return {
        "OPS, per update": [2 * int(n) * float(UPDATE) for n in sweeps],
        "OPS, per update, δ = 1e-6": [float(x.epsilon) for x in later],
        "OPS, if converged: on trust": [float(UPDATE)] * len(sweeps),
        "Laplace, ε = 1 once": [1.0] * len(sweeps),
    }


def claims_of_cost(key: Key, per_update: Ledger) -> list[Claim]:
    """The last column, by what ledgers were charged."""
    once = Ledger(10, adjacency=REPLACE_ONE)
    coins = np.zeros((RECORDS, 1), np.uint8)
    noisy = release(COIN, coins, epsilon=EPSILON, adjacency=REPLACE_ONE, ledger=once)
    chain = public_chain(key, noisy, _update, jnp.zeros(()), sweeps=SWEEPS)
    draws = np.asarray(chain.states)
    return [
        Claim.certain(
            f"Gibbs cost of Laplace: once, ε for the release; a chain of {SWEEPS} "
            "sweeps on it costs nothing more",
            draws.shape == (SWEEPS,) and float(once.spent) == float(EPSILON),
        ),
        Claim.certain(
            "the library charges a chain on records per update: 200 sweeps of two "
            "updates, 400 ε",
            per_update.spent == 400 * UPDATE,
            by="dpjax",
        ),
    ]


def _update(key: Key, values: Array, chance: Array) -> tuple[Array, None]:
    """A draw of a success probability from noisy counts, whatever it was before."""
    del chance
    failures, successes = 1 + jnp.maximum(values, 0).astype(float)
    return jr.beta(key, successes, failures), None


def panel_of_costs(sweeps: np.ndarray, costs: dict[str, list[float]]) -> Panel:
    """Loss against the number of sweeps."""
    styles = ("line", "line", "dashed", "line")
    return Panel(
        [
            Series(name, sweeps, np.array(values), style=style)
            for (name, values), style in zip(costs.items(), styles, strict=True)
        ],
        "sweeps of two updates, ε = .01 each",
        "privacy loss ε of all that is shown",
        title="Gibbs cost (replace-one)",
        log_x=True,
        log_y=True,
    )
