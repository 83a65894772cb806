"""Which data sets are neighbours: the question that comes before any ε.

It has no default anywhere, since an ε means something else under each answer.
"""

__all__ = ["ADD_REMOVE", "ADJACENCIES", "REPLACE_ONE", "Adjacency"]

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    Adjacency = Literal["add-remove", "replace-one"]
else:
    Adjacency = str  # checked where it is used, with an error that says what to do

REPLACE_ONE: Adjacency = "replace-one"
"""One record changes its values. The number of records n is public."""

ADD_REMOVE: Adjacency = "add-remove"
"""One record appears or disappears. n is private; the empty table is a data set."""

ADJACENCIES = (REPLACE_ONE, ADD_REMOVE)
