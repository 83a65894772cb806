"""A method of inference from outside the package, and how `posterior` chooses.

And a family from outside, whose law of the total is all that a posterior needs.
"""

from dataclasses import dataclass
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import gammaln
from scipy import stats

import dpjax as dp
from dpjax.data.intervals import Interval
from dpjax.families import BetaParameters, Bound, Family
from dpjax.families.bernoulli import BetaPosterior
from dpjax.families.exact_totals import FamilyWithLaw
from dpjax.mechanisms import DiscreteLaplace, Laplace
from dpjax.noise.keys import study_key
from dpjax.posteriors import (
    METHODS,
    InferenceMethod,
    NetworkPosterior,
    TooExpensive,
    choice,
    family_posterior,
)
from dpjax.releases.released import Released
from dpjax.statistics import NetworkCounts, Sufficient
from tests.helpers.networks import TINY
from tests.helpers.statistical import ALPHA


class Prior(NetworkPosterior):
    """Learns nothing: uniform tables, whatever was released."""

    released: Released
    name: str = eqx.field(static=True)

    @property
    def net(self):
        return self.released.net

    @property
    def method(self):
        return self.name

    def _mean(self):
        ones = jnp.ones(self.net.layout.length)
        return ones / self.net.layout.row_sums(ones)

    def _sd(self):
        return self._mean()

    def _quantile(self, q):
        return self._mean() * q

    def _draw(self, key):
        return self._mean() * jax.random.uniform(key)

    def _log_density(self, theta):
        return jnp.zeros(())

    def _updated(self, counts, key):
        return self


class Ignorance(InferenceMethod):
    """For small releases, before all others."""

    kind = "ignorance"
    rank = -1

    @classmethod
    def suits(cls, released):
        return released.statistic.network is not None and released.n == 3

    @classmethod
    def infer(cls, released, prior, key, increment):
        if prior == 2.0:
            raise TooExpensive("`prior` must not be 2.")
        return Prior(released, cls.kind)


class Resignation(InferenceMethod):
    """For what ignorance cannot afford."""

    kind = "resignation"
    rank = -0.5
    suits = Ignorance.suits

    @classmethod
    def infer(cls, released, prior, key, increment):
        return Prior(released, cls.kind)


@pytest.fixture
def added(monkeypatch):
    monkeypatch.setattr(METHODS, "_kinds", dict(METHODS._kinds))
    METHODS.add(Resignation)
    METHODS.add(Ignorance)


def release(net="chain", n=3):
    statistic = NetworkCounts(TINY[net])
    mechanism = DiscreteLaplace.calibrate("2", statistic.sensitivity("replace-one"))
    exact = statistic.measure(np.zeros((n, len(TINY[net].sizes)), np.uint8))
    return Released(mechanism.sample(study_key(0), exact), statistic, mechanism, n)


@pytest.mark.slow
def test_a_method_of_ones_own_is_found_and_used(added, key):
    found = dp.posterior(release())
    assert found.method == "ignorance"
    np.testing.assert_allclose(found.mean()["y"], 1 / 3, rtol=1e-6)
    key_sample, key_records = jax.random.split(key)
    assert found.sample(key_sample, (2,))["y"].shape == (2, 2, 3)
    rows = np.zeros((2, 2), np.uint8)
    np.testing.assert_allclose(found.predict_proba(rows, "x"), 0.5, rtol=1e-6)
    assert found.sample_records(key_records, 3).shape == (3, 2)


@pytest.mark.slow
def test_what_is_too_expensive_passes_on_unless_it_was_named(added):
    assert dp.posterior(release(), 2.0).method == "resignation"
    with pytest.raises(TooExpensive, match="must not be 2"):
        dp.posterior(release(), 2.0, method="ignorance")


@pytest.mark.parametrize(
    "method", ["plug-in", pytest.param("point-estimate", marks=pytest.mark.thorough)]
)
def test_a_method_is_used_by_name(method):
    assert dp.posterior(release(), method=method).method == method


@pytest.mark.slow
def test_errors_of_names_are_one_clear_line():
    released = release("collider")
    with pytest.raises(ValueError, match=r"`method` must be one of samples, .*'nuts'"):
        dp.posterior(released, method="nuts")
    with pytest.raises(ValueError, match=r"`method` must suit the release.*plug-in"):
        dp.posterior(released, method="exact")
    with pytest.raises(ValueError, match="`noise_aware` must be left out"):
        dp.posterior(released, method="gibbs", noise_aware=False)
    with pytest.raises(ValueError, match="`increment` must come with"):
        dp.posterior(released, increment=1.0)


