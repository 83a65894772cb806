"""A sweep leaves the posterior as it is, and bad input is refused."""

from functools import partial

import chex
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from jax import lax
from scipy import stats

from dpjax import _platforms
from dpjax._platforms import ACCELERATOR, CPU
from dpjax.data.probabilities import sample_records
from dpjax.mechanisms import DiscreteLaplace, Laplace, Mechanism, MechanismWithLaw
from dpjax.posteriors import LatentRecords, gibbs_posterior, gibbs_start, gibbs_step
from dpjax.posteriors.gibbs import latent_records, replacement
from dpjax.privacy import ADD_REMOVE, REPLACE_ONE, PureDP
from dpjax.releases.released import Released
from dpjax.statistics import FourierCoefficients, NetworkCounts
from tests.helpers.cases import mostly_thorough
from tests.helpers.hidden_counts import hidden_counts, joint_states, prior_law
from tests.helpers.networks import TINY
from tests.helpers.statistical import (
    ALPHA,
    assert_at_least,
    assert_counts_follow,
    chi_square_pvalue,
)

N = 3
PRIOR = 0.7
SWEEPS = 6
REPEATS = 20_000


def swept(key, state, released, prior, sweeps, proposals=None):
    """The state after so many sweeps, and what each said."""

    def sweep(carried, _):
        key, state = carried
        key, key_sweep = jr.split(key)
        state, info = gibbs_step(key_sweep, state, released, prior, proposals=proposals)
        return (key, state), info

    (_, state), info = lax.scan(sweep, (key, state), length=sweeps)
    return state, info


def family_counts(net, adjacency):
    return NetworkCounts(net)


CASES = {
    "two roots, counts": (TINY["two roots"], family_counts),
    "chain, Fourier": (TINY["chain"], FourierCoefficients.of_network),
}


class Misread(MechanismWithLaw):
    """A mechanism of which another law is believed, unless power is 1 and tilt 0."""

    mechanism: MechanismWithLaw
    power: float = 1.0
    tilt: float = 0.0

    @property
    def adjacency(self):
        return self.mechanism.adjacency

    @property
    def sensitivity(self):
        return self.mechanism.sensitivity

    def sample(self, key, exact):
        return self.mechanism.sample(key, exact)

    def guarantee(self):
        return self.mechanism.guarantee()

    def log_prob(self, released, exact):
        law = self.mechanism.log_prob(released, exact)
        return self.power * law + self.tilt * exact.astype(law.dtype)


@partial(jax.jit, static_argnames=("statistic", "form"))
def geweke(keys, statistic, mechanism, theta, noise, form):
    """Records and a release of tables from the prior; then sweeps given the release.

    If sweeps leave the posterior as it is, what they end in has the law of the start.
    """
    prior = jnp.full(statistic.network.layout.length, PRIOR)

    def one(key, theta, noise):
        key_records, key_sweeps = jr.split(key)
        records = sample_records(key_records, theta, statistic.network, N)
        exact = statistic.measure(records)
        released = Released(exact + noise, statistic, mechanism, jnp.asarray(N))
        state = LatentRecords(records, jnp.asarray(N, jnp.int32), theta, exact)

        state, info = swept(key_sweeps, state, released, prior, SWEEPS, form[1])
        return state, released.values - state.statistic, info.acceptance

    return jax.vmap(one)(keys, theta, noise)


FORMS = {"in turn": (CPU, None), "at once, two of three": (ACCELERATOR, 2)}


def run_geweke(key, rng, statistic, mechanism, power=1.0, form=FORMS["in turn"]):
    net = statistic.network
    gammas = rng.gamma(PRIOR, size=(REPEATS, net.layout.length))
    sums = np.array([np.bincount(net.layout.rows, row) for row in gammas])
    theta = jnp.asarray(gammas / sums[:, net.layout.rows], float)
    chance = 1 - np.exp(-mechanism.rho)
    noise = rng.geometric(chance, (2, REPEATS, statistic.length))
    noise = jnp.asarray(noise[0] - noise[1], jnp.int32)
    law = Misread(mechanism, power)
    return geweke(jr.split(key, REPEATS), statistic, law, theta, noise, form)


@pytest.fixture(scope="module", params=mostly_thorough(CASES))
def prepared(request):
    net, make = CASES[request.param]
    statistic = make(net, REPLACE_ONE)
    mechanism = DiscreteLaplace.calibrate(3, statistic.sensitivity(REPLACE_ONE))
    return statistic, mechanism


