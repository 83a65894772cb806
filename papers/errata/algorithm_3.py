"""E4 and E7: densities as scores of the exponential mechanism, and Lemma 4."""

__all__ = ["ERRATUM_4", "ERRATUM_7"]

import math
from functools import partial

import numpy as np
from scipy import integrate

from dpjax import theory
from dpjax.mechanisms import CellMass
from dpjax.plots import Panel, draw_panels
from dpjax.privacy import REPLACE_ONE
from dpjax.theory import bernoulli_constant
from papers.errata.lines import line
from papers.networks import COIN
from papers.numbers import table
from papers.reproduction import Claim, Reproduced, Reproduction, Setting

N, OMEGA = 1000, "0.4"
MISSED_N, MISSED_OMEGA, MISSED_EPSILON, SHORT = 20, "0.001", 5, 0.49


def _run_4(setting: Setting) -> Reproduced:
    del setting  # nothing is random
    rows = [(n, *_moves(n)) for n in (10, 30, 100, 300, N)]
    constant = float(bernoulli_constant(OMEGA))
    root, mass = math.sqrt(constant), math.tanh(constant / 2)
    sound = CellMass.calibrate(COIN.layout, 1, REPLACE_ONE, omega=OMEGA, units=30)
    names = ("n", "density", "variation", "loss_of_algorithm_3")
    return Reproduced(
        _words_4(rows[-1], root, mass, sound.sharpness),
        {"": table(names, rows)},
        {"": partial(draw_panels, [_panel_4(rows, root)])},
        _claims_4(rows, root, mass),
    )


def _moves(n: int) -> tuple[float, float, float]:
    """Of Beta-Bernoulli on [ω, 1 - ω], uniform prior, if one of n records changes.

    The largest change of a density, the total variation, and the loss of Algorithm 3
    with densities as scores at ε = 1.
    """
    low = float(OMEGA)
    theta = np.linspace(low, 1 - low, 1001)  # steps small beside 1 / n
    ones = np.arange(n + 1)[:, None]
    logs = ones * np.log(theta) + (n - ones) * np.log1p(-theta)
    density = np.exp(logs - logs.max(axis=1, keepdims=True))
    density /= np.asarray(integrate.simpson(density, x=theta))[:, None]
    change = np.abs(np.diff(density, axis=0))
    variation = np.max(integrate.simpson(change, x=theta)) / 2
    weights = density / (2 * math.sqrt(bernoulli_constant(OMEGA)))
    peaks = weights.max(axis=1, keepdims=True)
    totals = integrate.simpson(np.exp(weights - peaks), x=theta)
    law = weights - peaks - np.log(totals)[:, None]
    loss = np.abs(np.diff(law, axis=0)).max()
    return float(change.max()), float(variation), float(loss)


def _claims_4(rows: list[tuple], root: float, mass: float) -> list[Claim]:
    _, density, _, loss = rows[-1]
    low = float(OMEGA)
    limit = 1 / low + 1 / (1 - low)
    return [
        Claim.certain(
            "Algorithm 3, whose scores are densities, is ε-private (Corollary 4, under "
            f"Lemma 2's condition): one coin on [{OMEGA}, {1 - low:g}], n = {N}, ε = 1",
            loss <= 1,
            expected="fails",
        ),
        Claim.certain(
            f"since a record moves a posterior density by more than √L (n = {N})",
            density > root,
            by="dpjax",
        ),
        Claim.certain(
            "a record moves the posterior mass of any set by at most √L",
            all(x[2] <= root for x in rows),
        ),
        Claim.certain(
            "and by at most tanh(C / 2), which is less than √L",
            all(x[2] <= mass for x in rows) and mass < root,
            by="dpjax",
        ),
        Claim.certain(
            "the change of a density grows with n to 1 / (ω(1 - ω)), of a mass falls",
            all(np.diff([x[1] for x in rows]) > 0)
            and 0.99 * limit < density < limit
            and all(np.diff([x[2] for x in rows]) < 0),
            by="dpjax",
        ),
    ]


def _panel_4(rows: list[tuple], root: float) -> Panel:
    sizes = [x[0] for x in rows]
    names = ("a density", "the mass of a set", "loss at ε = 1 (nats)")
    return Panel(
        [line(name, sizes, [x[i] for x in rows]) for i, name in enumerate(names, 1)],
        "number of records n",
        "largest change by one record",
        title=f"Beta-Bernoulli posterior on [{OMEGA}, {1 - float(OMEGA):g}]",
        log_x=True,
        log_y=True,
        levels={f"√L = {root:.3f}, Algorithm 3's Δ": root, "promised loss, 1": 1.0},
    )


