"""What the papers print and does not hold: counterexamples, and what does hold."""

__all__ = ["REPRODUCTIONS"]

from dpjax.reproductions.reproduction import Reproduction

REPRODUCTIONS: tuple[Reproduction, ...] = ()
