"""What samples are drawn from, and what they refuse: exponents, truncations, prices."""

from fractions import Fraction

import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from dpjax import BayesNet, Interval
from dpjax.families import Bernoulli, Poisson
from dpjax.mechanisms import FamilyPosteriorSampler, NetworkPosteriorSampler
from dpjax.mechanisms.cell_grid import _exponential_below
from dpjax.mechanisms.parameter_grid import TABLE_BITS, ParameterGrid
from dpjax.mechanisms.sampling_loss import grids_of_omega, grids_of_share
from dpjax.privacy import PureDP
from dpjax.statistics import NetworkCounts, Sufficient

NET = BayesNet.from_parents({"x": [0, 1], "y": [0, 1, 2]}, {"x": [], "y": ["x"]})
ALL = NetworkCounts(NET, "all")
SUMS = Sufficient.of("poisson", (Interval("v", 0, 3),), "replace-one", 3)
COUNTS = [2, 1, 0, 1, 1, 1, 0, 0]  # of three records
PRIOR, HEAT = Fraction(3, 2), Fraction(7, 3)
ALMOST = Fraction(999_999, 1_000_000)


def grid_posterior(samples=1, n=3):
    return NetworkPosteriorSampler.posterior(
        NET.layout, "99", "replace-one", n=n, omega="1/10", temperature=HEAT,
        prior=PRIOR, units=40, samples=samples,
    )  # fmt: skip


def grid_map(n=3):
    return NetworkPosteriorSampler.map(
        NET.layout, "99", "replace-one", n=n, omega="1/10", temperature=HEAT,
        prior=PRIOR, units=40,
    )  # fmt: skip


def family_posterior(adjacency="replace-one", **options):
    options = {"truncation": {"rate": (0.5, 2.5)}, "points": 9, **options}
    n = 5 if adjacency == "replace-one" else None
    return FamilyPosteriorSampler.calibrate(
        Poisson(3), 3, 0, "99", adjacency, n=n, temperature=HEAT, **options
    )


def test_omega_is_rounded_up_to_the_grid():
    for omega, least in (
        (Fraction(1, 15), 7),
        (Fraction(1, 10), 10),
        (Fraction(1, 999), 1),
    ):
        grids = grids_of_omega(NET.layout, omega, 100)
        assert [(g.levels, g.units, g.least, p) for g, p in grids] == [
            (2, 100, least, False), (3, 100, least, True),
        ]  # fmt: skip
    for share, each in ((Fraction(1, 999), [1, 1]), (Fraction(1, 2), [25, 16])):
        grids = grids_of_share(NET.layout, share, 100)
        assert [grid.least for grid, _ in grids] == each


def test_exponents_are_those_of_the_tempered_posterior():
    """The prior's too in a map, and nowhere else."""
    rows = {"posterior": grid_posterior()._rows, "map": grid_map()._rows}
    for name, found in rows.items():
        expected = [
            (PRIOR - 1 + count) / HEAT if name == "map" else PRIOR - 1 + count / HEAT
            for count in COUNTS
        ]
        parts = list(found(jnp.array(COUNTS)))
        assert [x for _, _, exponents in parts for x in exponents] == expected
        assert [(g.levels, r.start, r.stop) for g, r, _ in parts] == [
            (2, 0, 2), (3, 2, 5), (3, 5, 8),
        ]  # fmt: skip


def test_every_row_of_every_sample_has_bits_of_its_own():
    """Five choices a sample: one of the first row, two of each other one."""
    asked = []

    def bits(k):
        asked.append(k)
        return len(asked) << 59

    drawn = grid_posterior(samples=3).draw_with(bits, jnp.array(COUNTS))
    assert drawn.shape == (3, 8)
    assert asked == [64] * 15
    sums = np.add.reduceat(drawn, [0, 2, 5], axis=1)
    assert (sums == 40).all()
    assert drawn.min() >= 4
    assert len({tuple(x) for x in drawn.tolist()}) == 3


@pytest.mark.parametrize("make", [grid_posterior, grid_map])
def test_counts_of_another_number_of_records_are_refused(make):
    mechanism = make()
    given = [[3, 1, 0, 1, 1, 1, 1, 0], [1, 1, 0, 1, 0, 1, 0, 0]] if mechanism.n else []
    for counts in (*given, [-1, 4, 0, 1, 1, 1, 0, 0], COUNTS[:-1]):
        with pytest.raises(ValueError, match=r"`(n|exact)` must be"):
            mechanism.draw(jnp.array(counts))
    assert grid_map().n is None


