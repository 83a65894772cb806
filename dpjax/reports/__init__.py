"""Reports about a release for the people who approve and read a publication.

A report is one HTML page, which needs no network, or the same content as JSON or CSV.
It is post-processing of a release, without a privacy cost.
"""

__all__ = ["Report", "budget_of", "report"]

from dpjax.reports.budget import budget_of
from dpjax.reports.report import Report, report
