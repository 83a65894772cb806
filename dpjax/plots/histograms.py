"""Figures of calibration."""

__all__ = ["rank_histograms"]

import os

import numpy as np
from scipy import stats

from dpjax.plots.figures import COLOURS, Axes, new_figure, save
from dpjax.study.coverage import Coverage, Ranks


def rank_histograms(calibration: Coverage, path: str | os.PathLike) -> None:
    """How ranks of true values are spread, as a PNG; evenly, if intervals are right.

    Args:
        calibration: from `dpjax.study.coverage`.
        path: of the file to write.

    Raises:
        ImportError: if matplotlib is not installed.
    """
    figure = new_figure(9, 3.6)
    both = (calibration.noise_aware, calibration.naive)
    panels = figure.subplots(1, 2, sharey=True)
    for axes, ranks, colour in zip(panels, both, COLOURS, strict=False):
        _ranks(axes, ranks, colour)
    panels[0].set_ylabel("releases")
    figure.suptitle(
        f"n = {calibration.n:,}, ε = {calibration.epsilon:g}, {calibration.adjacency}: "
        f"{calibration.naive.ranks.size:,} releases"
    )
    save(figure, path)


def _ranks(axes: "Axes", ranks: Ranks, colour: str) -> None:
    """One histogram, and where 19 in 20 bars of a right one are."""
    counts, bins = ranks.histogram, ranks.histogram.size
    axes.bar(
        (np.arange(bins) + 0.5) / bins, counts, width=0.9 / bins, color=colour, zorder=2
    )
    band = stats.binom(ranks.ranks.size, 1 / bins)
    axes.axhspan(
        band.ppf(0.025), band.ppf(0.975), color="grey", alpha=0.3, linewidth=0,
        label="95 % of bars, if intervals are right",
    )  # fmt: skip
    low, high = ranks.coverage_interval
    axes.set_title(
        f"{ranks.posterior}\n{ranks.level:.0%} intervals cover {ranks.coverage:.1%} "
        f"({low:.1%} to {high:.1%})",
        fontsize="medium",
    )
    axes.set_xlabel("posterior distribution function at the true value")
    axes.legend(frameon=False, fontsize="small")
