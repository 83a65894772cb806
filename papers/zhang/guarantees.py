"""Rows of Table 1: guarantees as printed and corrected, and measured beside them."""

__all__ = ["DELTA", "EPSILONS", "RECORDS", "Row", "T", "networks", "of_noise"]

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from dpjax.data.bayes_net import BayesNet
from dpjax.statistics import FourierCoefficients
from dpjax.tables.fourier_basis import denominators, from_coefficients
from dpjax.theory import table_1
from papers.beta import divergence
from papers.networks import ASIA, CHAIN, NAIVE_BAYES

RECORDS, DELTA, T = 50, 0.05, 0.1
EPSILONS = ("0.1", "0.3", "1", "3", "10")


class Row(NamedTuple):
    """One guarantee, for one network and ε.

    Attributes:
        mechanism: Laplace, Fourier, Sampler or MAP.
        statement: of the paper.
        network: its name.
        epsilon: the budget.
        quantity: what is bounded.
        printed: the bound as printed.
        corrected: as it holds; the same number where it holds as printed.
        measured: what it bounds: exact, or simulated.
        standard_errors: by which the printed bound is kept; infinite if exact.
    """

    mechanism: str
    statement: str
    network: str
    epsilon: float
    quantity: str
    printed: float
    corrected: float
    measured: float
    standard_errors: float


def networks() -> dict[str, BayesNet]:
    """Naive Bayes, a small network with two parents a node at most, and a chain."""
    return {"naive Bayes (16)": NAIVE_BAYES, "asia (8)": ASIA, "chain (8)": CHAIN}


def of_noise(
    rng: np.random.Generator, draws: int, name: str, net: BayesNet
) -> Iterator[Row]:
    """Proposition 1, Theorem 1 and Theorem 3, for every ε."""
    counts = _counts(rng, net)
    noise = rng.laplace(size=(draws, *counts.shape))
    divided = _fourier_errors(rng, draws, net)
    for epsilon in EPSILONS:
        bounds: list[dict[str, Any]] = [*table_1(net, RECORDS, epsilon, DELTA, T)]
        laplace, fourier = bounds
        yield _largest_error(name, net, epsilon, laplace["proposition_1"])
        scale = 2 * len(net.names) / float(epsilon)
        released = np.clip(counts + noise * scale, 0, RECORDS)
        found = divergence(1.0 + counts[None], 1.0 + released).sum(axis=1)
        about = "KL of the posterior above its mean, in nats"
        limits = laplace["theorem_1_printed"], laplace["theorem_1"]
        excess = found - found.mean()
        where = "Laplace", "Theorem 1", name, float(epsilon), about
        yield _simulated(where, limits, excess)
        each = np.array([*fourier["theorem_3"].values()])
        worst = float(each.max())
        share = (divided / float(epsilon) / each).max(axis=1) * worst
        about = "L1 error of a family's table, in records"
        where = "Fourier", "Theorem 3", name, float(epsilon), about
        yield _simulated(where, (worst, worst), share)


def _largest_error(name: str, net: BayesNet, epsilon: str, bound: float) -> Row:
    """Exact: the largest of 2m Laplace draws has a law in closed form."""
    scale, cells = 2 * len(net.names) / float(epsilon), net.layout.length
    exact = -scale * math.log(-math.expm1(math.log1p(-DELTA) / cells))
    surety = math.inf if exact <= bound else -math.inf
    where = "Laplace", "Proposition 1", name, float(epsilon)
    return Row(
        *where, "largest error of a count, in records", bound, bound, exact, surety
    )


def _simulated(
    where: tuple[str, str, str, float, str],
    bounds: tuple[float, float],
    draws: np.ndarray,
) -> Row:
    """A bound that a draw exceeds with probability δ at most."""
    beyond = float((draws > bounds[0]).mean())
    error = math.sqrt(max(beyond * (1 - beyond), DELTA * (1 - DELTA)) / len(draws))
    quantile = float(np.quantile(draws, 1 - DELTA))
    return Row(*where, *bounds, quantile, (DELTA - beyond) / error)


def _counts(rng: np.random.Generator, net: BayesNet) -> np.ndarray:
    """Of records from uniform tables, a row a parent configuration."""
    layout, records = net.layout, np.zeros((RECORDS, len(net.names)), np.int32)
    chances = rng.random(layout.length // 2)
    for i in net.order:
        group, start = layout.groups[i], layout.offsets[i] // 2
        place = np.zeros(RECORDS, int)
        for parent in group[:-1]:
            place = 2 * place + records[:, parent]
        records[:, i] = rng.random(RECORDS) < chances[start + place]
    cells = np.asarray(layout.cells(records)).ravel()
    return np.bincount(cells, minlength=layout.length).reshape(-1, 2)


def _fourier_errors(rng: np.random.Generator, draws: int, net: BayesNet) -> np.ndarray:
    """L1 errors of the families' tables under Algorithm 2 with ε = 1, a row a draw."""
    statistic = FourierCoefficients.of_network(net, "add-remove")
    size = len(statistic.closure)
    noise = rng.laplace(0, 2 * size, (draws, size))
    noise[:, 0] += 4 * T * size**2
    layout = net.layout
    cells = from_coefficients(layout, noise[:, statistic.closure.places(layout)])
    errors = np.abs(cells) / denominators(layout)
    return np.add.reduceat(errors, layout.offsets[:-1], axis=1)
