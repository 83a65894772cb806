"""Figures: the one module that touches matplotlib."""

__all__ = ["privacy_utility", "rank_histograms"]

import io
import itertools
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from dpjax._documents import write_atomically
from dpjax.calibration import Calibration, Ranks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
else:
    try:
        from matplotlib.axes import Axes
        from matplotlib.figure import Figure
    except Exception:  # absent or broken: said when a plot is wanted
        Axes = Figure = None

# Okabe & Ito: told apart by the colour-blind too
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")


def privacy_utility(
    results: Sequence[Mapping],
    path: str | os.PathLike,
    *,
    majority: float,
    adjacency: str,
    title: str,
) -> None:
    """AUC and accuracy against ε, as a PNG, with the lines that need no data.

    Args:
        results: one entry a mechanism and ε (None: not private), with `auc`,
            `accuracy` and their standard errors under `auc_se` and `accuracy_se`.
        path: of the file to write.
        majority: accuracy of always answering the most frequent level.
        adjacency: which neighbours ε is for.
        title: of the figure.

    Raises:
        ImportError: if matplotlib is not installed.
    """
    if not Figure:
        raise ImportError('plots need matplotlib: pip install "dpjax[plots]"')
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    auc, accuracy = figure.subplots(1, 2)
    for axes in (auc, accuracy):
        axes.set_xlabel(f"privacy loss ε (nats, {adjacency})")
    _panel(auc, results, "auc", 0.5, "chance")
    auc.set_ylabel("area under the ROC curve")
    _panel(accuracy, results, "accuracy", majority, "always the majority level")
    accuracy.set_ylabel("accuracy")
    figure.suptitle(title)
    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=150)
    write_atomically(path, image.getvalue())


def rank_histograms(calibration: Calibration, path: str | os.PathLike) -> None:
    """How ranks of true values are spread, as a PNG; evenly, if intervals are right.

    Args:
        calibration: from `dpjax.calibrate`.
        path: of the file to write.

    Raises:
        ImportError: if matplotlib is not installed.
    """
    if not Figure:
        raise ImportError('plots need matplotlib: pip install "dpjax[plots]"')
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    both = (calibration.noise_aware, calibration.naive)
    panels = figure.subplots(1, 2, sharey=True)
    for axes, ranks, colour in zip(panels, both, _COLOURS, strict=False):
        _ranks(axes, ranks, colour)
    panels[0].set_ylabel("releases")
    figure.suptitle(
        f"n = {calibration.n:,}, ε = {calibration.epsilon:g}, {calibration.adjacency}: "
        f"{calibration.naive.ranks.size:,} releases"
    )
    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=150)
    write_atomically(path, image.getvalue())


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


def _panel(
    axes: "Axes", results: Sequence[Mapping], score: str, floor: float, label: str
) -> None:
    """One score against ε, a line a mechanism, bands of ± 2 standard errors."""
    private = [row for row in results if row["epsilon"] is not None]
    mechanisms = list(dict.fromkeys(row["mechanism"] for row in private))
    for name, colour in zip(mechanisms, itertools.cycle(_COLOURS), strict=False):
        rows = [row for row in private if row["mechanism"] == name]
        epsilons = [row["epsilon"] for row in rows]
        means = [row[score] for row in rows]
        low = [row[score] - 2 * row[f"{score}_se"] for row in rows]
        high = [row[score] + 2 * row[f"{score}_se"] for row in rows]
        axes.fill_between(epsilons, low, high, color=colour, alpha=0.2, linewidth=0)
        axes.plot(epsilons, means, "o-", color=colour, label=f"{name} (± 2 s.e.)")
    for row in results:
        if row["epsilon"] is None:
            axes.axhline(row[score], color="black", label=row["mechanism"])
    axes.axhline(floor, color="grey", linestyle=":", label=label)
    axes.set_xscale("log")
    ticks = sorted({row["epsilon"] for row in private})
    axes.set_xticks(ticks, [f"{epsilon:g}" for epsilon in ticks], minor=False)
    axes.minorticks_off()
    axes.legend(frameon=False, fontsize="small")
