"""The law of a sample of a family's parameters, and the loss of it by enumeration."""

import functools

import jax
import numpy as np

from tests.helpers.neighbours import data_sets, neighbouring_pairs, worst_loss


def rounded_records(statistic, records):
    """Every different vector that one of these records is rounded to."""
    measure = jax.jit(jax.vmap(statistic.measure))
    return np.unique(np.asarray(measure(records[:, None, :])), axis=0)


def log_law(mechanism, vector):
    scores, unit = mechanism.scores([int(x) for x in vector])
    logits = np.array([float(unit * (s - max(scores))) for s in scores])
    return logits - np.logaddexp.reduce(logits)


def loss_of(mechanism, vectors, n):
    """Over all neighbours of n records, or n and n + 1."""

    @functools.cache
    def of_total(total):
        return log_law(mechanism, total)

    def law(data):
        return of_total(tuple(map(sum, zip(*data, strict=True))) or zero)

    zero = (0,) * len(vectors[0])
    vectors = list(map(tuple, vectors))
    sizes = {n, n + (mechanism.adjacency == "add-remove")}
    pairs = neighbouring_pairs(data_sets(vectors, sizes), vectors, mechanism.adjacency)
    return worst_loss(law, pairs)
