"""Numbered statements of the papers, each by simulation or enumeration."""

__all__ = ["REPRODUCTIONS"]

from dpjax.reproductions.reproduction import Reproduction
from dpjax.reproductions.statements.foulds import FOULDS_STATEMENTS
from dpjax.reproductions.statements.zhang import ZHANG_STATEMENTS

REPRODUCTIONS: tuple[Reproduction, ...] = (*ZHANG_STATEMENTS, *FOULDS_STATEMENTS)
