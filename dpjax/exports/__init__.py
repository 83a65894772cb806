"""Posteriors in the forms that other programs read, and reports for people.

Nothing here reads records: each export is post-processing of a release, without a
privacy cost. The packages that it needs are optional, and imported when it is used.
"""

__all__ = [
    "Report",
    "quality",
    "report",
    "synthesize",
    "to_arviz",
    "to_bif",
    "to_dataframe",
    "to_networkx",
    "to_pgmpy",
    "to_xarray",
]

from typing import TYPE_CHECKING

from dpjax._later import names_of

if TYPE_CHECKING:
    from dpjax.exports.draws import to_arviz
    from dpjax.exports.networks import to_bif, to_networkx, to_pgmpy
    from dpjax.exports.reports.quality import quality
    from dpjax.exports.reports.report import Report, report
    from dpjax.exports.summaries import to_dataframe, to_xarray
    from dpjax.exports.synthetic import synthesize

__getattr__, __dir__ = names_of(
    __name__,
    {
        "draws": ("to_arviz",),
        "networks": ("to_bif", "to_networkx", "to_pgmpy"),
        "reports.quality": ("quality",),
        "reports.report": ("Report", "report"),
        "summaries": ("to_dataframe", "to_xarray"),
        "synthetic": ("synthesize",),
    },
)
