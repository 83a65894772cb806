"""Erratum 14: exponential distributions are Lipschitz for bounded rates only."""

__all__ = ["ERRATUM_14"]

from functools import partial

import numpy as np

from dpjax.families import Exponential
from dpjax.plots import Panel, draw_panels
from dpjax.privacy import REPLACE_ONE
from papers.errata.lines import line
from papers.numbers import table
from papers.reproduction import Claim, Reproduced, Reproduction, Setting

CONSTANTS = (1.0, 10.0, 100.0, 1_000.0)
FIRST, SECOND = 0.0, 1.0  # two times at distance 1
LEAST, MOST = 0.5, 10.0


def _run(setting: Setting) -> Reproduced:
    del setting  # nothing is random
    rows = [(constant, *_counterexample(constant)) for constant in CONSTANTS]
    bounded = max(_log_ratio(rate) for rate in np.geomspace(1e-6, MOST, 1001))
    names = ("L", "rate", "log_ratio", "printed")
    return Reproduced(
        _words(rows[-1], bounded),
        {"": table(names, rows)},
        {"": partial(draw_panels, [_panel()])},
        [
            Claim.certain(
                "exponential distributions are Lipschitz with one constant for all "
                f"rates: L = {', '.join(f'{x:g}' for x in CONSTANTS)}",
                all(x[2] <= x[3] for x in rows),
                expected="fails",
            ),
            Claim.certain(
                "with rates up to λ they are, with L = λ and the distance of x and y",
                bounded <= MOST * (SECOND - FIRST) * (1 + 1e-12),
                by="dpjax",
            ),
        ],
    )


def _log_ratio(rate: float) -> float:
    """|ln p(x) - ln p(y)| of the two times."""
    logs = [np.log(rate) - rate * x for x in (FIRST, SECOND)]
    return abs(float(logs[0] - logs[1]))


def _counterexample(constant: float) -> tuple[float, float, float]:
    """A rate at which L is too small, the log-ratio there, and what L allows."""
    rate = 2 * constant / (SECOND - FIRST)
    return rate, _log_ratio(rate), constant * (SECOND - FIRST)


def _panel() -> Panel:
    rates = np.geomspace(0.1, 3_000, 60)
    levels = {f"L = {x:g}": x for x in CONSTANTS[1:]}
    return Panel(
        [line("exponential", rates, [_log_ratio(x) for x in rates], style="plain")],
        "rate λ (per unit of time)",
        "log-ratio of two times at distance 1 (nats)",
        title="no L is enough for all rates",
        log_x=True,
        log_y=True,
        levels=levels,
    )


def _words(row: tuple, bounded: float) -> str:
    constant, rate, ratio, allowed = row
    limits = {"rate": (LEAST, MOST)}
    delta = Exponential(SECOND).sampling_sensitivity(REPLACE_ONE, limits).value
    return (
        "Section 4.1 gives the exponential distribution as an example of a family that "
        "is Lipschitz uniformly, with one L for all θ. But |ln p(x) - ln p(y)| = λ|x - "
        f"y|: for L = {constant:g}, λ = {rate:g} and times at distance 1 it is "
        f"{ratio:g}, more than {allowed:g}; and so for every L, whatever the distance, "
        "as long as rates are not bounded. **Corrected:** L = λ for rates up to λ "
        f"({bounded:g} for λ = {MOST:g}). **Instead**, "
        "`families.Exponential.sampling_sensitivity` asks for bounds of the rate: "
        f"Δ = {delta:g} for times in [0, 1] and rates from {LEAST:g} to {MOST:g}."
    )


ERRATUM_14 = Reproduction(
    "erratum-14",
    "Exponential distributions are not uniformly Lipschitz",
    "Zhang et al., section 4.1",
    _run,
)