def noise_pvalue(noise, rho):
    """That hidden statistics are as far from the release as the noise is large."""
    weight = np.exp(-rho)
    return chi_square_pvalue(
        noise, lambda z: (1 - weight) / (1 + weight) * weight ** abs(z), range(-40, 41)
    )


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_a_sweep_leaves_the_posterior_as_it_is(prepared, key, rng, monkeypatch, form):
    statistic, mechanism = prepared
    monkeypatch.setattr(_platforms, "CPU", FORMS[form][0])
    state, noise, acceptance = run_geweke(
        key, rng, statistic, mechanism, form=FORMS[form]
    )
    assert noise_pvalue(noise, mechanism.rho) > ALPHA
    check_records(statistic, state, np.asarray(noise)[:, 0] > 0, mechanism.rho)
    tables = np.asarray(state.theta)
    width = statistic.network.sizes[0]  # of the first variable, which has no parents
    law = stats.beta(PRIOR, PRIOR * (width - 1))
    assert stats.kstest(tables[:, 0], law.cdf).pvalue > ALPHA
    proposals = FORMS[form][1] or N
    accepted, proposed = np.sum(acceptance) * proposals, acceptance.size * proposals
    assert_at_least(round(accepted), proposed, np.exp(-3))


def check_records(statistic, state, positive, rho):
    """Hidden data sets follow the prior predictive, whatever the sign of the noise."""
    net = statistic.network
    states = np.ravel_multi_index(
        np.moveaxis(np.asarray(state.records), -1, 0), net.sizes
    )
    counts = (states[..., None] == np.arange(len(joint_states(net)))).sum(axis=1)
    data_sets, law = prior_law(net, N, PRIOR)
    place = {tuple(row): i for i, row in enumerate(data_sets)}
    found = np.array([place[tuple(row)] for row in counts])
    sign = np.exp(-rho) / (1 + np.exp(-rho))
    seen = np.bincount(2 * found + positive, minlength=2 * len(law))
    assert_counts_follow(seen, np.outer(law, [1 - sign, sign]).ravel())
    exact = jax.jit(jax.vmap(statistic.measure))(state.records)
    np.testing.assert_array_equal(exact, state.statistic)


@pytest.mark.slow
@pytest.mark.parametrize("power", [0.5, 2.0, -1.0], ids=["wide", "narrow", "inverted"])
def test_a_wrong_law_is_seen(prepared, key, rng, power):
    statistic, mechanism = prepared
    _, noise, _ = run_geweke(key, rng, statistic, mechanism, power)
    assert noise_pvalue(noise, mechanism.rho) < ALPHA


def decided(sizes, released, total, moves, thresholds):
    """The total after all moves, and which of them are made."""
    inputs = moves, thresholds
    return jax.jit(partial(replacement.decide, released, sizes))(total, inputs)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["1/10", 1, 10, 100])
def test_decisions_at_once_are_those_in_turn(epsilon, key, rng):
    """Also if nearly each depends on the one before, which takes many rounds."""
    statistic = NetworkCounts(TINY["naive Bayes"])
    law = DiscreteLaplace.calibrate(epsilon, statistic.sensitivity(REPLACE_ONE))
    records = jnp.asarray(rng.integers(0, 2, (2, 150, 3)), jnp.int32)
    former, drawn = map(partial(replacement.contributions, statistic), records)
    total = former.sum(axis=0, dtype=jnp.int32)
    released = Released(total + 1, statistic, law, 150)
    thresholds = -jr.exponential(key, (150,)).at[140:].set(-jnp.inf)
    given = released, total, drawn - former, thresholds
    (after, taken), at_once = decided(CPU, *given), decided(ACCELERATOR, *given)
    chex.assert_trees_all_equal((after, taken), at_once)
    made = np.where(taken[:, None], drawn - former, 0)
    np.testing.assert_array_equal(after - total, made.sum(axis=0))
    assert 0 < np.sum(taken[:140])
    assert not np.any(taken[140:])


def test_each_record_is_proposed_to_be_replaced(key):
    """By two of the five in a sweep; the records after these are never hidden ones."""
    places = jax.vmap(lambda key: replacement._place(key, jnp.int32(5), 2))
    found = np.bincount(places(jr.split(key, 600)), minlength=6)
    assert_counts_follow(found, np.array([1, 0, 1, 1, 0, 0]) / 3)


CAPACITY = 6


@partial(jax.jit, static_argnames="sweeps")
def sizes_and_statistics(key, released, sweeps):
    """Of many chains, at their ends."""

    def one(key):
        key_start, key_sweeps = jr.split(key)
        prior = jnp.full(released.net.layout.length, PRIOR)
        state = gibbs_start(key_start, released, prior, CAPACITY)

        state, info = swept(key_sweeps, state, released, prior, sweeps)
        return state.n, state.statistic, info.full.any()

    return jax.vmap(one)(jr.split(key, 8_000))


