"""Erratum 9, a caution: Metropolis–Hastings with min(1, r) has infinite loss.

Barker's rule and lazy ones have a finite loss; how fast their chains mix is compared by
exact spectral gaps.
"""

__all__ = ["ERRATUM_9"]

import itertools
import math
from collections.abc import Callable
from functools import partial

import jax.numpy as jnp
import numpy as np
from scipy.special import expit

from dpjax.chains import barker
from dpjax.chains.barker import log_lazy
from dpjax.plots import Panel, draw_panels
from papers.errata.lines import line
from papers.numbers import table
from papers.reproduction import Claim, Reproduced, Reproduction, Setting

LEAST = 0.45  # and 1 - LEAST: two candidates for the chance of success
WIDTH = math.log((1 - LEAST) / LEAST)  # Δ
SIZES = (1, 2, 3, 5, 10, 30)
Rule = Callable[[np.ndarray], np.ndarray]  # chance to accept, of log r
BUDGETS = (0.1, WIDTH * 2, 1.0, 2.0, 4.0)  # 2Δ / T of a move
GRID, RECORDS, SHARE = np.linspace(0.05, 0.95, 19), 50, 0.3


def _rules(loss: float) -> dict[str, Rule]:
    """That have this loss where a record changes log r by as much, but for the first.

    A lazy chain accepts with (1 - λ) min(1, r): its chance to stay is λ to 1.
    """
    return {
        "usual": lambda s: np.exp(np.minimum(s, 0)),
        "barker": lambda s: expit(s),
        "lazy": lambda s: -np.expm1(-loss) * np.exp(np.minimum(s, 0)),
        "least_lazy": lambda s: expit(loss) * np.exp(np.minimum(s, 0)),
        "library": lambda s: np.exp(np.asarray(log_lazy(jnp.asarray(s), loss), float)),
    }


NAMES = {
    "usual": "min(1, r)",
    "barker": "Barker, r / (1 + r)",
    "lazy": "lazy, λ = e^(-2Δ)",
    "least_lazy": "lazy, λ = 1 / (1 + e^(2Δ))",
    "library": "the larger of this and Barker's",
}


def _run(setting: Setting) -> Reproduced:
    del setting  # nothing is random
    rules = _rules(2 * WIDTH)
    rows = [(n, *(_loss(n, rule) for rule in rules.values()), 2 * WIDTH) for n in SIZES]
    stays = [
        float(1 - rules["usual"](np.array(_log_ratio(ones, 1, (0, 1)))))
        for ones in (0, 1)
    ]
    charged = float(_step().cost.epsilon)
    gaps = [(loss, *map(_gap(loss), _rules(loss).values())) for loss in BUDGETS]
    names = ("n", *rules, "charged")
    return Reproduced(
        _words(rows, stays, charged, gaps),
        {
            "": table(names, rows),
            "staying": _staying(),
            "gaps": table(("loss", *rules), gaps),
        },
        {"": partial(draw_panels, [_panel(), _panel_gaps(gaps)])},
        [
            *_claims_of_lazy(rows, gaps),
            Claim.certain(
                "with the usual acceptance, min(1, r), a Metropolis–Hastings move has "
                "an infinite loss at every n shown, by enumeration of all data sets",
                all(math.isinf(x[1]) for x in rows),
                by="dpjax",
            ),
            Claim.certain(
                "Barker's rule costs at most 2Δ, as charged, at every n shown",
                all(x[2] <= 2 * WIDTH for x in rows)
                and math.isclose(charged, 2 * WIDTH, rel_tol=1e-6),
                by="dpjax",
            ),
        ],
    )


def _step():
    """The library's move between the two candidates, at temperature 1."""
    return barker(
        "which",
        lambda key, value: (1 - value, jnp.zeros(())),
        lambda state, record, own: jnp.zeros(()),
        (f"{math.log(LEAST):.9f}", f"{math.log(1 - LEAST):.9f}"),
        "1000",
        adjacency="replace-one",
        log_prior=lambda state: jnp.zeros(()),
    )


def _log_ratio(ones: int, n: int, move: tuple[int, int]) -> float:
    """Of the likelihoods after and before a move, uniform prior, symmetric proposal."""
    return (2 * ones - n) * (move[1] - move[0]) * WIDTH  # exactly 0 for a tie


def _loss(n: int, rule: Rule) -> float:
    """Over all numbers of ones, neighbours, moves and outcomes, and all priors.

    A prior adds any number to log r: it is on a grid that has 0 and each log r of data.
    """
    priors = np.arange(-60, 61) * WIDTH / 5
    worst = 0.0
    for ones, move in itertools.product(range(n), ((0, 1), (1, 0))):
        moves = [rule(_log_ratio(s, n, move) + priors) for s in (ones, ones + 1)]
        for one, other in (moves, [1 - x for x in moves]):
            if np.any((one == 0) != (other == 0)):
                return math.inf
            both = one > 0
            losses = np.abs(np.log(one[both] / other[both]))
            worst = max(worst, float(losses.max(initial=0)))
    return worst


