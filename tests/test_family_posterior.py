"""Posterior samples of exponential families: privacy by enumeration of every law."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpjax as dp
from dpjax.data.intervals import Interval
from dpjax.families import Poisson
from dpjax.mechanisms import FamilyPosteriorSampler
from dpjax.mechanisms.truncation_choice import choose_truncation
from dpjax.statistics import Sufficient
from tests.helpers.family_samples import log_law, loss_of, rounded_records
from tests.helpers.statistical import assert_counts_follow

LEVELS = (dp.Variable("x", (0, 1)),)
CASES = {
    "bernoulli": (LEVELS, {}, None),
    "poisson": ((Interval("x", 0, 3),), {}, None),
    "exponential": ((Interval("x", 1, 4),), {}, 8),
    "gaussian-mean": ((Interval("x", -1, 2),), {"variance": 1.0}, 8),
    "gaussian": ((Interval("x", -1, 2),), {}, 8),
}
TRUNCATIONS = {
    "bernoulli": {"probability": (0.1, 0.8)},
    "poisson": {"rate": (0.5, 3.0)},
    "exponential": {"rate": (0.3, 1.0)},
    "gaussian-mean": {"mean": (-1.0, 1.5)},
    "gaussian": {"mean": (-1.0, 1.5), "variance": (0.5, 2.0)},
}


def statistic_of(name, adjacency):
    variables, options, units = CASES[name]
    return Sufficient.of(name, variables, adjacency, units, **options)


def calibrated(name, adjacency, epsilon="2", **options):
    statistic = statistic_of(name, adjacency)
    points = 5 if name == "gaussian" else 12
    options = {"truncation": TRUNCATIONS[name], "points": points, **options}
    return FamilyPosteriorSampler.calibrate(
        statistic.family,
        statistic.steps,
        statistic.lowest,
        epsilon,
        adjacency,
        **options,
    )


def single_vectors(name, adjacency):
    """Everything that one record can be rounded to."""
    statistic = statistic_of(name, adjacency)
    [variable] = statistic.over
    if isinstance(variable, Interval):
        records = np.linspace(variable.lower, variable.upper, 241)
    else:
        records = np.arange(variable.size)
    return rounded_records(statistic, records.reshape(-1, 1))


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("name", CASES)
def test_no_output_tells_neighbours_apart_by_more_than_epsilon(name, adjacency):
    vectors = single_vectors(name, adjacency)
    extreme = vectors[:: max(1, len(vectors) // 6)]
    vectors = np.unique(np.concatenate([extreme, vectors[[0, -1]]]), axis=0)
    for n in (1, 3) if name != "gaussian" else (1, 2):
        public = n if adjacency == "replace-one" else None
        mechanism = calibrated(name, adjacency, n=public)
        worst = loss_of(mechanism, vectors, n)
        assert worst <= mechanism.guarantee().epsilon + 1e-9
        assert worst >= float(mechanism.guarantee().epsilon) / 4


@pytest.mark.parametrize("name", ["bernoulli", "poisson", "gaussian-mean"])
@pytest.mark.parametrize("n", [1, 2, 6])
def test_with_one_parameter_the_loss_at_a_public_n_is_exact(name, n):
    mechanism = calibrated(name, "replace-one", "9", n=n, temperature="1")
    vectors = single_vectors(name, "replace-one")[[0, -1]]
    worst = loss_of(mechanism, vectors, n)
    assert float(mechanism.loss) == pytest.approx(worst, abs=1e-9)
    limit = calibrated(name, "replace-one", "9", temperature="1")
    assert mechanism.loss < limit.loss


def test_a_private_number_of_records_moves_no_cost():
    made = [calibrated("poisson", "add-remove", n=n) for n in (None, 1, 1000)]
    assert len({(x.temperature, x.loss, x.n) for x in made}) == 1
    assert made[0].n is None


def test_of_many_records_the_limit_is_needed():
    mechanism = calibrated("poisson", "add-remove", "9", temperature="1")
    [low], [high] = single_vectors("poisson", "replace-one")[[0, -1]]
    many = 400
    laws = [
        log_law(mechanism, (total, 3 * n - total))
        for n, total in ((many, many * low), (many + 1, many * low + high))
    ]
    worst = np.abs(laws[0] - laws[1]).max()
    assert 0.99 * float(mechanism.loss) < worst <= mechanism.loss


@pytest.mark.parametrize("name", ["bernoulli", "gaussian-mean"])
def test_half_the_temperature_is_noticed(name):
    right = calibrated(name, "replace-one", n=3)
    halved = calibrated(
        name, "replace-one", "99", n=3, temperature=right.temperature / 2
    )
    vectors = single_vectors(name, "replace-one")[[0, -1]]
    assert loss_of(halved, vectors, 3) > float(right.guarantee().epsilon) * 1.5


def test_a_prior_is_worth_records(rng):
    """Its mean and number of records add to those of the data."""
    flat = calibrated("poisson", "replace-one", n=5, temperature="1", epsilon="99")
    weighed = calibrated(
        "poisson", "replace-one", "99", n=4, temperature="1", prior=((2 / 3,), 1.0)
    )
    assert np.allclose(log_law(flat, [8]), log_law(weighed, [6]), atol=1e-9)


def test_draws_follow_their_law(rng):
    def bits(k):
        return int.from_bytes(rng.bytes(-(-k // 8)), "little") >> (-k % 8)

    mechanism = calibrated("gaussian", "replace-one", "9", n=20, samples=4000)
    exact = jnp.array([12, 40], jnp.int32)
    drawn = mechanism.draw_with(bits, exact)
    assert mechanism.is_possible_output(drawn, 2)
    seen = np.bincount(drawn[:, 0] * 5 + drawn[:, 1], minlength=25)
    assert_counts_follow(seen, np.exp(log_law(mechanism, exact)))


def test_draws_in_real_arithmetic_follow_the_same_law(key):
    mechanism = calibrated("poisson", "add-remove", "9", samples=4000)
    exact = jnp.array([12, 48], jnp.int32)
    drawn = np.asarray(jax.jit(mechanism.sample)(key, exact)).astype(int)
    seen = np.bincount(drawn[:, 0], minlength=12)
    assert_counts_follow(seen, np.exp(log_law(mechanism, exact)))


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_a_release_of_samples_finds_the_parameters(adjacency, tmp_path):
    rate = 2.5
    counts = np.minimum(np.random.default_rng(0).poisson(rate, (4000, 1)), 12)
    statistic = Sufficient.of("poisson", (Interval("x", 0, 12),), adjacency)
    released = dp.release(
        statistic,
        counts,
        epsilon=5,
        adjacency=adjacency,
        mechanism=dp.recipes.PosteriorSample(samples=2),
    )
    released.save(tmp_path / "r.json")
    posterior = dp.posterior(dp.load(tmp_path / "r.json"))
    assert posterior.parameters()["rate"].shape == (2,)
    assert float(posterior.mean()["rate"]) == pytest.approx(rate, abs=0.7)


def test_either_truncation_or_temperature_gives_the_other():
    given = calibrated("poisson", "replace-one", truncation=None, temperature="4")
    wider = calibrated("poisson", "replace-one", truncation=None, temperature="8")
    assert wider.grid.limits[0][1] < given.grid.limits[0][1]
    chosen = calibrated("poisson", "replace-one", truncation=None)
    assert chosen.guarantee().epsilon == 2
    wanted = choose_truncation(Poisson(3), Fraction(2), "replace-one", None)
    assert chosen.grid.truncation == wanted


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("poisson", {"truncation": {"rate": (0.0, 3.0)}}, "must bound the rate"),
        ("poisson", {"truncation": {"rate": (2.0, 1.0)}}, "must bound the rate"),
        ("poisson", {"temperature": "1/10"}, "`temperature` must be at least"),
        ("poisson", {"samples": 0}, "`samples` must be"),
        ("gaussian", {"truncation": {"mean": (-1.0, 1.0)}}, "must bound the variance"),
        ("gaussian", {"points": 2000}, "`points` must make at most"),
    ],
)
def test_wrong_choices_are_refused(name, options, message):
    with pytest.raises(ValueError, match=message):
        calibrated(name, "replace-one", **options)


def test_what_has_no_grid_is_not_published():
    variables = (dp.Variable("x", (0, 1, 2)),)
    scaled = Sufficient.of("categorical", variables, "replace-one", 2)
    options = {"epsilon": 1, "adjacency": "replace-one"}
    limits = {"probability": (0.1, 0.8)}
    with pytest.raises(ValueError, match="`mechanism` must be 'laplace'"):
        dp.release(
            scaled, np.zeros((3, 1), int), **options,
            mechanism=dp.recipes.Map(truncation=limits),
        )  # fmt: skip
    with pytest.raises(ValueError, match="`mechanism` must be one for"):
        dp.release(scaled, np.zeros((3, 1), int), **options, mechanism="map-cells")


def test_foreign_options_are_refused():
    statistic = statistic_of("poisson", "replace-one")
    with pytest.raises(ValueError, match="`omega` must be left out"):
        dp.release(
            statistic, np.zeros((3, 1)), epsilon=1, adjacency="replace-one",
            mechanism=dp.recipes.PosteriorSample(omega="0.1"),
        )  # fmt: skip


def test_sums_of_more_records_than_the_public_n_are_refused():
    mechanism = calibrated("bernoulli", "replace-one", n=3)
    with pytest.raises(ValueError, match="`exact` must be"):
        mechanism.draw(jnp.array([4]))
    assert mechanism.guarantee().epsilon == Fraction(2)


@pytest.mark.parametrize("prior", [((0.5, 0.5), 1.0), ((0.5,), 0.0), ((2.0,), 1.0)])
def test_a_prior_of_another_form_is_refused(prior):
    with pytest.raises(ValueError, match="`prior` must be the mean of 1"):
        calibrated("poisson", "replace-one", prior=prior)


def test_limits_too_narrow_for_where_they_are_are_refused():
    """Their tables would be differences of nearly equal doubles."""
    narrow = {"mean": (1e9, 1e9 + 1), "variance": (0.5, 2.0)}
    with pytest.raises(ValueError, match="must be wider for the mean"):
        calibrated("gaussian", "add-remove", truncation=narrow)


def test_a_files_order_of_parameters_is_of_no_effect():
    made = calibrated("gaussian", "add-remove")
    described = made.describe()
    described["truncation"] = dict(reversed(described["truncation"].items()))
    statistic = statistic_of("gaussian", "add-remove")
    again = FamilyPosteriorSampler.from_description(
        described, statistic, made.cost, None
    )
    assert again.grid == made.grid
