"""Foulds, Geumlek, Welling & Chaudhuri (UAI-16): tables and figures."""

__all__ = ["REPRODUCTIONS"]

from dpjax.reproductions.foulds.figure_1 import FIGURE_1
from dpjax.reproductions.foulds.figure_2 import FIGURE_2
from dpjax.reproductions.foulds.figure_6 import FIGURE_6
from dpjax.reproductions.foulds.figure_7 import FIGURE_7
from dpjax.reproductions.foulds.figures_3_to_5 import FIGURES_3_TO_5
from dpjax.reproductions.foulds.table_1 import TABLE_1
from dpjax.reproductions.foulds.theorems_4_5 import THEOREMS_4_5
from dpjax.reproductions.reproduction import Reproduction

REPRODUCTIONS: tuple[Reproduction, ...] = (
    TABLE_1,
    FIGURE_1,
    FIGURE_2,
    THEOREMS_4_5,
    FIGURES_3_TO_5,
    FIGURE_6,
    FIGURE_7,
)
