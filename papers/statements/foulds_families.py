"""Foulds et al., section 3: sensitivities of exponential families."""

__all__ = ["SECTION_3_1", "SECTION_3_2"]

import itertools
import math

import numpy as np
from scipy.special import gammaln

from dpjax.families import Bernoulli, Poisson
from dpjax.mechanisms import NetworkPosteriorSampler
from dpjax.privacy import REPLACE_ONE
from dpjax.statistics import NetworkCounts
from papers.networks import COIN
from papers.numbers import table
from papers.reproduction import Claim, Reproduced, Reproduction, Setting
from papers.statements.foulds_laws import largest

CUTS = (0.4, 0.2, 0.05, 0.01, 1e-3, 1e-6)
EPSILON, ROUNDING = 1.0, 1e-9
MOST, RATES = 10, (0.5, 8.0)  # of a Poisson family


def _section_3_1(setting: Setting) -> Reproduced:
    found = [_by_search(cut) for cut in CUTS]
    stated = [math.log((1 - cut) / cut) for cut in CUTS]
    ours = [
        Bernoulli().sampling_sensitivity(REPLACE_ONE, {"probability": (cut, 1 - cut)})
        for cut in CUTS
    ]
    tempered = [_tempered_loss(0.2, n) for n in (1, 2, 5, 20, 100, 1000)]
    printed, exact = _poisson()
    halved = Poisson(MOST).sampling_sensitivity(REPLACE_ONE, {"rate": RATES}).value
    claims = [
        Claim.certain(
            "equation 15: the sensitivity of truncated beta-Bernoulli is "
            "log((1 - a₀)/a₀)",
            np.allclose(found, stated, rtol=1e-12)
            and np.allclose([x.value for x in ours], stated, rtol=1e-9),
        ),
        Claim.certain(
            "without truncation it is unbounded, and the library refuses",
            found[-1] > 13 and _refused(),
        ),
        Claim.certain(
            "equation 14: at T = 2Δ / ε a sample costs at most ε",
            max(tempered) <= EPSILON + ROUNDING,
        ),
        Claim.certain(
            "equation 13 with h is not the least: h cancels in a posterior. For "
            "Poisson records half of the range of θ (x' - x) is enough",
            max(exact) <= 2 * halved + ROUNDING and halved < printed,
            by="dpjax",
        ),
    ]
    words = _words_1(found, tempered, (printed, halved, exact[-1]))
    rows = table(("a0", "found", "stated"), zip(CUTS, found, stated, strict=True))
    return Reproduced(words, {"": rows}, {}, claims)


def _words_1(
    found: list[float], tempered: list[float], poisson: tuple[float, float, float]
) -> str:
    printed, halved, exact = poisson
    return (
        "By search over x, x' and p: "
        + ", ".join(f"{x:.3f} at a₀ = {a:g}" for a, x in zip(CUTS, found, strict=True))
        + f". At a₀ = .2 and T = 2Δ / ε = {2 * found[1] / EPSILON:.2f} the exact loss "
        f"is {tempered[2]:.3f} at n = 5 and {tempered[-1]:.3f} at n = 1,000 of ε = 1. "
        f"Poisson counts up to {MOST}, rates from {RATES[0]:g} to {RATES[1]:g}: "
        f"equation 13 gives {printed:.2f}, ours {halved:.2f}; the exact loss of a "
        f"sample at n = 100 is {exact:.2f}, at most twice ours."
    )


def _by_search(cut: float) -> float:
    p = np.linspace(cut, 1 - cut, 1001)
    logs = np.stack([np.log1p(-p), np.log(p)])
    return float(np.abs(logs[1] - logs[0]).max())


def _refused() -> bool:
    try:
        Bernoulli().sampling_sensitivity(REPLACE_ONE, {"probability": (0, 1)})
    except ValueError:
        return True
    return False


def _tempered_loss(cut: float, n: int) -> float:
    """The largest over all tables of n records, from a uniform prior."""
    heat = 2 * math.log((1 - cut) / cut) / EPSILON
    p, ones = np.linspace(cut, 1 - cut, 601), np.arange(n + 1)[:, None]
    logs = (ones * np.log(p) + (n - ones) * np.log1p(-p)) / heat
    return float(largest(logs[1:], logs[:-1]).max())


def _poisson() -> tuple[float, list[float]]:
    """Equation 13, and the exact loss of a sample at T = 1, of several n."""
    x, logs = np.arange(MOST + 1), np.log(np.linspace(*RATES, 501))
    change = x[:, None] - x[None]
    base = -gammaln(x + 1)
    h = base[:, None] - base[None]
    printed = max(float(np.abs(change * end + h).max()) for end in logs[[0, -1]])
    exact = []
    for n in (1, 10, 100):
        # Worst with all other records at one bound: see `FamilyPosteriorSampler`
        rest = [0, MOST * (n - 1)]
        totals = [[r + x0 for x0 in (0, MOST)] for r in rest]
        log_g = -n * np.exp(logs)
        pairs = [[log_g + t * logs for t in pair] for pair in totals]
        exact.append(max(float(largest(*pair)) for pair in pairs))
    return printed, exact


