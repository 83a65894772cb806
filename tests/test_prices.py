"""What a paid update is charged, and the numbers that are taken for its bounds."""

import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from dpjax.chains.price import (
    Clip,
    charge,
    clip_to,
    float_above,
    float_below,
    full_loss,
    of_each,
    price_of,
    refuse_traced,
    shaped,
    table_width,
)
from dpjax.event_logs.charged import ChargedHiddenMarkov, _width
from dpjax.privacy import Ledger, PureDP, advanced

ONE = Fraction(1, 3)


@pytest.mark.parametrize(
    ("adjacency", "times"), [("replace-one", 2), ("add-remove", 1)]
)
@pytest.mark.parametrize("width", [Fraction(1, 7), Fraction(22, 7)])
def test_a_price_is_epsilon_or_what_temperature_one_costs(width, adjacency, times):
    assert full_loss(width, adjacency) == times * width
    for epsilon in (Fraction(1, 100), times * width, Fraction(99)):
        price = price_of(width, epsilon, adjacency)
        assert price.cost == PureDP(min(epsilon, times * width), adjacency)
        heat = Fraction(price.temperature)
        assert 1 <= heat <= max(1, times * width / epsilon * Fraction(1000001, 1000000))
        assert times * width / heat <= price.cost.epsilon


def test_latents_that_show_the_number_of_records_are_refused():
    assert price_of(ONE, 1, "replace-one", ["z"]).cost.epsilon == 2 * ONE
    with pytest.raises(ValueError, match="`latents` must be left out"):
        price_of(ONE, 1, "add-remove", ["z"])


def test_floats_are_on_the_side_that_their_name_says():
    for k in range(1, 200):
        exact = Fraction(k * 10**9 + 1, 7**11)
        above, below = float_above(exact), float_below(exact)
        assert Fraction(below) <= exact <= Fraction(above)
        assert np.float32(above) == above
        assert np.nextafter(np.float32(below), np.float32(np.inf)) >= above
    assert float_above(Fraction(1, 4)) == float_below(Fraction(1, 4)) == 0.25


@pytest.mark.parametrize("size", [2, 3, 10])
def test_the_width_of_a_table_is_the_logarithm_of_its_odds(size):
    for least in (Fraction(1, 10**7), Fraction(1, 50), Fraction(1, size + 1)):
        width = table_width(size, least)
        exact = math.log((1 - (size - 1) * least) / least)
        assert exact * (1 - 1e-14) <= width <= exact * (1 + 2e-12)
    for least in (Fraction(1, size), Fraction(1, 2), Fraction(99, 10**9)):
        with pytest.raises(ValueError, match="`least` must be at least 1e-7"):
            table_width(size, least)


def test_an_event_is_as_wide_as_all_of_its_fields():
    fields, truncation = (3, 2, 7), 10
    exact = sum(math.log(truncation * k - (k - 1)) for k in fields)
    assert exact < _width(fields, truncation) < exact * (1 + 1e-5)
    for wrong in (1, 10_001):
        with pytest.raises(ValueError, match="`truncation` must be"):
            _width(fields, wrong)


def test_what_is_outside_of_the_bounds_is_clipped_inwards():
    clip = clip_to(("-1.1", "0.1"))
    assert clip == Clip(Fraction(-11, 10), Fraction(1, 10))
    assert clip.width == Fraction(12, 10)
    given = jnp.asarray([-5.0, -1.0, 0.0, 5.0, np.nan, np.inf, -np.inf])
    kept = [Fraction(float(x)) for x in clip(given)]
    assert clip.low <= min(kept)
    assert max(kept) <= clip.high
    assert kept[1:3] == [-1, 0]
    assert kept[0] == kept[4] == kept[6]
    assert kept[3] == kept[5]
    assert clip_to((-3, -2)).width == clip_to(("-0", "1")).width == 1
    assert clip_to((0, 2)) == Clip(Fraction(0), Fraction(2))


@pytest.mark.parametrize("bounds", [(1, 0), (1, 1), (0, "nan"), (0, "-inf")])
def test_bounds_that_are_none_are_refused(bounds):
    with pytest.raises(ValueError, match="`bounds` must be two finite numbers"):
        clip_to(bounds)


def test_a_record_is_given_its_own_latents_and_no_other():
    state = {"z": jnp.arange(3), "other": jnp.asarray(10)}
    each = of_each(lambda state, record, own: (record, own["z"], state["other"]), ["z"])
    records, own, other = each(state, jnp.asarray([5, 6, 7]))
    assert records.tolist() == [5, 6, 7]
    assert own.tolist() == [0, 1, 2]
    assert other.tolist() == [10] * 3


def test_a_likelihood_of_more_numbers_is_refused():
    assert shaped(jnp.ones((2, 3)), (2, 3), "x").shape == (2, 3)
    for shape in ((), (3,), (2, 4), (7, 2, 3)):
        with pytest.raises(ValueError, match="`x` must have shape"):
            shaped(jnp.ones(shape), (2, 3), "x")


def test_a_charge_is_made_once_and_not_in_compiled_code():
    ledger, cost = Ledger(1, adjacency="replace-one"), PureDP(ONE, "replace-one")
    charge(ledger, cost, "a run", (1, "text", jnp.ones(2), jr.key(0)))
    assert ledger.spent == ONE
    for traced in (jnp.ones(2), jr.key(0), jnp.zeros((0, 3))):
        run = jax.jit(lambda x: charge(ledger, cost, "a run", (1, {"x": x})))
        with pytest.raises(ValueError, match="must be left out inside `jit`"):
            run(traced)
        with pytest.raises(ValueError, match="must be left out inside `jit`"):
            jax.vmap(lambda x: refuse_traced(2.0, x))(jnp.stack([traced] * 2))
    assert ledger.spent == ONE


def test_paid_events_cost_all_of_their_updates():
    update = PureDP(Fraction(1, 100), "add-remove")
    paid = object.__new__(ChargedHiddenMarkov)
    for name, value in (("update", update), ("updates", 400)):
        object.__setattr__(paid, name, value)
    assert paid.cost == PureDP(Fraction(4), "add-remove")
    assert paid.approximate("1/1000") == advanced(update, 400, "1/1000")
    assert paid.approximate("1/1000").epsilon < 4
