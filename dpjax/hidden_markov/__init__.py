"""Hidden Markov models of event logs by region and time."""

__all__ = [
    "CellCounts",
    "HiddenMarkovPosterior",
    "HiddenMarkovState",
    "SweepInfo",
    "begin",
    "cell_counts",
    "check_states",
    "declared_cells",
    "event_network",
    "hidden_markov_posterior",
    "log_variables",
    "sample_hidden_markov",
    "sweep",
]

from dpjax.hidden_markov.events import (
    cell_counts,
    declared_cells,
    event_network,
    log_variables,
)
from dpjax.hidden_markov.posterior import (
    HiddenMarkovPosterior,
    check_states,
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