def _words_4(row: tuple, root: float, mass: float, sharpness: float) -> str:
    n, density, variation, loss = row
    return (
        "Algorithm 3 scores θ by its posterior density, with sensitivity √L. But √L "
        "bounds a total variation: by how much a record moves the mass of a set. "
        f"Truncated Beta-Bernoulli, ω = {OMEGA}, n = {n}: a density moves by "
        f"{density:.2f} > √L = {root:.3f}, a mass by {variation:.3f}. As printed, at "
        f"ε = 1, the mechanism's own density then has a loss of {loss:.2f}: Corollary "
        "4 fails for continuous θ (for finitely many θ scores are masses, and it "
        "holds). **Corrected:** a public partition, the posterior mass of a cell as "
        f"score, Δ = tanh(C / 2) = {mass:.3f}; or the log joint as score, which is the "
        "tempered posterior. **Instead**, `dpjax.mechanisms.CellMass` (its factor of a "
        f"mass, for 1/30 steps and ε = 1, is {sharpness:.2f}, the paper's "
        f"{1 / (2 * root):.2f}) and `NetworkPosteriorSampler.map`."
    )


def _run_7(setting: Setting) -> Reproduced:
    del setting  # nothing is random
    rows = [_missed(epsilon) for epsilon in (1, 2, MISSED_EPSILON, 10, 20)]
    telling = [x for x in rows if x[3] < 1]
    names = ("epsilon", "missed", "printed", "corrected")
    return Reproduced(
        _words_7(rows[2]),
        {"": table(names, rows)},
        {"": partial(draw_panels, [_panel_7(rows)])},
        [
            Claim.certain(
                f"the score is {2 * SHORT:.2f} or more below the best with probability "
                f"at most exp(-εt) / ξ(S_t), at ε = {MISSED_EPSILON}",
                rows[2][1] <= rows[2][2],
                expected="fails",
            ),
            Claim.certain(
                "with ε / (2Δ) in the exponent it holds where it is below 1, at ε = "
                f"{', '.join(str(x[0]) for x in telling)}",
                len(telling) > 1 and all(x[1] <= x[3] for x in telling),
                by="dpjax",
            ),
        ],
    )


def _missed(epsilon: int) -> tuple[int, float, float, float]:
    """Two cells, halves of [ω, 1 - ω], uniform prior, only successes."""
    low = float(MISSED_OMEGA)
    edges = np.array([low, 0.5, 1 - low]) ** (MISSED_N + 1)
    scores = np.diff(edges) / (edges[-1] - edges[0])
    delta = math.sqrt(bernoulli_constant(MISSED_OMEGA))
    weights = np.exp(epsilon * scores / (2 * delta))
    printed, corrected = (
        theory.lemma_4(0.5, SHORT, epsilon, delta, printed=x) for x in (True, False)
    )
    return epsilon, float(weights[0] / weights.sum()), printed, corrected


def _panel_7(rows: list[tuple]) -> Panel:
    names = ("Algorithm 3", "Lemma 4 as printed", "corrected")
    places = [x[0] for x in rows]
    return Panel(
        [line(name, places, [x[i] for x in rows]) for i, name in enumerate(names, 1)],
        "privacy loss ε (nats)",
        f"probability of a score {2 * SHORT:.2f} below the best",
        title=f"two cells, {MISSED_N} successes of {MISSED_N}",
        log_x=True,
        log_y=True,
    )


def _words_7(row: tuple) -> str:
    epsilon, missed, printed, corrected = row
    delta = math.sqrt(bernoulli_constant(MISSED_OMEGA))
    return (
        "Algorithm 3 draws θ in proportion to ξ(θ) exp(ε u(θ) / (2Δ)). Lemma 4 bounds "
        "how often it misses good answers, without the 2Δ, and fails where 2Δ is above "
        f"1. ω = {MISSED_OMEGA}, √L = {delta:.2f}, n = s = {MISSED_N}, ε = {epsilon}, "
        f"t = {SHORT}, the cells below and above ½: probability {missed:.3f}, printed "
        f"bound {printed:.3f}, **corrected**, exp(-εt / (2Δ)) / ξ(S_t): "
        f"{corrected:.3f}, which is below 1 for large ε alone. (The normalising "
        "constant of the paper's footnote 4 lacks the same 2Δ.) **Instead**, "
        "`dpjax.theory.lemma_4`."
    )


ERRATUM_4 = Reproduction(
    "erratum-4",
    "Posterior densities as scores of the exponential mechanism",
    "Zhang et al., Algorithm 3 and Corollary 4",
    _run_4,
)
ERRATUM_7 = Reproduction(
    "erratum-7",
    "How often the exponential mechanism misses good answers",
    "Zhang et al., Lemma 4",
    _run_7,
)
