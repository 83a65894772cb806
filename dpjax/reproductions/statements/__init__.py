"""Numbered statements of the papers, each by simulation or enumeration."""

__all__ = ["REPRODUCTIONS"]

from dpjax.reproductions.reproduction import Reproduction

REPRODUCTIONS: tuple[Reproduction, ...] = ()
