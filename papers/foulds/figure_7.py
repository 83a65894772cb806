"""Figure 7 of Foulds et al.: states by one posterior sample, and by the last 100."""

__all__ = ["FIGURE_7"]

from functools import partial

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from dpjax.event_logs import HiddenMarkovPosterior
from dpjax.plots import state_map
from papers.foulds.event_log import DATA, EventLog, afghanistan_like, given
from papers.foulds.event_log_fits import fit_chains, one, tempered_counts
from papers.foulds.event_log_maps import agreement, moves
from papers.numbers import mean_and_error, table
from papers.reproduction import Claim, Reproduced, Reproduction, Setting

EPSILON, TRUNCATION, STATES = "5", 100, 3


def _run(setting: Setting) -> Reproduced:
    sweeps = 50 if setting.quick else 200
    logs = _logs(setting)
    counts = np.stack([log.counts for log in logs])
    heated = tempered_counts(counts, EPSILON, logs[0].fields, TRUNCATION)
    found = fit_chains(
        jr.split(setting.key, len(logs)),
        heated,
        jnp.asarray(TRUNCATION, float),
        logs[0].fields,
        STATES,
        sweeps,
        sweeps // 2,
    )
    pairs = [(one(found, i), _last(one(found, i))) for i in range(len(logs))]
    maps = [[np.asarray(x.predict_states()) for x in pair] for pair in pairs]
    rows = [_row(log, *pair) for log, pair in zip(logs, maps, strict=True)]
    return Reproduced(
        _words(logs[0], sweeps, np.array(rows, float)),
        {"": table(("log", *_COLUMNS), [(i, *row) for i, row in enumerate(rows)])},
        _figures(logs[0], *pairs[0]),
        _claims(np.array(rows, float)),
    )


def _logs(setting: Setting) -> list[EventLog]:
    """The first is shown; of one's own log the repeats are chains."""
    repeats = 120  # maps differ little: a fit is soon done
    if setting.data:
        return [given(setting)] * repeats
    rng, months = setting.rng(), 24 if setting.quick else 72
    return [afghanistan_like(rng, months) for _ in range(repeats)]


def _last(posterior: HiddenMarkovPosterior) -> HiddenMarkovPosterior:
    """Its last draw alone."""
    return eqx.tree_at(
        lambda x: (x.paths, x.emission, x.initial, x.transition),
        posterior,
        replace_fn=lambda draws: draws[-1:],
    )


_COLUMNS = ("moves_all", "moves_last", "agreement_all", "agreement_last")


def _row(log: EventLog, of_all: np.ndarray, of_last: np.ndarray) -> tuple:
    agreed = [
        float("nan") if log.states is None else agreement(x, log.states)
        for x in (of_all, of_last)
    ]
    return moves(of_all), moves(of_last), *agreed


def _claims(rows: np.ndarray) -> list[Claim]:
    moved, agreed = rows[:, 1] - rows[:, 0], rows[:, 2] - rows[:, 3]
    claims = [
        Claim.mean_positive(
            "the states of the last sample are noisier than the estimate from all "
            "samples after the burn-in: they change more often from month to month",
            moved,
        )
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


def _words(log: EventLog, sweeps: int, rows: np.ndarray) -> str:
    kept = sweeps - sweeps // 2
    of_all, of_last = (mean_and_error(rows[:, i]) for i in (0, 1))
    truth = ""
    if log.states is not None:
        shares = [mean_and_error(rows[:, i]) for i in (2, 3)]
        truth = (
            " They agree with the states that made the log in "
            f"{shares[0][0]:.1%} of the cells (± {shares[0][1]:.1%}) and "
            f"{shares[1][0]:.1%} (± {shares[1][1]:.1%})."
        )
    return (
        f"A hidden Markov model of {STATES} states, OPS at ε = {EPSILON} with tables "
        f"truncated at 1 / ({TRUNCATION} K). The log shown: {log.shape_in_words}. On "
        f"average over {len(rows)} fits a map from the last {kept} samples has "
        f"{of_all[0]:.1f} (± {of_all[1]:.1f}) changes of state from a month to the "
        f"next, one from the last sample alone {of_last[0]:.1f} (± {of_last[1]:.1f})."
        f"{truth} One sample costs ε if the chain has converged, which nobody can "
        f"check; {kept} of them, or a chain that is paid for draw by draw, cost up to "
        f"{2 * sweeps} ε."
    )


FIGURE_7 = Reproduction(
    "foulds-figure-7",
    "States of an event log by OPS: from the last samples, and from the last one",
    "Foulds et al., Figure 7",
    _run,
    DATA,
)
