"""Hidden Markov models of event logs by region and time."""

__all__ = [
    "CellCounts",
    "HiddenMarkovPosterior",
    "HiddenMarkovState",
    "SweepInfo",
    "begin",
    "cell_counts",
    "event_network",
    "hidden_markov_posterior",
    "sample_hidden_markov",
    "sweep",
]

from dpjax.hidden_markov.events import cell_counts, event_network
from dpjax.hidden_markov.posterior import (
    HiddenMarkovPosterior,
    hidden_markov_posterior,
    sample_hidden_markov,
)
from dpjax.hidden_markov.sampler import (
    CellCounts,
    HiddenMarkovState,
    SweepInfo,
    begin,
    sweep,
)
