"""Exact discrete Gaussian noise: its law, its certificate, its draws, its mechanism."""

import itertools
import math
from fractions import Fraction

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import mpmath
import numpy as np
import pytest

import dpjax as dp
from dpjax.mechanisms import DiscreteGaussian
from dpjax.noise import discrete_gaussian, gaussian_tables, tables
from dpjax.noise.discrete_laplace import LARGEST
from dpjax.noise.keys import study_key
from dpjax.noise.keys.chacha import CHACHA20
from dpjax.privacy import ZCDP, PureDP, Sensitivity, zcdp_budget
from dpjax.statistics import NetworkCounts
from tests.helpers.cases import mostly_thorough
from tests.helpers.statistical import ALPHA, chi_square_pvalue

RATES = [Fraction(2), Fraction(1, 2), Fraction(1, 50), Fraction(1, 10**4)]
FEW = Fraction(1, 50)
SQUARED = Sensitivity(10, "replace-one", tight=True)

split = jax.jit(jr.split, static_argnums=1)
bits = jax.jit(lambda key, shape: jr.bits(key, shape, jnp.uint32), static_argnums=1)
draw = jax.jit(discrete_gaussian.sample, static_argnums=2)


def exactly(x):
    return mpmath.mpf(x.numerator) / x.denominator


# --- the law of a table ---