def _section_3_2(setting: Setting) -> Reproduced:
    sizes = np.array([1, 10, 100, 1000, 10_000, 100_000])
    heat = 2 * math.log(4) / EPSILON
    losses = np.array([_worst(int(n), heat) for n in sizes])
    flatter = np.array([_flatter(int(n), heat) for n in sizes])
    change = int(NetworkCounts(COIN).sensitivity(REPLACE_ONE).value)
    claims = [
        Claim.certain(
            "an adversary's data bring the loss of OPS as near to ε as one likes, as N "
            "grows: within .1 % at N = 100,000",
            bool((np.diff(losses) > 0).all() and 0.999 < losses[-1] <= 1 + ROUNDING),
        ),
        Claim.certain(
            "OPS remains a factor T flatter than the posterior: variances differ by T, "
            "within 1 % at N = 100,000",
            bool(abs(flatter[-1] / heat - 1) < 0.01),
        ),
        Claim.certain(
            "the L1 sensitivity of S(x) = (x, 1 - x) is 2, whatever N",
            [_aggregate(n) for n in (1, 2, 3)] == [change] * 3 == [2] * 3,
        ),
        Claim.certain(
            "equation 17: a sum's sensitivity is that of one record, for all S",
            _equation_17(setting.rng()),
        ),
        Claim.certain(
            "x alone has half of that sensitivity, 1, and says as much",
            Bernoulli().diameter().value == 1,
            by="dpjax",
        ),
        Claim.certain(
            "at a small public N less heat is enough, since the worst case is not "
            "reached: the temperature need not be fixed",
            _cheaper() < heat,
            by="dpjax",
        ),
    ]
    words = _words_2(sizes, losses, flatter)
    rows = zip(sizes.tolist(), losses.tolist(), flatter.tolist(), strict=True)
    found = table(("N", "loss", "ratio_of_variances"), rows)
    return Reproduced(words, {"": found}, {}, claims)


def _words_2(sizes: np.ndarray, losses: np.ndarray, flatter: np.ndarray) -> str:
    heat = 2 * math.log(4) / EPSILON
    return (
        f"a₀ = .2, ε = 1, T = {heat:.2f}, uniform prior. All records 0, and one "
        "becomes 1: exact losses of one sample "
        + ", ".join(f"{x:.4f} (N = {n:,})" for n, x in zip(sizes, losses, strict=True))
        + ". With 30 % ones the variance of OPS is "
        f"{flatter[-1]:.3f} times that of the posterior at N = 100,000. At a public N "
        f"of 20, T = {_cheaper():.2f} costs no more than ε."
    )


def _cheaper() -> float:
    """The least temperature that costs ε at a public N of 20."""
    law = NetworkPosteriorSampler.posterior(
        COIN.layout, "1", REPLACE_ONE, n=20, omega="0.2"
    )
    return float(law.temperature)


def _worst(n: int, heat: float) -> float:
    p = np.geomspace(0.2, 0.8, 100_001) if n > 1000 else np.linspace(0.2, 0.8, 4001)
    width = np.log(np.gradient(p))
    logs = n * np.log1p(-p) / heat + width
    more = logs + (np.log(p) - np.log1p(-p)) / heat
    return float(largest(logs, more))


def _flatter(n: int, heat: float) -> float:
    """The ratio of variances, 30 % of the records being 1."""
    p = np.linspace(0, 1, 50_001)[1:-1]
    logs = n * (0.3 * np.log(p) + 0.7 * np.log1p(-p))
    inside = (p >= 0.2) & (p <= 0.8)
    return _variance(p[inside], logs[inside] / heat) / _variance(p, logs)


def _variance(p: np.ndarray, logs: np.ndarray) -> float:
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    return float(weights @ p**2 - (weights @ p) ** 2)


def _aggregate(n: int) -> int:
    """Over all pairs of tables of n bits that differ in one record."""
    tables = [np.array(x) for x in itertools.product((0, 1), repeat=n)]
    totals = [np.array([x.sum(), n - x.sum()]) for x in tables]
    return max(
        int(np.abs(totals[i] - totals[j]).sum())
        for i, j in itertools.combinations(range(len(tables)), 2)
        if np.sum(tables[i] != tables[j]) == 1
    )


def _equation_17(rng: np.random.Generator) -> bool:
    """Random statistics of three kinds of records, on all tables of three."""
    statistics = rng.normal(size=(200, 3, 2))
    tables = np.array([*itertools.product(range(3), repeat=3)])
    totals = statistics[:, tables].sum(axis=2)
    near = (tables[:, None] != tables[None]).sum(axis=-1) == 1
    moved = np.abs(totals[:, :, None] - totals[:, None]).sum(axis=-1)
    single = np.abs(statistics[:, :, None] - statistics[:, None]).sum(axis=-1)
    return bool(np.allclose(moved[:, near].max(axis=1), single.max(axis=(1, 2))))


SECTION_3_1 = Reproduction(
    "foulds-section-3-1",
    "Sensitivity of exponential families, and of beta-Bernoulli",
    "Foulds et al., section 3.1, equations 12-15",
    _section_3_1,
)
SECTION_3_2 = Reproduction(
    "foulds-section-3-2",
    "OPS at its worst case, and the L1 sensitivity",
    "Foulds et al., section 3.2, equations 16 and 17",
    _section_3_2,
)
