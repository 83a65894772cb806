"""What is measured: flat integer vectors with a known sensitivity."""

__all__ = ["FamilyCounts", "Statistic"]

from dpjax.statistics.base import Statistic
from dpjax.statistics.family_counts import FamilyCounts