@pytest.mark.parametrize("rate", RATES, ids=str)
def test_the_law_is_the_discrete_gaussian_with_geometric_tails(rate):
    table, h = gaussian_tables.build(rate), gaussian_tables.half_precision(rate)
    edge = int(table.edge)
    with mpmath.workdps(60):
        h = exactly(h)
        assert edge - 1 >= 7 * mpmath.sqrt(1 / (2 * h)) > edge - 2
        peak = exactly(gaussian_tables.probability(table, 0))
        for z in {1, edge // 3, edge - 1}:
            for sign in (1, -1):
                own = exactly(gaussian_tables.probability(table, sign * z))
                assert abs(own / peak / mpmath.exp(-h * z**2) - 1) < 2**-70
        beyond = [gaussian_tables.probability(table, z) for z in range(edge, edge + 4)]
        slope = mpmath.exp(-2 * h * (edge - 1))
        before = exactly(gaussian_tables.probability(table, edge - 1))
        assert abs(exactly(beyond[0]) / before / slope - 1) < 2**-60
        (ratio,) = {b / a for a, b in itertools.pairwise(beyond)}
        assert slope <= exactly(ratio) < slope * (1 + mpmath.mpf(2) ** -90)


@pytest.mark.parametrize("rate", [Fraction(2), FEW], ids=str)
def test_the_law_sums_to_one(rate):
    table = gaussian_tables.build(rate)
    edge = int(table.edge)
    law = [gaussian_tables.probability(table, z) for z in range(edge + 2)]
    tail = law[edge] / (1 - law[edge + 1] / law[edge])
    assert law[0] + 2 * (sum(law[1:edge]) + tail) == 1


@pytest.mark.parametrize("rate", RATES[:3], ids=str)
def test_renyi_divergences_are_within_the_rate_and_use_it(rate):
    """By summation of the exact law, for orders from nearly 1 to 200 and shifts."""
    table = gaussian_tables.build(rate)
    edge = int(table.edge)
    with mpmath.workdps(40):
        far = 8 * (edge + 1)  # beyond: less than e^-300 of the sum
        law = [exactly(gaussian_tables.probability(table, z)) for z in range(far + 9)]
        logs = [mpmath.log(p) for p in law]
        for shift in (1, 2, 5):
            pairs = [
                (logs[abs(z)], logs[abs(z - shift)]) for z in range(-far, far + shift)
            ]
            for order in map(mpmath.mpf, ("1.001", "1.5", "2", "7", "60")):
                terms = (mpmath.exp(q + order * (p - q)) for p, q in pairs)
                total = mpmath.fsum(terms)
                found = mpmath.log(total) / (order - 1) / order / shift**2
                assert found <= exactly(rate)
                small = rate < 1 and order * shift < edge / 2
                assert not small or found > 0.98 * exactly(rate)


@pytest.mark.parametrize("rate", RATES, ids=str)
def test_every_table_certifies_and_wastes_nothing(rate):
    bound = gaussian_tables.certify(gaussian_tables.build(rate), rate)
    assert 1 - Fraction(1, 2**20) < bound / rate <= 1


DAMAGED = {
    "a weight moved to a neighbour": lambda t: t.alias.__setitem__(2, t.alias[2] + 1),
    "a threshold's first limb": lambda t: t.lead.__setitem__(
        slice(9, 20), t.lead[9:20] // 2
    ),
    "a threshold's second limb": lambda t: t.rest.__setitem__(
        (9, 0), t.rest[9, 0] ^ 0x80000000
    ),
    "tails that fall faster": lambda t: t.onwards.__setitem__(0, t.onwards[0] - 1),
    "tails that fall a little faster": lambda t: t.onwards.__setitem__(
        -1, t.onwards[-1] - 1
    ),
    "tails that are flat": lambda t: t.onwards.fill(0xFFFFFFFF),
    "tails that end": lambda t: t.onwards.fill(0),
    "an edge nearer to 0": lambda t: t.edge.__setitem__((), t.edge - 1),
    "an edge farther from 0": lambda t: t.edge.__setitem__((), t.edge + 1),
    "columns shifted": lambda t: t.lead.__setitem__(slice(None), np.roll(t.lead, 1)),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_table_does_not_certify(name):
    table = gaussian_tables.build(FEW)
    table = table._replace(edge=np.array(table.edge), onwards=table.onwards.copy())
    table = table._replace(lead=table.lead.copy(), rest=table.rest.copy())
    DAMAGED[name](table)
    with pytest.raises(ValueError, match="must keep Rényi divergences"):
        gaussian_tables.certify(table, FEW)


def test_flat_tails_do_not_certify():
    """Even if all weights are right for such a tail, so that no error shows."""
    bits, edge = gaussian_tables.BITS, int(gaussian_tables.build(FEW).edge)
    h, most = gaussian_tables.half_precision(FEW), 1 << bits
    *densities, last, _ = [x for x, _ in gaussian_tables._densities(h, edge)]
    steps = most - (most >> 12)
    tail = last * steps // (most - steps)
    inner = [*densities[1:], last]
    whole = densities[0] + 2 * (sum(inner) + tail)
    half = [((x << bits) + whole // 2) // whole for x in [*inner, tail]]
    weights = [*half[::-1], most - 2 * sum(half), *half]
    thresholds, aliases = gaussian_tables._columns(weights, 1 << 7)
    limbs = tables.to_limbs(thresholds)
    table = gaussian_tables.Table(
        lead=limbs[:, 0],
        rest=limbs[:, 1:],
        alias=np.array(aliases, np.int32) - edge,
        edge=np.asarray(edge, np.int32),
        onwards=tables.to_limbs([steps])[0],
    )
    with pytest.raises(ValueError, match="must keep Rényi divergences"):
        gaussian_tables.certify(table, FEW)


def test_a_table_does_not_certify_for_less_than_its_own_rate():
    table = gaussian_tables.build(FEW)
    with pytest.raises(ValueError, match="must keep Rényi divergences"):
        gaussian_tables.certify(table, FEW * Fraction(999_999, 1_000_000))


def test_more_columns_change_neither_the_law_nor_the_fingerprint():
    own, shared = gaussian_tables.build(FEW), gaussian_tables.build(FEW, 1 << 10)
    assert own.lead.size < shared.lead.size == gaussian_tables.columns_shared(FEW)
    assert gaussian_tables.fingerprint(own) == gaussian_tables.fingerprint(shared)
    for z in (0, 3, -int(own.edge), int(own.edge) + 5):
        one, other = (gaussian_tables.probability(x, z) for x in (own, shared))
        assert one == other
    other = gaussian_tables.build(FEW * Fraction(1001, 1000))
    assert gaussian_tables.fingerprint(other) != gaussian_tables.fingerprint(own)


@pytest.mark.parametrize("rate", [Fraction(3), Fraction(1, 1 << 26)], ids=str)
def test_rates_outside_the_certified_range_are_refused(rate):
    with pytest.raises(ValueError, match=r"must be between 2\^-25 and 2"):
        gaussian_tables.build(rate)


# --- draws ---


def number(limbs):
    return sum(int(w) << 32 * (len(limbs) - 1 - i) for i, w in enumerate(limbs))


def reference(key, table, size):
    """The same draws in Python integers, every comparison with all 128 bits."""
    key_words, key = split(jr.clone(key), 2)
    words = np.asarray(bits(key_words, (size,))).tolist()
    count, edge = table.lead.size, int(table.edge)
    width = 32 - (count.bit_length() - 1)
    rest = np.asarray(table.rest)
    leads = np.asarray(table.lead).tolist()

    def value(lane, limbs):
        column, lead = words[lane] >> width, words[lane] & ((1 << width) - 1)
        below = number([lead, *limbs]) < number([leads[column], *rest[column]])
        return column - edge if below else int(table.alias[column])

    drawn = [value(lane, [0, 0, 0]) for lane in range(size)]
    tied = {
        x
        for x in range(size)
        if words[x] & ((1 << width) - 1) == leads[words[x] >> width]
    }
    beyond = {x for x in range(size) if x not in tied and abs(drawn[x]) == edge}
    slots = min(size, 1024)
    while tied | beyond:
        key, now = split(key, 2)
        more = np.asarray(bits(now, (7, slots)))
        waiting = sorted(tied | beyond)[::-1]
        for lane in sorted({x % slots: x for x in waiting}.values()):
            onwards, limbs = np.split(more[:, lane % slots], [4])
            if lane in tied:
                drawn[lane] = value(lane, limbs)
                again = abs(drawn[lane]) == edge
            else:
                again = number(onwards) < number(table.onwards)
                drawn[lane] += int(again) * (1 if drawn[lane] > 0 else -1)
            tied -= {lane}
            beyond = beyond | {lane} if again else beyond - {lane}
    return np.array(drawn)


def crowded():
    """A table of 16 columns with many ties, edges and steps onwards, not certified."""
    table = gaussian_tables.build(Fraction(2))
    lead = np.asarray(table.lead).copy()
    lead[:] = np.arange(lead.size, dtype=np.uint32) << np.uint32(20)
    alias = np.where(np.arange(lead.size) % 3 == 0, table.edge, -table.edge)
    onwards = np.array([0xA0000000, 0, 0, 5], np.uint32)
    return table._replace(lead=lead, alias=alias.astype(np.int32), onwards=onwards)


@pytest.mark.device
@pytest.mark.parametrize("rate", mostly_thorough(RATES, quick=2), ids=str)
def test_the_sampler_equals_big_integers_bit_for_bit(rate, key):
    table = gaussian_tables.build(rate)
    drawn = draw(key, table, (400,))
    assert drawn.dtype == np.int32
    np.testing.assert_array_equal(drawn, reference(key, table, 400))


@pytest.mark.slow
@pytest.mark.device
def test_tails_are_drawn_step_by_step_bit_for_bit(key):
    table = crowded()
    drawn = np.asarray(draw(key, table, (1500,)))
    assert {*np.sign(drawn[np.abs(drawn) > int(table.edge) + 2])} == {-1, 1}
    np.testing.assert_array_equal(drawn, reference(key, table, 1500))


@pytest.mark.slow
@pytest.mark.device
def test_ties_of_a_crowded_table_are_those_of_their_words(monkeypatch):
    """All words tie with their columns' thresholds, which are of all values."""
    table, size = crowded(), 64
    columns = np.arange(size, dtype=np.uint32) * 5 % 16
    words = jnp.asarray((columns << 28) | table.lead[columns])
    monkeypatch.setattr(
        jr,
        "bits",
        lambda _, shape, dtype: (
            jnp.zeros(shape, dtype) + (words if shape == (size,) else 0)
        ),
    )
    monkeypatch.setattr(jr, "split", lambda key: (key, key))
    (drawn,) = discrete_gaussian._block(
        study_key(0), table._replace(onwards=table.onwards * 0), size
    )
    positive = np.asarray(table.rest).any(axis=1)[columns]
    own = columns.astype(np.int32) - int(table.edge)
    np.testing.assert_array_equal(drawn, np.where(positive, own, table.alias[columns]))


@pytest.mark.slow
@pytest.mark.device
def test_ties_are_resolved_by_further_words(key, monkeypatch):
    table = crowded()
    words = (np.arange(16, dtype=np.uint32) << 28) | table.lead
    column, lead = discrete_gaussian._split(table, jnp.asarray(words))
    assert column.tolist() == list(range(16))
    np.testing.assert_array_equal(lead, table.lead)
    more = np.zeros((7, 16), np.uint32)
    more[4:] = np.asarray(table.rest).T
    more[6] -= np.arange(16) % 2 == 0  # just below, where the limb is not 0
    other = (np.arange(16) % 4 == 1) & (more[4] > 0)  # below, by the first limb alone
    more[4] -= other
    more[5:, other] = 0xFFFFFFFF
    assert other.any()

    monkeypatch.setattr(jr, "bits", lambda *_: jnp.asarray(more))
    found, still = discrete_gaussian._completed(
        key, table, jnp.ones(16, bool), jnp.asarray(words), jnp.zeros(16, jnp.int32)
    )
    below = [number(m) < number(r) for m, r in zip(more[4:].T, table.rest, strict=True)]
    assert any(below)
    expected = np.where(below, np.arange(16) - table.edge, table.alias)
    np.testing.assert_array_equal(found[0], expected)
    np.testing.assert_array_equal(still, np.abs(expected) == table.edge)


@pytest.mark.slow
@pytest.mark.parametrize("implementation", ["threefry2x32", CHACHA20])
def test_draws_follow_the_law(implementation):
    table = gaussian_tables.build(FEW)
    key = jr.wrap_key_data(
        jnp.arange(8 if implementation is CHACHA20 else 2, dtype=jnp.uint32),
        impl=implementation,
    )
    drawn = np.asarray(draw(key, table, (200_000,)))
    support = range(-18, 19)

    def law(wider):
        return lambda z: float(gaussian_tables.probability(wider, z))

    assert chi_square_pvalue(drawn, law(table), support) > ALPHA
    other = gaussian_tables.build(FEW * Fraction(105, 100))
    assert chi_square_pvalue(drawn, law(other), support) < ALPHA  # power


@pytest.mark.thorough
@pytest.mark.parametrize("rate", RATES[:3], ids=str)
def test_ten_million_draws_follow_the_law(rate):
    table = gaussian_tables.build(rate)
    drawn = np.asarray(draw(study_key(5), table, (10_000_000,)))
    reach = min(int(table.edge) - 1, 30)

    def law(z):
        return float(gaussian_tables.probability(table, z))

    assert chi_square_pvalue(drawn, law, range(-reach, reach + 1)) > ALPHA


def test_log_probabilities_are_those_of_the_table():
    for rate in RATES:
        table = gaussian_tables.build(rate)
        h = float(gaussian_tables.half_precision(rate))
        z = np.arange(-4, 5)
        exact = [math.log(gaussian_tables.probability(table, int(x))) for x in z]
        found = discrete_gaussian.log_prob(jnp.asarray(z), h)
        np.testing.assert_allclose(found, exact, rtol=2e-6)


# --- the mechanism ---


def test_the_guarantee_is_the_fraction_that_was_given():
    for rho, exact in (("0.1", Fraction(1, 10)), (0.3, Fraction(3, 10)), ("1/3", None)):
        made = DiscreteGaussian.calibrate(rho, SQUARED)
        assert made.guarantee() == ZCDP(exact or Fraction(1, 3), "replace-one")
        assert made.certify() <= made.guarantee().rho / 10
        assert 0.5 / made.h == pytest.approx(10 / (2 * float(made.guarantee().rho)))


def test_a_mechanism_with_the_noise_of_a_larger_budget_does_not_certify():
    one, more = (DiscreteGaussian.calibrate(x, SQUARED) for x in (1, "1.001"))
    with pytest.raises(ValueError, match="must keep Rényi divergences"):
        eqx.tree_at(lambda x: x.table, one, more.table).certify()


@pytest.mark.slow
def test_mechanisms_stack_and_draw_as_each_alone(key):
    many = DiscreteGaussian.calibrate_many(["0.01", "1/2", 5], SQUARED)
    exact, keys = jnp.arange(6, dtype=jnp.int32), jr.split(key, 3)
    sample = jax.jit(lambda key, made, exact: made.sample(key, exact))
    together = jax.vmap(sample, in_axes=(0, 0, None))(jr.clone(keys), many, exact)
    for i in range(3):
        alone = jax.tree.map(lambda leaf, i=i: leaf[i], many)
        np.testing.assert_array_equal(together[i], sample(keys[i], alone, exact))
        alone.certify()
    with pytest.raises(ValueError, match="of one mechanism"):
        many.guarantee()
    with pytest.raises(ValueError, match="at least one budget"):
        DiscreteGaussian.calibrate_many([], SQUARED)


@pytest.mark.slow
def test_sums_are_clipped_to_the_public_range():
    made = DiscreteGaussian.calibrate("1e-5", SQUARED)
    exact = jnp.full(100, LARGEST, jnp.int32)
    noisy = np.asarray(made.sample(study_key(1), exact))
    assert noisy.max() == LARGEST
    assert noisy.min() < LARGEST - 1000
    drawn = made.draw(np.array([LARGEST, -LARGEST] * 20))
    assert np.abs(drawn).max() == LARGEST
    assert made.is_possible_output(drawn, 40)
    assert not made.is_possible_output(drawn + LARGEST, 40)
    assert not made.is_possible_output(drawn, 41)


def test_a_release_draws_with_fresh_bits_of_the_system():
    made = DiscreteGaussian.calibrate("1/2", SQUARED)
    one, other = (made.draw(np.zeros(500, np.int32)) for _ in range(2))
    assert (one != other).any()
    assert one.std() == pytest.approx(math.sqrt(10), rel=0.3)


def test_only_typed_keys_and_integers_are_accepted(key):
    made = DiscreteGaussian.calibrate(1, SQUARED)
    with pytest.raises(Exception, match=r"`exact` must be integers|Int\["):
        made.sample(key, jnp.zeros(3))
    with pytest.raises(Exception, match=r"typed key|key.*Key"):
        made.sample(jr.PRNGKey(0), jnp.zeros(3, jnp.int32))


# --- releases ---

NET = dp.BayesNet.naive_bayes({f"x{i}": [0, 1] for i in range(4)}, "x0")
TABLE = np.random.default_rng(0).integers(0, 2, (500, 4))


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("what", ["counts", "fourier"])
def test_a_release_is_saved_verified_and_fitted(adjacency, what, tmp_path):
    statistic = NET
    if what == "fourier":
        statistic = dp.statistics.FourierCoefficients.of_network(NET, adjacency)
    budget = zcdp_budget(adjacency, rho="0.5")
    ledger = dp.Ledger(budget=budget)
    made = dp.release(
        statistic, TABLE, budget=budget, mechanism="gaussian", ledger=ledger
    )
    assert made.guarantee() == budget == ledger.cost
    made.save(tmp_path / "r.json")
    again = dp.load(tmp_path / "r.json")
    assert again.to_text() == made.to_text()
    found = dp.posterior(again)
    assert found.method == "point-estimate"
    share = found.mean()["x0"][1]
    assert abs(float(share) - TABLE[:, 0].mean()) < 0.1
    assert 0.01 < float(found.sd()["x0"][1]) < 0.05


def test_contributions_scale_with_their_square():
    budget = zcdp_budget("add-remove", rho="0.9", contributions=3)
    made = dp.release(NET, TABLE, budget=budget, mechanism="gaussian")
    assert made.mechanism.guarantee().rho == Fraction(1, 10)
    assert made.guarantee() == budget


def test_gaussian_noise_needs_a_budget_of_its_kind():
    with pytest.raises(ValueError, match="the mechanism gaussian can spend, of kind z"):
        dp.release(NET, TABLE, epsilon=1, adjacency="replace-one", mechanism="gaussian")
    pure = PureDP(Fraction(1), "replace-one")
    with pytest.raises(ValueError, match="`mechanism` must be one for the budget"):
        DiscreteGaussian.of(NetworkCounts(NET), pure)
    assert ZCDP.of(pure).rho == Fraction(1, 2)
    persons = zcdp_budget("replace-one", rho="0.9", contributions=3)
    with pytest.raises(ValueError, match="`budget` must be for one row"):
        DiscreteGaussian.of(NetworkCounts(NET), persons)