def _gap(loss: float) -> Callable[[Rule], float]:
    """Spectral gaps of chains on a grid of chances of success, whose moves cost `loss`.

    The posterior of 50 records, 15 of them ones, with a uniform prior, tempered; a step
    to either side is proposed, and at an end refused.
    """
    heat = max(1.0, 2 * math.log(GRID[-1] / GRID[0]) / loss)
    ones = SHARE * RECORDS
    logs = (ones * np.log(GRID) + (RECORDS - ones) * np.log1p(-GRID)) / heat
    slopes = np.diff(logs)

    def gap(rule: Rule) -> float:
        up, down = rule(slopes) / 2, rule(-slopes) / 2
        stay = 1 - np.append(up, 0) - np.append(0, down)
        beside = np.sqrt(up * down)  # of the symmetric matrix that is similar
        matrix = np.diag(stay) + np.diag(beside, 1) + np.diag(beside, -1)
        return float(1 - np.sort(np.linalg.eigvalsh(matrix))[-2])

    return gap


def _claims_of_lazy(rows: list[tuple], gaps: list[tuple]) -> list[Claim]:
    place = {name: i for i, name in enumerate(NAMES, 1)}
    lazy, least, library, barkers = (
        np.array([x[place[name]] for x in gaps])
        for name in ("lazy", "least_lazy", "library", "barker")
    )
    most = np.array(
        [max(x[i] for x in rows) for i in (place["lazy"], place["library"])]
    )
    return [
        Claim.certain(
            "a lazy chain that accepts with (1 - λ) min(1, r), λ = e^(-2Δ), costs at "
            "most 2Δ, and so does the larger of Barker's chance and that of a lazy "
            "chain with λ = 1 / (1 + e^(2Δ)), at every n shown",
            bool((most <= 2 * WIDTH * (1 + 1e-6)).all()),
            by="dpjax",
        ),
        Claim.certain(
            "the latter nearly attains it",
            bool(most[1] >= 2 * WIDTH * 0.999),
            by="dpjax",
        ),
        Claim.certain(
            "with λ = e^(-2Δ) the lazy chain mixes faster than Barker's where a move "
            "costs 1 or more, and slower below: by its spectral gap",
            bool(((lazy > barkers) == (np.array(BUDGETS) >= 1)).all()),
            by="dpjax",
        ),
        Claim.certain(
            "the larger of both chances mixes at least as fast as Barker's and as "
            "either lazy chain, at every cost shown",
            bool(
                (library >= np.maximum(np.maximum(lazy, least), barkers) - 1e-6).all()
            ),
            by="dpjax",
        ),
    ]


def _staying() -> dict[str, list]:
    """Chance of staying at the lower candidate, by rule and number of ones of 9."""
    ones = np.arange(10)
    logs = np.array([_log_ratio(int(s), 9, (0, 1)) for s in ones])
    stays = {
        name: (1 - rule(logs)).tolist() for name, rule in _rules(2 * WIDTH).items()
    }
    return {"ones": ones.tolist(), **stays}


def _panel() -> Panel:
    stays = _staying()
    ones = np.array(stays["ones"])
    return Panel(
        [
            line(NAMES[column], ones, stays[column], style="line")
            for column in ("usual", "barker", "lazy", "library")
        ],
        "successes in 9 records",
        "probability that the chain stays",
        title=f"a move from {LEAST} to {1 - LEAST:g} is proposed",
    )


def _panel_gaps(gaps: list[tuple]) -> Panel:
    losses = [x[0] for x in gaps]
    return Panel(
        [
            line(NAMES[name], losses, [x[i] / x[2] for x in gaps])
            for i, name in enumerate(NAMES, 1)
            if name not in ("usual", "barker")
        ],
        "what a move costs, ε (nats)",
        "spectral gap over that of Barker's chain",
        title=f"{GRID.size} chances of success, {RECORDS} records",
        log_x=True,
        levels={NAMES["barker"]: 1.0},
    )


def _words(
    rows: list[tuple], stays: list[float], charged: float, gaps: list[tuple]
) -> str:
    shown = ", ".join(
        f"{x[2]:.4f}, {x[3]:.4f} and {x[5]:.4f} at ε = {x[0]:.3g}" for x in gaps
    )
    return (
        "A caution. Section 4 says that Metropolis–Hastings has privacy guarantees, "
        "shown in the supplement, which we do not have: nobody can tell here for which "
        "acceptance. With the usual one, min(1, r), there is none: a move to a more "
        "probable state is always taken, so that staying shows that it was not. "
        f"One Bernoulli record, a move from {LEAST} to "
        f"{1 - LEAST:g}: the chain stays with probability {stays[1]:.3f} if the record "
        f"is a success and {stays[0]:.3f} if it is a failure. **What holds:** Barker's "
        "rule, r / (1 + r), is an exponential mechanism on {stay, move} and costs at "
        f"most 2Δ = {2 * WIDTH:.3f}; enumerated over all data sets of n = "
        f"{', '.join(str(x[0]) for x in rows)}: at most {max(x[2] for x in rows):.3f}. "
        "A lazy chain, which accepts with (1 - λ) min(1, r), has that cost too if λ = "
        "e^(-2Δ); 1 / (1 + e^(2Δ)) is enough, and the larger of its chance to accept "
        f"and Barker's costs no more: at most {max(x[5] for x in rows):.3f}. Spectral "
        "gaps of the chains, Barker's, λ = e^(-2Δ) and the larger of both, on a grid: "
        f"{shown}. **Instead**, `dpjax.chains.barker` charges {charged:.3f} a move, "
        "has the larger of both as `acceptance='lazy'`, and refuses min(1, r)."
    )


ERRATUM_9 = Reproduction(
    "erratum-9",
    "Metropolis–Hastings with the usual acceptance is not private",
    "Foulds et al., section 4",
    _run,
)
