"""Figures of what a sweep found: every score against ε, with standard errors."""

__all__ = ["sweep_curves"]

import os
from collections.abc import Sequence

import numpy as np

from dpjax.plots.figures import COLOURS, Axes, new_figure, save, short
from dpjax.study.sweeps import SweepResult

_MOST_NAMED = 8  # ε whose values can be read below a panel


def sweep_curves(
    result: SweepResult,
    path: str | os.PathLike,
    *,
    scores: Sequence[str] | None = None,
    title: str = "",
) -> None:
    """Means over repeats against ε, as a PNG, with bands of ± 2 standard errors.

    A column a score, a row a data set, a line a mechanism.

    Args:
        result: of `dpjax.sweep`.
        path: of the file to write.
        scores: which; None: all that are one number a cell, at most eight.
        title: of the figure.

    Raises:
        ValueError: if there is no such score, or the file cannot be written.
        ImportError: if matplotlib is not installed.
    """
    dimensions = len(result.dimensions)
    numbers = [name for name, x in result.items() if x.ndim == dimensions]
    chosen = numbers[:8] if scores is None else list(scores)
    unknown = [name for name in chosen if name not in numbers]
    if unknown or not chosen:
        raise ValueError(
            f"`scores` must be among {', '.join(numbers) or 'none'}, one number a "
            f"cell, got {', '.join(unknown) or 'none'}."
        )
    datasets = result.coordinates.get("dataset", [""])
    figure = new_figure(1 + 3.8 * len(chosen), 0.6 + 3.2 * len(datasets))
    panels = figure.subplots(len(datasets), len(chosen), squeeze=False, sharex=True)
    for d, dataset in enumerate(datasets):
        for axes, score in zip(panels[d], chosen, strict=True):
            _panel(axes, result, score, d)
            if d == len(datasets) - 1:
                axes.set_xlabel("privacy loss ε (nats)")
        if dataset:
            panels[d][0].set_title(short(dataset), loc="left", fontsize="medium")
    if "mechanism" in result.dimensions:
        panels[0][0].legend(frameon=False, fontsize="small")
    figure.suptitle(title)
    save(figure, path)


def _panel(axes: "Axes", result: SweepResult, score: str, dataset: int) -> None:
    mechanisms = result.coordinates.get("mechanism", [""])
    epsilons = np.array(result.coordinates["epsilon"])
    shape = (-1, len(mechanisms), epsilons.size)
    means = result.mean(score).reshape(shape)[dataset]
    errors = result.standard_error(score).reshape(shape)[dataset]
    order = np.argsort(epsilons)
    x = epsilons[order]
    for i, name in enumerate(mechanisms):
        colour, y = COLOURS[i % len(COLOURS)], means[i][order]
        band = 2 * np.nan_to_num(errors[i][order])  # a single repeat has none
        axes.fill_between(x, y - band, y + band, color=colour, alpha=0.2, linewidth=0)
        label = f"{short(name)} (± 2 s.e.)"
        axes.plot(x, y, "o-", color=colour, markersize=4, label=label)
    axes.set_ylabel(short(score))
    if x[-1] > 10 * x[0]:
        axes.set_xscale("log")
        axes.minorticks_off()  # their labels would run into each other
        if x.size <= _MOST_NAMED:
            axes.set_xticks(x, [f"{epsilon:g}" for epsilon in x], minor=False)
