"""Zhang, Rubinstein & Dimitrakakis (AAAI-16): tables and figures."""

__all__ = ["REPRODUCTIONS"]

from dpjax.reproductions.reproduction import Reproduction
from dpjax.reproductions.zhang.figure_1 import FIGURE_1

REPRODUCTIONS: tuple[Reproduction, ...] = (FIGURE_1,)
