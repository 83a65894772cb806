"""What happens in each hidden state, as bars."""

__all__ = ["emission_bars"]

import os
from collections.abc import Sequence

import numpy as np

from dpjax.data.variables import Variable
from dpjax.event_logs import HiddenMarkovPosterior
from dpjax.plots.figures import Axes, new_figure, save, short
from dpjax.plots.states import colour_of, shares

_MOST_STATES = 20
_MOST_LEVELS = 30  # whose names can be read


def emission_bars(
    posterior: HiddenMarkovPosterior,
    fields: Sequence[Variable],
    path: str | os.PathLike,
    *,
    title: str | None = None,
) -> None:
    """Expected probabilities of the levels of every field: a row a state; PNG or SVG.

    Shown are states that are the most frequent one of some cell, the 20 commonest.

    Args:
        posterior: whose `emissions` are shown.
        fields: name the levels, in the posterior's order (see
            `dpjax.event_logs.log_variables`).
        path: of the file to write.
        title: of the figure.

    Raises:
        ImportError: if matplotlib is not installed.
        ValueError: if fields are not the posterior's, or the file cannot be written.

    Reference:
        Foulds et al. (UAI-16), Figures 4 and 5.
    """
    sizes = tuple(field.size for field in fields)
    if sizes != posterior.fields:
        raise ValueError(
            f"`fields` must have {posterior.fields} levels, as the posterior's, got "
            f"{sizes}."
        )
    parts = shares(np.asarray(posterior.predict_states()), posterior.states)
    states = np.flatnonzero(parts)[:_MOST_STATES].tolist()
    tables = [np.asarray(table) for table in posterior.emissions()]
    widths = [max(size, 4) + 1 for size in sizes]
    height = 1.2 + 0.85 * len(states) + _room_for_names(fields)
    figure = new_figure(max(4, 1.2 + 0.26 * sum(widths)), height)
    panels = figure.subplots(
        len(states),
        len(fields),
        sharex="col",
        sharey=True,
        squeeze=False,
        width_ratios=widths,
    )
    for row, state in zip(panels, states, strict=True):
        row[0].set_ylabel(
            f"state {state}\n({parts[state]:.0%})", fontsize="small", color="black"
        )
        for axes, table in zip(row, tables, strict=True):
            _bars(axes, table[state], colour_of(state))
    for axes, last, field in zip(panels[0], panels[-1], fields, strict=True):
        axes.set_title(field.name, fontsize="medium")
        _name_levels(last, field)
    figure.supylabel("expected probability", fontsize="medium")
    if title:
        figure.suptitle(title)
    save(figure, path)


def _bars(axes: "Axes", probabilities: np.ndarray, colour: str) -> None:
    axes.bar(np.arange(probabilities.size), probabilities, width=0.8, color=colour)
    axes.set_xlim(-0.7, probabilities.size - 0.3)
    axes.set_ylim(0, 1)
    axes.set_yticks([0, 0.5, 1], ["0", ".5", "1"], fontsize="x-small")
    axes.spines[["top", "right"]].set_visible(False)


def _room_for_names(fields: Sequence[Variable]) -> float:
    """Inches that upright names take."""
    shown = [field for field in fields if field.size <= _MOST_LEVELS]
    longest = max((len(short(x)) for field in shown for x in field.levels), default=0)
    return 0.07 * longest if longest > 3 else 0.0


def _name_levels(axes: "Axes", field: Variable) -> None:
    """Names under the bars, upright where they would run into each other."""
    if field.size > _MOST_LEVELS:
        axes.set_xticks([])
        return
    names = [short(level) for level in field.levels]
    upright = max(map(len, names)) > 3
    axes.set_xticks(
        np.arange(field.size), names, rotation=90 if upright else 0, fontsize="small"
    )
