"""Zhang, Rubinstein & Dimitrakakis (AAAI-16): tables and figures."""

__all__ = ["REPRODUCTIONS"]

from papers.reproduction import Reproduction
from papers.zhang.figure_1 import FIGURE_1
from papers.zhang.figure_2 import FIGURE_2
from papers.zhang.table_1 import TABLE_1

REPRODUCTIONS: tuple[Reproduction, ...] = (TABLE_1, FIGURE_1, FIGURE_2)
