"""Foulds, Geumlek, Welling & Chaudhuri (UAI-16): tables and figures."""

__all__ = ["REPRODUCTIONS"]

from dpjax.reproductions.foulds.figure_2 import FIGURE_2
from dpjax.reproductions.foulds.figure_6 import FIGURE_6
from dpjax.reproductions.foulds.figure_7 import FIGURE_7
from dpjax.reproductions.foulds.figures_3_to_5 import FIGURES_3_TO_5
from dpjax.reproductions.reproduction import Reproduction

REPRODUCTIONS: tuple[Reproduction, ...] = (
    FIGURE_2,
    FIGURES_3_TO_5,
    FIGURE_6,
    FIGURE_7,
)
