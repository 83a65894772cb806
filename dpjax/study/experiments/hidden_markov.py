"""Experiment for sweeps: prediction of held-out cells of an event log."""

from collections.abc import Sequence
from dataclasses import dataclass

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, Int32

from dpjax._checks import one_of, positive, whole
from dpjax._private import Unpickled
from dpjax._types import Key, Records, Scalars
from dpjax.data.bayes_net import BayesNet
from dpjax.event_logs import (
    CellCounts,
    event_counts,
    log_variables,
    sample_hidden_markov,
)
from dpjax.mechanisms import DiscreteLaplace
from dpjax.privacy import ADJACENCIES, Adjacency, Epsilon
from dpjax.statistics import NetworkCounts
from dpjax.study.experiments.learners import Experiment, refuse_unprepared, repeated
from dpjax.study.experiments.splits import training_mask

MECHANISMS = ("laplace", "non-private")


class HiddenMarkovTrial(Unpickled, eqx.Module):
    """Exact counts of one repeat, and a mask of the cells that are not held out."""

    counts: Int32[Array, "regions times levels"]
    observed: Bool[Array, "regions times"]


class CellLearner(eqx.Module):
    """A simulated mechanism that adds noise to the counts of an event log's cells."""

    noise: DiscreteLaplace | None  # None: no noise, not private
    transition: Scalars  # Dirichlet parameter; one for each budget if stacked

    def counts(self, key: Key, exact: Int32[Array, "..."]) -> Float[Array, "..."]:
        """Add noise, if any, to the counts `exact`, and replace negative sums by 0."""
        if self.noise is None:
            return exact.astype(float)
        return jnp.maximum(self.noise.sample(key, exact), 0).astype(float)


@dataclass(frozen=True)
class HiddenMarkovExperiment(Experiment):
    """Fit a hidden Markov model to some cells of an event log, and predict the others.

    A cell is a pair of region and time. Each repeat of the sweep chooses the held-out
    cells at random, equally for all mechanisms and budgets. For each mechanism and
    budget, Gibbs chains then fit the model once. The score is `log_likelihood`: the
    likelihood of a cell's events is averaged over draws, and the logarithm of this mean
    is averaged over the held-out cells. The mechanisms are "laplace" (noise on the
    counts of every cell) and "non-private".

    Args:
        net: network of an event log (`dpjax.event_logs.event_network`).
        states: number of hidden states.
        held_out: number of held-out cells.
        adjacency: "replace-one" or "add-remove".
        chains: number of Gibbs chains, which have random starts.
        sweeps: number of sweeps of each chain; the first half is burn-in.
        emission: Dirichlet parameter of each level's probability, given the state.
        transition: Dirichlet parameter of transition and initial-state probabilities.

    Privacy:
        The results are not private: show them only to those who may see the data.

    Raises:
        ValueError: if a number is out of range, or the network is not of an event log.

    Reference:
        Foulds, Geumlek, Welling & Chaudhuri (UAI-16), section 5, for the score.
    """

    net: BayesNet
    states: int
    held_out: int
    adjacency: Adjacency
    chains: int = 4
    sweeps: int = 100
    emission: float = 1.0
    transition: float = 1.0

    def __post_init__(self):
        region, time, _ = log_variables(self.net)
        cells = region.size * time.size
        whole(1, states=self.states, chains=self.chains, sweeps=self.sweeps)
        whole(1, held_out=self.held_out)
        if self.held_out >= cells:
            raise ValueError(
                f"`held_out` must be below the number of cells, {cells}, so that some "
                f"are observed, got {self.held_out}."
            )
        one_of(ADJACENCIES, adjacency=self.adjacency)
        positive(emission=self.emission, transition=self.transition)

    def learner(self, name: str, epsilons: Sequence[Epsilon]) -> CellLearner:
        """Return the mechanism `name`, with parameters stacked over budgets."""
        one_of(MECHANISMS, mechanism=name)
        transition = repeated(self.transition, len(epsilons))
        if name == "non-private":
            return CellLearner(None, transition)
        change = NetworkCounts(self.net).sensitivity(self.adjacency)
        return CellLearner(DiscreteLaplace.calibrate_many(epsilons, change), transition)

    def prepare(self, key: Key, data: Records) -> HiddenMarkovTrial:
        """Prepare one repeat: count the events, and draw the mask of observed cells.

        Privacy:
            The counts are exact, so they are not private.
        """
        counts = event_counts(self.net, data)
        regions, times, _ = counts.shape
        cells = regions * times
        observed = training_mask(key, cells, cells - self.held_out)
        return HiddenMarkovTrial(counts, observed.reshape(regions, times))

    def __call__(
        self, key: Key, mechanism: CellLearner, data: HiddenMarkovTrial
    ) -> dict[str, Float[Array, ""]]:
        """Fit the model for one mechanism and budget, and return its score."""
        refuse_unprepared(data, HiddenMarkovTrial)
        key_noise, key_chains = jr.split(key)
        seen = jnp.where(data.observed[..., None], data.counts, 0)
        cells = CellCounts.of(
            self.net,
            mechanism.counts(key_noise, seen),
            self.states,
            observed=data.observed,
            emission=self.emission,
            transition=mechanism.transition,
        )
        found = sample_hidden_markov(
            key_chains, cells, chains=self.chains, sweeps=self.sweeps
        )
        logs = found.log_likelihood(data.counts)
        held_out = jnp.where(data.observed, 0, logs).sum()
        return {"log_likelihood": held_out / self.held_out}
