"""K-norm noise on sums of families: its parts, its loss, its law, its files."""

import functools
import itertools
import json
import math
import random
from fractions import Fraction

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import dpjax as dp
from dpjax.cli.main import main
from dpjax.data.intervals import Interval
from dpjax.families import Categorical, Exponential, Gaussian, MultivariateGaussian
from dpjax.mechanisms import ContinuousFamilyKNorm, DiscreteLaplace, FamilyKNorm
from dpjax.mechanisms.continuous_family_k_norm import parts_of, unit_variance
from dpjax.noise.norm_law import NormLaw
from dpjax.privacy import PureDP, budget_of
from dpjax.releases.entries import InconsistentRelease
from dpjax.statistics import NetworkCounts, Sufficient
from dpjax.study.experiments.regression import RegressionExperiment
from tests.helpers.cases import mostly_thorough
from tests.helpers.families import FAMILIES, random_records, records_on_grid
from tests.helpers.neighbours import assert_spends_exactly
from tests.helpers.release_files import rehashed
from tests.helpers.statistical import ALPHA, assert_counts_follow, chi_square_pvalue

from .test_sufficient import BOTH, one_by_one, sufficient

TINY = {
    "gaussian": sufficient(Gaussian(-1.0, 1.0), "replace-one", 2),
    "gaussian of odd units": sufficient(Gaussian(-1.0, 1.0), "replace-one", 3),
    "gaussian, n private": sufficient(Gaussian(-1.0, 1.0), "add-remove", 2),
    "two columns": sufficient(
        MultivariateGaussian((-1.0, 0.0), (1.0, 5.0)), "replace-one", 1
    ),
    "one side": sufficient(FAMILIES["one side"], "replace-one", 3),
    "one side of odd units": sufficient(FAMILIES["one side"], "replace-one", 7),
    "exponential": sufficient(Exponential(2.0, 1.0), "replace-one", 6),
    "categorical": sufficient(Categorical(3), "replace-one"),
    "categorical, n private": sufficient(Categorical(3), "add-remove"),
}
PLANE = Sufficient.of("gaussian", (Interval("x", -3, 3),), "add-remove")
SPACE = Sufficient.of(
    "multivariate-gaussian", tuple(Interval(x, -3, 3) for x in "abc"), "add-remove"
)
REPLACED = Sufficient.of("multivariate-gaussian", SPACE.over, "replace-one")


def made(statistic, epsilon="1"):
    return FamilyKNorm.of(statistic, budget_of(epsilon, statistic.adjacency))


def changes(statistic, records):
    """What one record adds, or what it changes if it is replaced."""
    rows = np.unique(np.asarray(one_by_one(statistic)(records), np.int64), axis=0)
    if statistic.adjacency == "add-remove":
        return np.concatenate([rows, -rows])
    return (rows[:, None] - rows).reshape(-1, rows.shape[1])


def seeded(seed):
    return random.Random(seed).getrandbits


