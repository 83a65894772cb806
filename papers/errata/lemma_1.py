"""Erratum 17: noise that leaves the parameter space, and a projection that mends it."""

__all__ = ["ERRATUM_17"]

from functools import partial

import numpy as np
from scipy import stats

from dpjax.plots import Panel, draw_panels
from papers.errata.beta import mean_divergence
from papers.errata.lines import line
from papers.numbers import table
from papers.reproduction import Claim, Reproduced, Reproduction, Setting

EPSILON, PROBABILITY = 1.0, 0.3
NOISE = 2 / EPSILON  # its scale
RECORDS = (10, 20, 50, 100, 1_000, 10_000)


def _run(setting: Setting) -> Reproduced:
    del setting  # nothing is random
    rows = [(n, _without(n), *_projected(n)) for n in RECORDS]
    names = ("N", "no_posterior", "projected_kl", "times_N")
    limit = NOISE**2 * (1 / PROBABILITY + 1 / (1 - PROBABILITY) - 2)
    return Reproduced(
        _words(rows, limit),
        {"": table(names, rows)},
        {"": partial(draw_panels, [_panel(rows)])},
        [
            Claim.certain(
                "the Laplace mechanism meets Lemma 1's requirement (Corollary 2): a "
                "law of the noise that does not depend on N, under which the perturbed "
                "posterior exists",
                all(x[1] == 0 for x in rows),
                expected="fails",
            ),
            Claim.certain(
                "with counts projected to be non-negative, as in equation 16, the "
                "KL divergence over the noise falls at each N, data at expected counts",
                bool(np.all(np.diff([x[2] for x in rows]) < 0)),
                by="dpjax",
            ),
            Claim.certain(
                "as b²(1/p + 1/(1 - p) - 2) / N, b the scale of the noise: within 5 % "
                f"at N = {RECORDS[-1]}",
                abs(rows[-1][3] / limit - 1) < 0.05,
                by="dpjax",
            ),
        ],
    )


def _without(n: int) -> float:
    """That a Beta parameter is not positive: uniform prior, noise on both counts."""
    ones = np.arange(n + 1)
    keeps = [1 - np.exp(-(1 + x) / NOISE) / 2 for x in (ones, n - ones)]
    return float(stats.binom.pmf(ones, n, PROBABILITY) @ (1 - keeps[0] * keeps[1]))


def _projected(n: int) -> tuple[float, float]:
    """E KL of the noisy posterior from the exact one, at the expected data; times N."""
    ones = round(n * PROBABILITY)
    mean = mean_divergence((ones, n - ones), n, NOISE, top=n + 40 * NOISE, reverse=True)
    return mean, mean * n


def _panel(rows: list[tuple]) -> Panel:
    sizes = [x[0] for x in rows]
    return Panel(
        [
            line(
                "no posterior, without projection (probability)",
                sizes[:4],
                [x[1] for x in rows][:4],
            ),
            line("E KL, with projection (nats)", sizes, [x[2] for x in rows]),
        ],
        "number of records N",
        "probability, and nats",
        title=f"Beta-Bernoulli, p = {PROBABILITY}, ε = {EPSILON:g}, uniform prior",
        log_x=True,
        log_y=True,
    )


def _words(rows: list[tuple], limit: float) -> str:
    chances = {x[0]: x[1] for x in rows}
    last = rows[-1]
    return (
        "Lemma 1 perturbs the natural parameter by noise whose law does not depend on "
        "N, and Corollary 2 says that the Laplace mechanism's is such. Such noise "
        "leaves the parameter space with positive probability at every N; there is no "
        "posterior then, and no expected KL divergence. Beta-Bernoulli, uniform prior, "
        f"p = {PROBABILITY}, ε = {EPSILON:g}: probability {chances[10]:.3f} at N = 10, "
        f"{chances[20]:.4f} at 20, {chances[100]:.2g} at 100. Equation 16 projects, "
        "and then the law of the noise does depend on the data. **Corrected:** with "
        "the projection, a prior of positive parameters and a truth inside of the "
        "space the limit is right: over the noise, with the data at their expected "
        f"counts, E KL is {rows[0][2]:.3f} at N = {rows[0][0]} and {last[2]:.6f} at "
        f"{last[0]}, that is {last[3]:.2f}/N, {limit:.2f}/N in the limit. **Instead**, "
        "dpjax projects, or sums over the exact counts."
    )


ERRATUM_17 = Reproduction(
    "erratum-17",
    "Noise that leaves the parameter space",
    "Foulds et al., Lemma 1 and Corollary 2",
    _run,
)