def test_all_kinds_are_tried_in_the_order_that_is_documented():
    names = [kind for kind in METHODS if METHODS[kind].rank is not None]
    assert names == sorted(names, key=lambda kind: METHODS[kind].rank)
    text = choice.posterior.__doc__
    places = [text.index(f'"{kind}"') for kind in names]
    assert places == sorted(places)
    assert all(f'"{kind}"' in text for kind in METHODS)


def test_an_installed_package_adds_a_method_by_an_entry_point(tmp_path, monkeypatch):
    """It is loaded when the first method is looked for, named or not."""
    module = "from tests.test_open_posterior import Ignorance as Method\n"
    (tmp_path / "beside_dpjax.py").write_text(module)
    metadata = tmp_path / "beside_dpjax-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Name: beside-dpjax\nVersion: 1\n")
    entry = "[dpjax.methods]\nignorance = beside_dpjax:Method\n"
    (metadata / "entry_points.txt").write_text(entry)
    monkeypatch.setattr(METHODS, "_kinds", dict(METHODS._kinds))
    assert dp.posterior(release(n=4), method="plug-in").method == "plug-in"
    monkeypatch.syspath_prepend(tmp_path)
    assert dp.posterior(release()).method == "ignorance"
    assert METHODS["ignorance"].__name__ == "Ignorance"
    with pytest.raises(ValueError, match=r"one of .*, ignorance, got"):
        METHODS["hope"]


@dataclass(frozen=True)
class Plain(Family):
    """How many of a few tosses of one coin are heads: binomial, with a Beta prior."""

    upper: int

    name: ClassVar[str] = "test-plain"
    priors: ClassVar = {BetaParameters: BetaPosterior}
    parameters: ClassVar = {"probability": (0.0, 1.0)}

    bounds = property(lambda self: ((0.0, float(self.upper)),))
    lattice = property(lambda self: self.upper)

    @classmethod
    def from_bounds(cls, lower, upper, **options):
        return cls(int(upper[0]), **options)

    def scales(self):
        return (float(self.upper),)

    def scaled_statistics(self, records):
        return jnp.clip(records.astype(float) / self.upper, 0, 1)

    def diameter(self, scaled=False):
        return Bound(1.0 if scaled else float(self.upper))

    radius = diameter

    def project(self, total, n):
        return jnp.clip(total, 0, self.upper * n), n

    def prior(self):
        return BetaParameters()

    def update(self, prior, total, n):
        heads, tails = total[0], n * self.upper - total[0]
        return BetaParameters(prior.successes + heads, prior.failures + tails)

    _likelihood_diameter = _likelihood_radius = None


class Tosses(Plain, FamilyWithLaw):
    """The same, with the law of a total: beta-binomial."""

    def log_total(self, prior, total, n):
        a, b = prior
        heads, tails = total[0], n * self.upper - total[0]
        ways = gammaln(heads + a) - gammaln(heads + 1)
        ways = ways + gammaln(tails + b) - gammaln(tails + 1)
        return jnp.where((heads >= 0) & (tails >= 0), ways, -jnp.inf)


def tosses(family):
    """A release of ten records of three tosses."""
    statistic = Sufficient(family, (Interval("x", 0, 3),), "replace-one")
    mechanism = Laplace(0.6, statistic.sensitivity("replace-one"))
    return Released(jnp.asarray([26.0]), statistic, mechanism, 10)


@pytest.mark.slow
def test_a_family_of_ones_own_has_a_noise_aware_posterior(key):
    """Against the sum over all hidden totals."""
    found = family_posterior(key, tosses(Tosses(3)), chains=16, warmup=100, draws=200)
    assert METHODS[found.method].suits(found.releases[0][0])
    heads = np.arange(31)
    weights = np.exp(-0.6 / 3 * np.abs(heads - 26))  # all totals are as likely
    means = (1 + heads) / 32
    exact = weights @ means / weights.sum()
    by_chain = np.asarray(found.parameters.successes / 32).mean(axis=1)
    error = by_chain.std(ddof=1) / 4
    assert abs(by_chain.mean() - exact) < stats.t.isf(ALPHA / 2, 15) * error
    assert error < 0.01 < abs(exact - 27 / 32)
    assert float(found.mean()) == pytest.approx(by_chain.mean(), rel=1e-4)


def test_without_the_law_of_a_total_there_is_the_plug_in_posterior(key):
    with pytest.raises(ValueError, match=r'law for its total.*method="plug-in"'):
        family_posterior(key, tosses(Plain(3)))
    with pytest.raises(ValueError, match=r"`method` must be given.*: use plug-in"):
        dp.posterior(tosses(Plain(3)))
    found = dp.posterior(tosses(Plain(3)), method="plug-in")
    assert float(found.mean()) == pytest.approx(27 / 32)
