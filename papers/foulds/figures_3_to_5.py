"""Figures 3 to 5 of Foulds et al.: a private hidden Markov model of an event log."""

__all__ = ["FIGURES_3_TO_5"]

from functools import partial

import jax.numpy as jnp
import jax.random as jr
import numpy as np

from dpjax._types import Key
from dpjax.event_logs import HiddenMarkovPosterior
from dpjax.plots import Panel, Series, draw_panels, emission_bars, state_map
from papers.foulds.event_log import DATA, EventLog, afghanistan_like, given, iraq_like
from papers.foulds.event_log_fits import fit_chains, noisy_counts, one
from papers.foulds.event_log_maps import agreement, matched, states_in_use
from papers.numbers import mean_and_error, table
from papers.reproduction import (
    NOT_CHECKABLE,
    Claim,
    Reproduced,
    Reproduction,
    Setting,
)

EPSILON, STATES, MANY, MOST = "5", 2, 10, 0.9
PRIVATE, PLAIN = "private", "non-private"

Uses = dict[tuple[str, str], np.ndarray]  # states in use by log and method: by repeat


def _run(setting: Setting) -> Reproduced:
    kinds = _logs(setting)
    sweeps = 100 if setting.quick else 200
    key_noise, key_two, *keys = jr.split(setting.key, 2 + len(kinds))
    shown = kinds[0]
    noisy = noisy_counts(key_noise, _counts(shown), EPSILON, shown[0].fields)
    found = _fit(key_two, noisy, shown[0], STATES, sweeps)
    posteriors = [one(found, i) for i in range(len(shown))]
    paths = {
        logs[0].name: _paths(key, logs, sweeps)
        for key, logs in zip(keys, kinds, strict=True)
    }
    uses = {
        (name, method): np.array([states_in_use(x, MANY, MOST) for x in fits])
        for name, both in paths.items()
        for method, fits in zip((PRIVATE, PLAIN), both, strict=True)
    }
    claims = [] if shown[0].states is None else _truth(shown, posteriors)
    return Reproduced(
        _words(shown[0], posteriors[0], uses),
        {"": _table(uses)},
        _figures(shown[0], posteriors[0], paths),
        [*claims, *_regulariser(uses, setting.quick)],
    )


def _logs(setting: Setting) -> list[list[EventLog]]:
    """By kind; the first of the first kind is shown. Of real logs, repeats are fits."""
    repeats = 12 if setting.quick else 30
    if setting.data:
        return [[given(setting)] * repeats]
    rng, months = setting.rng(), 36 if setting.quick else 72
    simulations = iraq_like, afghanistan_like
    return [[make(rng, months) for _ in range(repeats)] for make in simulations]


def _counts(logs: list[EventLog]) -> np.ndarray:
    return np.stack([log.counts for log in logs])


def _paths(key: Key, logs: list[EventLog], sweeps: int) -> np.ndarray:
    """Draws of the states of fits to noisy counts, then to the exact ones."""
    key_noise, key_fit = jr.split(key)
    counts = _counts(logs)
    noisy = noisy_counts(key_noise, counts, EPSILON, logs[0].fields)
    both = jnp.concatenate([noisy, jnp.asarray(counts).astype(float)])
    paths = np.asarray(_fit(key_fit, both, logs[0], MANY, sweeps).paths)[:, :, :, 0]
    return paths.reshape(2, len(logs), *paths.shape[1:])


