"""Laws of exact totals, the parameters integrated out, against SciPy's given them."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy import stats

from dpjax.families import MultivariateGaussian
from tests.helpers.cases import mostly_thorough
from tests.helpers.conjugates import FAMILIES, arrays


def log_given(name, family, theta, total, n):
    """Log-density of a total given the parameters, by SciPy."""
    if name == "bernoulli":
        return stats.binom.logpmf(total[0], n, theta)
    if name == "categorical":
        return stats.multinomial.logpmf(total, n, theta / theta.sum())
    if name == "poisson":
        return stats.poisson.logpmf(total[0], n * theta)
    if name == "exponential":
        return stats.gamma.logpdf(total[0], n, scale=1 / theta)
    if name == "gaussian-mean":
        shift = theta - family.lower
        return stats.norm.logpdf(total[0], n * shift, np.sqrt(n * family.variance))
    if "mean" in theta:
        mean = np.atleast_1d(theta["mean"]) - family.centre
        covariance = theta.get("covariance", theta.get("variance"))
        return log_moments(total, n, mean, np.atleast_2d(covariance))
    return log_regression(family, theta, total, n)


def log_moments(total, n, mean, covariance):
    """Of sums, and of products of normal columns."""
    d = len(mean)
    first, second = total[:d], np.zeros((d, d))
    second[np.triu_indices(d)] = total[d:]
    second = second + np.triu(second, 1).T
    scatter = second - np.outer(first, first) / n
    return stats.multivariate_normal.logpdf(
        first, n * mean, n * covariance
    ) + stats.wishart.logpdf(scatter, n - 1, covariance)


def log_regression(family, theta, total, n):
    """Of targets given one feature; and of the feature, by another family's law."""
    sum_x, sum_y, xx, xy, yy = total
    gram = np.array([[n, sum_x], [sum_x, xx]])
    products = np.array([sum_y, xy])
    variance = theta.get("variance", 1 / 1.7)
    slope = theta["weights"][0]
    start = theta["intercept"] + slope * family.centre[0] - family.centre[1]
    weights = np.array([start, slope])
    residual = yy - products @ np.linalg.solve(gram, products)
    targets = (
        stats.multivariate_normal.logpdf(products, gram @ weights, variance * gram)
        + stats.chi2.logpdf(residual / variance, n - 2)
        - np.log(variance)
    )
    feature = MultivariateGaussian((-3,), (5,))
    sums = jnp.asarray([sum_x, xx])
    law = feature.log_total(arrays(feature.prior()), sums, jnp.asarray(n))
    return targets + float(law)


def some_total(rng, name, family, n):
    """The exact total of random records, uniform within the bounds."""
    lower, upper = np.array(family.bounds).T
    records = lower + (upper - lower) * rng.random((int(n), len(lower)))
    return np.asarray(family.statistics(records).sum(axis=0), float)


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_thorough(FAMILIES))
def test_laws_of_totals(rng, key, name):
    """p(t) = p(t | θ) p(θ) / p(θ | t), up to one constant for all t, n and θ."""
    family, prior = FAMILIES[name]
    prior = arrays(prior)

    @jax.jit
    def parts(total, n):
        after = family.posterior(family.update(prior, total, n))
        theta = after.sample(jr.clone(key))
        before = family.posterior(prior).log_prob(theta)
        law = family.log_total(prior, total, n)
        return theta, before - after.log_prob(theta), law

    offsets = []
    for n in (7.0, 12.0, 12.0, 40.0):
        total = some_total(rng, name, family, n)
        theta, ratio, law = jax.tree.map(
            lambda x: np.asarray(x, float), parts(jnp.asarray(total), jnp.asarray(n))
        )
        expected = log_given(name, family, theta, total, n) + ratio
        offsets.append(law - expected)
    exact = jnp.zeros(()).dtype == jnp.float64
    np.testing.assert_allclose(offsets, offsets[0], atol=1e-8 if exact else 2e-2)
