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
import numpy as np

from dpjax._types import Key
from dpjax.mechanisms import DiscreteLaplace
from dpjax.plots import Panel, Series
from dpjax.privacy import REPLACE_ONE, Ledger, PureDP, advanced
from dpjax.private_chains import PaidChain, choice, latents, paid_chain
from dpjax.reproductions.foulds.efficiency import COIN, EPSILON
from dpjax.reproductions.reproduction import Claim
from dpjax.statistics import FamilyCounts

UPDATE, SWEEPS, RECORDS = Fraction(1, 100), 200, 50


def paid(key: Key) -> tuple[PaidChain, Ledger]:
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
    chain = paid_chain(key, records, steps, start, sweeps=SWEEPS, ledger=ledger)
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


def claims_of_cost(per_update: Ledger) -> list[Claim]:
    """The last column, by what ledgers were charged."""
    once = Ledger(10, adjacency=REPLACE_ONE)
    noise = DiscreteLaplace.calibrate(
        EPSILON, FamilyCounts(COIN).sensitivity(REPLACE_ONE)
    )
    once.charge(noise.guarantee(), "release")
    return [
        Claim.certain(
            "Gibbs cost of Laplace: once, ε for the release, whatever runs on it",
            float(once.spent) == float(EPSILON),
        ),
        Claim.certain(
            "Gibbs cost of OPS: per update; 200 sweeps of two updates cost 400 ε",
            per_update.spent == 400 * UPDATE,
        ),
    ]


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
