"""Exact Gaussian noise without a table: its draws, its mechanism, its releases."""

import contextlib
import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy import stats

import dpjax as dp
from dpjax.mechanisms import DiscreteGaussian, WideGaussian
from dpjax.mechanisms.recipes import Auto, Gaussian, noise_for
from dpjax.noise import GaussianLaw, LaplaceLaw, exact_choice, wide_gaussian
from dpjax.noise.discrete_laplace import LARGEST
from dpjax.noise.exact_choice import system_bits
from dpjax.noise.keys import study_key
from dpjax.privacy import ZCDP, ApproximateDP, PureDP, Sensitivity, zcdp_budget
from dpjax.statistics import NetworkCounts, Sufficient
from tests.helpers.statistical import ALPHA

SQUARED = Sensitivity(10**9, "add-remove")


class _Unlikely(Exception):
    pass


class _Choices:
    """Choices along one path: those of a given path, and then none."""

    def __init__(self, path):
        self.path, self.depth, self.mass, self.law = path, 0, 1.0, ()

    def __call__(self, law):
        if self.depth == len(self.path):
            self.law = law
            raise _Unlikely
        self.mass *= law[self.path[self.depth]]
        self.depth += 1
        return self.path[self.depth - 1]


def enumerated(run, least=1e-7):
    """The probability of each outcome of all sequences of choices, but unlikely ones.

    `run` gets a function that makes a choice with given probabilities.
    """
    found, paths = {}, [()]
    while paths:
        choose = _Choices(paths.pop())
        with contextlib.suppress(_Unlikely):
            outcome = run(choose)
            found[outcome] = found.get(outcome, 0) + choose.mass
        if choose.mass >= least:
            paths += [(*choose.path, i) for i, x in enumerate(choose.law) if x > 0]
    return found


def coin(choose):
    return lambda rate, bits: choose([math.exp(-rate), -math.expm1(-rate)]) == 0


def test_integers_below_a_limit_are_equally_likely():
    for limit in (1, 2, 5, 8):
        found = enumerated(
            lambda choose, n=limit: exact_choice.drawn_below(
                lambda k: choose([2.0**-k] * 2**k), n
            )
        )
        assert set(found) == set(range(limit))
        np.testing.assert_allclose([*found.values()], 1 / limit, rtol=1e-3)


@pytest.mark.parametrize("rate", ["0", "1/3", "1", "5/2"])
def test_a_coin_falls_with_the_exact_probability(rate, monkeypatch):
    def run(choose):
        below = lambda bits, limit: choose([1 / limit] * limit)  # noqa: E731
        monkeypatch.setattr(wide_gaussian, "drawn_below", below)
        return wide_gaussian._decays(Fraction(rate), system_bits)

    found = enumerated(run, 1e-5)
    assert found.get(True, 0) == pytest.approx(math.exp(-Fraction(rate)), abs=2e-3)
    assert sum(found.values()) == pytest.approx(1, abs=2e-3)


@pytest.mark.slow
def test_candidates_have_a_discrete_laplace_distribution(monkeypatch):
    def run(choose):
        below = lambda bits, limit: choose([1 / limit] * limit)  # noqa: E731
        monkeypatch.setattr(wide_gaussian, "drawn_below", below)
        monkeypatch.setattr(wide_gaussian, "_decays", coin(choose))
        return wide_gaussian._laplace(3, lambda k: choose([2.0**-k] * 2**k))

    found = enumerated(run)
    for z in range(-6, 7):
        law = math.tanh(1 / 6) * math.exp(-abs(z) / 3)
        assert found.get(z, 0) == pytest.approx(law, rel=3e-3)


