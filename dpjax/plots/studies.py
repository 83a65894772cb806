"""Figures of studies: scores against ε, and ranks of true values."""

import itertools
import os
from collections.abc import Mapping, Sequence

import numpy as np
from scipy import stats

from dpjax.plots.figures import (
    COLOURS,
    Axes,
    draw_curve,
    finished,
    panels_on,
    short,
)
from dpjax.privacy import Adjacency
from dpjax.study.coverage import Coverage, Ranks
from dpjax.study.ecdf import ecdf, ecdf_band
from dpjax.study.sweeps import SweepResult

_MOST_NAMED = 8  # values of ε that are legible below a panel


def privacy_utility(
    results: Sequence[Mapping],
    path: str | os.PathLike | None = None,
    *,
    ax: "Axes | Sequence[Axes] | np.ndarray | None" = None,
    majority: float,
    adjacency: Adjacency,
    title: str = "",
) -> "np.ndarray":
    """Draw the area under the ROC curve (AUC) and the accuracy against ε.

    Args:
        results: a mapping for each mechanism and ε, with the keys `mechanism`,
            `epsilon` (None: not private), `auc` and `accuracy`, and the standard errors
            `auc_se` and `accuracy_se`.
        path: PNG or SVG file to write; None for no file.
        ax: two Axes to draw on; None for a new figure.
        majority: accuracy of always predicting the most frequent level.
        adjacency: "replace-one" or "add-remove", for the label of ε.
        title: title of the figure.

    Returns:
        An array with the Axes of the AUC and of the accuracy.

    Raises:
        ImportError: if matplotlib is not installed.
        ValueError: if `ax` is not two Axes, or the file cannot be written.
    """
    panels = panels_on(ax, path, (1, 2), (9, 3.8))[0]
    auc, accuracy = panels
    for axes in (auc, accuracy):
        axes.set_xlabel(f"privacy loss ε (nats, {adjacency})")
    _score_panel(auc, results, "auc", 0.5, "chance")
    auc.set_ylabel("area under the ROC curve")
    _score_panel(accuracy, results, "accuracy", majority, "always the majority level")
    accuracy.set_ylabel("accuracy")
    return finished(panels, path, title)


def _score_panel(
    axes: "Axes", results: Sequence[Mapping], score: str, floor: float, label: str
) -> None:
    """Draw one score against ε with a line for each mechanism."""
    private = [row for row in results if row["epsilon"] is not None]
    mechanisms = list(dict.fromkeys(row["mechanism"] for row in private))
    for name, colour in zip(mechanisms, itertools.cycle(COLOURS[:4]), strict=False):
        rows = [row for row in private if row["mechanism"] == name]
        epsilons = [row["epsilon"] for row in rows]
        means, errors = np.array([[r[score], r[f"{score}_se"]] for r in rows], float).T
        style = {"marker": "o", "label": f"{name} (± 2 s.e.)"}
        draw_curve(axes, epsilons, means, 2 * errors, colour, **style)
    for row in results:
        if row["epsilon"] is None:
            axes.axhline(row[score], color="black", label=row["mechanism"])
    axes.axhline(floor, color="grey", linestyle=":", label=label)
    axes.set_xscale("log")
    ticks = sorted({row["epsilon"] for row in private})
    axes.set_xticks(ticks, [f"{epsilon:g}" for epsilon in ticks], minor=False)
    axes.minorticks_off()
    axes.legend(frameon=False, fontsize="small")


def sweep_curves(
    result: SweepResult,
    path: str | os.PathLike | None = None,
    *,
    ax: "Axes | Sequence[Axes] | np.ndarray | None" = None,
    scores: Sequence[str] | None = None,
    title: str = "",
) -> "Axes | np.ndarray":
    """Draw a sweep's mean scores against ε, with bands of ± 2 standard errors.

    The figure has a column for each score, a row for each data set and, in each panel,
    a line for each mechanism.

    Args:
        result: result of `dpjax.sweep`.
        path: PNG or SVG file to write; None for no file.
        ax: Axes to draw on, those of the scores of the first data set, then of the next
            one, and so on; None for a new figure.
        scores: names of scores that are single numbers; None means the first eight.
        title: title of the figure.

    Returns:
        The Axes, an array (data sets, scores); the Axes itself if there is one.

    Raises:
        ValueError: if a score is unknown, `ax` has not an Axes for each panel, or the
            file cannot be written.
        ImportError: if matplotlib is not installed.
    """
    dimensions = len(result.dimensions)
    numbers = [name for name, x in result.items() if x.ndim == dimensions]
    chosen = numbers[:8] if scores is None else list(scores)
    unknown = [name for name in chosen if name not in numbers]
    if unknown or not chosen:
        raise ValueError(
            f"`scores` must be among {', '.join(numbers) or 'none'}, with a number for "
            f"each cell, got {', '.join(unknown) or 'none'}."
        )
    datasets = result.coordinates.get("dataset", [""])
    shape = len(datasets), len(chosen)
    size = 1 + 3.8 * shape[1], 0.6 + 3.2 * shape[0]
    panels = panels_on(ax, path, shape, size, sharex=True)
    for d, dataset in enumerate(datasets):
        for axes, score in zip(panels[d], chosen, strict=True):
            _sweep_panel(axes, result, score, d)
            if d == len(datasets) - 1:
                axes.set_xlabel("privacy loss ε (nats)")
        if dataset:
            panels[d][0].set_title(short(dataset), loc="left", fontsize="medium")
    if "mechanism" in result.dimensions:
        panels[0][0].legend(frameon=False, fontsize="small")
    return finished(panels, path, title)


