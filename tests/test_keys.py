"""Keys are used once, and shown by nothing: not by results, nor by errors.

`conftest.py` runs every test under `jax.debug_key_reuse`. What it cannot follow, keys
that go through their raw words, is watched here as it happens.
"""

import dataclasses
import importlib
import inspect
import pkgutil
import re
import types
from fractions import Fraction

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from jax.extend.random import define_prng_impl

import dpjax as dp
from dpjax.chains import charged_chain, draw_log_gamma, price_of, run
from dpjax.distributions.rejection import each_until_accepted, until_accepted
from dpjax.mechanisms import DiscreteLaplace, NetworkPosteriorSampler
from dpjax.mechanisms.recipes import recipe_of
from dpjax.noise import discrete_laplace, tables
from dpjax.noise.keys import release_key, threefry
from tests.helpers.networks import TINY

from .test_discrete_laplace import HIGH, tied_table
from .test_private_chains import start, toy

DRAWN_FROM = []  # the words of every key that bits were drawn from


def note(words):
    DRAWN_FROM.append(tuple(np.asarray(words).tolist()))


def noted_bits(key, width, shape):
    jax.debug.callback(note, key)
    return threefry._random_bits(key, width, shape)


WATCHED = define_prng_impl(
    key_shape=(2,),
    seed=threefry._seed,
    split=threefry._split,
    random_bits=noted_bits,
    fold_in=threefry._fold_in,
    name="watched_threefry",
    tag="watched",
)


def keys_of(function, *arguments):
    """The words of every key that bits are drawn from, in no order."""
    DRAWN_FROM.clear()
    jax.block_until_ready(jax.jit(function)(jr.key(7, impl=WATCHED), *arguments))
    jax.effects_barrier()
    return list(DRAWN_FROM)


# ---- redraw loops: fresh bits in every pass


def test_bits_of_one_key_drawn_twice_are_noticed():
    twice = keys_of(lambda key: (jr.bits(key), jr.bits(jr.clone(key))))
    assert len(twice) == 2 > len({*twice})


def test_a_digit_is_drawn_anew_from_fresh_bits(monkeypatch):
    monkeypatch.setattr(tables, "MOST_TOP_VALUES", 2)
    monkeypatch.setattr(tables, "OVERFLOW_EXPONENT", Fraction(1, 25))
    table = tables.build(Fraction(1, 50))
    used = keys_of(lambda key: discrete_laplace.sample(key, table, (400,)))
    assert len(used) == len({*used}) > 10  # mostly passes


def test_ties_are_resolved_with_fresh_bits(monkeypatch):
    """Words of three values tie nearly always, and three of four draws overflow."""
    fine, table = jr.bits, tied_table(2, HIGH[:3])
    monkeypatch.setattr(jr, "bits", lambda *given: fine(*given) % 3 + jnp.uint32(5))
    used = keys_of(lambda key: discrete_laplace.sample(key, table, (2000,)))
    assert len(used) == len({*used}) >= 4  # words, and at least three passes


def test_gamma_draws_take_fresh_bits_in_every_pass():
    used = keys_of(lambda key: draw_log_gamma(key, jnp.full(3000, 0.7)))
    assert len(used) == len({*used}) >= 5  # two a pass, one for the power


@pytest.mark.parametrize(  # of many lanes, those that are left are gathered
    "lanes", [64, pytest.param(2048, marks=pytest.mark.thorough)]
)
def test_lanes_are_drawn_for_anew_with_fresh_bits(lanes):
    def draw(key, parameters):
        uniform = jr.uniform(key, parameters.shape)
        return uniform, uniform > 0.9

    valid = jnp.ones(lanes, bool)
    used = keys_of(lambda key: until_accepted(key, draw, jnp.zeros(lanes), valid))
    assert len(used) == len({*used}) > 20


def test_lanes_that_wait_are_served_with_fresh_bits_in_every_pass():
    """Those of 130 lanes are in three groups, which are drawn for together."""

    def draw(key, parameters):
        uniform = jr.uniform(key, parameters.shape)
        return uniform, uniform > 0.9

    zeros, valid = jnp.zeros(130), jnp.ones(130, bool)
    used = keys_of(lambda key: each_until_accepted(key, draw, zeros, valid))
    assert len(used) == len({*used}) > 100


# ---- nothing shows a key


def public_objects():
    """Every public class and function of every public module of the package."""
    for info in pkgutil.walk_packages(dp.__path__, "dpjax."):
        if not re.search(r"\._", info.name):
            for name, thing in vars(importlib.import_module(info.name)).items():
                if not name.startswith("_") and inspect.getmodule(thing) is not None:
                    yield f"{info.name}.{name}", thing


def is_key(annotation):
    text = annotation if isinstance(annotation, str) else str(annotation)
    return "Key[" in text and "Callable" not in text


