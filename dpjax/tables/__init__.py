"""Contingency tables: layout, counting, Walsh-Hadamard transforms, projections, SQL."""

__all__ = ["TableLayout", "counts", "project", "sql", "walsh_hadamard"]

from dpjax.tables import counts
from dpjax.tables.layout import TableLayout
from dpjax.tables.projection import project
from dpjax.tables.sql import sql
from dpjax.tables.walsh import walsh_hadamard
