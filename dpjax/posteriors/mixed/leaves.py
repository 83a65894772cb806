"""Posteriors of numeric leaves, given the noisy totals of each row of their parents.

All rows of all leaves share one compiled program, in the scale of the bounds.
"""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, ArrayLike, Float, Int, Real

from dpjax._checks import typed_key
from dpjax._platforms import each
from dpjax._types import Key
from dpjax.data.intervals import Interval
from dpjax.families import Family, Gaussian, conjugate_posterior
from dpjax.families.conjugate_base import as_arrays, host
from dpjax.families.gaussian import NormalInverseGammaParameters
from dpjax.families.log_densities import log_gamma_ratio
from dpjax.families.marginal_laws import HostArray, StudentLaw, mixture_quantile
from dpjax.mechanisms import Mechanism, MechanismWithLaw
from dpjax.noise import NoiseLaw
from dpjax.posteriors.hidden_totals.hidden_total import HiddenTotal, Noisy
from dpjax.posteriors.hidden_totals.mixture import ConjugateMixture
from dpjax.posteriors.hidden_totals.total_walk import all_walks
from dpjax.posteriors.laws import noise_of
from dpjax.posteriors.mixed.few_records import with_few_records
from dpjax.privacy import ADD_REMOVE, Adjacency, Guarantee
from dpjax.releases.released import Released
from dpjax.statistics import MixedTotals, Sufficient

_UNIT = Gaussian(-1.0, 1.0)
_MOST_COMPONENTS = 200  # of the distribution of a value in a row, for its quantiles
USUAL = 4, 200, 300
"""Numbers of chains, of discarded first draws, and of draws kept of each chain."""


class NumbersWithNoise(MechanismWithLaw):
    """Some numbers of a release with independent noise, in a unit of their own.

    The noise is treated as continuous: its lattice is much finer than the noise.

    Args:
        law: the continuous distribution of the noise of each number.
        whole: the mechanism of the release, whose adjacency and cost these are.
    """

    law: NoiseLaw
    whole: Mechanism

    @property
    def adjacency(self) -> Adjacency:
        """The adjacency of the release."""
        return self.whole.adjacency

    def sample(self, key: Key, exact: Int[Array, "*shape"]) -> Float[Array, "*shape"]:
        """Add an independent draw of noise to each number of `exact`."""
        typed_key(key=key)
        return exact.astype(float) + self.law.simulate(key, exact.shape)

    def log_prob(
        self, released: Real[Array, "*shape"], exact: Real[Array, "*shape"]
    ) -> Float[Array, "*shape"]:
        """Return the log-density of each released number, given the exact numbers."""
        return self.law.log_prob(released, exact)

    def noise_scale(self, released: Real[Array, "*batch m"]) -> Float[Array, "..."]:
        """Return the scale of Laplace noise of equal variance, for each number."""
        deviation = self.law.normal_deviation()
        if deviation is None:
            return super().noise_scale(released)
        return deviation / np.sqrt(2)

    def noise(self, shape: tuple[int, ...]) -> NoiseLaw:
        """Return the continuous distribution of the noise of the numbers."""
        return self.law

    def guarantee(self) -> Guarantee:
        """Return the privacy cost of the whole release."""
        return self.whole.guarantee()


