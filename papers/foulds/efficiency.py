"""How far estimates of a success probability are from the truth, over the best one.

The best variance is $p (1 - p) / N$, the inverse of the Fisher information of N
observations; an efficiency of 2 is a mean square twice as large.
"""

__all__ = [
    "EPSILON",
    "OMEGA",
    "TEMPERATURE",
    "TRUTH",
    "draw_counts",
    "estimates",
    "excess",
    "ops_draws",
    "paired_error",
]

from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int

from dpjax._types import Key
from dpjax.mechanisms import DiscreteLaplace, PosteriorSample
from dpjax.privacy import REPLACE_ONE
from dpjax.statistics import NetworkCounts
from dpjax.theory import bernoulli_constant
from papers.networks import COIN

TRUTH, EPSILON, OMEGA = 0.3, "1", "0.2"
TEMPERATURE = 2 * float(bernoulli_constant(OMEGA)) / float(EPSILON)


def draw_counts(
    rng: np.random.Generator, sizes: np.ndarray, repeats: int
) -> np.ndarray:
    """Failures and successes, a row a data set, a column a number of observations."""
    ones = rng.binomial(sizes, TRUTH, (repeats, sizes.size))
    return np.stack([sizes - ones, ones], axis=-1).astype(np.int32)


def estimates(
    key: Key, rng: np.random.Generator, counts: np.ndarray
) -> dict[str, np.ndarray]:
    """Estimates by kind, but for OPS: with and without noise, a mean and a sample."""
    noise = DiscreteLaplace.calibrate(
        EPSILON, NetworkCounts(COIN).sensitivity(REPLACE_ONE)
    )
    noisy = np.maximum(np.asarray(_noisy(key, noise, counts)), 0)
    exact, private = 1.0 + counts, 1.0 + noisy
    return {
        "posterior mean": exact[..., 1] / exact.sum(axis=-1),
        "mean of the Laplace posterior": private[..., 1] / private.sum(axis=-1),
        "one posterior sample": rng.beta(exact[..., 1], exact[..., 0]),
        "one sample of the Laplace posterior": rng.beta(
            private[..., 1], private[..., 0]
        ),
    }


def ops_draws(key: Key, counts: np.ndarray, temperatures: np.ndarray) -> np.ndarray:
    """One posterior sample for each pair of counts, each at its temperature."""
    heats = jnp.asarray(temperatures, float)
    return np.asarray(_ops(jr.split(key, len(counts)), counts, heats), float)


def excess(estimate: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """What has the efficiency for its mean: squares of errors over the best variance.

    With those of the share of successes as a control variate, whose mean is 1.
    """
    sizes = counts.sum(axis=-1)
    best = TRUTH * (1 - TRUTH) / sizes
    share = (counts[..., 1] / sizes - TRUTH) ** 2
    return ((estimate - TRUTH) ** 2 - share) / best + 1


def paired_error(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Standard errors of the ratio of two means, of the same data sets."""
    ratio = above.mean(axis=0) / below.mean(axis=0)
    off = (above - ratio * below) / below.mean(axis=0)
    return off.std(axis=0, ddof=1) / np.sqrt(len(off))


@jax.jit
def _noisy(
    key: Key, noise: DiscreteLaplace, counts: Int[ArrayLike, "*shape"]
) -> Int[Array, "*shape"]:
    return noise.sample(key, jnp.asarray(counts))


@jax.jit
@partial(jax.vmap, in_axes=(0, 0, 0))
def _ops(
    key: Key, counts: Int[ArrayLike, " 2"], temperature: Float[Array, ""]
) -> Float[Array, ""]:
    law = PosteriorSample(COIN.layout, temperature, float(OMEGA), REPLACE_ONE)
    return law.sample(key, jnp.asarray(counts))[1]
