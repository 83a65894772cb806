"""Zhang et al., Figure 1, with what the noise-aware posterior adds."""

from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import dpjax as dp
from dpjax.mechanisms import Laplace
from dpjax.posteriors import Windows, exact_posterior, plug_in_posterior
from dpjax.statistics import NetworkCounts

NET = dp.BayesNet.naive_bayes({f"x{i}": [0, 1] for i in range(17)}, "x0")
TRAIN, TEST, REPEATS = 50, 950, 300
EPSILONS = (0.5, 1.0, 2.0, 5.0, 10.0)


def draw(key, size, theta, share):
    key_class, key_rest = jr.split(key)
    label = jr.bernoulli(key_class, share, (size,)).astype(jnp.int32)
    rest = jr.bernoulli(key_rest, theta[label]).astype(jnp.int32)
    return jnp.concatenate([label[:, None], rest], axis=1)


@partial(jax.jit, static_argnums=1)
def gains(keys, statistic, epsilon):
    """Accuracy of both posteriors, a row a repeat."""
    noise = Laplace(epsilon, statistic.sensitivity("replace-one"))

    def one(key):
        key_theta, key_share, key_train, key_test, key_noise = jr.split(key, 5)
        theta = jr.uniform(key_theta, (2, 16))
        share = jr.uniform(key_share, minval=0.3, maxval=0.7)
        train, test = (
            draw(k, size, theta, share)
            for k, size in ((key_train, TRAIN), (key_test, TEST))
        )
        values = noise.sample(key_noise, statistic.measure(train))
        released = dp.Released(values, statistic, noise, TRAIN)
        windows = Windows(TRAIN + 1, TRAIN + 1, TRAIN + 1)
        aware = exact_posterior(released, windows=windows)
        naive = plug_in_posterior(released)
        return jnp.stack([accuracy(fitted, test) for fitted in (naive, aware)])

    return jax.lax.map(one, keys)


def accuracy(fitted, test):
    found = fitted.predict_proba(test, "x0").argmax(axis=1)
    return jnp.mean(found.astype(jnp.int32) == test[:, 0])


@pytest.mark.thorough
def test_noise_aware_classification_is_better(key):
    statistic = NetworkCounts(NET, "all")  # as printed: sensitivity 34
    for epsilon in EPSILONS:
        keys = jr.split(jr.fold_in(key, int(epsilon * 10)), REPEATS)
        found = np.asarray(gains(keys, statistic, epsilon), float)
        gain = found[:, 1] - found[:, 0]
        error = gain.std(ddof=1) / np.sqrt(REPEATS)
        print(epsilon, found.mean(axis=0).round(4), gain.mean().round(4), error)
        assert gain.mean() > -3 * error
        if epsilon in (2.0, 5.0):
            assert gain.mean() >= 0.01
