"""Theorems 4 and 5 and Remark 1 of Foulds et al.: asymptotic relative efficiency."""

__all__ = ["THEOREMS_4_5"]

from functools import partial

import jax.random as jr
import numpy as np
from scipy import stats

from dpjax._types import Key
from dpjax.plots import Panel, Series, draw_panels
from papers.foulds.efficiency import (
    EPSILON,
    OMEGA,
    TEMPERATURE,
    TRUTH,
    draw_counts,
    estimates,
    excess,
    ops_draws,
    paired_error,
)
from papers.numbers import mean_and_error, table
from papers.reproduction import Claim, Reproduced, Reproduction, Setting

CLOSE = 0.05  # of the limit
LIMITS = {
    "posterior mean": 1,
    "mean of the Laplace posterior": 1,
    "one posterior sample": 2,
    "one sample of the Laplace posterior": 2,
    "OPS": 1 + TEMPERATURE,
}
TEMPERATURES = (1.0, TEMPERATURE, 10.0, 30.0)


def _run(setting: Setting) -> Reproduced:
    repeats = 100_000 if setting.quick else 200_000
    sizes = np.geomspace(10, 1e5, 9 if setting.quick else 17).round().astype(int)
    key_noise, key_ops = jr.split(setting.key)
    rng = setting.rng()
    counts = draw_counts(rng, sizes, repeats)
    drawn = estimates(key_noise, rng, counts)
    drawn["OPS"], hot = _ops(key_ops, rng, counts)
    curves = {name: excess(x, counts) for name, x in drawn.items()}
    return Reproduced(
        _words(sizes, curves),
        {"": _table(sizes, curves), "temperatures": _table_of(hot)},
        {"": partial(draw_panels, [_panel(sizes, curves), _panel_of(hot)])},
        [
            *_claims(curves, hot),
            *_claims_of_ops(sizes, curves),
            *_claims_of_law(drawn, int(sizes[-1])),
        ],
    )


def _ops(
    key: Key, rng: np.random.Generator, counts: np.ndarray
) -> tuple[np.ndarray, dict[float, np.ndarray]]:
    """Samples for all counts, and what has the efficiency at each temperature.

    The latter with other data sets, at the largest N; all in one compiled call.
    """
    many = counts[0, -1:].sum(axis=-1)
    others = [draw_counts(rng, many, len(counts))[:, 0] for _ in TEMPERATURES]
    first = counts.reshape(-1, 2)
    heats = np.repeat(TEMPERATURES, len(counts))
    every = np.concatenate([np.full(len(first), TEMPERATURE), heats])
    drawn = ops_draws(key, np.concatenate([first, *others]), every)
    parts = np.split(drawn[len(first) :], len(TEMPERATURES))
    hot = {
        T: excess(part, data)
        for T, part, data in zip(TEMPERATURES, parts, others, strict=True)
    }
    return drawn[: len(first)].reshape(counts.shape[:-1]), hot


def _claims(curves, hot) -> list[Claim]:
    last = {name: squares[:, -1] for name, squares in curves.items()}
    return [
        _near(
            "Theorem 4: one sample of the Laplace posterior has efficiency 2",
            (2, last["one sample of the Laplace posterior"]),
        ),
        _near(
            "Remark 1: the mean of the Laplace posterior has efficiency 1",
            (1, last["mean of the Laplace posterior"]),
        ),
        _near(
            "Theorem 5: OPS has efficiency 1 + T, at T = "
            + ", ".join(f"{T:.3g}" for T in hot),
            *((1 + T, squares) for T, squares in hot.items()),
        ),
        _near(
            "without privacy the posterior mean has efficiency 1, a sample 2",
            (1, last["posterior mean"]),
            (2, last["one posterior sample"]),
        ),
    ]


def _claims_of_ops(sizes, curves) -> list[Claim]:
    ops, sample, private = (
        curves[name]
        for name in (
            "OPS",
            "one posterior sample",
            "one sample of the Laplace posterior",
        )
    )
    limit = (1 + TEMPERATURE) / 2
    return [
        Claim.positive(
            "a sample of OPS has (1 + T) / 2 times the variance of one of the posterior"
            f" ({CLOSE:.0%})",
            CLOSE - abs(ops[:, -1].mean() / sample[:, -1].mean() / limit - 1),
            paired_error(ops[:, -1:], sample[:, -1:]) / limit,
        ),
        Claim.mean_positive(
            f"with few observations it is the other way round: at N = {sizes[0]} a "
            "sample of OPS is nearer to the truth than one of the Laplace posterior",
            (private - ops)[:, 0],
            by="dpjax",
        ),
    ]


