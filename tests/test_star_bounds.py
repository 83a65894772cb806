"""Bounds of what the windows of a star omit, against sums over all hidden counts."""

import itertools
import math

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import gammaln

from dpjax.noise import LaplaceLaw
from dpjax.posteriors.exact.stars import Leaves, Star

MOST = 40  # records of a level
CELLS = 3


def log_density(values, alpha, rate, discrete, total):
    """Of a row of noisy cells with a total of records, by enumeration."""
    peak = math.log(math.tanh(rate / 2)) if discrete else math.log(rate / 2)
    terms = []
    for counts in itertools.product(range(total + 1), repeat=CELLS - 1):
        if sum(counts) > total:
            continue
        c = np.array([*counts, total - sum(counts)])
        prior = gammaln(c + alpha) - gammaln(alpha) - gammaln(c + 1)
        whole = gammaln(alpha.sum()) + gammaln(total + 1) - gammaln(total + alpha.sum())
        noise = CELLS * peak - rate * np.abs(values - c).sum()
        terms.append(prior.sum() + whole + noise)
    return np.logaddexp.reduce(terms)


def star(values, alpha, rate, discrete, n=None):
    """Two levels of a hub that is not measured, with equal rows of one leaf."""
    law = LaplaceLaw(jnp.full((1, 1), rate), discrete)
    pair = [np.stack([x, x], axis=1)[:, None] for x in (values, alpha)]
    leaf = Leaves(*(jnp.asarray(x, float) for x in pair), law, (CELLS,))
    hub = jnp.zeros(2), jnp.ones(2)
    return Star(*hub, [leaf], n, LaplaceLaw(jnp.asarray(rate), discrete), (False,) * 2)


@pytest.mark.parametrize("discrete", [True, False])
@pytest.mark.parametrize("alpha", [[1, 1, 1], [0.7, 0.9, 0.5], [3, 1, 0.5]])
@pytest.mark.parametrize("rate", [0.1, 1.0, 3.0])
def test_no_count_outside_of_a_window_weighs_more_than_its_bound(alpha, rate, discrete):
    alpha = np.array(alpha, float)
    for values in ([9, 8, 3], [1, -2, 0], [20, 1, -9]):
        values = np.array(values) + (0 if discrete else 0.4)
        given = values, alpha, rate, discrete
        logs = np.array([log_density(*given, m) for m in range(MOST + 1)])
        for lowest, length in [(15, 10), (18, 5), (3, 30), (0, 25)]:
            outside = np.r_[logs[:lowest], logs[lowest + length :]].max()
            at = jnp.full(2, lowest, jnp.int32)
            (bound, _) = star(*given).hub_tails(at, length)
            assert bound >= outside - 1e-4


def test_counts_far_above_the_noise_have_a_narrow_bound():
    """The prior of counts lowers both the density and its bound, by 13 nats here."""
    values, alpha, rate = np.array([900, 500, 600]), np.ones(3), 2.0
    mode = -math.log(2002 * 2001 / 2) + 2 * math.log(math.tanh(rate / 2))
    (bound, _) = star(values, alpha, rate, True).hub_tails(
        jnp.full(2, 2000 - 12, jnp.int32), 25
    )
    assert mode - 22 < bound < mode - 15