def test_no_public_object_has_a_place_for_a_key():
    """Neither fields nor what functions return; keys come from two functions alone."""
    holding, returning, classes = set(), set(), 0
    for name, thing in public_objects():
        if inspect.isclass(thing):
            classes += 1
            annotations = inspect.get_annotations(thing)
            if any(is_key(x) for x in annotations.values()):
                holding.add(name)
        elif isinstance(thing, types.FunctionType) and is_key(
            inspect.signature(thing).return_annotation
        ):
            returning.add(thing.__name__)
    assert classes > 60
    assert not holding
    assert returning == {"release_key", "study_key"}


CANARY = np.arange(8, dtype=np.uint32) * 123_456_789 + 987_654_321


def texts(thing):
    """Whatever `repr`, `str` and `vars` show, of parts as well."""
    yield from (repr(thing), str(thing), f"{thing}")
    if dataclasses.is_dataclass(thing):
        for part in vars(thing).values():
            yield from (repr(part), str(part))


NET = TINY["chain"]
RECORDS = np.array([[0, 1], [1, 2], [1, 0]], np.uint8)


def released(mechanism):
    options = {} if mechanism == "laplace" else {"omega": "1/8", "units": 8}
    recipe = recipe_of(mechanism, options)
    return dp.release(
        NET, RECORDS, epsilon=1, adjacency="replace-one", mechanism=recipe
    )


def a_posterior(key):
    return dp.posterior(released("laplace"), noise_aware=False)


OBJECTS = {
    "release": lambda key: released("laplace"),
    "samples": lambda key: released("posterior-sample"),
    "ledger": lambda key: dp.Ledger(1, adjacency="replace-one"),
    "noise": lambda key: DiscreteLaplace.calibrate(
        1, dp.statistics.NetworkCounts(NET).sensitivity("replace-one")
    ),
    "grid": lambda key: NetworkPosteriorSampler.posterior(NET.layout, 1, "replace-one"),
    "posterior": a_posterior,
    "sweep": lambda key: dp.sweep(
        key,
        lambda key, mechanism, data: {"x": jr.normal(key) + data.sum()},
        jnp.zeros(2),
        epsilons=[1],
        repeats=2,
    ),
    "paid chain": lambda key: charged_chain(
        key, jnp.zeros(2, jnp.int32), toy("1"), start(), sweeps=2
    ),
    "free chain": lambda key: run(
        key, lambda key, state: (state + jr.normal(key), None), jnp.zeros(()), 2
    ),
}


SLOW = {"release", "samples", "posterior", "paid chain"}  # to compile


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        pytest.param(make, marks=pytest.mark.thorough if name in SLOW else (), id=name)
        for name, make in OBJECTS.items()
    ],
)
def test_no_object_shows_the_key_that_it_came_from(make, monkeypatch):
    for module in ("mechanisms.discrete_laplace", "noise.keys.chacha", "noise.keys"):
        place = importlib.import_module(f"dpjax.{module}")
        monkeypatch.setattr(place, "release_key", canary)
    thing = make(canary())
    shown = "\n".join(texts(thing))
    assert not any(str(word) in shown for word in CANARY)
    assert "key<" not in shown
    assert not any(
        jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        for leaf in jax.tree.leaves(thing)
        if hasattr(leaf, "dtype")
    )


def canary():
    from_system = release_key()
    return jr.wrap_key_data(jnp.asarray(CANARY), impl=jr.key_impl(from_system))


@pytest.mark.parametrize(
    "call",
    [
        lambda key: DiscreteLaplace.calibrate(key, None),
        lambda key: dp.Ledger(key, adjacency="replace-one"),
        lambda key: dp.Ledger(1, adjacency=key),
        lambda key: price_of(Fraction(1), [key], "replace-one"),
        lambda key: dp.privacy.PureDP(key, "replace-one"),
        lambda key: dp.release(NET, RECORDS, epsilon=1, adjacency=key),
        lambda key: dp.release(NET, RECORDS, epsilon=key, adjacency="replace-one"),
        lambda key: charged_chain(key, None, [], {}, sweeps=key),
        lambda key: dp.sweep(key, None, {}, {}, epsilons=[1], repeats=key),
        lambda key: NetworkPosteriorSampler.posterior(
            NET.layout, 1, "replace-one", samples=key
        ),
    ],
)
@pytest.mark.parametrize("form", [lambda key: key, jr.key_data], ids=["typed", "words"])
@pytest.mark.usefixtures("as_for_a_user")
def test_no_error_shows_a_key_that_is_in_the_wrong_place(call, form):
    with pytest.raises((ValueError, TypeError)) as error:
        call(form(canary()))
    assert not any(str(word) in str(error.value) for word in CANARY)