@pytest.mark.slow
@pytest.mark.parametrize(
    "tilt", mostly_thorough([0.0, 0.2]), ids=["right", "birth ratio off by a factor"]
)
def test_n_follows_its_law_where_it_is_hidden(key, tilt):
    # Chains as many as needed for an exact test: independent, each at its end.
    statistic = NetworkCounts(TINY["two roots"])
    sensitivity = statistic.sensitivity(ADD_REMOVE)
    values = jnp.array([2.0, -1.3, 0.4, 1.7])
    law = Misread(Laplace(3.0, sensitivity), tilt=tilt)
    released = Released(values, statistic, law, None)
    n, exact, full = sizes_and_statistics(key, released, 40)
    assert full.any()  # the law below is cut off there likewise
    truth = hidden_counts(released, PRIOR, most=CAPACITY)
    seen = [np.bincount(n, minlength=CAPACITY + 1)]
    laws = [truth.law_of_n()]
    ones = np.asarray(exact)[:, 1]
    seen.append(np.bincount(ones, minlength=CAPACITY + 1))
    laws.append(np.bincount(truth.statistics[:, 1], truth.weights))
    if tilt == 0:
        for counts, law in zip(seen, laws, strict=True):
            assert_counts_follow(counts, law)
    else:
        expected = laws[0] * len(n)
        assert stats.chisquare(seen[0], expected, sum_check=False).pvalue < ALPHA


@pytest.mark.slow
def test_blocks_of_records_change_nothing(key, rng, monkeypatch):
    # Memory is bounded by blocks; the last of these is filled up.
    statistic = FourierCoefficients.of_network(TINY["two roots"], ADD_REMOVE)
    law = Laplace(2.0, statistic.sensitivity(ADD_REMOVE))
    released = Released(jnp.array([4.0, -1.0, 2.0]), statistic, law, None)
    records = jnp.asarray(rng.integers(0, 2, (7, 2)), jnp.int32)
    zeros = jnp.zeros(3, jnp.int32)
    state = LatentRecords(records, zeros[0], jnp.ones(4), zeros)

    def draw(key, state):
        return jax.vmap(lambda key: latent_records._resize(key, released, state))(key)

    keys = jr.split(key, 50)
    whole = jax.jit(draw)(jr.clone(keys), state)
    monkeypatch.setattr(replacement, "_NUMBERS_AT_ONCE", 10)
    blocks = jax.jit(lambda *arguments: draw(*arguments))(keys, state)
    chex.assert_trees_all_close(whole, blocks, rtol=1e-5)
    assert np.unique(blocks.n).size > 2


class Lawless(Mechanism):
    @property
    def adjacency(self):
        return REPLACE_ONE

    def sample(self, key, exact):
        return exact

    def guarantee(self):
        return PureDP(1, REPLACE_ONE)


@pytest.fixture
def released():
    statistic = NetworkCounts(TINY["two roots"])
    mechanism = DiscreteLaplace.calibrate(1, statistic.sensitivity(REPLACE_ONE))
    return Released(jnp.array([3, 2, 1, 4]), statistic, mechanism, 5)


def test_a_mechanism_must_have_a_law(key, released):
    lawless = eqx.tree_at(lambda released: released.mechanism, released, Lawless())
    with pytest.raises(
        ValueError, match="`released` must be of a mechanism with a law"
    ):
        gibbs_posterior(key, lawless)


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (-1.0, "`prior` must be positive"),
        ({"x": jnp.ones(2)}, "`prior` must hold a table of shape"),
        ({"x": jnp.ones(2), "y": jnp.ones(3)}, "`prior` must hold a table of shape"),
    ],
)
def test_priors_are_checked(key, released, prior, message):
    with pytest.raises(ValueError, match=message):
        gibbs_posterior(key, released, prior)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"chains": 0}, "`chains` must be an integer of at least 1"),
        ({"sweeps": 0}, "`sweeps` must be an integer of at least 1"),
        ({"warmup": -1}, "`warmup` must be an integer of at least 0"),
        ({"thin": 3, "sweeps": 10}, "`thin` must divide `sweeps`"),
        ({"capacity": 4}, "`capacity` must be at least n, 5, got 4"),
        ({"capacity": 0}, "`capacity` must be an integer of at least 1"),
        ({"proposals": 0}, "`proposals` must be an integer of at least 1"),
    ],
)
def test_settings_are_checked(key, released, setting, message):
    with pytest.raises(ValueError, match=message):
        gibbs_posterior(key, released, **setting)


def test_a_traced_release_needs_a_capacity(key, released):
    with pytest.raises(ValueError, match="`capacity` must be given where"):
        jax.eval_shape(gibbs_posterior, key, released)
