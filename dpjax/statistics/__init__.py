"""What is measured: flat integer vectors with a known sensitivity."""

__all__ = ["FamilyCounts", "FourierCoefficients", "Statistic"]

from dpjax.statistics.base import Statistic
from dpjax.statistics.family_counts import FamilyCounts
from dpjax.statistics.fourier import FourierCoefficients
