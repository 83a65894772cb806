r"""Hidden Markov models whose Gibbs sampler reads the records, at a charge per draw.

This is "one posterior sample" (OPS) of Foulds et al., section 5. Drawing all tables
given the paths, and all paths given the tables, are exponential mechanisms: an event's
log-likelihood is a sum over its fields of logs of probabilities of at least
$a_f = 1 / (M K_f)$, so that its width is

$$\Delta = \sum_f \ln \frac{1 - (K_f - 1) a_f}{a_f},$$

also if the event moves to another cell. At temperature 1 each draw costs 2Δ under
replace-one and Δ under add-remove; counts are divided by the temperature that makes it
ε. A sweep has two draws; 200 sweeps cost 400ε.
"""

__all__ = ["CLAIM", "ChargedHiddenMarkov", "charged_hidden_markov"]

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import equinox as eqx

from dpjax._checks import typed_key, whole
from dpjax._types import Key, Records, Scalar
from dpjax.chains import charge, price_of, refuse_prior, table_width
from dpjax.data.bayes_net import BayesNet
from dpjax.data.sources import Table
from dpjax.event_logs.events import (
    check_states,
    declared_cells,
    event_counts,
    log_variables,
)
from dpjax.event_logs.fitting import Progress, check_run, sample_hidden_markov
from dpjax.event_logs.posterior import HiddenMarkovPosterior
from dpjax.event_logs.sampler import CellCounts
from dpjax.privacy import Adjacency, Epsilon, Guarantee, Ledger, advanced

_MOST_TRUNCATION = 10_000
_ROUNDED = 1 - Fraction(1, 10**6)

CLAIM = (
    "UNVERIFIED: charged as one exact posterior sample; that the chain has converged "
    "on every table of records is taken on trust, for nobody can observe it"
)
"""The label of a result that was charged as if its chain had converged."""


class ChargedHiddenMarkov(eqx.Module):
    """Draws of a sampler that read the records, and their cost.

    They are floats, for studies only: `release` and `save` do not accept them.

    Args:
        posterior: all draws after the burn-in, if each was charged; else the last. It
            has no trace: the likelihood of given draws is a function of the records.
        update: cost of one charged draw.
        updates: number of charged draws.
        temperature: T; the likelihood was raised to the power 1/T.
        claim: an assumption that the cost rests on; None: none.
    """

    posterior: HiddenMarkovPosterior
    update: Guarantee = eqx.field(static=True)
    updates: int = eqx.field(static=True)
    temperature: float
    claim: str | None = eqx.field(static=True)

    @property
    def cost(self) -> Guarantee:
        """The cost of all draws, as charged to the ledger."""
        return self.update.repeated(self.updates)

    def approximate(self, delta: Epsilon) -> Guarantee:
        """The cost with a δ, by advanced composition.

        Raises:
            ValueError: unless `delta` is above 0 and below 1.
        """
        return advanced(self.update, self.updates, delta)


def charged_hidden_markov(
    key: Key,
    net: BayesNet,
    records: Records | Table,
    states: int,
    *,
    epsilon: Epsilon,
    adjacency: Adjacency,
    truncation: int = 100,
    emission: Scalar = 1.0,
    transition: Scalar = 1.0,
    chains: int = 1,
    sweeps: int = 200,
    burn_in: int | None = None,
    times: Mapping[Any, tuple] | None = None,
    assume_converged: bool = False,
    ledger: Ledger | None = None,
    progress: Progress | None = None,
) -> ChargedHiddenMarkov:
    """Draw hidden states of an event log from its records, and charge each draw.

    Args:
        key: typed. The cost holds only if nobody can guess it: to show the result, take
            `dpjax.noise.keys.release_key()`.
        net: an `event_network`.
        records: records of its variables, as for `dpjax.release`.
        states: number of hidden states.
        epsilon: cost of one draw of all tables, or of all paths.
        adjacency: "replace-one" or "add-remove".
        truncation: M; each of K levels has a probability of at least 1 / (M K).
        emission: Dirichlet parameter of every level.
        transition: Dirichlet parameter of every transition and every first state.
        chains: number of chains, each charged.
        sweeps: number of sweeps of each chain, with two charged draws each.
        burn_in: number of sweeps that are charged but discarded; None: half.
        times: public first and last times of regions' paths, as in `fit`. Events in
            other cells are ignored.
        assume_converged: whether to keep only the last draw of each chain, and charge
            ε for it, the cost of a posterior sample. No diagnostic shows that a chain
            has converged on every table, so that the result has a claim that nobody
            can verify; see also `dpjax.privacy.converged_within`.
        ledger: charged before anything is drawn; not inside `jit` or `vmap`, which
            would draw many times for one charge.
        progress: wraps the iterable of blocks of sweeps, as `tqdm` does.

    Privacy:
        In real arithmetic, 2ε per sweep and chain, or ε per chain under the claim; less
        if temperature 1 costs less. The start is random and depends on no record.

    Raises:
        ValueError: if an argument is out of range, the network is not of events, or the
            records do not fit it.
        BudgetExceeded: if the ledger has less left; nothing is drawn.

    Reference:
        Foulds, Geumlek, Welling & Chaudhuri (UAI-16), sections 4.1 and 5.
    """
    typed_key(key=key)
    if not isinstance(assume_converged, bool):
        raise ValueError(
            f"`assume_converged` must be True or False, got {assume_converged!r}."
        )
    burn_in = sweeps - 1 if assume_converged else check_run(chains, sweeps, burn_in)
    check_run(chains, sweeps, burn_in)
    refuse_prior(emission=emission, transition=transition)
    check_states(states, declared_cells(net, times))
    _, _, variables = log_variables(net)
    width = _width(tuple(variable.size for variable in variables), truncation)
    update, temperature = price_of(width, epsilon, adjacency)
    updates = chains * (1 if assume_converged else 2 * sweeps)
    cost = update.repeated(updates)
    claim = CLAIM if assume_converged else None
    if ledger is not None:
        ledger.require(cost)  # before the records are touched
    counts = event_counts(net, records).astype(float)
    if ledger is not None:
        purpose = claim or f"{chains} hidden Markov chains of {sweeps} sweeps"
        charge(ledger, cost, purpose, (key, counts, emission, transition))
    cells = CellCounts.of(
        net,
        counts / temperature,
        states,
        times=times,
        emission=emission,
        transition=transition,
        truncation=truncation,
    )
    drawn = sample_hidden_markov(
        key, cells, chains=chains, sweeps=sweeps, burn_in=burn_in, progress=progress
    )
    # The trace is a function of exact counts, which was not charged.
    posterior = replace(drawn, trace=None)
    return ChargedHiddenMarkov(posterior, update, updates, temperature, claim)


def _width(fields: tuple[int, ...], truncation: int) -> Fraction:
    """Width of an event's log-likelihood over all states and tables."""
    whole(2, truncation=truncation)
    if truncation > _MOST_TRUNCATION:
        raise ValueError(
            f"`truncation` must be at most {_MOST_TRUNCATION}, so that draws end "
            f"whatever the counts, got {truncation}."
        )
    # A little less, since the bounds are used as floats.
    least = (Fraction(1, truncation * size) * _ROUNDED for size in fields)
    return sum(map(table_width, fields, least), Fraction(0))
