"""K-norm noise on a network's tables: its loss, its law, its draws and its files."""

import dataclasses
import functools
import itertools
import json
import math
import random
from fractions import Fraction

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import dpjax as dp
from dpjax.mechanisms import ContinuousKNorm, KNorm, recipes
from dpjax.mechanisms.norm_groups import Star, balls, choose_groups, shares
from dpjax.mechanisms.row_draws import _lowest
from dpjax.noise.norm_balls import Rows, Simplex
from dpjax.noise.norm_law import NormLaw
from dpjax.privacy import PureDP, budget_of
from dpjax.releases.entries import InconsistentRelease
from dpjax.statistics import Contrasts, NetworkCounts
from dpjax.statistics.blocks import Block, blocks_of
from dpjax.tables.counts import count
from tests.helpers.cases import mostly_thorough
from tests.helpers.neighbours import assert_spends_exactly, changes
from tests.helpers.networks import TINY, random_network, random_records
from tests.helpers.release_files import rehashed
from tests.helpers.statistical import ALPHA, chi_square_pvalue

BOTH = ["replace-one", "add-remove"]
TWO, THREE = [0, 1], [0, 1, 2]
NETS = {
    **TINY,
    "star": dp.BayesNet.from_parents(
        {"x": THREE, "a": TWO, "b": THREE, "c": TWO},
        {"x": [], "a": ["x"], "b": ["x"], "c": ["x"]},
    ),
    "overlapping": dp.BayesNet.from_parents(
        {"a": TWO, "b": TWO, "c": THREE, "d": TWO, "e": TWO},
        {"a": [], "b": ["a"], "c": ["a", "b"], "d": ["b", "c"], "e": ["c"]},
    ),
    "two groups": dp.BayesNet.from_parents(
        {"a": [*range(4)], "b": [*range(4)], "c": TWO, "d": TWO},
        {"a": [], "b": ["a"], "c": [], "d": ["c"]},
    ),
}
SMALL = NETS["naive Bayes"]
RECORDS = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 0]], np.uint8)


@functools.cache
def mechanism(name, adjacency, epsilon="1"):
    statistic = Contrasts.of_network(NETS[name], adjacency)
    return KNorm.of(statistic, budget_of(epsilon, adjacency))


def random_blocks(rng, net):
    """Blocks with random margins of earlier ones, as a file might state."""
    blocks, order = [], rng.permutation(len(net.families))
    for family in (net.families[i] for i in order):
        earlier = [{*block.group} for block in blocks]
        if any({*family} <= group for group in earlier):
            continue
        common = [[i for i in family if i in group] for group in [set(), *earlier]]
        margin = list(rng.permutation(common[rng.integers(len(common))]))
        given = tuple(int(i) for i in margin[: rng.integers(len(margin) + 1)])
        blocks.append(Block(given, tuple(i for i in family if i not in given)))
    return tuple(blocks)


def seeded(seed):
    return random.Random(seed).getrandbits


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("name", NETS)
def test_one_record_changes_each_group_by_norm_one_at_most(name, adjacency):
    made = mechanism(name, adjacency)
    norms = [[law.norm(z) for law in made.laws] for z in changes(made.statistic)]
    assert max(map(max, norms)) == 1
    assert [1] * len(made.laws) in norms  # and all groups at once


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("seed", mostly_thorough(range(12), 3))
def test_no_blocks_and_stars_of_a_file_have_a_larger_norm(seed, adjacency):
    rng = np.random.default_rng(seed)
    net = random_network(rng, variables=4, most_parents=2, most_levels=3)
    statistic = Contrasts(net, adjacency, random_blocks(rng, net))
    whole = range(len(statistic.blocks))
    merged = [star for group in choose_groups(statistic)[0] for star in group]
    for stars in (merged, [(i,) for i in whole]):
        made = KNorm(statistic, (tuple(stars),), (Fraction(1),))
        assert max(made.laws[0].norm(z) for z in changes(statistic)) == 1