def test_a_mechanism_is_not_made_for_a_little_less_than_it_costs():
    for right in (grid_posterior(), grid_posterior(samples=4), grid_map()):
        cost = PureDP(right.loss * ALMOST, right.adjacency)
        with pytest.raises(ValueError, match="`temperature` must be at least"):
            NetworkPosteriorSampler.from_description(right.describe(), ALL, cost, 3)
        made = NetworkPosteriorSampler.from_description(
            right.describe(), ALL, right.cost, 3
        )
        assert made == right
    for right in (family_posterior(), family_posterior(samples=4)):
        for cost, given in ((right.loss * ALMOST, False), (right.loss, True)):
            args = (SUMS, PureDP(cost, right.adjacency), 5)
            if given:
                assert (
                    FamilyPosteriorSampler.from_description(right.describe(), *args)
                    == right
                )
            else:
                with pytest.raises(ValueError, match="`temperature` must be at least"):
                    FamilyPosteriorSampler.from_description(right.describe(), *args)


@pytest.mark.parametrize("prior", [((0.5,), 2.0), None])
def test_a_file_of_a_family_keeps_its_prior(prior):
    right = family_posterior(prior=prior)
    args = (SUMS, right.cost, 5)
    assert FamilyPosteriorSampler.from_description(right.describe(), *args) == right
    with pytest.raises(ValueError, match="`prior` must be"):
        FamilyPosteriorSampler.from_description(
            right.describe() | {"prior": [[0.5], -2.0]}, *args
        )


@pytest.mark.parametrize("prior", [((0.25,), 2.0), None])
def test_scores_are_the_tempered_likelihood_and_the_whole_prior(prior):
    """A Poisson's log-likelihood; numbers of records in the units of sums."""
    for adjacency, vector in (("replace-one", [7]), ("add-remove", [7, 8])):
        mechanism = family_posterior(adjacency, prior=prior)
        scores, unit = mechanism.scores(vector)
        rate = mechanism.grid.parameters[:, 0]
        np.testing.assert_allclose(rate, np.geomspace(0.5, 2.5, 9))
        logs = (7 * np.log(rate) - 5 * rate) / float(HEAT)
        if prior is not None:
            logs += prior[1] * (3 * prior[0][0] * np.log(rate) - rate)
        found = np.array([float(unit * (x - scores[0])) for x in scores])
        np.testing.assert_allclose(found, logs - logs[0], atol=1e-6)
    mechanism = family_posterior()
    assert mechanism.scores([15])
    for total in ([16], [-16]):
        with pytest.raises(ValueError, match="`exact` must be"):
            mechanism.scores(total)


def test_points_are_within_their_limits_and_tables_are_precise():
    grid = ParameterGrid(Bernoulli(), (("probability", 0.1, 0.7),), 7, 1, 0)
    chance = grid.parameters[:, 0]
    np.testing.assert_allclose(chance, np.linspace(0.1, 0.7, 7))
    assert chance.min() >= 0.1
    assert chance.max() <= 0.7
    steps, records = grid.tables
    odds = [float(x) / 2**TABLE_BITS for x in steps[:, 0]]
    np.testing.assert_allclose(odds, np.log(chance / (1 - chance)), rtol=1e-12)
    rest = [float(x) / 2**TABLE_BITS for x in records]
    np.testing.assert_allclose(rest, np.log(1 - chance), rtol=1e-12)


def test_limits_that_doubles_cannot_tell_apart_are_refused():
    for least, most in ((1e6, 1e6 + 1), (3.0, 3.0001), (1.5, 1.50001)):
        with pytest.raises(ValueError, match="`truncation` must be wider"):
            ParameterGrid(Poisson(3), (("rate", least, most),), 9, 3, 0)


@pytest.mark.parametrize("power", ["-1/3", "-7", "-999", "-1001"])
def test_exponentials_of_the_rate_of_cells_are_rounded_down(power):
    power = Fraction(power)
    with mpmath.workdps(600):
        exact = mpmath.exp(mpmath.mpf(power.numerator) / power.denominator)
        exact = Fraction(int(exact * 10**550), 10**550)
    bound = _exponential_below(power)
    assert bound < exact
    assert bound > exact * (1 - Fraction(1, 10**39)) or (bound == 0 and power < -1000)
