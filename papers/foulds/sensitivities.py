"""Table 1 of Foulds et al.: sensitivities of exponential families, and what follows."""

__all__ = ["claims_of_sensitivity", "panel_of_heats", "sensitivities"]

import itertools
import math

import numpy as np

from dpjax.families import (
    Bernoulli,
    Categorical,
    Exponential,
    Family,
    Gaussian,
    GaussianMean,
    LinearRegression,
    MultivariateGaussian,
    Poisson,
    Truncation,
)
from dpjax.plots import Panel, Series
from dpjax.privacy import ADJACENCIES, REPLACE_ONE
from dpjax.statistics import NetworkCounts
from papers.foulds.efficiency import EPSILON
from papers.networks import COIN
from papers.reproduction import Claim

FAR = 3
CASES: dict[str, tuple[Family, Truncation]] = {
    "Bernoulli": (Bernoulli(), {"probability": (0.025, 0.975)}),
    "categorical, 3 levels": (Categorical(3), {"probability": (0.025, 0.95)}),
    "Poisson, 0 to 10": (Poisson(10), {"rate": (0.5, 10.0)}),
    "exponential, 0 to 10": (Exponential(10.0), {"rate": (0.1, 2.0)}),
    "Gaussian mean, ± 3": (GaussianMean(-3.0, 3.0, 1.0), {"mean": (-3.0, 3.0)}),
    "Gaussian, ± 3": (
        Gaussian(-3.0, 3.0),
        {"mean": (-3.0, 3.0), "variance": (0.25, 9.0)},
    ),
    "2 Gaussians, ± 3": (
        MultivariateGaussian((-3.0, -3.0), (3.0, 3.0)),
        {"variance": (0.25, 9.0)},
    ),
    "regression": (
        LinearRegression.from_bounds((-1.0, -3.0), (1.0, 3.0)),
        {"norm": (0.0, 3.0), "precision": (0.25, 4.0)},
    ),
}


def sensitivities() -> list[tuple]:
    """Sensitivities of both kinds in natural units, and the temperature at ε = 1."""
    rows = []
    for name, (family, limits) in CASES.items():
        for adjacency in ADJACENCIES:
            replaced = adjacency == REPLACE_ONE
            change = family.diameter() if replaced else family.radius()
            width = family.sampling_sensitivity(adjacency, limits).value
            heat = (2 if replaced else 1) * width / float(EPSILON)
            rows.append((name, adjacency, str(limits), change.value, width, heat))
    return rows


def claims_of_sensitivity(families: list[tuple]) -> list[Claim]:
    """The first column: which of the two is finite."""
    coin = int(NetworkCounts(COIN).sensitivity(REPLACE_ONE).value)
    finite = [x for _, _, _, *numbers in families for x in numbers]
    return [
        Claim.certain(
            "the L1 sensitivity of eight families within bounds is finite, with no "
            "bound on parameters; that of a Bernoulli count of both values is 2",
            all(math.isfinite(x) for x in finite) and coin == 2,
        ),
        Claim.certain(
            "the sensitivity of OPS is finite only where parameters are truncated: it "
            f"rises to over {FAR} times itself as the truncation opens",
            all(_rises(*case) for case in CASES.values()),
        ),
    ]


def _rises(family: Family, limits: Truncation) -> bool:
    """Whether with every opening of the limits, to `FAR` times at last."""
    first = family.sampling_sensitivity(REPLACE_ONE, limits).value
    opened = [{name: _open(name, k) for name in limits} for k in range(2, 15, 4)]
    widths = [family.sampling_sensitivity(REPLACE_ONE, x).value for x in opened]
    rising = all(a < b for a, b in itertools.pairwise([first, *widths]))
    return rising and widths[-1] > FAR * first


def _open(parameter: str, decades: int) -> tuple[float, float]:
    least, most = 0.1**decades, 10.0**decades
    if parameter == "probability":
        return least, 1 - least
    return {"mean": -most, "norm": 0.0}.get(parameter, least), most


def panel_of_heats(families: list[tuple]) -> Panel:
    """T at ε = 1, by family."""
    names = [*CASES]
    series = [
        Series(
            adjacency,
            np.arange(len(names)),
            np.array([row[-1] for row in families if row[1] == adjacency]),
            style="points" if adjacency == REPLACE_ONE else "crosses",
        )
        for adjacency in ADJACENCIES
    ]
    return Panel(
        series,
        "",
        "temperature T of one sample at ε = 1",
        title="what truncated OPS must be heated to",
        log_y=True,
        categories=names,
    )
