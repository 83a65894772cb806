"""Hidden Markov models of event logs by region and time."""

__all__ = [
    "CLAIM",
    "CellCounts",
    "HiddenMarkovPosterior",
    "HiddenMarkovState",
    "PaidHiddenMarkov",
    "SweepInfo",
    "begin",
    "cell_counts",
    "check_states",
    "declared_cells",
    "event_counts",
    "event_network",
    "fit",
    "log_variables",
    "paid_hidden_markov",
    "sample_hidden_markov",
    "sweep",
]

from dpjax.hidden_markov.events import (
    cell_counts,
    check_states,
    declared_cells,
    event_counts,
    event_network,
    log_variables,
)
from dpjax.hidden_markov.fitting import fit, sample_hidden_markov
from dpjax.hidden_markov.paid import CLAIM, PaidHiddenMarkov, paid_hidden_markov
from dpjax.hidden_markov.posterior import HiddenMarkovPosterior
from dpjax.hidden_markov.sampler import (
    CellCounts,
    HiddenMarkovState,
    SweepInfo,
    begin,
    sweep,
)
