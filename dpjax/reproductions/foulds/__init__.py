"""Foulds, Geumlek, Welling & Chaudhuri (UAI-16): tables and figures."""

__all__ = ["REPRODUCTIONS"]

from dpjax.reproductions.foulds.figure_2 import FIGURE_2
from dpjax.reproductions.reproduction import Reproduction

REPRODUCTIONS: tuple[Reproduction, ...] = (FIGURE_2,)
