"""Could a first release pay that decides how the rest of ε is split over the tables?

    python -m benchmarks.bench_budgets --networks DIR

Replace-one, n public, Laplace noise on the counts of maximal tables, noise-aware point
estimates; loss as in `bench_utility`. Shares of ε that are powers 1/3 of the numbers of
cells have the least sum of variances, and are public. "truth" has the shares that give
the least expected loss, to second order, if the true distribution is known, which is
more than a first release could tell; with `--search N`, "searched" has the shares of
least loss that N steps of a search find on one half of the data sets. Both have nine
tenths of ε, since a first release would cost at least a tenth. A column below 1 is
ahead of public shares with the whole of ε. All see the same data sets and noise.

With `--gaussian`, the sum of the variances of all cells of the maximal tables with
Gaussian noise, over that of ResidualPlanner (Xiao, He, Zhang & Kifer, NeurIPS 2023),
the least of all Gaussian mechanisms of equal ρ. Least squares make tables agree, as the
posterior does to first order. Shares of ρ are equal, roots of the numbers of cells,
which have the least sum of variances before least squares, or the best ones after it.
"""

import argparse
import itertools
import math
import pathlib
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import minimize

from benchmarks.bench_fourier import FILES, Truth, draw, read
from benchmarks.bench_utility import noise_aware
from dpjax.data.bayes_net import BayesNet
from dpjax.statistics import NetworkCounts

POWER = 1 / 3
LEFT = 0.9  # of ε, after a first release
MANY = 20_000  # records that stand for the true distribution
STEP = 0.5  # of the search, in logarithms


def shares_of(costs: np.ndarray) -> np.ndarray:
    """Shares of ε with the least sum of costs over squared shares."""
    return costs**POWER / (costs**POWER).sum()


def true_costs(truth: Truth, statistic: NetworkCounts, n: int, epsilon: float):
    """The part of each table's noise in the expected loss: Σ p / (p n + b)²."""
    records = draw(truth, 1, 1, MANY)[0]
    expected = np.asarray(statistic.measure(records)) * (n / MANY)
    scale = 2 * len(statistic.measured.groups) / epsilon
    each = expected / (expected + scale) ** 2
    return np.add.reduceat(each, statistic.measured.offsets[:-1])


def losses(truth, statistic, exact, noise, n: int, epsilon: float, shares):
    """Loss of each data set with these shares of ε."""
    cells = np.diff(statistic.measured.offsets)
    scale = np.repeat(2 / (shares * epsilon), cells)
    values, numbers = exact + noise * scale, (scale, float(n), 0.5)
    rest = [jnp.asarray(x, float) for x in numbers]
    return np.asarray(noise_aware(statistic, truth, values, *rest))


def searched(loss, start: np.ndarray, steps: int) -> np.ndarray:
    """Shares of least mean loss, by the method of Nelder and Mead."""

    def normal(logs):
        return np.exp(logs) / np.exp(logs).sum()

    first = np.log(start)
    corners = np.vstack([first, first + STEP * np.eye(len(first))])
    options = {"maxfev": steps, "initial_simplex": corners}
    found = minimize(
        lambda logs: loss(normal(logs)).mean(), first, method="Nelder-Mead",
        options=options,
    )  # fmt: skip
    return normal(found.x)


