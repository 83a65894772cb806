"""Foulds, Geumlek, Welling & Chaudhuri (UAI-16): tables and figures."""

__all__ = ["REPRODUCTIONS"]

from papers.foulds.figure_1 import FIGURE_1
from papers.foulds.figure_2 import FIGURE_2
from papers.foulds.figure_6 import FIGURE_6
from papers.foulds.figure_7 import FIGURE_7
from papers.foulds.figures_3_to_5 import FIGURES_3_TO_5
from papers.foulds.table_1 import TABLE_1
from papers.foulds.theorems_4_5 import THEOREMS_4_5
from papers.reproduction import Reproduction

REPRODUCTIONS: tuple[Reproduction, ...] = (
    TABLE_1,
    FIGURE_1,
    FIGURE_2,
    THEOREMS_4_5,
    FIGURES_3_TO_5,
    FIGURE_6,
    FIGURE_7,
)