def _sweep_panel(axes: "Axes", result: SweepResult, score: str, dataset: int) -> None:
    mechanisms = result.coordinates.get("mechanism", [""])
    epsilons = np.array(result.coordinates["epsilon"])
    shape = (-1, len(mechanisms), epsilons.size)
    means = result.mean(score).reshape(shape)[dataset]
    errors = result.standard_error(score).reshape(shape)[dataset]
    order = np.argsort(epsilons)
    x = epsilons[order]
    for i, name in enumerate(mechanisms):
        colour, y = COLOURS[i % len(COLOURS)], means[i][order]
        band = 2 * np.nan_to_num(errors[i][order])  # NaN for a single repeat
        style = {"marker": "o", "markersize": 4, "label": f"{short(name)} (± 2 s.e.)"}
        draw_curve(axes, x, y, band, colour, **style)
    axes.set_ylabel(short(score))
    if x[-1] > 10 * x[0]:
        axes.set_xscale("log")
        axes.minorticks_off()  # their labels would overlap
        if x.size <= _MOST_NAMED:
            axes.set_xticks(x, [f"{epsilon:g}" for epsilon in x], minor=False)


def rank_histograms(
    coverage: Coverage,
    path: str | os.PathLike | None = None,
    *,
    ax: "Axes | Sequence[Axes] | np.ndarray | None" = None,
    title: str | None = None,
) -> "np.ndarray":
    """Draw histograms of ranks of true values in noise-aware and plug-in posteriors.

    A rank is the posterior's distribution function at the true value.

    Args:
        coverage: result of `dpjax.study.coverage`.
        path: PNG or SVG file to write; None for no file.
        ax: two Axes to draw on; None for a new figure.
        title: title of the figure; None says what is simulated, if the figure is new.

    Returns:
        An array with the Axes of both posteriors.

    Raises:
        ImportError: if matplotlib is not installed.
        ValueError: if `ax` is not two Axes, or the file cannot be written.
    """
    panels = panels_on(ax, path, (1, 2), (9, 3.6), sharey=True)[0]
    both = (coverage.noise_aware, coverage.naive)
    for axes, ranks, colour in zip(panels, both, COLOURS, strict=False):
        _ranks(axes, ranks, colour)
    panels[0].set_ylabel("releases")
    return finished(panels, path, _title_of(coverage, ax, title))


def rank_ecdfs(
    coverage: Coverage,
    path: str | os.PathLike | None = None,
    *,
    ax: "Axes | Sequence[Axes] | np.ndarray | None" = None,
    level: float = 0.95,
    title: str | None = None,
) -> "np.ndarray":
    """Draw how much distribution functions of ranks differ from those of uniform ranks.

    A rank is the posterior's distribution function at the true value. If posterior
    intervals are right, ranks are uniform, and the curve of their empirical
    distribution function (ECDF) less that of uniform ranks is inside the band
    everywhere with probability `level`.

    Args:
        coverage: result of `dpjax.study.coverage`.
        path: PNG or SVG file to write; None for no file.
        ax: two Axes to draw on; None for a new figure.
        level: probability of the band (see `dpjax.study.ecdf_band`).
        title: title of the figure; None says what is simulated, if the figure is new.

    Returns:
        An array with the Axes of both posteriors.

    Raises:
        ImportError: if matplotlib is not installed.
        ValueError: if `ax` is not two Axes, `level` is not between 0 and 1, or the file
            cannot be written.
    """
    panels = panels_on(ax, path, (1, 2), (9, 3.6), sharey=True)[0]
    both = (coverage.noise_aware, coverage.naive)
    for axes, ranks, colour in zip(panels, both, COLOURS, strict=False):
        _ecdf(axes, ranks, level, colour)
    panels[0].set_ylabel("ECDF less uniform")
    return finished(panels, path, _title_of(coverage, ax, title))


def _title_of(coverage: Coverage, ax: object, title: str | None) -> str:
    """Return a title: the given one, or what is simulated if the figure is new."""
    if title is not None or ax is not None:
        return title or ""
    return f"{coverage}: {coverage.naive.ranks.size:,} releases"


def _ranks(axes: "Axes", ranks: Ranks, colour: str) -> None:
    """Draw one histogram, with a band for 95 % of the bars of a uniform histogram."""
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


def _ecdf(axes: "Axes", ranks: Ranks, level: float, colour: str) -> None:
    """Draw the difference of one ECDF from that of uniform ranks, with its band."""
    band = ecdf_band(ranks.ranks.size, level)
    points = np.array([0, *band.points, 1])
    lower, upper, found = (
        np.array([0, *(values - band.points), 0])
        for values in (band.lower, band.upper, ecdf(ranks.ranks, band.points))
    )
    label = f"{level:.0%} of whole curves, if intervals are right"
    axes.fill_between(
        points, lower, upper, color="grey", alpha=0.3, linewidth=0, label=label
    )
    axes.axhline(0, color="grey", linewidth=1)
    axes.plot(points, found, color=colour)
    number = int(band.outside(ranks.ranks).sum())
    where = f"outside the band at {number} of {band.points.size} points"
    axes.set_title(
        f"{ranks.posterior}\n{where if number else 'inside the band'}",
        fontsize="medium",
    )
    axes.set_xlabel("posterior distribution function at the true value")
    axes.legend(frameon=False, fontsize="small")
