"""Sufficient statistics as integers: sensitivity, adversarial records, privacy."""

import functools
import itertools
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.data.intervals import Interval
from dpjax.data.levels import Variable
from dpjax.families import Categorical, Gaussian, Poisson
from dpjax.statistics import Sufficient
from tests.helpers.families import FAMILIES, random_records, records_on_grid, statistics

from .test_expfam import diameter_of

BOTH = ["replace-one", "add-remove"]
every_family = pytest.mark.parametrize("name", FAMILIES)
both = pytest.mark.parametrize("adjacency", BOTH)


def sufficient(family, adjacency, units=None):
    variables = [
        Variable(f"v{i}", tuple(range(int(upper) + 1)))
        if family.categorical
        else Interval(f"v{i}", lower, upper)
        for i, (lower, upper) in enumerate(family.bounds)
    ]
    return Sufficient(family, tuple(variables), adjacency, units)


@functools.cache
def one_by_one(statistic):
    """The statistic of each record on its own."""
    return jax.jit(jax.vmap(lambda record: statistic.measure(record[None])))


def largest_change(statistic, records):
    vectors = np.asarray(one_by_one(statistic)(records), np.int64)
    if statistic.adjacency == "add-remove":
        return np.abs(vectors).sum(1).max()
    return diameter_of(np.unique(vectors, axis=0))


@every_family
@both
def test_sensitivities_equal_brute_force(name, adjacency):
    family = FAMILIES[name]
    statistic = sufficient(family, adjacency)
    sensitivity = statistic.sensitivity(adjacency)
    found = largest_change(statistic, records_on_grid(family))
    assert found <= sensitivity.value
    if sensitivity.tight:
        assert found == sensitivity.value
    simple = adjacency == "add-remove" or family.dimension == 1 or family.lattice
    assert sensitivity.tight == bool(simple)


@pytest.mark.parametrize("units", [4, 1 << 10, 1 << 16])
@pytest.mark.parametrize("name", ["gaussian", "two columns", "no intercept"])
def test_the_slack_is_a_unit_a_number(name, units):
    family = FAMILIES[name]
    statistic = sufficient(family, "replace-one", units)
    claimed = statistic.sensitivity("replace-one").value
    exact = units * family.diameter(scaled=True).value
    assert exact + family.dimension - 1 < claimed  # a unit each, down to an integer
    assert claimed <= exact + family.dimension * (1 + units / 2**20) + 1
    found = largest_change(statistic, records_on_grid(family))
    coarse = 0.005 if family.columns > 1 else 1e-5
    assert exact * (1 - coarse) - family.dimension <= found <= claimed


def test_rounding_can_move_more_than_the_exact_statistic_does(rng):
    """Why the slack is there: ten components, all rounded outwards."""
    family = FAMILIES["three columns"]
    statistic = sufficient(family, "replace-one", 3)
    records = random_records(rng, family, 2000)
    exact = statistics(family, records) / np.array(family.scales()) * 3
    rounded = np.asarray(one_by_one(statistic)(records))
    gain = np.abs(rounded[:1000] - rounded[1000:]).sum(1) - np.abs(
        exact[:1000] - exact[1000:]
    ).sum(1)
    assert gain.max() > 1
    assert gain.max() <= family.dimension


ADVERSARIAL = [np.nan, np.inf, -np.inf, 1e38, -1e38, -0.0, 1e-40, 3.4e38, 0.5]


@every_family
@both
def test_no_record_moves_more_than_the_sensitivity(name, adjacency, rng):
    family = FAMILIES[name]
    statistic = sufficient(family, adjacency)
    worst = itertools.product(ADVERSARIAL, repeat=family.columns)
    records = np.array(list(worst), np.float32)
    inside = random_records(rng, family, 20)
    records = np.concatenate([records, inside])
    assert largest_change(statistic, records) <= statistic.sensitivity(adjacency).value
    vectors = np.asarray(one_by_one(statistic)(records))
    assert np.abs(vectors).max() <= statistic.most_per_record == statistic.units


@every_family
def test_order_does_not_matter_and_sums_are_of_rounded_records(name, rng):
    family = FAMILIES[name]
    statistic = sufficient(family, "add-remove")
    measure = jax.jit(statistic.measure)
    records = random_records(rng, family, 300)
    total = measure(records)
    assert total.dtype == jnp.int32
    np.testing.assert_array_equal(total, measure(rng.permutation(records)))
    rounded = np.asarray(one_by_one(statistic)(records))
    np.testing.assert_array_equal(total, rounded.sum(0))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "gaussian",
        pytest.param("exponential", marks=pytest.mark.thorough),
        pytest.param("regression", marks=pytest.mark.thorough),
    ],
)
def test_a_records_integers_depend_on_no_other_record_even_beside_ties(name, rng):
    # Where the last bit of a float decides how a record is rounded: one that differed
    # with its place, or with how many there are, would move many sums at once.
    family = FAMILIES[name]
    statistic = sufficient(family, "add-remove")
    lower, upper = np.array(family.bounds).T
    steps = rng.integers(0, statistic.steps, (999, family.columns)) + 0.5
    shares = steps / statistic.steps
    if name == "exponential":
        records = shares * upper
    else:
        shares = np.sqrt(shares) * rng.choice([-1, 1], shares.shape)
        records = (lower + upper) / 2 + shares * (upper - lower) / 2
    records = records.astype(np.dtype(jnp.result_type(float)))
    nudged = np.nextafter(records, rng.choice([-np.inf, np.inf], records.shape))
    records = np.where(rng.random(records.shape) < 0.5, records, nudged)
    alone = np.asarray(one_by_one(statistic)(records))
    for part in (slice(0, 1), slice(1, 8), slice(0, 999)):
        total = jax.jit(statistic.measure)(records[part])
        np.testing.assert_array_equal(total, alone[part].sum(0))
    # XLA divides one record, but multiplies several by the reciprocal.
    eagerly = np.stack([statistic.measure(record[None]) for record in records[:99]])
    np.testing.assert_array_equal(eagerly, alone[:99])
    np.testing.assert_array_equal(statistic.measure(records), alone.sum(0))


