r"""Hidden Markov models with a Gibbs sampler that reads records and charges each draw.

This is "one posterior sample" (OPS) of Foulds et al. (UAI-16), section 5. A draw of all
tables given the paths is an exponential mechanism, and so is a draw of all paths given
the tables. An event's log-likelihood is a sum of log-probabilities over its fields f.
Field f has $K_f$ levels, each with a probability of at least $a_f = 1 / (M K_f)$, where
M is the argument `truncation`. Hence the log-likelihood has a range of

$$\Delta = \sum_f \ln \frac{1 - (K_f - 1) a_f}{a_f},$$

even if the event moves to another cell. At temperature 1 each draw costs 2Δ under
replace-one and Δ under add-remove. The counts are divided by a temperature that reduces
this cost to ε. A sweep has two draws, so that 200 sweeps cost 400ε.
"""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import equinox as eqx

from dpjax._checks import of_type, typed_key, whole
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
"""Text that labels a result if its cost assumes that the Markov chain has converged."""


class ChargedHiddenMarkov(eqx.Module):
    """Draws of a Gibbs sampler that reads exact records, and their privacy cost.

    `charged_hidden_markov` makes this object. Draws are floats, for studies only; they
    cannot be saved as a release.

    Args:
        posterior: all draws after the burn-in, if each draw was charged; otherwise the
            last draw of each chain. The field `trace` is None, since log-likelihoods
            depend on the exact counts and were not charged.
        update: privacy cost of one charged draw.
        updates: number of charged draws.
        temperature: the likelihood was raised to the power 1 / `temperature`.
        claim: an unverified assumption on which the cost depends, or None.
    """

    posterior: HiddenMarkovPosterior
    update: Guarantee = eqx.field(static=True)
    updates: int = eqx.field(static=True)
    temperature: float
    claim: str | None = eqx.field(static=True)

    @property
    def cost(self) -> Guarantee:
        """Privacy cost of all draws, as charged to the ledger."""
        return self.update.repeated(self.updates)

    def approximate(self, delta: Epsilon) -> Guarantee:
        """Return the privacy cost of all draws for a given δ, by advanced composition.

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
    contributions: int = 1,
    ledger: Ledger | None = None,
    progress: Progress | None = None,
) -> ChargedHiddenMarkov:
    """Run Gibbs chains of a hidden Markov model on exact records; charge each draw.

    A sweep draws all probability tables given the paths of hidden states, then all
    paths given the tables (see the module charged.py).

    Args:
        key: typed JAX key. The cost holds only if the key cannot be guessed: to publish
            the result, use `dpjax.noise.keys.release_key()`.
        net: the network of the event log, from `event_network`.
        records: encoded records, or a table with a column for each variable.
        states: number of hidden states.
        epsilon: largest privacy cost of one draw of all tables or of all paths.
        adjacency: "replace-one" or "add-remove".
        truncation: each of a field's K levels has a probability of at least
            1 / (`truncation` · K), which bounds the cost.
        emission: Dirichlet parameter of every level of a field.
        transition: Dirichlet parameter of every transition and every first state.
        chains: number of chains; each chain is charged.
        sweeps: number of sweeps of each chain, with two charged draws each.
        burn_in: number of first sweeps that are charged but discarded. None means half.
        times: public first and last times of regions' paths, as in `fit`. Events at
            other times are ignored.
        assume_converged: whether to keep only the last draw of each chain, and charge
            only ε for each chain, the cost of an exact posterior sample. No diagnostic
            shows that a chain converges for every table of records. The result is
            therefore labelled by `CLAIM`; see also `dpjax.privacy.converged_within`.
        contributions: the most events k of a person, whose cost `epsilon` is: the
            temperature is that of ε / k for one event.
        ledger: ledger that is charged before any draw. It is not allowed inside `jit`
            or `vmap`, which would draw many times for one charge.
        progress: function that wraps the iterable of blocks of sweeps, such as `tqdm`.

    Privacy:
        In real arithmetic, the cost is 2ε for each sweep and chain, or ε for each chain
        if convergence is assumed; it is less if a draw at temperature 1 costs less than
        ε. The first states do not depend on the records.

    Raises:
        ValueError: if an argument is out of range, the network is not of an event log,
            or the records do not fit the network.
        BudgetExceeded: if the ledger's remaining budget is too small; nothing is drawn.

    Reference:
        Foulds, Geumlek, Welling & Chaudhuri (UAI-16), sections 4.1 and 5.
    """
    typed_key(key=key)
    if not isinstance(assume_converged, bool):
        raise ValueError(
            f"`assume_converged` must be True or False, got {assume_converged!r}."
        )
    burn_in = check_run(chains, sweeps, sweeps - 1 if assume_converged else burn_in)
    refuse_prior(emission=emission, transition=transition)
    check_states(states, declared_cells(net, times))
    _, _, variables = log_variables(net)
    width = _width(tuple(variable.size for variable in variables), truncation)
    rows = contributions
    update, temperature = price_of(width, epsilon, adjacency, contributions=rows)
    updates = chains * (1 if assume_converged else 2 * sweeps)
    cost = update.repeated(updates)
    claim = CLAIM if assume_converged else None
    if ledger is not None:
        of_type(Ledger, "open it with `dpjax.Ledger(path=…)`", ledger=ledger)
        ledger.require(cost)  # before the records are read
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
    # The trace depends on exact counts, and was not charged.
    posterior = replace(drawn, trace=None)
    return ChargedHiddenMarkov(posterior, update, updates, temperature, claim)


def _width(fields: tuple[int, ...], truncation: int) -> Fraction:
    """Return the range of an event's log-likelihood over all states and tables."""
    whole(2, truncation=truncation)
    if truncation > _MOST_TRUNCATION:
        raise ValueError(
            f"`truncation` must be at most {_MOST_TRUNCATION}, so that draws end "
            f"whatever the counts, got {truncation}."
        )
    # Slightly smaller bounds, since the sampler uses floats.
    least = (Fraction(1, truncation * size) * _ROUNDED for size in fields)
    return sum(map(table_width, fields, least), Fraction(0))
