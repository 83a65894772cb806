"""Colours and shares of hidden states, the same in every figure."""

__all__ = ["DISTINCT", "OTHERS", "UNDECLARED", "colour_of", "shares"]

import numpy as np

from dpjax.plots.figures import COLOURS

UNDECLARED = "#D9D9D9"
OTHERS = "#8C8C8C"
# Each the farthest from all before it in CIELAB, by the least distance over normal,
# deuteranopic and protanopic sight (Machado et al., 2009); of all 16 that is 17.
_FURTHER = (
    "#0000FF",
    "#000044",
    "#EEFFAA",
    "#443300",
    "#110099",
    "#7766FF",
    "#663355",
    "#77BB66",
)
_PALETTE = (*COLOURS, *_FURTHER)
DISTINCT = len(_PALETTE)


def colour_of(state: int) -> str:
    """A colour of its own for each of the 16 commonest states, grey for all others.

    States are numbered by how many cells they have: the clearest colours are for those
    that are most seen.
    """
    return _PALETTE[state] if state < DISTINCT else OTHERS


def shares(found: np.ndarray, states: int) -> np.ndarray:
    """Of the declared cells, how many are in each state, as a fraction.

    Args:
        found: the state of every cell, -1 where none is declared.
        states: how many.
    """
    counts = np.bincount(found[found >= 0], minlength=states)
    return counts / counts.sum()
