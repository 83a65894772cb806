"""What is measured: flat integer vectors with a known sensitivity."""

__all__ = [
    "FamilyCounts",
    "FourierCoefficients",
    "Statistic",
    "Sufficient",
    "TableStatistic",
]

from dpjax.statistics.base import Statistic, TableStatistic
from dpjax.statistics.family_counts import FamilyCounts
from dpjax.statistics.fourier import FourierCoefficients
from dpjax.statistics.sufficient import Sufficient
