"""Foulds et al., section 3.3: private posteriors tend to the exact one."""

__all__ = ["COROLLARY_2", "LEMMA_1"]

import math

import numpy as np
from scipy import stats
from scipy.special import digamma, gammaln

from dpjax.data.intervals import Interval
from dpjax.data.levels import Variable
from dpjax.families import FAMILIES, GaussianMean
from dpjax.privacy import ADJACENCIES
from dpjax.statistics import Sufficient
from papers.beta import divergence
from papers.numbers import mean_and_error, table
from papers.reproduction import Claim, Reproduced, Reproduction, Setting

SIZES = 10 ** np.arange(1, 7)
TRUTH, RHO = 0.3, 1.0  # ε = 1, and a sensitivity of 1: S(x) = x
VARIANCE = 2 * math.exp(-RHO) / (1 - math.exp(-RHO)) ** 2  # of discrete Laplace noise
LIMIT = VARIANCE / (2 * TRUTH * (1 - TRUTH))


def _lemma_1(setting: Setting) -> Reproduced:
    means = np.array([_coin(int(n), TRUTH) for n in SIZES])
    never = np.array([_coin(int(n), 0.0) for n in SIZES])
    growing = np.array([_growing(int(n)) for n in SIZES])
    scaled = means * SIZES
    claims = [
        Claim.certain(
            "E KL(private ‖ exact) tends to 0 as N grows: it falls at every tenfold N "
            "and is below 1e-5 at 1,000,000",
            bool((np.diff(means) < 0).all() and means[-1] < 1e-5),
        ),
        Claim.certain(
            "as fast as var(γ) / (2 p (1 - p) N): within .1 % at N = 1,000,000",
            bool(abs(scaled[-1] / LIMIT - 1) < 1e-3),
            by="dpjax",
        ),
        Claim.certain(
            "p = 0 is outside of the lemma, and rightly: there it does not tend to 0",
            bool(never[-1] > 0.1 and np.allclose(never[-2:], never[-1], rtol=0.01)),
        ),
        Claim.certain(
            "so is noise that grows with N, as √N does, and rightly too",
            bool(growing[-1] > 0.9 * growing[-2] > 0.1),
            by="dpjax",
        ),
    ]
    words = (
        "Bernoulli records with p = .3, uniform prior, discrete Laplace noise of ε = 1 "
        "on their sum. E KL, summed over all sums and noises: "
        + ", ".join(f"{x:.2g} (N = {n:,})" for n, x in zip(SIZES, means, strict=True))
        + f". N times it tends to {LIMIT:.2f}. At p = 0 it tends to {never[-1]:.2f}: "
        "noise is never small beside counts that stay 0. With noise of ±√N it tends to "
        f"{growing[-1]:.2f}."
    )
    columns = (SIZES, means, never, growing)
    rows = zip(*(x.tolist() for x in columns), strict=True)
    names = ("N", "expected_KL", "expected_KL_at_p_0", "expected_KL_growing_noise")
    return Reproduced(words, {"": table(names, rows)}, {}, claims)


def _coin(n: int, p: float) -> float:
    """E KL over sums within nine standard deviations, and noises of up to 45."""
    spread = 9 * math.sqrt(n * p * (1 - p)) + 1
    sums = np.arange(max(0, int(n * p - spread)), min(n, int(n * p + spread)) + 1)
    noise = np.arange(-45, 46)
    weights = stats.binom.pmf(sums, n, p)[:, None] * np.exp(-RHO * np.abs(noise))
    noisy = np.clip(sums[:, None] + noise, 0, n)
    weights /= weights.sum()
    return float((weights * _beta_kl(noisy, sums[:, None], n)).sum())


def _growing(n: int) -> float:
    """E KL, approximately at the expected sum, of noises ±√N."""
    total = np.array(n * TRUTH)
    noisy = np.clip(total + np.sqrt(n) * np.array([-1, 1]), 0, n)
    return float(_beta_kl(noisy, total, n).mean())


def _beta_kl(private: np.ndarray, exact: np.ndarray, n: int) -> np.ndarray:
    """Between the posteriors after two sums of n records, from a uniform prior."""
    sides = np.broadcast_arrays(private, exact)
    return divergence(*(np.stack([1 + x, 1 + n - x], axis=-1) for x in sides))