@pytest.mark.parametrize("units", [None, 1 << 16])
@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("name", FAMILIES)
def test_one_record_changes_a_part_by_its_bound_at_most(name, adjacency, units, rng):
    family = FAMILIES[name]
    lattice = family.lattice or 1
    statistic = sufficient(family, adjacency, units and units // lattice * lattice)
    points = {2: 25, 3: 9}.get(family.columns, 401)
    grid = records_on_grid(family, points)
    records = np.concatenate([grid, random_records(rng, family, 200)])
    rows = np.asarray(one_by_one(statistic)(records), np.int64)
    places = [i for part, _ in statistic.changes for i in part]
    assert sorted(places) == list(range(statistic.length))
    for part, bound in statistic.changes:
        if len(part) == 1 and adjacency == "replace-one":
            found = np.ptp(rows[:, part])
        else:
            found = np.abs(rows[:, part]).sum(axis=1).max()
            found *= 2 if adjacency == "replace-one" else 1  # of two levels
        assert found <= bound
        assert bound - 1 <= found


@pytest.mark.parametrize("name", FAMILIES)
def test_components_have_the_ranges_that_the_family_states(name):
    family = FAMILIES[name]
    scaled = np.asarray(jax.jit(family.scaled_statistics)(records_on_grid(family)))
    low, high = np.array(family.ranges()).T
    np.testing.assert_allclose(scaled.min(axis=0), low, atol=1e-6)
    np.testing.assert_allclose(scaled.max(axis=0), high, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", mostly_thorough(["1", "1/10", "3"]))
@pytest.mark.parametrize("name", TINY)
def test_no_output_loses_more_than_epsilon_and_some_lose_all_of_it(name, epsilon):
    """All changes by records of a grid, and all outputs near 0."""
    statistic = TINY[name]
    mechanism = made(statistic, epsilon)
    assert mechanism.guarantee() == PureDP(Fraction(epsilon), statistic.adjacency)
    known = functools.cache(mechanism.probability)
    grid = records_on_grid(statistic.family, 5 if statistic.family.columns > 1 else 9)
    shifts = {tuple(x) for x in changes(statistic, grid).tolist()}
    reach = range(-3, 4) if statistic.length < 4 else range(-1, 2)
    worst = max(
        known(z) / known(tuple(a - b for a, b in zip(z, shift, strict=True)))
        for z in itertools.product(reach, repeat=statistic.length)
        for shift in shifts
    )
    assert_spends_exactly(epsilon, worst)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gaussian", "gaussian of odd units"])
def test_probabilities_have_the_sum_one(name):
    """Of all outputs by the closed form, and of those near 0 one by one."""
    mechanism = made(TINY[name], "4")
    law = mechanism.law
    ratio = Fraction(law.threshold, 1 << 64)
    still = mechanism.probability([0, 0])
    inner = sum(law.points(r) * ratio**r * (1 - ratio) for r in range(400)) * still
    assert 1 - 1e-12 < inner < 1
    near = range(-42, 43)
    total = sum(mechanism.probability(z) for z in itertools.product(near, repeat=2))
    assert 1 - 1e-9 < total < 1


@pytest.mark.slow
def test_draws_follow_the_law():
    """Every pair of numbers; a false alarm has a chance of 1e-6."""
    mechanism = made(TINY["gaussian"], "3")
    bits, draws, reach = seeded(5), 6_000, 7
    width = 2 * reach + 1
    seen = np.zeros(width**2 + 1)
    for _ in range(draws):
        noise = mechanism.draw_noise(bits)
        inside = np.abs(noise).max() <= reach
        seen[(noise + reach) @ [width, 1] if inside else -1] += 1
    near = itertools.product(range(-reach, reach + 1), repeat=2)
    law = [float(mechanism.probability(z)) for z in near]
    assert_counts_follow(seen, [*law, 1 - sum(law)])


@pytest.mark.parametrize("statistic", [PLANE, SPACE], ids=["plane", "space"])
def test_norms_of_draws_follow_the_law(statistic):
    mechanism = made(statistic, "2")
    law, bits = mechanism.law, seeded(6)
    drawn = (mechanism.draw_noise(bits).tolist() for _ in range(1_500))
    norms = [math.ceil(law.norm(noise)) for noise in drawn]
    still, ratio = law.probability([0] * statistic.length), law.threshold / 2**64
    wide = 16  # norms that are counted together

    @functools.cache
    def within(norm):
        return float(law.points(norm) * still) if norm >= 0 else 0.0

    def probability(place):
        both = range(wide * place, wide * place + wide)
        return sum((within(r) - within(r - 1)) * ratio**r for r in both)

    binned = np.array(norms) // wide
    assert chi_square_pvalue(binned, probability, range(100)) > ALPHA


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["1/10", "3"])
@pytest.mark.parametrize(
    ("statistic", "share"), [(PLANE, 0.56), (SPACE, 0.25), (REPLACED, 0.63)]
)
def test_the_noise_has_the_stated_variance_which_is_less_than_of_laplace_noise(
    statistic, share, epsilon, key
):
    """Of exact and of simulated draws, within 5.5 standard errors."""
    mechanism, bits = made(statistic, epsilon), seeded(7)
    stated = unit_variance(mechanism.parts) / float(Fraction(epsilon)) ** 2
    most = statistic.sensitivity(statistic.adjacency).value
    scale = float(most / Fraction(epsilon))
    assert stated < share * 2 * statistic.length * scale**2
    drawn = np.array([mechanism.draw_noise(bits) for _ in range(2_000)])
    zeros = jnp.zeros((20_000, statistic.length), jnp.int32)
    simulated = np.asarray(mechanism.sample(jr.clone(key), zeros))
    for noise in (drawn, simulated):
        squares = (noise.astype(float) ** 2).sum(axis=1)
        error = squares.std() / len(noise) ** 0.5
        assert abs(squares.mean() - stated) < 5.5 * error
    one, other = np.abs(drawn), np.abs(simulated)
    error = np.hypot(one.std(axis=0) / 2_000**0.5, other.std(axis=0) / 20_000**0.5)
    assert np.all(np.abs(one.mean(axis=0) - other.mean(axis=0)) < 5.5 * error)
    scales = np.asarray(mechanism.for_studies().noise_scale(zeros[0]))
    each = (simulated.astype(float) ** 2).mean(axis=0) / (2 * scales**2)
    np.testing.assert_allclose(each, 1, atol=0.1)


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("name", FAMILIES)
def test_the_variance_is_never_more_than_of_laplace_noise(name, adjacency):
    statistic = sufficient(FAMILIES[name], adjacency)
    scale = int(statistic.sensitivity(adjacency).value)
    laplace = 2 * statistic.length * scale**2
    stated = unit_variance(parts_of(statistic))
    assert stated <= laplace
    parts = made(statistic, "1").parts
    assert unit_variance(parts) <= 1.02 * stated
    if FAMILIES[name].dimension == 1 or FAMILIES[name].categorical:
        assert len(parts) == 1
        assert stated == laplace


class Wide(Sufficient):
    """Whose numbers are said to change by more than all of them do together."""

    changes = tuple(((k,), 10**6) for k in range(10))


def test_all_numbers_are_one_part_if_that_has_less_noise():
    statistic = Wide(SPACE.family, SPACE.over, "add-remove")
    most = int(statistic.sensitivity("add-remove").value)
    assert parts_of(statistic) == ((tuple(range(10)), most),)


def test_steps_are_fine_for_every_epsilon():
    """A step of the radius loses little, if the units allow for it."""
    odd = sufficient(FAMILIES["one side"], "replace-one", 7)  # changes 6, 7 and 7
    for epsilon in ("1", "3", "20"):
        mechanism = made(odd, epsilon)
        pairs = zip(mechanism.parts, odd.changes, strict=True)
        assert all(b <= c <= b + mechanism.steps for (_, c), (_, b) in pairs)
        assert mechanism.law.epsilon == Fraction(epsilon) / mechanism.steps
    assert {size for _, size in odd.changes} == {6, 7}
    for epsilon in ("1/1000", "1", "7/3", "20"):
        mechanism = made(SPACE, epsilon)
        assert mechanism.law.epsilon == Fraction(epsilon) / mechanism.steps
        assert mechanism.law.epsilon <= Fraction(1, 16)
        pairs = zip(mechanism.parts, SPACE.changes, strict=True)
        assert all(b <= c <= b * 1.04 for (_, c), (_, b) in pairs)
        assert all(c % mechanism.steps == 0 for _, c in mechanism.parts)


@pytest.mark.slow
def test_the_density_is_that_of_the_law():
    """Integrated over the plane, and beside exact probabilities of points."""
    statistic = TINY["gaussian"]
    mechanism = made(statistic, "3")
    studied = mechanism.for_studies()
    axis = np.linspace(-24, 24, 801)
    points = jnp.asarray(np.stack(np.meshgrid(axis, axis), axis=-1), float)
    logs = np.asarray(studied.joint_log_prob(points, 0 * points), float)
    assert np.exp(logs).sum() * (axis[1] - axis[0]) ** 2 == pytest.approx(1, rel=0.01)
    fine = made(PLANE, "3")
    zeros = jnp.zeros(3)
    for noise in ([0, 0, 0], [100, -700, 20], [900, 1500, -400], [9000, 70, 1]):
        found = fine.for_studies().joint_log_prob(jnp.asarray(noise), zeros)
        wanted = math.log(fine.probability(noise))
        assert float(found) == pytest.approx(wanted, abs=1 / 16)


def test_simulated_noise_is_finite_where_a_number_of_its_points_is_0(monkeypatch):
    monkeypatch.setattr(jr, "laplace", lambda key, shape: jnp.zeros(shape))
    noise = made(SPACE, 1).for_studies().noise(jr.key(0), (2, SPACE.length))
    assert np.isfinite(np.asarray(noise)).all()


@pytest.mark.slow
def test_a_stack_for_studies_has_the_budgets_and_the_noise_of_each(key):
    epsilons = ["1/5", 1, 3]
    many = ContinuousFamilyKNorm.calibrate_many(epsilons, SPACE)
    exact = jnp.zeros((5, SPACE.length), jnp.int32)
    draws = jax.vmap(lambda one: one.sample(jr.clone(key), exact))(many)
    logs = jax.vmap(lambda one: one.joint_log_prob(exact + 9, exact))(many)
    for place, epsilon in enumerate(epsilons):
        one = made(SPACE, epsilon).for_studies()
        spent = float(one.guarantee().epsilon)
        assert spent == pytest.approx(float(Fraction(epsilon)), rel=1e-5)
        wanted = one.sample(jr.clone(key), exact)
        np.testing.assert_allclose(draws[place], wanted, rtol=1e-5, atol=1e-3)
        wanted = one.joint_log_prob(exact + 9, exact)
        np.testing.assert_allclose(logs[place], wanted, rtol=1e-5)


def released(statistic=SPACE, **options):
    records = np.random.default_rng(0).normal(size=(50, len(statistic.over)))
    return dp.release(statistic, records, epsilon=1, mechanism="k-norm", **options)


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("name", mostly_thorough(FAMILIES, 0))
def test_every_family_has_a_release_that_is_saved_and_verified(
    name, adjacency, tmp_path, rng
):
    statistic = sufficient(FAMILIES[name], adjacency)
    records = random_records(rng, FAMILIES[name], 30)
    if isinstance(statistic.over[0], dp.Variable):
        records = records.astype(np.int32)  # of levels
    one = dp.release(statistic, records, epsilon="1/3", mechanism="k-norm")
    one.save(tmp_path / "release.json")
    again = dp.load(tmp_path / "release.json")
    assert again.mechanism == one.mechanism
    np.testing.assert_array_equal(again.values, one.values)
    dp.posterior(again, noise_aware=False).mean()


@pytest.mark.usefixtures("recipes_alone")
def test_a_release_is_saved_verified_and_charged(tmp_path, capsys):
    ledger = dp.Ledger(2, adjacency="add-remove")
    one = released(ledger=ledger)
    assert ledger.remaining == 1
    path = tmp_path / "release.json"
    one.save(path)
    assert '"version":3' in path.read_text("utf-8")
    again = dp.load(path)
    assert again.mechanism == one.mechanism
    np.testing.assert_array_equal(again.values, one.values)
    assert again.guarantee() == PureDP(Fraction(1), "add-remove")
    assert main(["verify", str(path)]) == 0
    assert "10 with one radius" in capsys.readouterr().out
    assert not np.array_equal(released().values, one.values)


def test_the_command_line_releases_a_model(tmp_path, capsys):
    table, schema = tmp_path / "t.csv", tmp_path / "s.json"
    table.write_text("a,b\n1,2\n0.5,1\n2,2\n", "utf-8")
    interval = {"lower": 0, "upper": 3}
    schema.write_text(json.dumps({"variables": {"a": interval, "b": interval}}))
    command = ["release", str(table), "--schema", str(schema), "--epsilon", "1"]
    command += ["--model", "multivariate-gaussian", "--adjacency", "replace-one"]
    command += ["--mechanism", "k-norm", "--out", str(tmp_path / "r.json")]
    assert main(command) == 0
    assert dp.load(tmp_path / "r.json").mechanism.kind == "family-k-norm"


def altered(content):
    mechanism = content["mechanism"]
    first, *rest = mechanism["parts"]

    def parts(*given):
        return {"mechanism": {**mechanism, "parts": [*given]}}

    yield {"guarantee": {**content["guarantee"], "epsilon": "1/2"}}
    yield {"mechanism": {**mechanism, "steps": mechanism["steps"] + 1}}
    yield {"mechanism": {**mechanism, "points": "0" * 64}}
    yield {"mechanism": {**mechanism, "kind": "k-norm"}}
    yield parts({**first, "change": first["change"] // 2}, *rest)
    yield parts({**first, "numbers": first["numbers"][:1]}, *rest)
    yield parts(*rest)
    yield {"statistic": {**content["statistic"], "units": 512}}
    yield {"values": content["values"][1:]}


@pytest.mark.parametrize("case", range(9))
def test_an_altered_file_is_refused_in_one_line(case, tmp_path):
    path = tmp_path / "release.json"
    released().save(path)
    document = json.loads(path.read_text("utf-8"))
    change = list(altered(document["content"]))[case]
    path.write_text(json.dumps(rehashed(document, **change)))
    with pytest.raises(InconsistentRelease) as error:
        dp.load(path)
    assert len(str(error.value).splitlines()) == 1


def test_each_mistake_gets_a_message():
    net = dp.BayesNet.from_parents({"x": [0, 1]}, {"x": []})
    with pytest.raises(ValueError, match="`statistic` must be of an exponential"):
        FamilyKNorm.of(NetworkCounts(net), budget_of(1, "replace-one"))
    with pytest.raises(ValueError, match="`statistic` must be of an exponential"):
        ContinuousFamilyKNorm.calibrate_many([1], NetworkCounts(net))
    with pytest.raises(ValueError, match="`adjacency` must be 'add-remove'"):
        FamilyKNorm.of(SPACE, budget_of(1, "replace-one"))
    with pytest.raises(ValueError, match="`epsilon` must give each group"):
        made(SPACE, "1/100000000")
    with pytest.raises(ValueError, match="`epsilon` must be"):
        ContinuousFamilyKNorm(PLANE, ((0, 1, 2),), np.ones(1), np.array(-1.0))
    with pytest.raises(ValueError, match="`exact` must have the 10 numbers"):
        made(SPACE).draw(np.zeros(3, int))
    wide = tuple(Interval(f"x{i}", 0, 1) for i in range(45))
    wide = Sufficient.of("multivariate-gaussian", wide, "replace-one")
    with pytest.raises(ValueError, match="at most 1024 numbers") as error:
        made(wide)
    assert "use the mechanism 'laplace'" in str(error.value)
    with pytest.raises(ValueError, match="use hidden-totals"):
        dp.posterior(released(PLANE), method="exact-clipped")


def test_the_law_of_one_number_is_the_laplace_law():
    """With a step for each unit, so that exact probabilities are the same."""
    statistic = sufficient(FAMILIES["poisson"], "replace-one")
    mechanism = made(statistic, "1/2")
    laplace = DiscreteLaplace.of(statistic, budget_of("1/2", "replace-one"))
    assert isinstance(mechanism.law, NormLaw)
    assert mechanism.steps == 7
    for z in (0, 1, 5, 30):
        log = laplace.log_prob(jnp.asarray([z]), jnp.asarray([0]))
        assert math.log(mechanism.probability([z])) == pytest.approx(float(log[0]))


@pytest.mark.slow
def test_an_experiment_has_more_error_the_smaller_epsilon_is(key, rng):
    columns = tuple(Interval(name, -3, 3) for name in "xyz")
    statistic = Sufficient.of("linear-regression", columns, "add-remove")
    features = rng.uniform(-1, 1, (2_000, 2))
    data = np.c_[features, features.sum(axis=1)]
    experiment = RegressionExperiment(statistic, training=1_900)
    trial = experiment.prepare(jr.clone(key), jnp.asarray(data, float))
    learner = experiment.learner("k-norm", ["1/100", 100])
    keys = jr.split(jr.clone(key), 20)

    def error(one):
        return jax.vmap(lambda key: experiment(key, one, trial)["mse"])(keys).mean()

    small, large = jax.jit(jax.vmap(error))(learner)
    assert float(large) < 0.01 < 0.1 < float(small)
