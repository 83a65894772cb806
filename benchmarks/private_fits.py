"""Private naive-Bayes fits and predictions on binary records, to be repeated.

Each repeat trains on two thirds of the records, at random, and predicts the others.
"""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax

import dpjax as dp
from dpjax.mechanisms import Laplace
from dpjax.privacy import Sensitivity
from dpjax.random import study_key

EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
RECORDS, FEATURES = 1000, 16
TRAINING = 2 * RECORDS // 3
SENSITIVITY = Sensitivity(2 * FEATURES, "replace-one", tight=True)


def data(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Features (n, d) and labels (n,), both of zeros and ones, as float32."""
    labels = rng.integers(0, 2, RECORDS)
    chances = rng.uniform(0.1, 0.9, (2, FEATURES))
    features = rng.random((RECORDS, FEATURES)) < chances[labels]
    return features.astype(np.float32), labels.astype(np.float32)


def split(key, records):
    """The records and which to train on: those with the smallest random words.

    The largest of these words is found bit by bit: sorting takes longer.
    """
    words = jr.bits(key, (RECORDS,), jnp.uint32)

    def with_bit(i, found):
        larger = found | (jnp.uint32(1) << (31 - i).astype(jnp.uint32))
        return jnp.where((words < larger).sum(dtype=int) < TRAINING, larger, found)

    return *records, words <= lax.fori_loop(0, 32, with_bit, jnp.uint32(0))


def experiment(key, epsilon, records):
    """Accuracy on the records that are not for training."""
    features, labels, training = records
    member = jnp.stack([(1 - labels) * training, labels * training])
    ones = jnp.matmul(member, features, precision="highest")
    exact = jnp.stack([member.sum(axis=1, keepdims=True) - ones, ones])
    noisy = Laplace(epsilon, SENSITIVITY).sample(key, exact)
    cells = 1 + jnp.maximum(noisy, 0)  # (value, class, feature)
    logs = jnp.log(cells / cells.sum(axis=0))
    odds = logs[:, 1] - logs[:, 0]
    totals = cells.sum(axis=0).mean(axis=1)
    start = odds[0].sum() + jnp.log(totals[1] / totals[0])
    predicted = jnp.matmul(features, odds[1] - odds[0]) + start > 0
    right = (predicted == (labels == 1)) & ~training
    return {"accuracy": right.sum() / (~training).sum()}


def sweep(records, repeats: int, mesh: jax.sharding.Mesh | None = None) -> np.ndarray:
    """Accuracies of so many repeats at each ε, (e, repeats)."""
    result = dp.sweep(
        study_key(0),
        experiment,
        records,
        epsilons=EPSILONS,
        prepare=split,
        repeats=repeats,
        block=64,
        mesh=mesh,
    )
    return result["accuracy"]