def _near(words: str, *limits: tuple[float | int, np.ndarray]) -> Claim:
    """That mean squares are close to their limits, at the largest N."""
    off, errors = [], []
    for limit, squares in limits:
        mean, error = mean_and_error(squares)
        off.append(CLOSE - abs(mean / limit - 1))
        errors.append(error / limit)
    return Claim.positive(f"{words} (at N = 100,000 within {CLOSE:.0%})", off, errors)


def _claims_of_law(drawn: dict[str, np.ndarray], many: int) -> list[Claim]:
    """How far draws are from the normal law at most, in their distribution function."""
    best = np.sqrt(TRUTH * (1 - TRUTH) / many)
    names = ("one sample of the Laplace posterior", "OPS")
    distances, errors = [], []
    for name in names:
        scaled = (drawn[name][:, -1] - TRUTH) / best / np.sqrt(LIMITS[name])
        distances.append(stats.kstest(scaled, stats.norm.cdf).statistic)
        errors.append(0.5 / np.sqrt(scaled.size))
    return [
        Claim.positive(
            "and both samples are normal around the truth: distribution functions "
            "within .02 of N(θ₀, 2 / (N I)) and N(θ₀, (1 + T) / (N I))",
            0.02 - np.array(distances),
            errors,
        )
    ]


def _table(sizes: np.ndarray, curves: dict[str, np.ndarray]) -> dict[str, list]:
    rows = [
        (name, int(n), *mean_and_error(x), float(LIMITS[name]))
        for name, squares in curves.items()
        for n, x in zip(sizes, squares.T, strict=True)
    ]
    return table(("estimate", "N", "efficiency", "standard_error", "limit"), rows)


def _table_of(hot: dict[float, np.ndarray]) -> dict[str, list]:
    rows = [(T, *mean_and_error(squares), 1 + T) for T, squares in hot.items()]
    return table(("T", "efficiency", "standard_error", "limit"), rows)


def _panel(sizes: np.ndarray, curves: dict[str, np.ndarray]) -> Panel:
    series = [
        Series(
            name,
            sizes,
            *np.array([mean_and_error(x) for x in squares.T]).T,
            style="dashed" if "Laplace" in name else "line",
        )
        for name, squares in curves.items()
    ]
    return Panel(
        series,
        "number of observations N",
        "mean square error / smallest variance",
        title=f"p = {TRUTH:g}, ε = {EPSILON} (replace-one), a₀ = {OMEGA}",
        log_x=True,
        limits=(0.0, 8.0),
        levels={"1": 1.0, "2": 2.0, f"1 + T = {1 + TEMPERATURE:.2f}": 1 + TEMPERATURE},
    )


def _panel_of(hot: dict[float, np.ndarray]) -> Panel:
    heats = np.array([*hot])
    found = np.array([mean_and_error(x) for x in hot.values()]).T
    return Panel(
        [
            Series("1 + T (Theorem 5)", heats, 1 + heats, style="plain", colour=7),
            Series("OPS, measured", heats, *found, style="points", colour=4),
        ],
        "temperature T",
        "mean square error / smallest variance",
        title="one posterior sample, N = 100,000",
    )


def _words(sizes: np.ndarray, curves: dict[str, np.ndarray]) -> str:
    means = {name: squares.mean(axis=0) for name, squares in curves.items()}
    private = means["mean of the Laplace posterior"]
    close = sizes[np.abs(private - 1) < CLOSE]
    last = ", ".join(
        f"{x[-1]:.3f} for {'one sample of ' if name == 'OPS' else ''}{name}"
        for name, x in means.items()
    )
    return (
        "Mean square errors of estimates of a success probability, in units of the "
        f"smallest variance p (1 - p) / N. At N = 100,000: {last}. All limits are for "
        f"large N. At N = {sizes[0]} the mean of the Laplace posterior has "
        f"{private[0]:.1f}, for the noise (scale 2 on each count) is as large as the "
        f"counts; it is within {CLOSE:.0%} of 1 from N = {close[0]} of the sizes "
        "shown. OPS has less than its limit with few observations: cut at a₀ = "
        f"{OMEGA} and {1 - float(OMEGA):g}, it cannot be far off. The variances of 2 "
        "and 1 + T are about the truth, over data sets: around its own centre the law "
        "of OPS has T times the variance of the posterior's (section 3.2), and 1 more "
        "is that of the centre."
    )


THEOREMS_4_5 = Reproduction(
    "foulds-theorems-4-5",
    "Asymptotic relative efficiency of private samples and means",
    "Foulds et al., Theorems 4 and 5, Remark 1",
    _run,
)
