"""What each step beyond Algorithm 1 buys at equal ε, and how much ε it saves.

Replace-one, n public. Loss: the KL divergence of the estimated rows from the true ones,
each row weighted by the probability of its parents' configuration, summed. Algorithm 1
measures all families (Δ = 2d), clamps to [0, n] and plugs in the Dirichlet(1) posterior
mean; each further column changes one thing. Gaussian noise is (ε, 1e-9)-private, on the
counts of maximal families. Every column sees the same data sets, and differences are
paired.
"""

import argparse
import json
import pathlib
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jax.scipy.special import xlogy
from tqdm import tqdm

from benchmarks.bench_fourier import FILES, Truth, draw, read
from dpjax.mechanisms import DiscreteGaussian, KNorm
from dpjax.noise.keys import study_key
from dpjax.posteriors import point_estimate, point_estimate_of
from dpjax.privacy import REPLACE_ONE, budget_of, zcdp_budget
from dpjax.releases import Released
from dpjax.statistics import Contrasts, NetworkCounts
from dpjax.study import plan
from dpjax.tables.projection import project

RECORDS = (1000, 10_000)
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
COLUMNS = (
    "Algorithm 1",
    "same, prior 1/2",
    "maximal families",
    "+ projection",
    "+ noise-aware",
    "+ prior 1/2",
    "+ budget split",
    "K-norm noise",
    "Gaussian noise",  # of the ρ from which (ε, δ) follows
    "+ hierarchical",
)
DELTA = "1e-9"
POWER = 1 / 3  # least sum of variances: shares^-2 times cells, at a fixed sum
AT_ONCE = 20  # data sets: arrays stay in cache
RESAMPLES = 400


def scales(statistic: NetworkCounts, power: float) -> np.ndarray:
    """Noise scale of every measured number at ε = 1; the tables' shares of ε sum to 1.

    A table's share is its number of cells, a public fact, to this power: 0 is Algorithm
    1's equal split. Each table alone has sensitivity 2.
    """
    cells = np.diff(statistic.measured.offsets)
    share = cells**power / (cells**power).sum()
    return np.repeat(2 / share, cells)


def loss(truth: Truth, theta):
    return jnp.sum(xlogy(truth.joint, truth.theta / theta))


def plug_in(truth: Truth, counts, prior):
    counts = prior + counts
    return loss(truth, counts / truth.net.layout.row_sums(counts))


@partial(jax.jit, static_argnums=(0, 1))
def clamped(statistic, truth, values, n, prior):
    """Loss of noisy counts taken at their word."""
    return plug_in(truth, jnp.clip(statistic.tables(values), 0, n), prior)


@partial(jax.jit, static_argnums=(0, 1))
def projected(statistic, truth, values, n):
    def one(values):
        tables = project(statistic.measured, values, n)
        return plug_in(truth, statistic.tables(tables), 1.0)

    return lax.map(one, values, batch_size=AT_ONCE)


@partial(jax.jit, static_argnums=(0, 1))
def noise_aware(statistic, truth, values, scale, n, prior):
    def one(values):
        return loss(truth, point_estimate_of(statistic, values, scale, n, prior).theta)

    return lax.map(one, values, batch_size=AT_ONCE)


def shaped(truth: Truth, exact, epsilon: float, n: int):
    """Loss of noise-aware estimates from K-norm noise, by prior and data set."""
    statistic = Contrasts.of_network(truth.net, REPLACE_ONE)
    mechanism = KNorm.of(statistic, budget_of(epsilon, REPLACE_ONE))
    values = jax.jit(mechanism.sample)(study_key(n), exact)
    released = Released(values, statistic, mechanism, n)
    each = jax.vmap(partial(loss, truth))
    return [each(point_estimate(released, x).theta) for x in (0.5, "hierarchical")]


def gaussian(truth: Truth, exact, epsilon: float, n: int):
    """Loss of noise-aware estimates from Gaussian noise, by data set."""
    statistic = NetworkCounts(truth.net)
    cost = zcdp_budget(REPLACE_ONE, epsilon=epsilon, delta=DELTA)
    mechanism = DiscreteGaussian.of(statistic, cost)
    draw_noisy = eqx.filter_jit(mechanism.sample)
    values = draw_noisy(study_key(n), exact.astype(jnp.int32))
    released = Released(values, statistic, mechanism, n)
    return jax.vmap(partial(loss, truth))(point_estimate(released, 0.5).theta)


