"""The report of `dpjax sample`, as plain data or lines of text."""

import math
from collections.abc import Sequence

import numpy as np

from dpjax.data.categorical import Categorical
from dpjax.event_logs import HiddenMarkovPosterior

_MOST_R_HAT = 1.05
_LABELS = {
    "log_likelihood": "log-likelihood",
    "largest_state": "share of the largest state",
}


def facts_of(
    posterior: HiddenMarkovPosterior,
    region: Categorical,
    time: Categorical,
    fields: Sequence[Categorical],
) -> dict:
    """Return a JSON object with sizes, diagnostics, modes and most frequent states."""
    found = np.asarray(posterior.predict_states())
    cells = int((found >= 0).sum())
    counts = np.bincount(found[found >= 0], minlength=posterior.states)
    used = np.flatnonzero(counts).tolist()
    tables = [np.asarray(table, float) for table in posterior.emissions()]
    draws, _, chains, _ = posterior.paths.shape
    diagnostics = {
        name: _finite(values) for name, values in posterior.diagnostics().items()
    }
    return {
        "regions": region.size,
        "times": time.size,
        "cells": cells,
        "chains": chains,
        "draws": draws * chains,
        "states": posterior.states,
        "states_used": len(used),
        "diagnostics": diagnostics,
        "modes": [_finite(vars(mode)) for mode in posterior.modes],
        "log_likelihood": float(
            np.asarray(posterior.trace, float).mean(axis=0) @ posterior.weights
        ),
        "most_frequent": [
            {
                "state": state,
                "cells": int(counts[state]),
                "share": float(counts[state] / cells),
                "emissions": {
                    field.name: dict(
                        zip(map(str, field.levels), table[state].tolist(), strict=True)
                    )
                    for field, table in zip(fields, tables, strict=True)
                },
            }
            for state in used
        ],
    }


def disagreement(facts: dict) -> str | None:
    """Return a warning if an R-hat in the result of `facts_of` is large, else None.

    If there are several modes, it is R-hat in the mode of the largest weight.
    """
    ratios = {
        _LABELS[name]: values["r_hat"] for name, values in facts["diagnostics"].items()
    }
    if len(facts["modes"]) > 1:
        ratios = {"mode with the largest weight": facts["modes"][0]["r_hat"]}
    worst = max(ratios, key=lambda name: ratios[name] or 0)
    if (ratios[worst] or 0) <= _MOST_R_HAT:
        return None
    return (
        f"the chains disagree (R-hat of the {worst} is {ratios[worst]:.2f}, above "
        f"{_MOST_R_HAT}): use more --sweeps and --burn-in, or fewer --states; the "
        "states above are those of the chain with the largest log-likelihood."
    )


def table_of(facts: dict) -> str:
    """Format the result of `facts_of`, with sweeps and burn-in, as lines of text."""
    lines = [
        f"{facts['regions']} regions, {facts['times']} times, {facts['cells']:,} "
        f"declared cells; {facts['states_used']} of {facts['states']} states used",
        f"{facts['chains']} chains of {facts['sweeps']} sweeps, the first "
        f"{facts['burn_in']} left out: {facts['draws']:,} draws",
        "",
        f"{'':<28}{'R-hat':>8}{'effective draws':>18}",
    ]
    for name, values in facts["diagnostics"].items():
        ratio, size = values["r_hat"], values["effective_size"]
        lines.append(
            f"{_LABELS[name]:<28}{_show(ratio, '.3f'):>8}{_show(size, ',.0f'):>18}"
        )
    lines += _lines_of(facts["modes"])
    rows = [_row(entry) for entry in facts["most_frequent"]]
    fields = list(facts["most_frequent"][0]["emissions"])
    return "\n".join([*lines, "", *_aligned([["state", "cells", "", *fields], *rows])])


def _lines_of(modes: Sequence[dict]) -> list[str]:
    if len(modes) < 2:
        return []
    first = f"The posterior has {len(modes)} modes; the states below are of the first:"
    return ["", first] + [
        f"weight {mode['weight']:.3f} ± {mode['error']:.3f}, log-likelihood "
        f"{mode['log_likelihood']:,.0f}, {len(mode['chains'])} chains with R-hat "
        f"{_show(mode['r_hat'], '.3f')}"
        for mode in modes
    ]


def _finite(facts: dict) -> dict:
    """Return the facts with None for numbers that are not finite, for JSON."""
    return {
        name: x if np.ndim(x) or math.isfinite(x) else None for name, x in facts.items()
    }


def _row(entry: dict) -> list[str]:
    likeliest = [
        max(law.items(), key=lambda pair: pair[1])
        for law in entry["emissions"].values()
    ]
    levels = [f"{level} ({probability:.0%})" for level, probability in likeliest]
    share = f"{entry['share']:.0%}"
    return [str(entry["state"]), f"{entry['cells']:,}", share, *levels]


def _aligned(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if i < 3 else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _show(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
