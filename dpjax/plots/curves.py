"""Figures of scores against ε."""

__all__ = ["privacy_utility"]

import itertools
import os
from collections.abc import Mapping, Sequence

from dpjax.plots.figures import COLOURS, Axes, new_figure, save
from dpjax.privacy import Adjacency


def privacy_utility(
    results: Sequence[Mapping],
    path: str | os.PathLike,
    *,
    majority: float,
    adjacency: Adjacency,
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
    figure = new_figure(9, 3.8)
    auc, accuracy = figure.subplots(1, 2)
    for axes in (auc, accuracy):
        axes.set_xlabel(f"privacy loss ε (nats, {adjacency})")
    _panel(auc, results, "auc", 0.5, "chance")
    auc.set_ylabel("area under the ROC curve")
    _panel(accuracy, results, "accuracy", majority, "always the majority level")
    accuracy.set_ylabel("accuracy")
    figure.suptitle(title)
    save(figure, path)


def _panel(
    axes: "Axes", results: Sequence[Mapping], score: str, floor: float, label: str
) -> None:
    """One score against ε, a line a mechanism, bands of ± 2 standard errors."""
    private = [row for row in results if row["epsilon"] is not None]
    mechanisms = list(dict.fromkeys(row["mechanism"] for row in private))
    for name, colour in zip(mechanisms, itertools.cycle(COLOURS[:4]), strict=False):
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
