"""Rows of Table 1 of mechanisms that sample: the posterior sampler, and the MAP."""

__all__ = ["of_lemma_4", "of_map", "of_sampler", "untruncated"]

import math
from collections.abc import Iterator
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
from scipy.special import betainc, logsumexp

from dpjax.data.bayes_net import BayesNet
from dpjax.mechanisms import CellMass
from dpjax.privacy import REPLACE_ONE, exact_epsilon
from dpjax.theory import (
    Theorem4,
    bernoulli_constant,
    beta_constant,
    beta_likelihood_ratio,
    lemma_2,
    lemma_3,
    lemma_4,
    network_constant,
    posterior_sample_cost,
    theorem_4,
    truncation,
)
from papers.networks import COIN
from papers.zhang.guarantees import EPSILONS, RECORDS, Row

_ONE_NODE = "one node"
_GRID = 2_001  # points of a density
_LARGE = ("20", "30")  # where the corrected Lemma 4 says most


def of_sampler(name: str, net: BayesNet) -> Iterator[Row]:
    """Theorem 4, part 1, of two records that differ in a single variable.

    The support is truncated as appendix C.2 does for this ε. Printed: the distance of
    the two is 1. Measured: twice the largest log-ratio of their likelihoods, at a
    corner of the support, where every table that the variable is in goes from one end
    of its range to the other.
    """
    k = len(net.names)
    most = max(sum(i in family for family in net.families) for i in range(k))
    for text in EPSILONS:
        omega = truncation(2, exact_epsilon(text) / Fraction(2 * k))
        constants = [bernoulli_constant(omega)] * k
        printed = 2 * lemma_2(constants, [1.0] + [0.0] * (k - 1))
        cost = posterior_sample_cost(network_constant(constants), REPLACE_ONE)
        measured = 2 * most * math.log(float((1 - omega) / omega))
        yield Row(
            "Sampler",
            "Theorem 4, part 1",
            name,
            float(text),
            "twice the log-ratio of two records, in nats",
            printed,
            float(cost.epsilon),
            measured,
            math.inf if measured <= printed else -math.inf,
        )


def untruncated(net: BayesNet, prior: float, least: float) -> Theorem4:
    """Theorem 4, part 2, with Beta(prior, prior) for every row and L₀ = `least`."""
    rows = net.layout.length // 2
    try:
        constant = lemma_3([beta_constant(prior, prior, least)] * rows, least)
    except ValueError:  # nothing is left for so many rows
        constant = 0.0
    ratios = [beta_likelihood_ratio(RECORDS, prior, prior)] * rows
    return theorem_4(constant, least, ratios)


def of_map() -> Iterator[Row]:
    """Corollary 4: the loss of Algorithm 3 with densities as scores, by quadrature.

    One node, its probability between .4 and .6, 1,000 records.
    """
    omega, n = 0.4, 1000
    sensitivity = math.sqrt(math.log((1 - omega) / omega))
    theta = np.linspace(omega, 1 - omega, _GRID)
    counts = np.arange(n + 1)[:, None]
    logs = counts * np.log(theta)[None] + (n - counts) * np.log1p(-theta)[None]
    ends = np.where((theta == theta[0]) | (theta == theta[-1]), 0.5, 1.0)[None]
    masses = np.exp(logs - np.asarray(logsumexp(logs, axis=1, b=ends, keepdims=True)))
    density = masses * (_GRID - 1) / (1 - 2 * omega)
    for text in EPSILONS:
        scores = float(text) / (2 * sensitivity) * density
        total = np.asarray(logsumexp(scores, axis=1, b=ends, keepdims=True))
        loss = _loss(scores - total)
        about = "privacy loss, in nats; corrected: of masses of cells"
        holds = math.inf if loss <= float(text) else -math.inf
        found = (float(text), about, float(text), _exact_loss(text), loss, holds)
        yield Row("MAP", "Corollary 4", _ONE_NODE, *found)


def _exact_loss(epsilon: str) -> float:
    """Of `CellMass`, which scores masses of cells: enumerated, 50 records."""
    law = CellMass.calibrate(COIN.layout, epsilon, REPLACE_ONE, omega="0.4", units=20)
    laws = [
        law.law(jnp.array([RECORDS - ones, ones], jnp.int32))
        for ones in range(RECORDS + 1)
    ]
    return _loss(np.log(laws))


def _loss(log_laws: np.ndarray) -> float:
    """The largest log-ratio of neighbours: data sets whose counts differ by 1."""
    return float(np.abs(np.diff(log_laws, axis=0)).max())


def of_lemma_4() -> Iterator[Row]:
    """How often Algorithm 3 misses by 2t: two cells, 20 records, all of them 1.

    The cells are the two halves of [.001, .999], the scores their posterior masses.
    """
    omega, n, t = 0.001, 20, 0.49
    sensitivity = math.sqrt(math.log((1 - omega) / omega))
    ends = betainc(n + 1, 1, np.array([omega, 0.5, 1 - omega]))
    masses = np.diff(ends) / (ends[-1] - ends[0])
    for text in (*EPSILONS, *_LARGE):
        weights = float(text) / (2 * sensitivity) * masses
        law = np.exp(weights - logsumexp(weights))
        missed = float(law[masses <= masses.max() - 2 * t].sum())
        good = float((masses > masses.max() - t).mean())
        printed = lemma_4(good, t, text, sensitivity, printed=True)
        corrected = lemma_4(good, t, text, sensitivity)
        about = "probability of missing the best score by 0.98"
        holds = math.inf if missed <= printed else -math.inf
        yield Row(
            "MAP",
            "Lemma 4",
            _ONE_NODE,
            float(text),
            about,
            printed,
            corrected,
            missed,
            holds,
        )
