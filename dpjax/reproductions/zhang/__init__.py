"""Zhang, Rubinstein & Dimitrakakis (AAAI-16): tables and figures."""

__all__ = ["REPRODUCTIONS"]

from dpjax.reproductions.reproduction import Reproduction

REPRODUCTIONS: tuple[Reproduction, ...] = ()
