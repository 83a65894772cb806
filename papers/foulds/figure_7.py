"""Figure 7 of Foulds et al.: states by one posterior sample, and by the last 100."""

__all__ = ["FIGURE_7"]

from functools import partial

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from dpjax._types import Key
from dpjax.event_logs import HiddenMarkovPosterior
from dpjax.plots import state_map
from papers.foulds.event_log import DATA, EventLog, afghanistan_like, given
from papers.foulds.event_log_fits import fit_chains, one, tempered_counts
from papers.foulds.event_log_maps import agreement, moves
from papers.numbers import mean_and_error, table
from papers.reproduction import (
    NOT_CHECKABLE,
    Claim,
    Reproduced,
    Reproduction,
    Setting,
)

EPSILON, TRUNCATION, STATES = "5", 100, 3


def _run(setting: Setting) -> Reproduced:
    sweeps = 50 if setting.quick else 200
    kinds = _logs(setting)
    keys = jr.split(setting.key, len(kinds))
    fits = [_fits(key, logs, sweeps) for key, logs in zip(keys, kinds, strict=True)]
    rows = {
        logs[0].name: np.array(
            [_row(log, *pair) for log, pair in zip(logs, pairs, strict=True)], float
        )
        for logs, pairs in zip(kinds, fits, strict=True)
    }
    numbered = [
        (name, i, *row.tolist()) for name, x in rows.items() for i, row in enumerate(x)
    ]
    shown = kinds[0][0]
    return Reproduced(
        _words(shown, sweeps, rows),
        {"": table(("log", "fit", *_COLUMNS), numbered)},
        _figures(shown, *fits[0][0]),
        _claims(rows, setting.quick),
    )


def _logs(setting: Setting) -> list[list[EventLog]]:
    """By kind; the first is shown. Of a real log the repeats are chains."""
    repeats = 120  # maps differ little: a fit is soon done
    if setting.data:
        return [[given(setting)] * repeats]
    rng, months = setting.rng(), 24 if setting.quick else 72
    return [[afghanistan_like(rng, months) for _ in range(repeats)]]


def _fits(
    key: Key, logs: list[EventLog], sweeps: int
) -> list[tuple[HiddenMarkovPosterior, HiddenMarkovPosterior]]:
    """Of each log: all draws after the burn-in, and the last one."""
    counts = np.stack([log.counts for log in logs])
    found = fit_chains(
        jr.split(key, len(logs)),
        tempered_counts(counts, EPSILON, logs[0].fields, TRUNCATION),
        jnp.asarray(TRUNCATION, float),
        logs[0].fields,
        STATES,
        sweeps,
        sweeps // 2,
    )
    return [(one(found, i), _last(one(found, i))) for i in range(len(logs))]


def _last(posterior: HiddenMarkovPosterior) -> HiddenMarkovPosterior:
    """Its last draw alone."""
    return eqx.tree_at(
        lambda x: (x.paths, x.emission, x.initial, x.transition),
        posterior,
        replace_fn=lambda draws: draws[-1:],
    )


_COLUMNS = ("moves_all", "moves_last", "agreement_all", "agreement_last")


def _row(log: EventLog, *posteriors: HiddenMarkovPosterior) -> tuple:
    maps = [np.asarray(x.predict_states()) for x in posteriors]
    agreed = [
        float("nan") if log.states is None else agreement(x, log.states) for x in maps
    ]
    return *map(moves, maps), *agreed


def _claims(rows: dict[str, np.ndarray], quick: bool) -> list[Claim]:
    name = next(iter(rows))
    agreed = rows[name][:, 2] - rows[name][:, 3]
    moved = rows[name][:, 1] - rows[name][:, 0]
    claims = [
        Claim.mean_positive(
            "the states of the last sample are noisier than the estimate from all "
            "samples after the burn-in (they change more often from month to month), "
            f"on the war log of Afghanistan (here: {name})",
            moved,
            expected=NOT_CHECKABLE,
        ),
        *(
            Claim.mean_positive(
                f"so they are here: {log}",
                rows[log][:, 1] - rows[log][:, 0],
                by="dpjax",
                expected="undecided" if quick else "holds",  # short chains do not tell
            )
            for log in rows
        ),
    ]
    if not np.isnan(agreed).any():
        claims.append(
            Claim.mean_positive(
                "and they agree with those that made the log in fewer cells",
                agreed,
                by="dpjax",
            )
        )
    return claims


def _figures(log: EventLog, of_all, of_last) -> dict:
    region, month, _ = log.variables
    draws = len(of_all.paths)
    cost = f"OPS, ε = {EPSILON} a sample had the chain converged"
    titles = {
        "last-samples": (of_all, f"{log.name}: the last {draws} samples ({cost})"),
        "last-one": (of_last, f"{log.name}: the last sample ({cost})"),
    }
    return {
        name: partial(_map, posterior, region, month, title)
        for name, (posterior, title) in titles.items()
    }


def _map(posterior, region, month, title, path) -> None:
    state_map(posterior, region, month, path, title=title)


def _words(log: EventLog, sweeps: int, found: dict[str, np.ndarray]) -> str:
    kept, rows = sweeps - sweeps // 2, found[log.name]
    changes = "; ".join(
        f"{name} {x[0][0]:.1f} (± {x[0][1]:.1f}) and {x[1][0]:.1f} (± {x[1][1]:.1f})"
        for name, every in found.items()
        for x in [[mean_and_error(every[:, i]) for i in (0, 1)]]
    )
    truth = ""
    if log.states is not None:
        shares = [mean_and_error(rows[:, i]) for i in (2, 3)]
        truth = (
            f" Maps of {log.name} logs agree with the states that made them in "
            f"{shares[0][0]:.1%} of the cells (± {shares[0][1]:.1%}) and "
            f"{shares[1][0]:.1%} (± {shares[1][1]:.1%})."
        )
    return (
        f"A hidden Markov model of {STATES} states, OPS at ε = {EPSILON} with tables "
        f"truncated at 1 / ({TRUNCATION} K). The log shown: {log.shape_in_words}. "
        f"Changes of state from a month to the next on average over fits, in a map "
        f"from the last {kept} samples and in one from the last sample alone: "
        f"{changes}.{truth} One sample costs ε if the chain has converged, which "
        f"nobody can check; {kept} of them, or a chain that is paid for draw by draw, "
        f"cost up to {2 * sweeps} ε."
    )


FIGURE_7 = Reproduction(
    "foulds-figure-7",
    "States of an event log by OPS: from the last samples, and from the last one",
    "Foulds et al., Figure 7",
    _run,
    DATA,
)
