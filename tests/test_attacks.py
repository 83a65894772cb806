"""Floating-point noise gives the data away; nothing that the library publishes does.

The reason for two grades of noise: what is drawn in floats can be studied, and only
what is drawn in integers can be released.
"""

import json
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import dpjax as dp
from dpjax.mechanisms import DiscreteLaplace, Laplace, SplitLaplace
from dpjax.mechanisms.recipes import recipe_of
from dpjax.noise import laplace
from dpjax.noise.discrete_laplace import WIDEST
from dpjax.privacy import Sensitivity
from dpjax.statistics import Sufficient
from tests.helpers import attacks
from tests.helpers.cases import mostly_thorough
from tests.helpers.statistical import assert_at_least

STUDIED = Laplace(1.0, Sensitivity(1, "add-remove"))
BINARY = dp.BayesNet.naive_bayes({"t": [0, 1], "x": [0, 1]}, "t")
NUMBERS = dp.Interval("v", 0, 1), dp.Interval("w", 0, 1)
EVENTS = np.array([[0, 0], [0, 1], [1, 1], [1, 1]], np.uint8)
POINTS = np.array([[0.25, 0.5], [0.0, 1.0], [0.75, 0.125], [1.0, 1.0]])


def draw_by_jax(key, counts):
    return counts.astype(float) + jr.laplace(key, counts.shape)


@pytest.mark.parametrize("draw", [draw_by_jax, STUDIED.sample], ids=["jax", "Laplace"])
def test_a_float_tells_two_counts_apart(draw, key):
    """ε = 1 lets nobody guess better than 73 % of the time, or ever be certain.

    Of nine releases in ten, one count of the two is impossible. It is never the true
    one.
    """
    key_truth, key_noise = jr.split(key)
    truth = jr.bernoulli(key_truth, 0.5, (20_000,)).astype(jnp.int32)
    guesses = attacks.verdicts(draw(key_noise, truth), (0, 1), 1.0)
    certain = guesses >= 0
    np.testing.assert_array_equal(guesses[certain], np.asarray(truth)[certain])
    assert_at_least(certain.sum(), truth.size, 0.88)
    assert (guesses != -2).all()  # it was the library's sampler that was attacked


@pytest.mark.parametrize("draw", [draw_by_jax, STUDIED.sample], ids=["jax", "Laplace"])
def test_the_lowest_bits_of_a_float_tell_two_counts_apart(draw, key):
    """A number near 0 has bits that the sum of 1 and some noise cannot have."""
    noisy = [
        np.asarray(draw(k, jnp.full(20_000, count, jnp.int32)))
        for k, count in zip(jr.split(key), (0, 1), strict=True)
    ]
    bits = jnp.finfo(jnp.result_type(float)).nmant
    fine = [(attacks.last_place(x) < -bits - 1).sum() for x in noisy]
    assert_at_least(fine[0], 20_000, 0.2)
    assert fine[1] == 0
    features = [{"last place": attacks.last_place(x)} for x in noisy]
    assert attacks.loses(*features, epsilon=1)


class Kind(NamedTuple):
    """A kind of release: of records, and of as many and one more."""

    what: Any
    records: np.ndarray
    mechanism: str = "laplace"
    options: Callable[[int], dict] = lambda draws: {}
    epsilon: str = "1/2"  # of a draw


def samples(draws):
    """Many at once: the law of one is worked out once."""
    return {"samples": draws}


# Of few units, so that all noise is drawn by one compiled program.
SUMS = Sufficient.of("gaussian-mean", NUMBERS[:1], "add-remove", units=4, variance=0.1)
LINE = Sufficient.of("linear-regression", NUMBERS, "add-remove", units=4)
RATE = Sufficient.of("exponential", NUMBERS[:1], "add-remove")
NOISY = {
    "counts": Kind(BINARY, EVENTS),
    "counts of all families": Kind(dp.statistics.NetworkCounts(BINARY, "all"), EVENTS),
    "split counts": Kind(
        dp.statistics.NetworkCounts(BINARY, "all"),
        EVENTS,
        options=lambda draws: {"split": {"t": "1/8", "x": "3/8"}},
    ),
    "Fourier coefficients": Kind(BINARY, EVENTS, "fourier"),
    "sums": Kind(SUMS, POINTS[:, :1]),
    "sums of a regression": Kind(LINE, POINTS, epsilon="2"),
}
DRAWN = {
    "posterior samples": Kind(
        BINARY, EVENTS, "posterior-sample", lambda m: {"units": 20, **samples(m)}
    ),
    "a draw near the mode": Kind(BINARY, EVENTS, "map", lambda _: {"units": 8}),
    "a draw near the largest mass": Kind(
        BINARY, EVENTS, "map-cells", lambda _: {"units": 3, "omega": "1/4"}
    ),
    "posterior samples of a family": Kind(
        RATE, POINTS[:, :1], "posterior-sample", lambda m: {"points": 50, **samples(m)}
    ),
}
ALL = NOISY | DRAWN