def losses(truth: Truth, exact, noise, epsilon: float, n: int, power: float):
    """By column and data set."""
    every, maximal = NetworkCounts(truth.net, "all"), NetworkCounts(truth.net)
    total = jnp.asarray(float(n))
    equal, split = (
        jnp.asarray(scales(maximal, p) / epsilon, float) for p in (0, power)
    )
    printed = exact[0] + noise[0] * every.sensitivity(REPLACE_ONE).value / epsilon
    values, shifted = (exact[1] + noise[1] * scale for scale in (equal, split))
    half, whole = jnp.asarray(0.5), jnp.asarray(1.0)
    alone = partial(jax.vmap, in_axes=(0, None, None))
    found = [
        alone(partial(clamped, every, truth))(printed, total, whole),
        alone(partial(clamped, every, truth))(printed, total, half),
        alone(partial(clamped, maximal, truth))(values, total, whole),
        projected(maximal, truth, values, total),
        noise_aware(maximal, truth, values, equal, total, whole),
        noise_aware(maximal, truth, values, equal, total, half),
        noise_aware(maximal, truth, shifted, split, total, half),
    ]
    half_prior, hierarchical = shaped(truth, exact[2], epsilon, n)
    found += [half_prior, gaussian(truth, exact[1], epsilon, n), hierarchical]
    return np.stack([np.asarray(column, float) for column in found])


def measured(truth: Truth, sets: int, n: int):
    """Exact vectors of both statistics, and standard Laplace noise, by data set."""
    data = draw(truth, sets, 1, n)
    exact, noise = [], []
    for key, families in zip(jr.split(study_key(n)), ("all", "maximal"), strict=True):
        statistic = NetworkCounts(truth.net, families)
        exact.append(jax.vmap(statistic.measure)(data).astype(float))
        noise.append(jr.laplace(key, exact[-1].shape))
    contrasts = Contrasts.of_network(truth.net, REPLACE_ONE)
    exact.append(jax.vmap(contrasts.measure)(data))
    return exact, noise


def saved(
    epsilons: np.ndarray, curves: np.ndarray, column: int, uniform: float
) -> list[float]:
    """ε over the ε at which a column is as good, where Algorithm 1 beats uniform.

    Interpolated in logarithms. Beyond the smallest ε studied the last segment's slope
    is kept, so such a factor is an extrapolation.
    """
    logs, kl = np.log(epsilons), np.log(curves)
    factors = []
    for place, target in enumerate(kl[:, 0]):
        own = kl[:, column]
        segment = int(np.clip(np.searchsorted(-own, -target) - 1, 0, len(own) - 2))
        slope = (own[segment + 1] - own[segment]) / (logs[segment + 1] - logs[segment])
        same = logs[segment] + (target - own[segment]) / slope
        beaten = target < np.log(uniform)
        factors.append(np.exp(logs[place] - same) if beaten else np.nan)
    return factors


def report(
    name: str, n: int, epsilons: np.ndarray, found: np.ndarray, uniform: float
) -> list[dict]:
    """Print a table of one network and size; (epsilons, columns, sets) to rows."""
    sets = found.shape[-1]
    means, errors = found.mean(-1), found.std(-1, ddof=1) / np.sqrt(sets)
    ratios = found.mean(-1) / found[:, :1].mean(-1)
    linear = found - ratios[..., None] * found[:, :1]
    spread = linear.std(-1, ddof=1) / np.sqrt(sets) / means[:, :1]
    gap = found - found[:, :1]
    worse = gap.mean(-1) / np.maximum(gap.std(-1, ddof=1) / np.sqrt(sets), 1e-12)
    generator = np.random.default_rng(0)
    chosen = generator.integers(0, sets, (RESAMPLES, sets))
    resampled = [found[:, :, pick].mean(-1) for pick in chosen]
    print(f"\n{name}, n = {n}, {sets} data sets; KL of uniform rows {uniform:.3f}")
    header = "".join(f"{column:>20}" for column in COLUMNS)
    print(f"{'KL':<6}{header}\n{'ε':<6}{'mean ± its error':>20}", end="")
    print("".join(f"{'ratio to Alg. 1':>20}" for _ in COLUMNS[1:]))
    for place, epsilon in enumerate(epsilons):
        cells = [f"{means[place, 0]:.4f} ± {errors[place, 0]:.4f}"]
        for column in range(1, len(COLUMNS)):
            ratio, error = ratios[place, column], spread[place, column]
            cells.append(f"{ratio:.3f} ± {error:.3f}")
        print(f"{epsilon:<6}" + "".join(f"{cell:>20}" for cell in cells))
    print("ε saved, a factor (~ extrapolated below the least ε; – uniform is better)")
    factors, factor_errors = np.ones((2, len(epsilons), len(COLUMNS)))
    for column in range(1, len(COLUMNS)):
        factors[:, column] = saved(epsilons, means, column, uniform)
        many = [saved(epsilons, curves, column, uniform) for curves in resampled]
        factor_errors[:, column] = np.std(many, axis=0)
    for place, epsilon in enumerate(epsilons):
        cells = [
            "–"
            if np.isnan(factor)
            else f"{'~' if epsilon / factor < min(epsilons) else ''}"
            f"{factor:.2f} ± {error:.2f}"
            for factor, error in zip(
                factors[place, 1:], factor_errors[place, 1:], strict=True
            )
        ]
        print(f"{epsilon:<6}{'1':>20}" + "".join(f"{cell:>20}" for cell in cells))
    final = worse[:, -1]
    print(
        f"last column against Algorithm 1, standard errors: {np.round(final, 1)}",
        end="",
    )
    print("  accepted" if (final <= 3).all() else "  WORSE SOMEWHERE")
    return [
        {
            "network": name,
            "n": n,
            "sets": sets,
            "epsilon": epsilon,
            "column": column,
            "kl": means[i, j],
            "kl_error": errors[i, j],
            "ratio": ratios[i, j],
            "ratio_error": spread[i, j],
            "epsilon_saved": None if np.isnan(factors[i, j]) else factors[i, j],
            "standard_errors_worse": worse[i, j],
        }
        for i, epsilon in enumerate(epsilons)
        for j, column in enumerate(COLUMNS)
    ]


