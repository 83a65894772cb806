"""Coverage of 95 % intervals from several releases, and in NumPyro models.

`python -m benchmarks.bench_coverage` draws parameters from their prior, records from
the parameters and releases from the records, many times. It prints how many true values
are in their intervals: noise-aware ones, and those that take noisy numbers as exact.
With `--networks DIR`, there are also records of known networks, whose tables no prior
drew.
"""

import argparse
import itertools
import pathlib
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, HMCGibbs

import dpjax as dp
from benchmarks.bench_fourier import draw, read
from dpjax.data import Interval, MixedNet
from dpjax.data.probabilities import sample_records
from dpjax.families import NormalInverseGammaParameters, conjugate_posterior
from dpjax.mechanisms import KNorm
from dpjax.mechanisms.recipes import recipe_of
from dpjax.noise.keys import study_key
from dpjax.posteriors import (
    PlugInPosterior,
    point_estimate,
    record_updates,
    release_law_of_total,
    total_of,
)
from dpjax.privacy import Adjacency, budget_of
from dpjax.statistics import Contrasts, Sufficient
from dpjax.study import combine_synthetic

NET = dp.BayesNet.from_parents(
    {"a": [0, 1], "b": [0, 1, 2], "c": [0, 1]}, {"a": [], "b": ["a"], "c": ["b"]}
)
ROWS = (2, 3, 3, 2, 2, 2)  # cells of each row of its tables
ENDS = (0.025, 0.975)
FOUR = dp.Schema({"a": [0, 1], "b": [0, 1, 2], "c": [0, 1], "d": [0, 1]})
UNIT = (Interval("x", 0, 1), Interval("y", 0, 1))
REGRESSION = Sufficient.of("linear-regression", UNIT, "replace-one")
ONE = dp.BayesNet.from_parents({"a": [0, 1]}, {"a": []})
POINTS, SHARES = np.polynomial.hermite_e.hermegauss(8)
NODES = np.stack(np.meshgrid(POINTS, POINTS), axis=-1).reshape(-1, 2)
WEIGHTS = np.outer(SHARES, SHARES).ravel() / SHARES.sum() ** 2
Hits = tuple[np.ndarray, np.ndarray]  # of noise-aware and of plug-in intervals


