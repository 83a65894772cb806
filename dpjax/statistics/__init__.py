"""Statistics, which map records to integer vectors with a known sensitivity."""

__all__ = [
    "STATISTICS",
    "Contrasts",
    "FamilyStatistic",
    "FourierCoefficients",
    "MarginalContrasts",
    "MarginalCounts",
    "MixedTotals",
    "NetworkCounts",
    "PrintedFourier",
    "Statistic",
    "Sufficient",
    "TableStatistic",
    "check_statistic",
    "exact_counts",
]

from dpjax.statistics.base import STATISTICS, Statistic, TableStatistic
from dpjax.statistics.contrasts import Contrasts
from dpjax.statistics.family_statistic import FamilyStatistic
from dpjax.statistics.fourier import FourierCoefficients
from dpjax.statistics.marginal_contrasts import MarginalContrasts
from dpjax.statistics.marginal_counts import MarginalCounts
from dpjax.statistics.mixed_totals import MixedTotals
from dpjax.statistics.network_counts import NetworkCounts, exact_counts
from dpjax.statistics.printed_fourier import PrintedFourier
from dpjax.statistics.sufficient import Sufficient
from dpjax.statistics.trial import check_statistic