def study(truth: Truth, n: int, epsilon: float, sets: int, steps: int) -> str:
    """Ratios of losses to that of public shares, with paired standard errors."""
    statistic = NetworkCounts(truth.net)
    exact = jax.vmap(statistic.measure)(draw(truth, sets, 1, n)).astype(float)
    noise = np.random.default_rng(n).laplace(size=exact.shape)
    half = sets // 2

    def loss(shares, share_of_epsilon=1.0, chosen=slice(half, None)):
        rows = exact[chosen], noise[chosen], n, epsilon * share_of_epsilon
        return losses(truth, statistic, *rows, shares)

    cells = np.diff(statistic.measured.offsets).astype(float)
    public = shares_of(cells)
    whole = loss(public)
    columns = [loss(np.ones(len(cells)) / len(cells)), loss(public, LEFT)]
    columns.append(loss(shares_of(true_costs(truth, statistic, n, epsilon)), LEFT))
    if steps:
        fitted = partial(loss, chosen=slice(half))
        columns.append(loss(searched(fitted, public, steps), LEFT))
    cells_of = []
    for column in columns:
        ratio = column.mean() / whole.mean()
        error = (column - ratio * whole).std(ddof=1) / np.sqrt(len(whole))
        cells_of.append(f"{ratio:.3f} ± {error / whole.mean():.3f}")
    return f"{whole.mean():>10.4f}" + "".join(f"{x:>18}" for x in cells_of)


def variances(net: BayesNet) -> list[float]:
    """Sums of variances of cells over the least one, by how ρ is split.

    The cells of a table are sums of residuals, one for each of its subsets of
    variables; the residuals of different subsets are independent.
    """
    groups = [frozenset(group) for group in NetworkCounts(net).measured.groups]

    def cells(group) -> int:
        return math.prod(net.sizes[i] for i in group)

    subsets = {
        frozenset(part)
        for group in groups
        for size in range(len(group) + 1)
        for part in itertools.combinations(sorted(group), size)
    }
    inside = np.array([[part <= group for group in groups] for part in subsets])
    summed = np.array([[cells(group - part) for group in groups] for part in subsets])
    degrees = [math.prod(net.sizes[i] - 1 for i in part) for part in subsets]
    weights = np.array(degrees) * (inside / summed).sum(axis=1)  # of a residual
    costs = np.array([d / cells(x) for d, x in zip(degrees, subsets, strict=True)])
    least = np.sqrt(weights * costs).sum() ** 2

    def agreeing(shares) -> float:
        return float((weights / (inside / summed @ shares)).sum())

    def of_logs(logs) -> float:
        return agreeing(np.exp(logs) / np.exp(logs).sum())

    size = np.array([cells(group) for group in groups], float)
    equal, roots = np.ones(len(size)) / len(size), np.sqrt(size) / np.sqrt(size).sum()
    drawn = [float((size / shares).sum()) for shares in (equal, roots)]
    best = minimize(of_logs, np.log(roots), method="L-BFGS-B").fun
    found = [*drawn, agreeing(equal), agreeing(roots), float(best)]
    return [x / least for x in found]


def main() -> None:
    """Print a row for each network, number of records and ε."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", type=pathlib.Path, required=True)
    parser.add_argument("--only", nargs="+", default=FILES, choices=FILES)
    parser.add_argument("--repeats", type=int, default=100, help="data sets a cell")
    parser.add_argument("--records", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.3, 1.0, 3.0])
    parser.add_argument("--search", type=int, default=0, help="steps of a search")
    parser.add_argument("--gaussian", action="store_true", help="variances alone")
    options = parser.parse_args()
    if options.gaussian:
        names = [
            "equal",
            "roots",
            "equal, agreeing",
            "roots, agreeing",
            "best, agreeing",
        ]
        print(f"{'network':<9}" + "".join(f"{name:>18}" for name in names))
        for name in options.only:
            found = variances(read(options.networks / f"{name}.bif.gz").net)
            print(f"{name:<9}" + "".join(f"{x:>18.3f}" for x in found))
        return
    names = [
        "equal",
        "public, .9 ε",
        "truth, .9 ε",
        *["searched, .9 ε"][: options.search],
    ]
    print(f"{'network':<9}{'n':>7}{'ε':>5}{'public KL':>10}", end="")
    print("".join(f"{name:>18}" for name in names))
    for name in options.only:
        truth = read(options.networks / f"{name}.bif.gz")
        for n in options.records:
            for epsilon in options.epsilons:
                row = study(truth, n, epsilon, options.repeats, options.search)
                print(f"{name:<9}{n:>7}{epsilon:>5}{row}", flush=True)


if __name__ == "__main__":
    main()
