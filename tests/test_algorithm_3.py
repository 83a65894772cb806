"""Where Algorithm 3 and Lemma 4 fail as printed: errata E4 and E7 of the paper."""

import math

import numpy as np
import pytest
from scipy import integrate

from dpjax import theory


def test_error_e4_densities_move_too_much_for_algorithm_3():
    """Beta-Bernoulli, uniform prior on [ω, 1 - ω], replacing one of n records."""
    n, omega = 1000, 0.4
    theta = np.linspace(omega, 1 - omega, 2001)  # steps small beside 1 / n
    ones = np.arange(n + 1)[:, None]
    logs = ones * np.log(theta) + (n - ones) * np.log1p(-theta)
    density = np.exp(logs - logs.max(axis=1, keepdims=True))
    density /= integrate.simpson(density, x=theta)[:, None]
    change = np.abs(np.diff(density, axis=0))
    variation = integrate.simpson(change, x=theta).max() / 2
    root = math.sqrt(math.log((1 - omega) / omega))  # √L, Δ of Algorithm 3
    assert (change.max(), variation) == pytest.approx((4.16, 0.0253), rel=2e-3)
    assert variation <= root < change.max()
    weights = density / (2 * root)  # at ε = 1, in logs
    peaks = weights.max(axis=1)
    totals = integrate.simpson(np.exp(weights - peaks[:, None]), x=theta)
    law = weights - (np.log(totals) + peaks)[:, None]
    assert np.abs(np.diff(law, axis=0)).max() == pytest.approx(3.71, abs=5e-3)


def test_error_e7_the_printed_lemma_4_fails():
    """Two cells, halves of [ω, 1 - ω], uniform prior, 20 successes of 20."""
    omega, n, epsilon, t = 0.001, 20, 5, 0.49
    edges = np.array([omega, 0.5, 1 - omega]) ** (n + 1)
    scores = np.diff(edges) / (edges[-1] - edges[0])
    assert scores.max() - scores.min() >= 2 * t
    delta = math.sqrt(math.log((1 - omega) / omega))
    weights = np.exp(epsilon * scores / (2 * delta)) / 2
    missed = weights[0] / weights.sum()
    printed = theory.lemma_4(0.5, t, epsilon, delta, printed=True)
    assert (delta, missed, printed) == pytest.approx((2.63, 0.279, 0.173), abs=5e-3)
    assert printed < missed <= theory.lemma_4(0.5, t, epsilon, delta)


def test_lemma_4_holds_as_corrected(rng):
    said_something = 0
    for _ in range(2000):
        scores, base = rng.dirichlet(np.full(6, 0.2)), rng.dirichlet(np.ones(6))
        delta, epsilon = rng.uniform(0.05, 1), float(round(rng.uniform(0.1, 50), 3))
        t = rng.uniform(0, 0.5)
        law = base * np.exp(epsilon * scores / (2 * delta))
        missed = (law / law.sum())[scores <= scores.max() - 2 * t].sum()
        good = min(base[scores > scores.max() - t].sum(), 1.0)
        bound = theory.lemma_4(good, t, epsilon, delta)
        assert missed <= bound
        said_something += 0 < missed and bound < 1
    assert said_something > 100


@pytest.mark.parametrize(
    ("message", "arguments"),
    [
        ("`mass_of_good_set` must be above 0", (0, 0.1, 1, 1)),
        ("`mass_of_good_set` must be above 0", (1.1, 0.1, 1, 1)),
        ("`t` must be positive", (0.5, 0, 1, 1)),
        ("`sensitivity` must be positive", (0.5, 0.1, 1, 0)),
        ("`epsilon` must be a finite number > 0", (0.5, 0.1, 0, 1)),
    ],
)
def test_arguments_of_lemma_4_must_be_in_range(message, arguments):
    with pytest.raises(ValueError, match=message):
        theory.lemma_4(*arguments)