def compare_with_plan(truth: Truth, n: int, epsilons: list[float], found: np.ndarray):
    """Print what `plan` expects of two columns, and by how much that is off.

    `plan` gets the true tables as its guess, and draws records and noise of its own.
    """
    net = truth.net
    tables = dict(zip(net.names, net.layout.split(truth.theta), strict=True))
    pairs = ("laplace", "+ prior 1/2"), ("k-norm", "K-norm noise")
    names = {f"{name}, noise-aware": column for name, column in pairs}
    print(f"{'ε':<6}{'mechanism':<24}{'found':>9}{'planned':>18}{'off by':>9}")
    for epsilon, kl in zip(epsilons, found.mean(-1), strict=True):
        options = {"prior": 0.5, "repeats": 64, "tables": tables}
        planned = plan(net, n, epsilon, REPLACE_ONE, key=study_key(7), **options)
        for outlook in planned.outlooks:
            if outlook.name in names:
                known = kl[COLUMNS.index(names[outlook.name])]
                print(
                    f"{epsilon:<6}{outlook.name:<24}{known:>9.4f}"
                    f"{outlook.divergence:>9.4f} ± {outlook.divergence_se:.4f}"
                    f"{outlook.divergence / known - 1:>+9.1%}"
                )


def main() -> None:
    """Study every network named; write what was found if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", type=pathlib.Path, required=True)
    parser.add_argument("--only", nargs="+", default=FILES, choices=FILES)
    parser.add_argument("--repeats", type=int, default=100, help="data sets a cell")
    parser.add_argument("--records", type=int, nargs="+", default=RECORDS)
    parser.add_argument("--epsilons", type=float, nargs="+", default=EPSILONS)
    parser.add_argument("--power", type=float, default=POWER, help="of the split")
    parser.add_argument("--plan", action="store_true", help="compare with `plan`")
    parser.add_argument("--quick", action="store_true", help="asia, 20 data sets")
    parser.add_argument("--out", type=pathlib.Path, help="JSON file to write")
    arguments = parser.parse_args()
    only = ("asia",) if arguments.quick else arguments.only
    repeats = 20 if arguments.quick else arguments.repeats
    rows = []
    for name in only:
        truth = read(arguments.networks / f"{name}.bif.gz")
        flat = jnp.zeros(truth.net.layout.length)
        uniform = float(plug_in(truth, flat, 1.0))
        for n in arguments.records:
            exact, noise = measured(truth, repeats, n)
            progress = tqdm(arguments.epsilons, desc=f"{name} n={n}", leave=False)
            found = np.stack(
                [losses(truth, exact, noise, e, n, arguments.power) for e in progress]
            )
            rows += report(name, n, np.asarray(arguments.epsilons), found, uniform)
            if arguments.plan:
                compare_with_plan(truth, n, arguments.epsilons, found)
    if arguments.out:
        arguments.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