class LeafPosterior(ConjugateMixture):
    """Posterior of a numeric leaf's mean and variance, for each row of its parents.

    The axes of arrays are the leaf's parents, in order. Rows are independent.

    Args:
        family: the Gaussian family with the leaf's bounds; static.
        parameters: parameters of the conjugate posterior of every drawn total of a row;
            the first axes are chains and draws.
        accepted: share of accepted proposals of each row's chains, 1 without chains.
        aware: whether the noise of the release is taken into account; static.
    """

    family: Family = eqx.field(static=True)
    parameters: Any
    accepted: Float[Array, "..."]
    aware: bool = eqx.field(static=True)

    @property
    def method(self) -> str:
        """Name of the inference method in `dpjax.posteriors.METHODS`."""
        return "hidden-totals" if self.aware else "plug-in"

    def update(self, records: Any, key: Key | None = None) -> "LeafPosterior":
        """Raise `ValueError`, since the records have the leaf's parents too."""
        raise self._undefined("update", "`update` of the network's posterior")

    def log_density(self, values: Float[Array, " n"]) -> Float[Array, "n r"]:
        """Log predictive density of each value, clipped to the bounds, in each row."""
        return _log_density(self._flat, jnp.clip(values, *self.family.bounds[0]))

    def quantiles(self, weights: Float[np.ndarray, "n r"], q: float) -> HostArray:
        """Return q-quantiles of mixtures of the rows' predictive laws, on the host.

        The distributions are those of a value before clipping. At most 200 of the drawn
        totals of a row are used.
        """
        parts = self._laws()
        law = StudentLaw(*(x.reshape(-1, 1) for x in parts))
        return mixture_quantile(law, q, np.tile(weights.T, (len(parts.scale), 1)))

    def in_bins(self, edges: Float[ArrayLike, " e"]) -> HostArray:
        """Return predictive probabilities of bins between `edges`, in each row.

        The first and the last bin have no outer edges. At most 200 of the drawn totals
        of a row are used, on the host.
        """
        law = self._laws()
        ends = np.array([-np.inf, *np.asarray(edges, np.float64), np.inf])
        below = ends[:, None, None]
        above = 2 * law.location - below  # the law is symmetric
        lower, upper = np.diff(law.cdf(below), axis=0), -np.diff(law.cdf(above), axis=0)
        shares = np.where(below[:-1] < law.location, lower, upper)
        return shares.mean(axis=1).T

    def _laws(self) -> StudentLaw:
        """Predictive laws of some components (first axis) and all rows (second)."""
        step = -(-self.components // _MOST_COMPONENTS)
        p = NormalInverseGammaParameters(*host(*(x[::step] for x in self._flat)))
        spread = np.sqrt(p.scale * (1 + 1 / p.strength) / p.shape)
        return StudentLaw(p.mean, spread, 2 * p.shape)

    @property
    def _flat(self) -> NormalInverseGammaParameters:
        """The parameters with components on the first axis and rows on the second."""
        size = self.components
        return jax.tree.map(lambda x: x.reshape(size, -1), self.parameters)


@jax.jit
def _log_density(
    p: NormalInverseGammaParameters, values: Float[Array, " n"]
) -> Float[Array, "n r"]:
    degrees, spread = 2 * p.shape, jnp.sqrt(p.scale * (1 + 1 / p.strength) / p.shape)
    half, none = jnp.full_like(degrees, 0.5), jnp.zeros_like(degrees)
    top = log_gamma_ratio(p.shape, half, none)
    top = top - jnp.log(degrees * np.pi) / 2 - jnp.log(spread)

    def one(value):
        off = (value - p.mean) / spread
        logs = top - (degrees + 1) / 2 * jnp.log1p(off**2 / degrees)
        return logsumexp(logs, axis=0) - np.log(len(logs))

    return each(one, values, lambda sizes: sizes.numbers // degrees.size)


def leaf_posteriors(
    key: Key,
    released: Released,
    priors: Mapping[str, NormalInverseGammaParameters],
    *,
    aware: bool,
    sizes: tuple[int, int, int] = USUAL,
) -> dict[str, LeafPosterior]:
    """Compute the posterior of every leaf, given a release of `MixedTotals`.

    With `aware`, Markov chains draw the hidden totals of each row and its number of
    records, which has a flat prior, from its three noisy numbers (see
    `family_posterior`, and `with_few_records` for less than two records). Otherwise
    these numbers are moved to possible values, and the results treated as exact.

    Args:
        key: typed JAX key of the chains.
        released: the release.
        priors: conjugate parameters of each leaf, by name, of the shape of its rows.
        aware: whether the noise is taken into account.
        sizes: those of the chains, as in `USUAL`.
    """
    statistic = released.statistic
    assert isinstance(statistic, MixedTotals)
    net = statistic.net
    noisy = jnp.concatenate(statistic.split(released.values)[1])
    by_leaf = [_scaled(priors[leaf.name], leaf) for leaf in net.leaves]
    joined = jax.tree.map(lambda *x: jnp.concatenate([*map(jnp.ravel, x)]), *by_leaf)
    over = (Interval("z", -1.0, 1.0),)
    row = Sufficient.of("gaussian", over, ADD_REMOVE, statistic.steps)
    if aware:
        places = statistic.split(jnp.arange(released.values.size))[1]
        law = noise_of(released).continuous(1)
        law = law.of(np.concatenate(places).astype(int))
        whole = released.mechanism
        found, accepted = _walks(key, noisy, law, joined, row, whole, sizes)
    else:
        found, accepted = _plug_in(noisy, joined, row), jnp.ones((len(noisy), 1, 1))
    posteriors, start = {}, 0
    for i, leaf in enumerate(net.leaves):
        shape, end = net.shape(i), start + priors[leaf.name].mean.size
        own = jax.tree.map(lambda x, a=start, b=end: x[a:b], found)
        own = jax.tree.map(lambda x, s=shape: _rows_last(x, s), own)
        family = Gaussian(leaf.lower, leaf.upper)
        shares = _rows_last(accepted[start:end], shape)
        own = _unscaled(own, leaf)
        posteriors[leaf.name] = LeafPosterior(family, own, shares, aware)
        start = end
    return posteriors


@eqx.filter_jit
def _walks(
    key: Key,
    noisy: Float[Array, "r 3"],
    laws: NoiseLaw,
    priors: NormalInverseGammaParameters,
    row: Sufficient,
    whole: Mechanism,
    sizes: tuple[int, int, int],
) -> tuple[NormalInverseGammaParameters, Float[Array, "r chains kinds"]]:
    def walk(key, noisy, law, prior):
        noise = NumbersWithNoise(law, whole)
        hidden = HiddenTotal(((Noisy(noisy, noise),),), None, prior, row, _UNIT)
        key_walk, key_few = jr.split(key)
        parameters, totals, n, accepted = all_walks(key_walk, hidden, *sizes)
        parameters = with_few_records(key_few, hidden, parameters, totals, n)
        return parameters, accepted

    return jax.vmap(walk)(jr.split(key, len(noisy)), noisy, laws, priors)


@eqx.filter_jit
def _plug_in(
    noisy: Float[Array, "r 3"], priors: NormalInverseGammaParameters, row: Sufficient
) -> NormalInverseGammaParameters:
    def one(noisy, prior):
        total, n = row.decode(noisy)
        found: Any = conjugate_posterior(_UNIT, total, n, prior).parameters
        return jax.tree.map(lambda x: x[None, None], found)

    return jax.vmap(one)(noisy, priors)


def _rows_last(values: Array, shape: tuple[int, ...]) -> Array:
    """Move rows from the first axis to the last axes, one for each parent."""
    moved = jnp.moveaxis(values, 0, -1)
    return moved.reshape(*moved.shape[:-1], *shape)


def _scaled(
    p: NormalInverseGammaParameters, leaf: Interval
) -> NormalInverseGammaParameters:
    """Convert parameters to those of values that are scaled to [-1, 1]."""
    p, centre, half = as_arrays(p), *_middle(leaf)
    mean, scale = (p.mean - centre) / half, p.scale / half**2
    return p._replace(mean=mean, scale=scale)


def _unscaled(
    p: NormalInverseGammaParameters, leaf: Interval
) -> NormalInverseGammaParameters:
    centre, half = _middle(leaf)
    return p._replace(mean=centre + half * p.mean, scale=half**2 * p.scale)


def _middle(leaf: Interval) -> tuple[float, float]:
    family = Gaussian(leaf.lower, leaf.upper)
    return family.centre[0], family.half_width
