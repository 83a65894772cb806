"""Zhang, Rubinstein & Dimitrakakis (AAAI-16): tables and figures."""

__all__ = ["REPRODUCTIONS"]

from dpjax.reproductions.reproduction import Reproduction
from dpjax.reproductions.zhang.figure_1 import FIGURE_1
from dpjax.reproductions.zhang.figure_2 import FIGURE_2
from dpjax.reproductions.zhang.table_1 import TABLE_1

REPRODUCTIONS: tuple[Reproduction, ...] = (TABLE_1, FIGURE_1, FIGURE_2)