@pytest.mark.parametrize("epsilon", mostly_thorough(["1", "1/10", "3"]))
@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("name", NETS)
def test_the_loss_is_epsilon_and_not_much_less(name, adjacency, epsilon):
    made = mechanism(name, adjacency, epsilon)
    assert made.guarantee() == PureDP(Fraction(epsilon), adjacency)
    differences = {tuple(z) for z in changes(made.statistic)}
    still = made.probability([0] * made.statistic.length)
    assert_spends_exactly(
        epsilon, max(still / made.probability(z) for z in differences)
    )


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("name", ["coin", "two roots", "chain"])
def test_no_output_loses_more_than_epsilon(name, adjacency):
    made = mechanism(name, adjacency)
    reach = range(-2, 3) if made.statistic.length < 5 else range(-1, 2)
    outputs = itertools.product(reach, repeat=made.statistic.length)
    known = functools.cache(made.probability)
    differences = {tuple(z) for z in changes(made.statistic)}
    worst = max(
        known(z) / known(tuple(a - b for a, b in zip(z, change, strict=True)))
        for z in outputs
        for change in differences
    )
    assert_spends_exactly("1", worst)


@pytest.mark.parametrize(
    ("parts", "steps"),
    [((Simplex((0,)), Rows(((1,),))), (1, 2)), ((Rows(((0,), (1,))),), (2,))],
)
def test_probabilities_have_the_sum_one(parts, steps):
    law = NormLaw(parts, steps, Fraction(2))
    law.certify()
    reach = range(-40, 41)
    total = sum(law.probability(z) for z in itertools.product(reach, repeat=2))
    assert 1 - 1e-12 < total < 1


@pytest.mark.parametrize("epsilon", [Fraction(1, 3), Fraction(3, 4), Fraction(5)])
def test_the_ratio_is_the_least_that_spends_at_most_epsilon(epsilon):
    law = NormLaw((Simplex((0,)),), (1,), epsilon)
    ratio = law.probability([0]) / law.probability([1])
    assert_spends_exactly(epsilon, ratio)
    assert ratio >= math.exp(epsilon) * (1 - 1e-12)


def test_a_word_below_the_threshold_prolongs_the_radius():
    """An even threshold, whose fraction of 2^64 has a smaller denominator."""
    law = next(
        law
        for k in range(1, 99)
        if not (law := NormLaw((Simplex((0,)),), (1,), Fraction(k, 7))).threshold % 8
    )
    words = [law.threshold - 1, law.threshold, law.threshold - 1, 2**64 - 1]
    stream = sum(word << 64 * i for i, word in enumerate(words))
    assert law._failures(1, lambda k: stream) == 1
    assert law._failures(2, lambda k: stream) == 2


def test_radii_beyond_one_block_of_words_go_on():
    law = NormLaw((Simplex((0,)),), (1,), Fraction(1))
    whole = (1 << 64) - 1
    blocks = iter([0, *[whole << 64 * 3], *[0] * 99])
    drawn = []
    words = law._failures(1, lambda k: drawn.append(k) or next(blocks))
    assert len(drawn) == 2
    assert words == 64 + 3


@pytest.mark.parametrize("wrong", [(1, 3), (2, 2), (1, -2)])
def test_wrong_numbers_of_points_are_refused(wrong):
    law = NormLaw((Simplex((0,)),), (1,), Fraction(1))
    law.certify()
    vars(law)["newton"] = wrong
    with pytest.raises(ValueError, match="numbers of points"):
        law.certify()


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("name", mostly_thorough(NETS, 2))
def test_draws_follow_the_law(name, adjacency):
    """The norms, which decide: the points of a ball are enumerated elsewhere.

    With 1,500 draws, radii that are larger by a twentieth are noticed surely.
    """
    bits, draws = seeded(7), 1_500
    for law in mechanism(name, adjacency, "2").laws:
        length = 1 + max(i for star in law.parts for i in places_of(star))
        norms = np.zeros(draws, int)
        for i in range(draws):
            noise = dict(law.draw(bits))
            norms[i] = math.ceil(law.norm([noise.get(j, 0) for j in range(length)]))
        still, falls = law.probability([0] * length), law.threshold / 2**64

        def probability(norm, law=law, still=still, falls=falls):
            inner = law.points(norm - 1) if norm else 0
            return float((law.points(norm) - inner) * still) * falls**norm

        assert chi_square_pvalue(norms, probability, range(200)) > ALPHA


def places_of(ball):
    """The numbers that a ball draws when its radius is large."""
    wide = ball.draw(10**9, random.Random(0).randrange)
    return [place for place, _ in wide]


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", mostly_thorough(BOTH))
def test_simulated_noise_has_the_moments_of_exact_noise(adjacency):
    made = mechanism("star", adjacency, "1/5")
    bits = seeded(1)
    exact = np.array([made.draw_noise(bits) for _ in range(1_500)])
    zeros = jnp.zeros((1_500, made.statistic.length), jnp.int32)
    simulated = np.asarray(jax.jit(made.sample)(jr.key(2), zeros))
    products = (x[:, :, None] * x[:, None] for x in (exact, simulated))
    for one, other in ((np.abs(exact), np.abs(simulated)), products):
        error = np.hypot(one.std(axis=0), other.std(axis=0)) / 1_500**0.5
        assert np.all(np.abs(one.mean(axis=0) - other.mean(axis=0)) < 5.5 * error)


