"""Likelihood of given tables of a network of stars, where the noise is large."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

import dpjax as dp
from dpjax.mechanisms import DiscreteLaplace
from dpjax.statistics import NetworkCounts, Sufficient

X64 = jax.config.jax_enable_x64
CLOSE = 1e-8 if X64 else 2e-3
MOST = 700  # records in the sums of the references
COUNTS = np.arange(MOST + 1)


def folded(one, other):
    """Logarithms of a convolution's first terms."""
    rest = COUNTS[:, None] - COUNTS[None]
    terms = one[None] + np.where(rest >= 0, other[np.maximum(rest, 0)], -np.inf)
    return logsumexp(terms, axis=1)


def noise_law(values, rate):
    """Log-law of noise that makes each count the released one."""
    off = np.abs(np.asarray(values)[:, None] - COUNTS[None])
    return np.log(np.tanh(rate / 2)) - rate * off


def likelihood(chances, laws):
    """Log-likelihood of one row for each total, given that of each cell's counts."""
    logs = COUNTS[None] * np.log(chances)[:, None] - gammaln(COUNTS + 1)[None]
    weights = logs + laws
    total = weights[0]
    for weight in weights[1:]:
        total = folded(total, weight)
    return total + gammaln(COUNTS + 1)


def noisy(statistic, values, epsilon, adjacency, n):
    noise = DiscreteLaplace.calibrate(epsilon, statistic.sensitivity(adjacency))
    return dp.Released(jnp.asarray(values, jnp.int32), statistic, noise, n)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "epsilon"), [(None, "0.3"), (12, "0.3"), (12, "3")])
def test_densities_of_stars_are_sums_over_hidden_counts(n, epsilon):
    """A hub of three levels; leaves of two and of three."""
    levels = {"y": [0, 1, 2], "a": [0, 1], "b": [0, 1, 2]}
    net = dp.BayesNet.from_parents(levels, {"a": ["y"], "b": ["y"]})
    adjacency = "replace-one" if n else "add-remove"
    values = [3, 1, -2, 5, 4, 0, 2, 2, 1, -3, 0, 6, 1, 2, 4]
    given = noisy(NetworkCounts(net), values, epsilon, adjacency, n)
    found, rate = dp.posterior(given), float(given.mechanism.rho)
    assert found.method == "exact"
    cells = [np.array(values[:6]).reshape(3, 2), np.array(values[6:]).reshape(3, 3)]
    for hub in [(0.2, 0.3, 0.5), (0.01, 0.01, 0.98)]:
        leaves = [
            np.array([[0.3, 0.7], [0.5, 0.5], [0.99, 0.01]]),
            np.array([[0.2, 0.3, 0.5], [0.01, 0.01, 0.98], [0.4, 0.5, 0.1]]),
        ]
        of_leaves = [
            [likelihood(p[i], noise_law(x[i], rate)) for i in range(3)]
            for x, p in zip(cells, leaves, strict=True)
        ]
        every = likelihood(np.array(hub), np.sum(of_leaves, axis=0))
        wanted = every[n] if n else logsumexp(every)
        tables = dict(zip(levels, map(jnp.asarray, [hub, *leaves]), strict=True))
        tables = {name: jnp.asarray(x, float) for name, x in tables.items()}
        prior = gammaln(3) + 3 * gammaln(2) + 3 * gammaln(3)
        ours = float(found.log_prob(tables) - prior + found.log_evidence)
        assert ours == pytest.approx(wanted, abs=CLOSE, rel=CLOSE / 100)
        slopes = jax.grad(found.log_prob)(tables)
        assert all(np.isfinite(np.asarray(x)).all() for x in slopes.values())


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "values"), [("0.02", [6, 4]), ("1", [300, 4])])
def test_the_density_of_a_private_number_of_records_is_that_of_the_marginal(
    epsilon, values
):
    """The law of one probability is found by other sums."""
    statistic = Sufficient.of("bernoulli", (dp.Variable("x", (0, 1)),), "add-remove")
    found = dp.posterior(noisy(statistic, values, epsilon, "add-remove", None))
    mean, sd = float(found.mean()), float(found.sd())
    for at in np.clip([mean - 3 * sd, mean, mean + 3 * sd], 0.01, 0.995):
        wanted = float(found.marginal().log_prob(jnp.asarray(at, float)))
        assert float(found.log_prob(at)) == pytest.approx(wanted, abs=CLOSE)