def _corollary_2(setting: Setting) -> Reproduced:
    rng = setting.rng()
    stated = [(name, *_sensitivities(name)) for name in FAMILIES]
    sizes = SIZES[:5]
    repeats = 4000
    dirichlet = _dirichlet(rng, sizes, repeats)
    poisson = _poisson(rng, sizes, repeats)
    widths = [GaussianMean(-r, r, 1.0).diameter().value for r in (1, 10, 100, 1000)]
    claims = [
        Claim.certain(
            "the sensitivity is finite for every family of the library with public "
            "bounds, so that the noise has a finite variance, the same for every N",
            all(math.isfinite(x) for _, *both in stated for x in both),
        ),
        Claim.mean_positive(
            "then E KL tends to 0. Three levels, whose S is not minimal but whose "
            "parameters are identifiable: it falls at every tenfold N",
            (dirichlet[:, :-1] - dirichlet[:, 1:]).T,
        ),
        Claim.mean_positive(
            "Poisson records up to 20, a minimal family: likewise",
            (poisson[:, :-1] - poisson[:, 1:]).T,
        ),
        Claim.certain(
            "for a Gaussian mean the sensitivity is infinite unless the data are "
            "bounded: it grows as they do, and the library refuses to go without",
            widths == [2 * r for r in (1, 10, 100, 1000)] and _unbounded_refused(),
        ),
    ]
    words = _words_2(stated, dirichlet, poisson)
    rows = [
        (family, int(n), *mean_and_error(x))
        for family, found in (("categorical", dirichlet), ("poisson", poisson))
        for n, x in zip(sizes, found.T, strict=True)
    ]
    names = ("family", "N", "expected_KL", "standard_error")
    return Reproduced(words, {"": table(names, rows)}, {}, claims)


def _words_2(stated: list[tuple], dirichlet: np.ndarray, poisson: np.ndarray) -> str:
    return (
        "L1 sensitivities, replace-one and add-remove, of records scaled to their "
        "bounds: "
        + "; ".join(f"{name} {a:.3g}, {b:.3g}" for name, a, b in stated)
        + f". E KL at ε = 1 over {len(poisson):,} data sets: from "
        f"{dirichlet[:, 0].mean():.2g} at N = 10 to {dirichlet[:, -1].mean():.2g} at "
        f"100,000 for three levels, {poisson[:, 0].mean():.2g} to "
        f"{poisson[:, -1].mean():.2g} for Poisson counts."
    )


def _sensitivities(name: str) -> tuple[float, float]:
    """Of the family's scaled statistic, under both adjacencies."""
    columns: tuple = (Interval("x", 0.0, 1.0),)
    options: dict = {"variance": 1.0} if name == "gaussian-mean" else {}
    if name in ("multivariate-gaussian", "linear-regression"):
        columns = (*columns, Interval("y", 0.0, 1.0))
    if FAMILIES[name].categorical:
        levels = {"bernoulli": 2, "poisson": 21}.get(name, 3)
        columns = (Variable("x", tuple(range(levels))),)
    found = [Sufficient.of(name, columns, x, **options) for x in ADJACENCIES]
    replaced, moved = (x.sensitivity(x.adjacency).value / x.steps for x in found)
    return float(replaced), float(moved)


def _unbounded_refused() -> bool:
    try:
        GaussianMean(-math.inf, math.inf, 1.0)
    except ValueError:
        return True
    return False


def _noise(rng: np.random.Generator, scale: float, shape: tuple) -> np.ndarray:
    return np.round(rng.laplace(scale=scale, size=shape))


def _dirichlet(rng: np.random.Generator, sizes: np.ndarray, repeats: int) -> np.ndarray:
    chances = np.array([0.5, 0.3, 0.2])
    counts = rng.multinomial(sizes, chances, (repeats, sizes.size)).astype(float)
    noisy = np.maximum(counts + _noise(rng, 2.0, counts.shape), 0)
    a, c = 1 + noisy, 1 + counts
    a0, c0 = a.sum(axis=-1), c.sum(axis=-1)
    gain = (a - c) * (digamma(a) - digamma(a0)[..., None])
    base = gammaln(a0) - gammaln(c0) + (gammaln(c) - gammaln(a)).sum(axis=-1)
    return base + gain.sum(axis=-1)


def _poisson(rng: np.random.Generator, sizes: np.ndarray, repeats: int) -> np.ndarray:
    """Gamma posteriors: shapes 1 + sum, rates 1 + N, of which N is public."""
    sums = rng.poisson(2.0 * sizes, (repeats, sizes.size)).astype(float)
    noisy = np.maximum(sums + _noise(rng, 20.0, sums.shape), 0)
    a, c = 1 + noisy, 1 + sums
    return (a - c) * digamma(a) - gammaln(a) + gammaln(c)


LEMMA_1 = Reproduction(
    "foulds-lemma-1",
    "The private posterior tends to the exact one",
    "Foulds et al., Lemma 1",
    _lemma_1,
)
COROLLARY_2 = Reproduction(
    "foulds-corollary-2",
    "Which families the lemma is about",
    "Foulds et al., Corollary 2",
    _corollary_2,
)
