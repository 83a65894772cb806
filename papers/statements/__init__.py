"""Numbered statements of the papers, each by simulation or enumeration."""

__all__ = ["REPRODUCTIONS"]

from papers.reproduction import Reproduction
from papers.statements.foulds import FOULDS_STATEMENTS
from papers.statements.zhang import ZHANG_STATEMENTS

REPRODUCTIONS: tuple[Reproduction, ...] = (*ZHANG_STATEMENTS, *FOULDS_STATEMENTS)