@pytest.mark.parametrize("variance", ["1/2", "9/5", "61/2"])
def test_candidates_are_accepted_as_the_distribution_wants(variance, monkeypatch):
    """By the first candidate: the next one, if it is refused, is as the first."""
    variance, reach, scales = Fraction(variance), np.arange(-40, 41), []

    def run(choose):
        tried = []

        def laplace(scale, bits):
            if tried:
                return tried.append(None) or 0
            scales.append(scale)
            law = math.tanh(1 / scale / 2) * np.exp(-np.abs(reach) / scale)
            tried.append(reach[choose(law)])
            return int(tried[0])

        def decays(rate, bits):
            return len(tried) > 1 or coin(choose)(rate, bits)

        monkeypatch.setattr(wide_gaussian, "_laplace", laplace)
        monkeypatch.setattr(wide_gaussian, "_decays", decays)
        found = wide_gaussian.draw(variance, system_bits)
        return found if len(tried) == 1 else "refused"

    found = enumerated(run, 0.0)
    refused = found.pop("refused")
    assert refused < 0.5  # so that draws are quick
    assert set(scales) == {math.isqrt(math.floor(variance)) + 1}
    law = np.exp(-(reach**2) / (2 * float(variance)))
    law *= sum(found.values()) / law.sum()
    for z, expected in zip(reach, law, strict=True):
        assert found.get(int(z), 0) == pytest.approx(expected, rel=1e-6, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("variance", [Fraction(61, 2), Fraction(10**14, 7)])
def test_wide_draws_have_the_exact_distribution(variance, rng):
    """By chi-square of 20,000 draws; a σ that is off by a twentieth has power 0.98."""

    def bits(k):
        return int.from_bytes(rng.bytes(k // 8 + 1), "big") >> (8 - k % 8)

    drawn = np.array([wide_gaussian.draw(variance, bits) for _ in range(20_000)])
    sigma = math.sqrt(variance)
    edges = np.unique(np.round(sigma * stats.norm.ppf(np.arange(1, 20) / 20))) + 0.5
    ends = np.concatenate([[-np.inf], edges, [np.inf]])
    law = np.diff(stats.norm.cdf(ends / sigma))  # off by less than 1e-9 at these σ
    counts = np.histogram(drawn, ends)[0]
    assert stats.chisquare(counts, law * drawn.size).pvalue > ALPHA


# --- the mechanism ---


def test_the_noise_is_that_of_the_budget():
    made = WideGaussian.calibrate("1/3", SQUARED)
    assert made.guarantee() == ZCDP(Fraction(1, 3), "add-remove")
    assert made.describe()["variance"] == str(Fraction(3 * 10**9, 2))
    drawn = made.draw(np.zeros(3000, np.int32))
    assert drawn.std() == pytest.approx(math.sqrt(1.5e9), rel=0.1)
    assert (drawn != made.draw(np.zeros(3000, np.int32))).any()
    sample = jax.jit(lambda key, exact: made.sample(key, exact))
    studied = np.asarray(sample(study_key(0), jnp.zeros(3000, jnp.int32)))
    assert studied.std() == pytest.approx(math.sqrt(1.5e9), rel=0.1)
    far = made.draw(np.array([LARGEST, -LARGEST] * 20))
    assert np.abs(far).max() == LARGEST


@pytest.mark.slow
def test_ranges_of_the_two_mechanisms_meet():
    squared = Sensitivity(1, "add-remove")
    edge = Fraction(1, 2**25)
    DiscreteGaussian.calibrate(edge, squared)
    below = edge * (1 - Fraction(1, 10**9))
    WideGaussian.calibrate(below, squared)
    WideGaussian.calibrate(Fraction(1, 2**47), squared)
    for made, rho in ((DiscreteGaussian, below), (WideGaussian, edge)):
        with pytest.raises(ValueError, match="`rho` over the squared sensitivity"):
            made.calibrate(rho, squared)
    with pytest.raises(ValueError, match="take another `rho`"):
        WideGaussian.calibrate(Fraction(1, 2**48), squared)


@pytest.mark.slow
def test_noise_in_another_unit_has_the_density_of_the_quotient(key):
    """Of a lattice 8 times as fine: σ = 40 becomes 5, and the scale 16 becomes 2."""
    z = jnp.asarray([-7.0, 0.0, 0.5, 12.0])
    zero = jnp.zeros(4)
    cases = {
        GaussianLaw(1 / 3200): stats.norm(scale=5),
        LaplaceLaw(1 / 16, discrete=True): stats.laplace(scale=2),
    }
    for law, expected in cases.items():
        made = law.continuous(8)
        assert float(made.variance()) == pytest.approx(expected.var(), rel=1e-5)
        z_far = np.arange(-2000, 2001)
        logs = law.log_prob(jnp.asarray(z_far), jnp.zeros(z_far.size))
        second = np.exp(np.asarray(logs, float)) @ z_far.astype(float) ** 2
        assert float(law.variance()) == pytest.approx(second, rel=1e-3)
        found = np.asarray(made.log_prob(z, zero))
        np.testing.assert_allclose(found, expected.logpdf(np.asarray(z)), rtol=1e-4)
        drawn = np.asarray(made.simulate(jr.clone(key), (4000,)))
        assert stats.kstest(drawn, expected.cdf).pvalue > ALPHA


# --- what one record changes ---


def largest_square(statistic, grid, adjacency):
    sums = [np.asarray(statistic.measure(x)).astype(float) for x in grid]
    others = sums if adjacency == "replace-one" else [0 * sums[0]]
    return max(((a - b) ** 2).sum() for a in sums for b in others)


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize(
    "family", ["gaussian", "multivariate-gaussian", "linear-regression"]
)
def test_squares_of_sums_are_bounded_number_by_number(family, adjacency):
    columns = 1 if family == "gaussian" else 2
    over = tuple(dp.Interval(f"x{i}", -1.0, 1.0) for i in range(columns))
    statistic = Sufficient.of(family, over, adjacency, 64)
    axis = np.linspace(-1, 1, 9, dtype=np.float32)
    grid = np.stack(np.meshgrid(*[axis] * columns), axis=-1).reshape(-1, 1, columns)
    bound = int(statistic.squared_sensitivity(adjacency).value)
    found = largest_square(statistic, grid, adjacency)
    assert found <= bound <= found * (1.8 if adjacency == "replace-one" else 1)


def test_squares_of_counts_of_levels_are_exact():
    over = dp.BayesNet.from_parents({"x": [0, 1, 2]}, {"x": []}).variables
    for adjacency, squared in (("replace-one", 2), ("add-remove", 1)):
        statistic = Sufficient.of("categorical", over, adjacency)
        stated = statistic.squared_sensitivity(adjacency)
        assert (int(stated.value), stated.tight) == (squared, True)


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_squares_of_tables_and_leaves_are_bounded(adjacency):
    variables = {"y": [0, 1], "x": {"lower": -1, "upper": 1}}
    net = dp.data.MixedNet.naive_bayes(variables, "y")
    statistic = dp.statistics.MixedTotals(net, adjacency, units=8)
    grid = [
        jnp.array([[y, x]], jnp.float32) for y in (0, 1) for x in np.linspace(-1, 1, 9)
    ]
    bound = int(statistic.squared_sensitivity(adjacency).value)
    found = largest_square(statistic, grid, adjacency)
    assert found <= bound <= found * (4 / 3 if adjacency == "replace-one" else 3 / 2)


# --- releases ---


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_sums_of_numbers_get_gaussian_noise_for_a_rho(adjacency, tmp_path, rng):
    over = (dp.Interval("x", -3.0, 3.0),)
    statistic = Sufficient.of("gaussian", over, adjacency)
    table = np.clip(rng.normal(0.5, 1, (4000, 1)), -3, 3)
    for rho, kind in (("0.02", "wide-gaussian"), ("1", "discrete-gaussian")):
        budget = zcdp_budget(adjacency, rho=rho)
        made = dp.release(statistic, table, budget=budget)
        assert made.mechanism.kind == kind
        made.save(tmp_path / "r.json")
        again = dp.load(tmp_path / "r.json")
        assert again.guarantee() == budget
        found = dp.posterior(again)
        assert abs(float(found.mean()["mean"]) - 0.5) < 0.2
        assert float(found.sd()["mean"]) < 0.2


def test_gaussian_noise_is_the_default_for_a_rho_alone():
    """An (ε, δ) has it on counts: its ρ is less than ε² / 2 by far."""
    over = (dp.Interval("x", 0.0, 1.0),)
    sums = Sufficient.of("gaussian", over, "add-remove")
    net = dp.BayesNet.naive_bayes({"t": [0, 1], "x": [0, 1, 2]}, "t")
    rho = zcdp_budget("add-remove", rho="0.1")
    both = ApproximateDP(Fraction(1), Fraction(1, 10**9), "add-remove")
    pure = PureDP(Fraction(1), "add-remove")
    kinds = {"gaussian": [(sums, rho), (net, rho), (net, both)]}
    kinds["laplace"] = [(sums, both), (sums, pure), (net, pure)]
    for kind, cases in kinds.items():
        assert {str(noise_for(*case)) for case in cases} == {kind}
    assert Auto().paid_by(rho) == (Gaussian(), rho)
    assert Auto().paid_by(pure) == (Auto(), pure)
    small = zcdp_budget("add-remove", rho=Fraction(1, 2**26))
    made = Gaussian().mechanism(NetworkCounts(net), small, None)
    assert isinstance(made, WideGaussian)


@pytest.mark.slow
def test_leaves_with_gaussian_noise_have_a_posterior(rng):
    label = rng.integers(0, 2, 4000)
    value = np.clip(rng.normal(label, 0.5), -3, 3)
    variables = {"y": [0, 1], "x": {"lower": -3, "upper": 3}}
    net = dp.data.MixedNet.naive_bayes(variables, "y")
    budget = zcdp_budget("replace-one", rho="0.5")
    made = dp.release(net, {"y": label, "x": value}, budget=budget)
    found = dp.posterior(made)
    np.testing.assert_allclose(found.mean()["x"]["mean"], [0, 1], atol=0.2)
    np.testing.assert_allclose(found.mean()["x"]["variance"], 0.25, atol=0.1)
    np.testing.assert_allclose(found.mean()["y"], 0.5, atol=0.05)
