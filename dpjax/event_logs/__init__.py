"""Hidden Markov models of event logs, which count events by region and time."""

__all__ = [
    "CLAIM",
    "CellCounts",
    "ChargedHiddenMarkov",
    "HiddenMarkovMode",
    "HiddenMarkovPosterior",
    "HiddenMarkovState",
    "NoisyCells",
    "SweepInfo",
    "begin",
    "cell_counts",
    "charged_hidden_markov",
    "check_states",
    "declared_cells",
    "event_counts",
    "event_network",
    "fit",
    "log_variables",
    "sample_hidden_markov",
    "sweep",
    "weigh_modes",
]

from dpjax.event_logs.charged import CLAIM, ChargedHiddenMarkov, charged_hidden_markov
from dpjax.event_logs.events import (
    cell_counts,
    check_states,
    declared_cells,
    event_counts,
    event_network,
    log_variables,
)
from dpjax.event_logs.fitting import fit, sample_hidden_markov
from dpjax.event_logs.modes import weigh_modes
from dpjax.event_logs.noisy_cells import NoisyCells
from dpjax.event_logs.posterior import HiddenMarkovMode, HiddenMarkovPosterior
from dpjax.event_logs.sampler import (
    CellCounts,
    HiddenMarkovState,
    SweepInfo,
    begin,
    sweep,
)
