"""How fast are exact noise-aware posteriors, beside plain NumPy and plain Gibbs?

    python -m benchmarks.bench_noise_aware

Ratios of one run; x64. The peers: one `np.convolve` a table and moment, and the Gibbs
sampler of the literature for one Beta-Binomial count under Laplace noise.
"""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from scipy import stats
from scipy.special import logsumexp

from benchmarks.report import Row, shown
from benchmarks.timing import medians
from dpjax import BayesNet, Released
from dpjax.data.levels import Variable
from dpjax.families import BetaParameters
from dpjax.mechanisms import DiscreteLaplace, Laplace
from dpjax.posteriors import exact_posterior, proportions_posterior
from dpjax.statistics import NetworkCounts, Sufficient

ATTRIBUTES, RECORDS = 16, 1000
ITERATIONS = 1500


def releases(key: jax.Array, batch: int) -> Released:
    """A stack of naive-Bayes releases at ε = 1, each of its own data."""
    names = {f"x{i}": [0, 1] for i in range(ATTRIBUTES + 1)}
    statistic = NetworkCounts(BayesNet.naive_bayes(names, "x0"))
    noise = DiscreteLaplace.calibrate("1", statistic.sensitivity("replace-one"))

    def one(key):
        key_table, key_class, key_records, key_noise = jr.split(key, 4)
        theta = jr.uniform(key_table, (2, ATTRIBUTES))
        label = jr.bernoulli(key_class, 0.5, (RECORDS,)).astype(jnp.int32)
        rest = jr.bernoulli(key_records, theta[label]).astype(jnp.int32)
        records = jnp.concatenate([label[:, None], rest], axis=1)
        return noise.sample(key_noise, statistic.measure(records))

    values = jax.jit(jax.vmap(one))(jr.split(key, batch))
    return Released(values, statistic, noise, RECORDS)


def convolved(values: np.ndarray, rho: float, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Means and sds of all tables, uniform priors: NumPy, a table after the other."""
    counts = np.arange(n + 1)
    law = np.exp(-rho * np.abs(values.reshape(-1, 2, 2)[..., None] - counts))
    zeros, ones = law[:, :, 0], law[:, :, 1]
    sums = np.empty((len(law), 2, n + 1))
    for i, y in np.ndindex(len(law), 2):
        sums[i, y] = np.convolve(zeros[i, y], ones[i, y])[: n + 1]
    logs = (np.log(sums) - np.log1p(counts)).sum(axis=0)
    log_class = logs[0, ::-1] + logs[1]
    weights = np.exp(log_class - logsumexp(log_class))
    means, seconds = np.empty((2, len(law), 2))
    for i, y in np.ndindex(len(law), 2):
        ratio = (weights[::-1] if y == 0 else weights) / sums[i, y]
        a = ones[i, y] * (counts + 1)
        once = np.convolve(zeros[i, y], a)[: n + 1] / (counts + 2)
        twice = np.convolve(zeros[i, y], a * (counts + 2))[: n + 1]
        means[i, y] = ratio @ once
        seconds[i, y] = ratio @ (twice / (counts + 2) / (counts + 3))
    return means, np.sqrt(seconds - means**2)


def gibbs(rng: np.random.Generator, s: float, n: int, scale: float) -> np.ndarray:
    """A normal law for the count, and a scale mixture for the noise."""
    theta, variance, draws = 0.5, 2 * scale**2, np.empty(ITERATIONS)
    for i in range(ITERATIONS):
        mean, spread = n * theta, n * theta * (1 - theta)
        precision = 1 / spread + 1 / variance
        count = rng.normal((mean / spread + s / variance) / precision, precision**-0.5)
        count = np.clip(count, 0, n)
        inverse = rng.wald(1 / (scale * max(abs(s - count), 1e-9)), 1 / scale**2)
        variance = 1 / max(inverse, 1e-12)
        theta = rng.beta(10 + count, 10 + n - count)
        draws[i] = theta
    return draws[ITERATIONS // 3 :]


def naive_bayes(batch: int, looped: int) -> Iterator[Row]:
    """Batch of posteriors against a loop over np.convolve."""
    stack = releases(jr.key(0), batch)
    rho = float(np.asarray(stack.mechanism.rho))
    single = np.asarray(stack.values)
    fitted = exact_posterior(stack)
    windows = fitted.windows
    means, sds = convolved(single[0], rho, RECORDS)
    ours = np.asarray(fitted.mean()["x1"][0])[:, 1]
    assert np.abs(ours - means[0]).max() < 1e-9
    assert np.abs(np.asarray(fitted.sd()["x1"][0])[:, 1] - sds[0]).max() < 1e-9
    seconds = medians(
        {
            "dpjax": lambda: exact_posterior(stack, windows=windows).first,
            "NumPy": lambda: [convolved(x, rho, RECORDS) for x in single[:looped]],
        },
        rounds=5,
    )
    each = {"dpjax": seconds["dpjax"] / batch, "NumPy": seconds["NumPy"] / looped}
    case = f"{batch} naive Bayes, d = {ATTRIBUTES}, n = {RECORDS}, ε = 1"
    faster = each["NumPy"] / each["dpjax"]
    yield Row("", case, faster, "× a loop of np.convolve", 4, seconds=each)


def beta_binomial(batch: int) -> Iterator[Row]:
    """One posterior against the sampler."""
    s, n, scale = 301.02727328, RECORDS, 10.0
    statistic = Sufficient.of("bernoulli", (Variable("x", (0, 1)),), "replace-one")
    noise = Laplace(1 / scale, statistic.sensitivity("replace-one"))
    released = Released(jnp.asarray([s]), statistic, noise, n)
    prior, rng = BetaParameters(10.0, 10.0), np.random.default_rng(0)
    fitted = proportions_posterior(released, prior)
    windows, noisy = fitted.windows, jnp.asarray(rng.normal(s, 50, (batch, 1)))

    @jax.jit
    def many(noisy):
        def one(value):
            again = Released(value, statistic, noise, n)
            return proportions_posterior(again, prior, windows=windows).first

        return jax.lax.map(one, noisy)

    seconds = medians(
        {"dpjax": lambda: many(noisy), "Gibbs": lambda: gibbs(rng, s, n, scale)}
    )
    each = {"dpjax": seconds["dpjax"] / batch, "Gibbs": seconds["Gibbs"]}
    case, unit = f"Beta-Binomial, N = {n}", f"× {ITERATIONS} iterations of Gibbs"
    yield Row("", case, each["Gibbs"] / each["dpjax"], unit, seconds=each)
    truth, draws = true_mean(s, n, scale), gibbs(rng, s, n, scale)
    yield Row("", case, abs(float(fitted.mean()) - truth), "error of the mean")
    yield Row("", case, abs(draws.mean() - truth), "error of the mean of Gibbs")


def true_mean(s: float, n: int, scale: float) -> float:
    """By summation over all counts; the prior is Beta(10, 10)."""
    counts = np.arange(n + 1)
    logs = stats.betabinom(n, 10, 10).logpmf(counts) - np.abs(s - counts) / scale
    return np.exp(logs - logsumexp(logs)) @ ((10 + counts) / (20 + n))


def rows(full: bool = False) -> Iterator[Row]:
    """Both, in 64 bits."""
    jax.config.update("jax_enable_x64", True)
    yield from naive_bayes(*((1000, 50) if full else (200, 10)))
    yield from beta_binomial(1000)


def main() -> None:
    """Print all."""
    for line in shown(rows()):
        print(line)


if __name__ == "__main__":
    main()
