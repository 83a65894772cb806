"""Erratum 9, a caution: Metropolis–Hastings with min(1, r) has infinite loss."""

__all__ = ["ERRATUM_9"]

import itertools
import math
from collections.abc import Callable
from functools import partial

import jax.numpy as jnp
import numpy as np

from dpjax.chains import barker
from dpjax.plots import Panel, draw_panels
from papers.errata.lines import line
from papers.numbers import table
from papers.reproduction import Claim, Reproduced, Reproduction, Setting

LEAST = 0.45  # and 1 - LEAST: two candidates for the chance of success
WIDTH = math.log((1 - LEAST) / LEAST)  # Δ
SIZES = (1, 2, 3, 5, 10, 30)
RULES: dict[str, Callable[[float], float]] = {
    "min(1, r)": lambda log_ratio: min(1.0, math.exp(log_ratio)),
    "Barker, r / (1 + r)": lambda log_ratio: 1 / (1 + math.exp(-log_ratio)),
}


def _run(setting: Setting) -> Reproduced:
    del setting  # nothing is random
    rows = [(n, *(_loss(n, rule) for rule in RULES.values()), 2 * WIDTH) for n in SIZES]
    stays = [1 - RULES["min(1, r)"](_log_ratio(ones, 1, (0, 1))) for ones in (0, 1)]
    charged = float(_step().cost.epsilon)
    names = ("n", "usual", "barker", "charged")
    return Reproduced(
        _words(rows, stays, charged),
        {"": table(names, rows), "staying": _staying()},
        {"": partial(draw_panels, [_panel()])},
        [
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


def _loss(n: int, rule: Callable[[float], float]) -> float:
    """Over all numbers of ones, neighbours, moves and outcomes."""
    worst = 0.0
    for ones, move in itertools.product(range(n), ((0, 1), (1, 0))):
        moves = [rule(_log_ratio(s, n, move)) for s in (ones, ones + 1)]
        for pair in (moves, [1 - x for x in moves]):
            if min(pair) > 0:
                worst = max(worst, abs(math.log(pair[0] / pair[1])))
            elif max(pair) > 0:
                worst = math.inf
    return worst


def _staying() -> dict[str, list]:
    """Chance of staying at the lower candidate, by rule and number of ones of 9."""
    rows = [
        (ones, *(1 - rule(_log_ratio(ones, 9, (0, 1))) for rule in RULES.values()))
        for ones in range(10)
    ]
    return table(("ones", "usual", "barker"), rows)


def _panel() -> Panel:
    stays = _staying()
    ones = np.array(stays["ones"])
    return Panel(
        [
            line(name, ones, stays[column], style="line")
            for name, column in zip(RULES, ("usual", "barker"), strict=True)
        ],
        "successes in 9 records",
        "probability that the chain stays",
        title=f"a move from {LEAST} to {1 - LEAST:g} is proposed",
    )


def _words(rows: list[tuple], stays: list[float], charged: float) -> str:
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
        f"**Instead**, `dpjax.chains.barker` charges {charged:.3f} a move and "
        "refuses min(1, r)."
    )


ERRATUM_9 = Reproduction(
    "erratum-9",
    "Metropolis–Hastings with the usual acceptance is not private",
    "Foulds et al., section 4",
    _run,
)
