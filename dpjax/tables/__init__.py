"""Contingency tables: layout, counting, Walsh-Hadamard transforms and projections."""

__all__ = ["TableLayout", "counts", "project", "walsh_hadamard"]

from dpjax.tables import counts
from dpjax.tables.layout import TableLayout
from dpjax.tables.projection import project
from dpjax.tables.walsh import walsh_hadamard
