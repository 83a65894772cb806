"""Figures, drawn with matplotlib."""

__all__ = [
    "Panel",
    "Series",
    "TopAxis",
    "draw_panels",
    "emission_bars",
    "privacy_utility",
    "rank_ecdfs",
    "rank_histograms",
    "require_matplotlib",
    "state_map",
    "sweep_curves",
]

from dpjax.plots.figures import require_matplotlib
from dpjax.plots.hidden_states import emission_bars, state_map
from dpjax.plots.panels import Panel, Series, TopAxis, draw_panels
from dpjax.plots.studies import (
    privacy_utility,
    rank_ecdfs,
    rank_histograms,
    sweep_curves,
)
