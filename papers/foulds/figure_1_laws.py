"""Figure 1 of Foulds et al.: the laws of a success probability that are in it."""

__all__ = [
    "CUT",
    "EDGES",
    "FINE",
    "MIDDLES",
    "ONES",
    "TRUE",
    "N",
    "plain_law",
    "sd_of_cells",
    "tempered",
    "widening",
]

from typing import Any

import numpy as np
from scipy import stats

from papers.foulds.efficiency import OMEGA, TEMPERATURE, TRUTH

N = 20
ONES = round(N * TRUTH)
CUT = float(OMEGA)
EDGES = np.linspace(0, 1, 201)  # of cells in which noise-aware densities are constant
MIDDLES = (EDGES[1:] + EDGES[:-1]) / 2
FINE = np.linspace(CUT, 1 - CUT, 2001)  # edges of cells, for OPS


def plain_law(counts: np.ndarray) -> Any:
    """The posterior that takes counts at their word, negative ones for 0."""
    failures, successes = np.moveaxis(np.maximum(counts, 0), -1, 0)
    return stats.beta(1 + successes, 1 + failures)


def tempered(ones: np.ndarray) -> np.ndarray:
    """OPS: masses of fine cells between a₀ and 1 - a₀, a row a number of ones."""
    law = stats.beta(1 + ones / TEMPERATURE, 1 + (N - ones) / TEMPERATURE)
    below = law.cdf(FINE[:, None])
    return np.diff(below, axis=0).T / (below[-1] - below[0])[:, None]


def sd_of_cells(masses: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Of laws that are constant between edges."""
    middles, width = (edges[1:] + edges[:-1]) / 2, edges[1] - edges[0]
    mean = masses @ middles
    return np.sqrt(masses @ middles**2 - mean**2 + width**2 / 12)


def widening() -> tuple[np.ndarray, np.ndarray]:
    """Sd of OPS over that of the posterior: by data set, and the data sets' weights."""
    ones = np.arange(N + 1)
    exact = stats.beta(1 + ones, 1 + N - ones).std()
    return sd_of_cells(tempered(ones), FINE) / exact, stats.binom.pmf(ones, N, TRUTH)


TRUE = plain_law(np.array([N - ONES, ONES]))