def _fit(
    key: Key, counts, log: EventLog, states: int, sweeps: int
) -> HiddenMarkovPosterior:
    keys = jr.split(key, len(counts))
    return fit_chains(keys, counts, None, log.fields, states, sweeps, sweeps // 2)


def _truth(logs: list[EventLog], posteriors: list[HiddenMarkovPosterior]) -> list:
    maps = [np.asarray(x.predict_states()) for x in posteriors]
    pairs = [*zip(maps, logs, strict=True)]
    margins = np.array([_margins(*x) for x in zip(logs, posteriors, strict=True)])
    early = np.array([_prevails(found, log.truth).mean() for found, log in pairs])
    right = np.array(
        [((matched(x, y.truth) != y.truth).sum(axis=1) <= 1).mean() for x, y in pairs]
    )
    return [
        Claim.positive(
            "recovers what the simulation has, in most logs: state 2 prevails in the "
            "first quarter of the months of more than half of the regions, and not in "
            "the last quarter",
            *_above(early > 0.5, 0.5),
            by="dpjax",
        ),
        Claim.mean_positive(
            "recovers what the simulation has: the most frequent outcomes of state 1 "
            "are friendly action, cache found/cleared and enemy casualties, those of "
            "state 2 explosive hazard, IED explosion and civilian casualties",
            margins.T,
            by="dpjax",
        ),
        Claim.positive(
            "in most logs, 9 of 10 regions have all months but one at most in the "
            "state that made their events, before the change and after it",
            *_above(right >= 0.9, 0.5),
            by="dpjax",
        ),
    ]


def _above(successes: np.ndarray, share: float) -> tuple[float, float]:
    """By how much a share of logs exceeds `share`, with two more of either outcome.

    Logs are independent; regions of a log are not. Without the four more the error
    were 0 where there are but successes (Agresti & Coull, 1998).
    """
    trials = successes.size + 4
    estimate = (successes.sum() + 2) / trials
    return estimate - share, float(np.sqrt(estimate * (1 - estimate) / trials))


def _prevails(found: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Whether a region's states go from 2 to 1."""
    named, quarter = matched(found, truth), found.shape[1] // 4
    before, after = named[:, :quarter].mean(axis=1), named[:, -quarter:].mean(axis=1)
    return ((before > 0.5) & (after < 0.5)).astype(float)


def _margins(log: EventLog, posterior: HiddenMarkovPosterior) -> list[float]:
    """By how much the probabilities of outcomes that the text names are the largest."""
    found = np.asarray(posterior.predict_states())
    named = matched(found, log.truth)
    tables = [np.asarray(x) for x in posterior.emissions()]
    margins = []
    for state, (kind, category, casualty) in enumerate(((0, 0, 2), (2, 6, 1))):
        row = int(np.bincount(found[named == state], minlength=STATES).argmax())
        of_any = np.array([x[row, 1] for x in tables[2:]])
        every = (tables[0][row], kind), (tables[1][row], category), (of_any, casualty)
        margins += [float(x[i] - np.delete(x, i).max()) for x, i in every]
    return margins


def _regulariser(uses: Uses, quick: bool) -> list[Claim]:
    """Of the war logs, which are not here: what other logs show, least sure first."""
    names = list(dict.fromkeys(name for name, _ in uses))
    private = {name: uses[name, PRIVATE] for name in names}
    more = {name: uses[name, PRIVATE] - uses[name, PLAIN] for name in names}
    beside = ", ".join(names)
    claims = [
        _all_positive(
            f"given {MANY} states, the private model puts most data points ({MOST:.0%} "
            f"of the cells) in 2 or 3 of them, on the war logs (here: {beside})",
            [3.5 - x for x in private.values()],
            expected=NOT_CHECKABLE,
        ),
        _all_positive(
            "the non-private model uses more states, so that noise is a regulariser, "
            f"on the war logs (here: {beside})",
            [-x for x in more.values()],
            expected=NOT_CHECKABLE,
        ),
    ]
    if len(names) > 1:
        few = names[1:]
        claims += [
            _all_positive(
                "where cells have few events, the private model puts most cells in "
                f"more than 3 states: {', '.join(few)}",
                [private[name] - 3.5 for name in few],
                by="dpjax",
            ),
            _all_positive(
                "and in more than the non-private model does",
                [more[name] for name in few],
                by="dpjax",
                expected="undecided" if quick else "holds",  # a few do not always tell
            ),
        ]
    return claims


def _all_positive(words: str, repeats: list[np.ndarray], **facts: str) -> Claim:
    """`Claim.positive` of means over unequal numbers of repeats."""
    means, errors = np.array([mean_and_error(x) for x in repeats]).T
    return Claim.positive(words, means, errors, **facts)


def _table(uses: Uses) -> dict[str, list]:
    rows = [
        (log, method, repeat, float(number))
        for (log, method), every in uses.items()
        for repeat, number in enumerate(every)
    ]
    return table(("log", "method", "repeat", "states_in_use"), rows)


def _figures(log: EventLog, posterior, paths: dict[str, np.ndarray]) -> dict:
    region, month, fields = log.variables
    title = f"{log.name}, noise on counts, ε = {EPSILON}"
    panels = [_shares(name, fits) for name, fits in paths.items()]
    return {
        "states": partial(_map, posterior, region, month, title),
        "emissions": partial(_bars, posterior, fields, title),
        "ten-states": partial(draw_panels, panels),
    }


def _map(posterior, region, month, title, path) -> None:
    state_map(posterior, region, month, path, title=title)


def _bars(posterior, fields, title, path) -> None:
    emission_bars(posterior, fields, path, title=title)


def _shares(name: str, paths: np.ndarray) -> Panel:
    """Shares of the cells by rank, of private fits and of the others."""
    series = []
    for label, fits in zip((f"{PRIVATE}, ε = {EPSILON}", PLAIN), paths, strict=True):
        flat = fits.reshape(*fits.shape[:2], -1)
        parts = np.stack([(flat == k).mean(axis=2) for k in range(MANY)], axis=2)
        ranked = -np.sort(-parts, axis=2).mean(axis=1)
        error = ranked.std(axis=0, ddof=1) / np.sqrt(len(ranked))
        series.append(Series(label, np.arange(MANY), ranked.mean(axis=0), error))
    return Panel(
        series,
        "state, by how many cells it has",
        "share of the cells",
        title=f"{name}, {MANY} states allowed",
        categories=[f"{rank + 1}" for rank in range(MANY)],
    )


def _words(log: EventLog, posterior: HiddenMarkovPosterior, uses: Uses) -> str:
    agreed = ""
    if log.states is not None:
        found = np.asarray(posterior.predict_states())
        share = agreement(found, log.states)
        agreed = (
            f" They agree with the states that made it in {share:.1%} of the cells."
        )
    used = "; ".join(
        f"{name} {method} {mean:.1f} (± {error:.1f})"
        for (name, method), every in uses.items()
        for mean, error in [mean_and_error(every)]
    )
    return (
        f"A hidden Markov model of {STATES} states from noisy counts, ε = {EPSILON} "
        f"under replace-one, evenly over {len(log.fields)} fields. The log shown: "
        f"{log.shape_in_words}.{agreed} With {MANY} states allowed, the number of "
        f"states that together hold {MOST:.0%} of the cells is: {used}. The paper "
        "finds 2 or 3 privately, and all 10 without privacy, on the war logs, which "
        "are not here."
    )


FIGURES_3_TO_5 = Reproduction(
    "foulds-figures-3-5",
    "Hidden states of an event log, and what happens in them, from noisy counts",
    "Foulds et al., Figures 3, 4 and 5 and section 5",
    _run,
    DATA,
)