def drawn(mechanism, exact, draws):
    """What `release` publishes of an exact statistic, many times."""
    if isinstance(mechanism, DiscreteLaplace):  # of many at once, as of one statistic
        at_once = 4096 // exact.size
        many = np.tile(exact, at_once)
        parts = [mechanism.draw(many) for _ in range(-(-draws // at_once))]
        return np.concatenate(parts).reshape(-1, exact.size)[:draws]
    if isinstance(mechanism, SplitLaplace):  # its tables have mechanisms of their own
        tables = np.split(np.asarray(exact), np.cumsum(mechanism.lengths)[:-1])
        parts = zip(mechanism.parts.values(), tables, strict=True)
        return np.concatenate([drawn(*x, draws) for x in parts], axis=1)
    return np.concatenate([np.atleast_2d(mechanism.draw(exact)) for _ in range(draws)])


def published(kind, records, draws):
    """Many releases as one with a leading axis, and the exact statistic."""
    options = kind.options(draws)
    each = draws if "samples" in options else 1
    released = dp.release(
        kind.what,
        records,
        epsilon=Fraction(kind.epsilon) * each,
        adjacency="add-remove",
        mechanism=recipe_of(kind.mechanism, options),
    )
    exact = released.statistic.measure(jnp.asarray(records))
    if each > 1:
        return released, exact
    values = jnp.asarray(drawn(released.mechanism, exact, draws))
    return dp.Released(values, released.statistic, released.mechanism, None), exact


@partial(jax.jit, static_argnames="statistic")
def views(values, statistic, mechanism):
    """What anyone makes of releases, a row a draw."""
    if isinstance(mechanism, dp.mechanisms.ParameterMechanism):
        return {"parameters": mechanism.parameters(values)}
    if isinstance(statistic, Sufficient):
        total, n = statistic.decode(values)
        return {"total": total, "n": n[:, None]}

    def naive(values):
        one = dp.Released(values, statistic, mechanism, None)
        return dp.posterior(one, noise_aware=False).concentration

    released = dp.Released(values, statistic, mechanism, None)
    return {"counts": released.counts(), "posterior": jax.vmap(naive)(values)}


def loses(kind, draws):
    """Whether the attack beats ε on what is released of two neighbours."""
    several = [published(kind, x, draws) for x in (kind.records, kind.records[:-1])]
    pair = ()  # of no use where what is released is no exact number and noise
    if kind in NOISY.values():
        exact = np.stack([exact for _, exact in several])
        pair = exact, scale_of(several[0][0].mechanism)
    features = []
    for released, _ in several:
        found = attacks.features_of(released.values, *pair)
        made = views(released.values, released.statistic, released.mechanism)
        for name, view in made.items():
            seen = attacks.features_of(view)
            found |= {f"{name}, {feature}": x for feature, x in seen.items()}
        features.append(found)
    return attacks.loses(*features, float(Fraction(kind.epsilon)))


def scale_of(mechanism):
    """Of the noise, in units of the numbers."""
    if isinstance(mechanism, SplitLaplace):
        return 1 / np.asarray(mechanism.rates)
    return 1 / mechanism.rho


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_thorough(ALL, 3))
def test_attacks_on_a_release_are_at_chance(name):
    assert not loses(ALL[name], 4000 if name in NOISY else 200)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ALL)
def test_attacks_on_many_releases_are_at_chance(name):
    assert not loses(ALL[name], 200_000 if name in NOISY else 4000)


def draw_in_parts(mechanism, exact):
    return jnp.asarray(drawn(mechanism, exact, 1)[0])


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_thorough(NOISY, 2))
def test_the_same_attacks_succeed_on_noise_in_floats(name, monkeypatch, key):
    """Power: a mechanism that publishes floats would be found out."""
    keys = iter(jr.split(key, 1000))

    def draw_in_floats(self, exact):
        return exact.astype(float) + laplace.sample(
            next(keys), 1 / self.rho, exact.shape
        )

    monkeypatch.setattr(DiscreteLaplace, "draw", draw_in_floats)
    monkeypatch.setattr(SplitLaplace, "draw", draw_in_parts)
    assert loses(NOISY[name], 1000)


def test_attacks_are_at_chance_where_numbers_are_clipped():
    """Noise beyond ±2^53 is clipped with the count, so that it shows no more."""
    mechanism = DiscreteLaplace.calibrate("1/2", Sensitivity(1, "add-remove"))
    edges = [
        drawn(mechanism, np.full(1, count), 4000) for count in (WIDEST, WIDEST - 1)
    ]
    assert max(x.max() for x in edges) == WIDEST
    features = [attacks.features_of(x) for x in edges]
    assert not attacks.loses(*features, epsilon=0.5)


@pytest.mark.parametrize("name", ALL)
def test_a_file_shows_integers_and_public_facts_alone(name, tmp_path):
    """Files of neighbours differ in the noisy integers, and in the hash over them."""
    kind, contents = ALL[name], []
    for records in (kind.records, kind.records[:-1]):
        options = kind.options(1)
        released = dp.release(
            kind.what,
            records,
            epsilon=kind.epsilon,
            adjacency="add-remove",
            mechanism=recipe_of(kind.mechanism, options),
        )
        assert jnp.issubdtype(released.values.dtype, jnp.integer)
        released.save(tmp_path / "release.json")
        document = json.loads((tmp_path / "release.json").read_text())
        assert document["content"].pop("values") == released.values.tolist()
        assert len(document.pop("sha256")) == 64
        contents.append(document)
    assert contents[0] == contents[1]