def main(arguments=None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--releases", type=int, default=500, help="default: 500")
    parser.add_argument("--epsilons", nargs="+", default=["0.1", "1"])
    parser.add_argument("--only", nargs="+", default=[""], help="cases with a word")
    parser.add_argument(
        "--networks", type=pathlib.Path, help="folder of asia.bif.gz and sachs.bif.gz"
    )
    options = parser.parse_args(arguments)
    cases = dict(CASES)
    for name in ("asia", "sachs") if options.networks else ():
        case = of_known(options.networks / f"{name}.bif.gz")
        cases[f"tables of {name}, K-norm noise, prior 1/2"] = case
    for epsilon in options.epsilons:
        for name, case in cases.items():
            if not any(word in name for word in options.only):
                continue
            rng = np.random.default_rng(7)
            both = [np.array(x) for x in case(rng, Fraction(epsilon), options.releases)]
            shown = [f"{100 * x.mean():5.1f} ± {_error(x):3.1f} %" for x in both]
            line = f"{name:<44} ε = {epsilon:<4} {shown[0]}   plug-in {shown[1]}"
            print(line, flush=True)


def _error(hits: np.ndarray) -> float:
    """Standard error in percent; those of one release depend on each other."""
    shares = hits.reshape(len(hits), -1).mean(axis=1)
    return 100 * float(shares.std(ddof=1)) / len(shares) ** 0.5


def of_tables(disjoint: bool, mechanism: str) -> Callable[..., Hits]:
    """Two releases of one table of 1,000 records, or of 400 and 600 records."""

    def case(rng: np.random.Generator, epsilon: Fraction, number: int) -> Hits:
        aware, plain = [], []
        for _ in range(number):
            truth, records = _records(rng)
            parts = np.split(records, [400]) if disjoint else [records] * 2
            made = [
                dp.release(
                    NET, x, epsilon=epsilon, adjacency="replace-one",
                    mechanism=mechanism,
                )
                for x in parts
            ]  # fmt: skip
            aware.append(_hits(dp.posterior(made, disjoint=disjoint), truth))
            counts = sum(x.counts() for x in made) / (1 if disjoint else 2)
            found = PlugInPosterior.from_counts(NET, jnp.maximum(counts, 0))
            plain.append(_hits(found, truth))
        return np.array(aware), np.array(plain)

    return case


def _records(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    rows = [rng.dirichlet(np.ones(size)) for size in ROWS]
    a = (rng.random(1000) < rows[0][1]).astype(int)
    ends = np.cumsum(rows[1:3], axis=1)[a]
    b = (rng.random(1000)[:, None] > ends).sum(axis=1).clip(0, 2)
    c = (rng.random(1000) < np.array([x[1] for x in rows[3:]])[b]).astype(int)
    return np.concatenate(rows), np.stack([a, b, c], axis=1).astype(np.uint8)


def _hits(posterior: Any, truth: np.ndarray) -> np.ndarray:
    low, high = (_joined(posterior.quantile(q)) for q in ENDS)
    return (low <= truth) & (truth <= high)


def of_marginals(
    mechanism: str, covered: Callable[..., np.ndarray], adjacency: Adjacency
) -> Callable[..., Hits]:
    """All pairs of four variables of 1,000 records, without a network.

    `covered` says which true values are in intervals: of a posterior, with a key for
    what it draws and the truth.
    """

    def case(rng: np.random.Generator, epsilon: Fraction, number: int) -> Hits:
        recipe, nothing = recipe_of(mechanism), np.zeros((1000, 4), np.uint8)
        noisy: dict = {"adjacency": "replace-one", "mechanism": mechanism}
        statistic = recipe.marginals(FOUR, 2, "replace-one")
        least = dp.release(statistic, nothing, epsilon="0.00001", **noisy)
        prior = dp.posterior(least)  # of so noisy a release
        options: dict = {"adjacency": adjacency, "mechanism": mechanism}
        statistic = recipe.marginals(FOUR, 2, adjacency)
        found: tuple[list, list] = [], []
        for _ in range(number):
            key = jr.key(int(rng.integers(1 << 31)))
            truth = _joined(prior.sample(key))
            records = sample_records(key, truth, prior.net, 1000)
            made = dp.release(statistic, records, epsilon=epsilon, **options)
            for hits, aware in zip(found, (True, False), strict=True):
                posterior = dp.posterior(made, key=key, noise_aware=aware)
                hits.append(covered(posterior, key, truth))
        return np.array(found[0]), np.array(found[1])

    return case


def of_sparse_rows(rng: np.random.Generator, epsilon: Fraction, number: int) -> Hits:
    """Means of 60 rows of a numeric leaf, with 60 records in all."""
    rows = 60
    levels = {"g": [*range(rows)], "x": {"lower": -1, "upper": 1}}
    net = MixedNet.from_parents(dp.Schema(levels), {"g": [], "x": ["g"]})
    prior = NormalInverseGammaParameters(0.0, 0.25, 4.0, 0.12)
    found: tuple[list, list] = [], []
    for _ in range(number):
        key = jr.key(int(rng.integers(1 << 31)))
        variance = prior.scale / rng.gamma(prior.shape, size=rows)
        mean = rng.normal(prior.mean, np.sqrt(variance / prior.strength))
        g = rng.integers(0, rows, rows)
        table = {"g": g, "x": rng.normal(mean[g], np.sqrt(variance[g]))}
        made = dp.release(net, table, epsilon=epsilon, adjacency="add-remove")
        for hits, aware in zip(found, (True, False), strict=True):
            posterior = dp.posterior(made, {"x": prior}, key=key, noise_aware=aware)
            low, high = (posterior.quantile(q)["x"]["mean"] for q in ENDS)
            hits.append((low <= mean) & (mean <= high))
    return np.array(found[0]), np.array(found[1])


def of_known(path: pathlib.Path) -> Callable[..., Hits]:
    """Probabilities of a known network, which no prior drew, from 1,000 records.

    Those below .02 and above .98 do not count: intervals never contain 0 or 1.
    """
    truth = read(path)
    counted = np.flatnonzero((truth.theta > 0.02) & (truth.theta < 0.98))

    def case(rng: np.random.Generator, epsilon: Fraction, number: int) -> Hits:
        statistic = Contrasts.of_network(truth.net, "replace-one")
        mechanism = KNorm.of(statistic, budget_of(epsilon, "replace-one"))
        seeds = rng.integers(1 << 31, size=2).tolist()
        exact = jax.vmap(statistic.measure)(draw(truth, number, seeds[0], 1000))
        noisy = jax.jit(mechanism.sample)(study_key(seeds[1]), exact)

        def covered(posterior: Any) -> jax.Array:
            ends = ([*posterior.quantile(q).values()] for q in ENDS)
            low, high = (jnp.concatenate([*map(jnp.ravel, x)])[counted] for x in ends)
            return (low <= truth.theta[counted]) & (truth.theta[counted] <= high)

        def estimated(values: jax.Array) -> jax.Array:
            released = dp.Released(values, statistic, mechanism, 1000)
            return covered(point_estimate(released, 0.5))

        made = dp.Released(noisy, statistic, mechanism, 1000)
        counts = np.maximum(np.asarray(made.counts()), 0)
        plain = [PlugInPosterior.from_counts(truth.net, x, 0.5) for x in counts]
        aware = jax.jit(partial(jax.lax.map, estimated))(noisy)
        return np.asarray(aware), np.array([covered(x) for x in plain])

    return case


def _tables(posterior: Any, key: Any, truth: np.ndarray) -> np.ndarray:
    return _hits(posterior, truth)


def _number(posterior: Any, key: Any, truth: np.ndarray) -> np.ndarray:
    """Whether the number of records, 1,000, is in its interval."""
    low, high = np.quantile(np.asarray(posterior.n), ENDS)
    return np.array([low <= 1000 <= high])


def _combined(posterior: Any, key: Any, truth: np.ndarray) -> np.ndarray:
    """By Rubin's rules for the shares of all pairs, from 20 synthetic tables."""
    tables = [posterior.sample_records(x, 1000) for x in jr.split(key, 20)]
    shares = np.array([_pairs(np.asarray(x)) for x in tables])
    found = combine_synthetic(
        shares, shares * (1 - shares) / 1000, n=1000, n_synthetic=1000
    )
    net = posterior.net
    states = np.array(list(np.ndindex(*net.sizes)))
    weights = truth[np.asarray(net.layout.cells(jnp.asarray(states)))].prod(axis=1)
    wanted = _pairs(states, weights)
    return (found.lower <= wanted) & (wanted <= found.upper)


def _pairs(records: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Shares of all pairs of levels of all pairs of variables."""
    sizes, shares = [len(x.levels) for x in FOUR.values()], []
    for i, j in itertools.combinations(range(4), 2):
        cells = records[:, i] * sizes[j] + records[:, j]
        counts = np.bincount(cells, weights, sizes[i] * sizes[j])
        shares.append(counts / counts.sum())
    return np.concatenate(shares)


def of_numbers(rng: np.random.Generator, epsilon: Fraction, number: int) -> Hits:
    """Mean and variance of 1,000 numbers, from releases of 400 and of 600."""
    statistic = Sufficient.of("gaussian", (Interval("x", -5, 5),), "replace-one")
    prior = NormalInverseGammaParameters(0.0, 4.0, 4.0, 3.0)
    aware, plain = [], []
    for _ in range(number):
        variance = 3 / rng.gamma(4)
        truth = np.array([rng.normal(0, (variance / 4) ** 0.5), variance])
        numbers = rng.normal(truth[0], variance**0.5, (1000, 1)).clip(-5, 5)
        parts = np.split(numbers, [400])
        made = [dp.release(statistic, x, epsilon=epsilon) for x in parts]
        aware.append(_hits(dp.posterior(made, prior, disjoint=True), truth))
        both = [statistic.decode(x.values, x.n) for x in made]
        total, n = (sum(x) for x in zip(*both, strict=True))
        found = conjugate_posterior(statistic.family, total, n, prior)
        plain.append(_hits(found, truth))
    return np.array(aware), np.array(plain)


def _joined(tables: dict[str, Any]) -> np.ndarray:
    return np.concatenate([np.ravel(x) for x in tables.values()])


def regression(rng: np.random.Generator, epsilon: Fraction, number: int) -> Hits:
    """The slope of 1,000 records, in a model of moments."""
    slopes = rng.normal(0.3, 0.3, number)
    made = [_scores(rng, x, epsilon) for x in slopes]

    def model(released: dp.Released) -> None:
        slope = numpyro.sample("slope", dist.Normal(0.3, 0.3))
        _observe("release", released, slope)

    low, high = _intervals(NUTS(model), (_stacked(made),), "slope")
    return (low <= slopes) & (slopes <= high), _plain(made, slopes)


def regions(rng: np.random.Generator, epsilon: Fraction, number: int) -> Hits:
    """The first of two slopes that are alike, from releases of two regions."""
    common = rng.normal(0.3, 0.3, number)
    pairs = common[:, None] + rng.normal(0, 0.1, (number, 2))
    first, second = ([_scores(rng, x, epsilon) for x in y] for y in pairs.T)

    def model(north: dp.Released, south: dp.Released) -> None:
        common = numpyro.sample("common", dist.Normal(0.3, 0.3))
        for name, released in (("north", north), ("south", south)):
            slope = numpyro.sample(name, dist.Normal(common, 0.1))
            _observe(f"release of {name}", released, slope)

    given = _stacked(first), _stacked(second)
    low, high = _intervals(NUTS(model), given, "north")
    return (low <= pairs[:, 0]) & (pairs[:, 0] <= high), _plain(first, pairs[:, 0])


def _scores(rng: np.random.Generator, slope: float, epsilon: Fraction) -> dp.Released:
    x = rng.normal(0.5, 0.15, 1000)
    y = 0.5 + slope * (x - 0.5) + rng.normal(0, 0.1, 1000)
    records = np.stack([x, y], axis=1).clip(0, 1)
    return dp.release(REGRESSION, records, epsilon=epsilon, adjacency="replace-one")


def _observe(name: str, released: dp.Released, slope: Any) -> None:
    x = 0.5 + 0.15 * NODES[:, 0]
    y = 0.5 + slope * (x - 0.5) + 0.1 * NODES[:, 1]
    records, family = jnp.stack([x, y], axis=1), REGRESSION.family
    total, root = total_of(family, records, released.n, WEIGHTS)
    apart = dist.Normal().expand(total.shape).to_event(1)
    moved = total + root @ numpyro.sample(f"sums of {name}", apart)
    law = release_law_of_total(released, moved)
    numpyro.sample(name, law, obs=released.values)


def _plain(made: list[dp.Released], slopes: np.ndarray) -> np.ndarray:
    ends = []
    for released in made:
        found = dp.posterior(released, method="plug-in")
        ends.append([float(np.ravel(found.quantile(q)["weights"])[0]) for q in ENDS])
    low, high = np.array(ends).T
    return (low <= slopes) & (slopes <= high)


def hidden(rng: np.random.Generator, epsilon: Fraction, number: int) -> Hits:
    """The share of ones among 60 hidden records."""
    shares = rng.uniform(0, 1, number)
    options = {"epsilon": epsilon, "adjacency": "replace-one"}
    made = [
        dp.release(ONE, (rng.random((60, 1)) < p).astype(int), **options)
        for p in shares
    ]
    stacked, first = _stacked(made), made[0]

    def model(values: Any) -> None:
        p = numpyro.sample("p", dist.Uniform(0, 1))
        numpyro.sample("records", dist.Bernoulli(p).expand([60, 1]).to_event(2))

    def draw(key: Any, sites: Any, n: int) -> Any:
        return jr.bernoulli(key, sites["p"], (n, 1)).astype(int)

    def kernel(values: Any) -> HMCGibbs:
        released = eqx.tree_at(lambda x: x.values, first, values)
        return HMCGibbs(NUTS(model), record_updates(released, draw), ["records"])

    low, high = _intervals(kernel, (stacked.values,), "p", samples=3000)
    plain = [_hits(dp.posterior(x, method="plug-in"), _pair(p)) for x, p in
             zip(made, shares, strict=True)]  # fmt: skip
    return (low <= shares) & (shares <= high), np.array(plain)


def _pair(p: float) -> np.ndarray:
    return np.array([1 - p, p])


def _stacked(made: list[dp.Released]) -> dp.Released:
    return jax.tree.map(lambda *x: jnp.stack(x), *made)


def _intervals(
    kernel: Any, given: tuple[Any, ...], site: str, samples: int = 400
) -> np.ndarray:
    """Ends of the interval of a site for each release, in chains side by side."""

    @jax.jit
    @jax.vmap
    def one(key: Any, given: tuple[Any, ...]) -> Any:
        made = kernel if isinstance(kernel, NUTS) else kernel(*given)
        chain = MCMC(made, num_warmup=300, num_samples=samples, progress_bar=False)
        chain.run(key, *given)
        return jnp.quantile(chain.get_samples()[site], jnp.asarray(ENDS))

    number = len(jax.tree.leaves(given)[0])
    return np.asarray(one(jr.split(jr.PRNGKey(0), number), given)).T


CASES: dict[str, Callable[..., Hits]] = {
    "two releases of one table, K-norm noise": of_tables(False, "k-norm"),
    "two releases of one table, Laplace noise": of_tables(False, "laplace"),
    "releases of disjoint tables, K-norm noise": of_tables(True, "k-norm"),
    "releases of disjoint tables, Laplace noise": of_tables(True, "laplace"),
    "sparse rows of a numeric leaf": of_sparse_rows,
    **{
        f"{what}, {noise} noise": of_marginals(mechanism, covered, adjacency)
        for what, covered, adjacency in (
            ("marginals without a network", _tables, "replace-one"),
            ("synthetic tables of marginals", _combined, "replace-one"),
            ("marginals of a private number of records", _tables, "add-remove"),
            ("private number of records of marginals", _number, "add-remove"),
        )
        for noise, mechanism in (("K-norm", "k-norm"), ("Laplace", "fourier"))
    },
    "disjoint tables of numbers, Laplace noise": of_numbers,
    "NumPyro: slope of a regression": regression,
    "NumPyro: slopes of two regions that are alike": regions,
    "NumPyro: share among hidden records": hidden,
}


if __name__ == "__main__":
    main()