@pytest.mark.parametrize("adjacency", BOTH)
def test_simulated_noise_is_finite_for_the_least_numbers(adjacency, monkeypatch):
    """One of 2^23 or so is 0 in single precision, and no cell may have size 0."""
    made = mechanism("star", adjacency, "1/5").for_studies()

    def least(key, shape, minval=0.0):
        return jnp.full(shape, minval)

    monkeypatch.setattr(jr, "uniform", least)
    draw = jax.jit(lambda key: made.noise(key, (2, made.statistic.length)))
    assert np.isfinite(draw(jr.key(0))).all()


@pytest.mark.parametrize("name", ["star", "two groups"])
def test_the_noise_of_a_release_is_that_of_all_groups(name):
    made = mechanism(name, "replace-one", "1/5")
    drawn = []
    for seed in range(60):
        bits, wanted = seeded(seed), [0] * made.statistic.length
        for law in made.laws:
            for place, value in law.draw(bits):
                wanted[place] = value
        drawn.append(made.draw_noise(seeded(seed)).tolist())
        assert drawn[-1] == wanted
    # A number is 0 with a probability below .1, and in all draws with one below 1e-60.
    assert np.all(np.any(drawn, axis=0))
    assert len(made.laws) == (2 if name == "two groups" else 1)


@pytest.mark.slow
def test_as_many_cells_are_chosen_in_narrow_and_wide_rows(key):
    """Both ways to find the lowest numbers: by comparisons, and by sorting."""
    for width in (2, 64, 65, 200):
        order = jr.uniform(jr.fold_in(jr.clone(key), width), (2, width, 3))
        number = np.array([[[0, 1, width // 2]], [[1, width - 1, 0]]], int)
        found = np.asarray(_lowest(order, jnp.asarray(number)))
        np.testing.assert_array_equal(found.sum(axis=1), number[:, 0])
        for row, draw in np.ndindex(2, 3):
            numbers, lowest = np.asarray(order)[row, :, draw], found[row, :, draw]
            assert numbers[lowest].max(initial=0) <= numbers[~lowest].min()
    equal = jnp.zeros((1, 100, 2))
    assert (np.asarray(_lowest(equal, 7)).sum(axis=1) == 7).all()


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", mostly_thorough(BOTH))
def test_a_stack_for_studies_has_the_budgets_and_the_noise_of_each(adjacency, key):
    epsilons, twelve = ["1/5", 1, 3], [*range(12)]
    net = dp.BayesNet.from_parents(
        {"a": twelve, "b": twelve, "x": TWO, "y": TWO}, {"b": ["a"], "y": ["x"]}
    )
    statistic = Contrasts.of_network(net, adjacency)
    budgets = [budget_of(x, adjacency) for x in epsilons]
    alone = [KNorm.of(statistic, budget).for_studies() for budget in budgets]
    assert len(alone[0].groups) == 2
    many = ContinuousKNorm.calibrate_many(epsilons, statistic)
    exact = jnp.zeros((5, statistic.length), jnp.int32)
    draws = jax.jit(jax.vmap(lambda one: one.sample(jr.clone(key), exact)))(many)
    for place, (one, epsilon) in enumerate(zip(alone, epsilons, strict=True)):
        spent = float(one.guarantee().epsilon)
        assert spent == pytest.approx(float(Fraction(epsilon)), rel=1e-5)
        np.testing.assert_allclose(many.epsilons[place], one.epsilons, rtol=1e-6)
        wanted = eqx.filter_jit(one.sample)(jr.clone(key), exact)
        np.testing.assert_allclose(draws[place], wanted, rtol=1e-5, atol=1e-4)


def test_one_group_under_the_budget_has_larger_noise(key):
    """Noise is in inverse proportion to the budget of its own group."""
    statistic = mechanism("overlapping", "replace-one").statistic
    groups = (((0,),), ((1,), (2,)))
    made = ContinuousKNorm(statistic, groups, np.array([0.5, 0.5], np.float32))
    zeros = jnp.zeros((made.statistic.length,), jnp.int32)
    draw = jax.jit(lambda made, key: made.sample(key, zeros))
    usual = draw(made, jr.clone(key))
    epsilons = np.array([0.5, 0.125], np.float32)
    smaller = draw(dataclasses.replace(made, epsilons=epsilons), jr.clone(key))
    ratio = np.asarray(smaller / usual)
    places = [i for star in made.groups[-1] for i in star]
    starts = made.statistic.starts
    own = [k for i in places for k in range(starts[i], starts[i + 1])]
    wanted = np.ones(made.statistic.length)
    wanted[own] = 4
    np.testing.assert_allclose(ratio, wanted, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", mostly_thorough(BOTH))
def test_variances_that_choose_the_budgets_are_those_of_the_noise(adjacency):
    made = mechanism("overlapping", adjacency, "1/4")
    statistic, bits = made.statistic, seeded(3)
    noise = jnp.asarray([made.draw_noise(bits) for _ in range(1_500)])
    cells = np.asarray(statistic.beyond_margins(noise, 0))
    found = made.normal_numbers(noise, 0).deviation
    ratio = (cells**2).mean(axis=0) ** 0.5 / np.asarray(found)
    assert np.all(np.abs(ratio - 1) < 0.09)


def test_budgets_have_the_least_total_variance():
    statistic = Contrasts.of_network(NETS["overlapping"], "replace-one")
    groups = tuple(((i,),) for i in range(len(statistic.blocks)))

    def total(parts):
        made = KNorm(statistic, groups, tuple(parts))
        return float(
            (made.normal_numbers(jnp.zeros(statistic.length), 0)[2] ** 2).sum()
        )

    best = shares(statistic, groups)
    assert sum(best) == 1
    least = total(best)
    for i, j in itertools.permutations(range(len(best)), 2):
        moved = list(best)
        moved[i], moved[j] = best[i] * Fraction(9, 10), best[j] + best[i] / 10
        assert total(moved) > least
    assert choose_groups(statistic)[1] <= least * 1.000001


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("seed", mostly_thorough(range(4)))
def test_tables_are_those_of_the_records(seed, adjacency):
    rng = np.random.default_rng(seed)
    net = random_network(rng)
    records = random_records(rng, net, 200)
    statistic, counts = Contrasts.of_network(net, adjacency), NetworkCounts(net)
    n = 200 if adjacency == "replace-one" else None
    exact = jax.jit(statistic.measure)(records)
    on_host = np.asarray(count(records, statistic.counted))
    np.testing.assert_array_equal(statistic.of_counts(on_host, n), exact)
    wanted = np.asarray(counts.tables(counts.measure(records)))
    tables = jax.jit(lambda x: statistic.tables(x, n))(exact)
    np.testing.assert_allclose(tables, wanted, atol=1e-3)
    moments = statistic.record_moments()
    mean = jax.jit(moments.mean)(jnp.asarray(wanted) / 200)
    np.testing.assert_allclose(200 * mean, exact, atol=1e-3)
    assert statistic.length == exact.size == statistic.starts[-1]
    bound = statistic.sensitivity(adjacency).value
    if math.prod(net.sizes) < 700:
        assert np.abs(changes(statistic)).sum(axis=1).max() <= bound


def test_stars_have_the_rows_of_their_common_variables():
    net = NETS["star"]
    statistic = Contrasts.of_network(net, "replace-one")
    (group,), _ = choose_groups(statistic)
    assert sorted(map(len, group)) == [1, len(statistic.blocks) - 1]
    with pytest.raises(ValueError, match="`stars` must be of blocks with a common"):
        Star(statistic, (0, 1))
    assert balls(statistic, group)[1] == tuple(1 if 0 in x else 2 for x in group)


def released(adjacency="replace-one", **options):
    return dp.release(
        SMALL, RECORDS, epsilon=1, adjacency=adjacency, mechanism="k-norm", **options
    )


@pytest.mark.parametrize("adjacency", BOTH)
def test_a_release_is_saved_and_verified(adjacency, tmp_path):
    one = released(adjacency)
    one.save(tmp_path / "release.json")
    assert '"version":3' in (tmp_path / "release.json").read_text("utf-8")
    again = dp.load(tmp_path / "release.json")
    assert again.mechanism == one.mechanism
    assert again.statistic == one.statistic
    np.testing.assert_array_equal(again.values, one.values)
    assert again.guarantee() == PureDP(Fraction(1), adjacency)


def test_two_releases_differ():
    """A false alarm has a chance below 1e-9: 60 numbers with deviations above 5."""
    made = mechanism("overlapping", "add-remove", "1/2")
    exact = np.zeros(made.statistic.length, np.int64)
    draws = {tuple(made.draw(exact).tolist()) for _ in range(4)}
    assert len(draws) == 4


def test_a_ledger_is_charged(tmp_path):
    ledger = dp.Ledger(2, adjacency="add-remove")
    dp.release(SMALL, RECORDS, epsilon="1/2", mechanism=recipes.KNorm(), ledger=ledger)
    assert ledger.remaining == Fraction(3, 2)


def altered(content):
    mechanism, statistic = content["mechanism"], content["statistic"]
    first, *rest = mechanism["groups"]
    block, *blocks = statistic["blocks"]

    def groups(**change):
        return {"mechanism": {**mechanism, "groups": [{**first, **change}, *rest]}}

    yield groups(epsilon="1/100")
    yield groups(epsilon="2")
    yield groups(dimension=first["dimension"] + 1)
    yield groups(points="0" * 64)
    yield groups(stars=[])
    yield groups(stars=[[0, 1]])
    yield groups(stars=[*first["stars"], [0]])
    yield groups(stars=[[bool(i) if i < 2 else i for i in x] for x in first["stars"]])
    yield {"mechanism": {**mechanism, "groups": [first, *rest, {**first, "stars": []}]}}
    yield {"statistic": {**statistic, "blocks": [block]}}
    yield {"statistic": {**statistic, "blocks": [*blocks, block]}}
    yield {"statistic": {**statistic, "blocks": [{**block, "table": ["z"]}, *blocks]}}
    yield {"values": content["values"][1:]}


@pytest.mark.parametrize("case", range(13))
def test_an_altered_file_is_refused(case, tmp_path):
    path = tmp_path / "release.json"
    released().save(path)
    document = json.loads(path.read_text("utf-8"))
    change = list(altered(document["content"]))[case]
    path.write_text(json.dumps(rehashed(document, **change)))
    with pytest.raises(InconsistentRelease):
        dp.load(path)


@pytest.mark.parametrize(
    "blocks",
    [
        [((), (0,)), ((), (1,)), ((), (2,))],
        [((0,), (1,)), ((), (0, 2))],
        [((), (0, 1)), ((), (0, 2)), ((0,), ())],
        [((), (0, 0, 1)), ((), (0, 2))],
        [((), (0, 1)), ((), (0, 1)), ((0,), (2,))],
    ],
)
def test_blocks_must_determine_the_tables(blocks):
    with pytest.raises(ValueError, match="`blocks`"):
        Contrasts(SMALL, "replace-one", tuple(Block(*x) for x in blocks))


def test_each_mistake_gets_a_message():
    statistic = Contrasts.of_network(SMALL, "replace-one")
    counts = NetworkCounts(SMALL)
    with pytest.raises(ValueError, match="`statistic` must be contrasts"):
        KNorm.of(counts, budget_of(1, "replace-one"))
    with pytest.raises(ValueError, match="`statistic` must be contrasts"):
        ContinuousKNorm.calibrate_many([1], counts)
    with pytest.raises(ValueError, match="`epsilons` must be"):
        ContinuousKNorm(statistic, (((0,),),), np.array([-1.0], np.float32))
    with pytest.raises(ValueError, match="`adjacency` must be 'replace-one'"):
        KNorm.of(statistic, budget_of(1, "add-remove"))
    with pytest.raises(ValueError, match="`epsilon` must give each group"):
        KNorm.of(statistic, budget_of("1/100000000", "replace-one"))
    wide = dp.BayesNet.from_parents({"x": list(range(1200))}, {"x": []})
    with pytest.raises(ValueError, match="`groups` must have at most 1024"):
        KNorm.of(Contrasts.of_network(wide, BOTH[0]), budget_of(1, BOTH[0]))
    with pytest.raises(ValueError, match="`groups` must have each block"):
        KNorm(statistic, (), ())
    with pytest.raises(ValueError, match="`epsilons` must have one budget"):
        KNorm(statistic, mechanism("naive Bayes", "replace-one").groups, ())
    with pytest.raises(ValueError, match="`n` must be given"):
        statistic.tables(jnp.zeros(statistic.length))
    with pytest.raises(ValueError, match="`exact` must have"):
        mechanism("naive Bayes", "replace-one").draw(np.zeros(2, int))
    with pytest.raises(ValueError, match="`mechanism` must be one for"):
        dp.release(counts, RECORDS, epsilon=1, adjacency=BOTH[0], mechanism="k-norm")
    assert statistic.blocks == blocks_of(SMALL.sizes, SMALL.families)
