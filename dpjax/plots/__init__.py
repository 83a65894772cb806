"""Figures: the one room that touches matplotlib."""

__all__ = [
    "Panel",
    "Series",
    "TopAxis",
    "draw_panels",
    "emission_bars",
    "privacy_utility",
    "rank_histograms",
    "require_matplotlib",
    "state_map",
    "sweep_curves",
]

from dpjax.plots.bars import emission_bars
from dpjax.plots.curves import privacy_utility
from dpjax.plots.figures import require_matplotlib
from dpjax.plots.histograms import rank_histograms
from dpjax.plots.maps import state_map
from dpjax.plots.panels import Panel, Series, TopAxis, draw_panels
from dpjax.plots.sweeps import sweep_curves
