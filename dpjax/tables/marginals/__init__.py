"""Exact marginal tables of graphical models, such as Bayesian networks."""

__all__ = ["JunctionTree", "expected_tables", "log_partition", "log_tables"]

from dpjax.tables.marginals.junction_tree import JunctionTree
from dpjax.tables.marginals.propagation import (
    expected_tables,
    log_partition,
    log_tables,
)