@every_family
@both
def test_decoding_gives_the_total_and_the_number_of_records(name, adjacency, rng):
    family = FAMILIES[name]
    statistic = sufficient(family, adjacency)
    records = random_records(rng, family, 200)
    public = 200 if adjacency == "replace-one" else None
    decode = jax.jit(lambda x: statistic.decode(statistic.measure(x)[None], public))
    total, n = map(np.asarray, decode(records))
    assert n == pytest.approx(200, rel=1e-6)
    exact = statistics(family, records).sum(0) / np.array(family.scales())
    error = 1e-4 if family.lattice else 200 * 0.5 / statistic.units
    np.testing.assert_allclose(total[0] / family.scales(), exact, atol=error)
    expected = family.dimension
    if adjacency == "add-remove" and name != "categorical":
        expected += 1
    assert statistic.length == expected


def test_the_number_of_records_is_public_or_measured():
    statistic = sufficient(FAMILIES["poisson"], "replace-one")
    with pytest.raises(ValueError, match="`n` must be given under replace-one"):
        statistic.decode(jnp.array([3], jnp.int32))
    with pytest.raises(ValueError, match="`adjacency` must be 'replace-one'"):
        statistic.sensitivity("add-remove")


def test_measuring_the_number_of_records_costs_nothing():
    for family in FAMILIES.values():
        statistic = sufficient(family, "add-remove")
        alone = statistic.units * family.radius(scaled=True).value
        assert statistic.sensitivity("add-remove").value == alone


def test_what_is_missing_is_the_variables_default():
    age = Interval("age", 0.0, 100.0, missing=20.0)
    statistic = Sufficient(Gaussian(0.0, 100.0), (age,), "replace-one")
    empty, twenty = (np.full((1, 1), x, np.float32) for x in (np.nan, 20))
    np.testing.assert_array_equal(statistic.measure(empty), statistic.measure(twenty))


@every_family
@both
def test_a_file_can_rebuild_it(name, adjacency):
    statistic = sufficient(FAMILIES[name], adjacency)
    described = json.loads(json.dumps(statistic.describe()))
    again = Sufficient.from_description(described, statistic.variables, None, adjacency)
    assert again == statistic
    assert hash(again) == hash(statistic)


def test_units_of_whole_numbers_are_exact():
    assert sufficient(Poisson(7), "replace-one").units == 7
    assert sufficient(Poisson(7), "replace-one", 21).units == 21
    assert sufficient(Categorical(4), "add-remove").units == 1
    assert sufficient(Gaussian(0.0, 1.0), "add-remove").units == 1024


AGE, COUNT = Interval("age", 0.0, 100.0), Interval("count", 0.0, 7.0)
SEX = Variable("sex", ("f", "m"))


NARROW = Interval("x", 1e6, 1e6 + 0.5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Sufficient(Gaussian(0.0, 1.0), (AGE,), "replace-one"),
            "`over` must have the bounds of the family",
        ),
        (
            lambda: Sufficient(Gaussian(0.0, 1.0), (SEX,), "replace-one"),
            "`over` must be of type Interval for a gaussian family, got ..Variable",
        ),
        (
            lambda: Sufficient.of("bernoulli", (COUNT,), "add-remove"),
            "`variables` must be one",
        ),
        (
            lambda: Sufficient.of("categorical", (COUNT,), "add-remove"),
            "`over` must be of type Categorical",
        ),
        (lambda: Sufficient.of("beta", (AGE,), "add-remove"), "`family` must be"),
        (lambda: Sufficient.of("gaussian", (AGE,), "both"), "`adjacency` must be"),
        (
            lambda: Sufficient.of("gaussian", (AGE,), "add-remove", 1 << 17),
            "`units` must be at most 65536",
        ),
        (
            lambda: Sufficient.of("poisson", (COUNT,), "add-remove", 8),
            "a multiple of 7, got 8",
        ),
        (
            lambda: Sufficient.of("gaussian", (AGE,), "add-remove", 0),
            "`units` must be an integer of at least 1",
        ),
        (lambda: Sufficient.of("gaussian", (), "add-remove"), "of one column, got 0"),
        (
            lambda: Sufficient.of("exponential", (NARROW,), "replace-one").sensitivity(
                "replace-one"
            ),
            "`units` must be more, or the bounds farther apart",
        ),
    ],
)
def test_what_does_not_fit_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
