"""Colours and names of hidden states, the same in every figure."""

__all__ = ["UNDECLARED", "colour_of", "shares"]

import numpy as np

from dpjax.plots.figures import COLOURS

UNDECLARED = "#D9D9D9"
_MIXED = COLOURS[:-1]  # mixed with white or black, black would be grey, as undeclared
_OTHERS = "#595959"


def colour_of(state: int) -> str:
    """One colour for each of the eight commonest states, then tints, then shades.

    States are numbered by how many cells they have: the clearest colours are for those
    that are most seen. From the 23rd on all have the same one.
    """
    if state < len(COLOURS):
        return COLOURS[state]
    turn, place = divmod(state - len(COLOURS), len(_MIXED))
    return _mix(_MIXED[place], (255, 0)[turn]) if turn < 2 else _OTHERS


def shares(path: np.ndarray, states: int) -> np.ndarray:
    """Of the declared cells, how many are in each state, as a fraction.

    Args:
        path: the state of every cell, -1 where none is declared.
        states: how many.
    """
    counts = np.bincount(path[path >= 0], minlength=states)
    return counts / counts.sum()


def _mix(colour: str, with_level: int) -> str:
    """Half a colour, half white (255) or black (0)."""
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{(part + with_level) // 2:02X}" for part in parts)
