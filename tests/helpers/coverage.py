"""Where a true parameter lies in its posterior, over many simulated releases.

Simulation-based calibration: with parameters from the prior, that place is uniform. All
that is simulated comes from NumPy, and all laws are SciPy's, not the library's.
"""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from scipy import special, stats

from dpjax.families import conjugate_posterior
from dpjax.mechanisms import Laplace
from dpjax.posteriors import family_posterior
from dpjax.releases.released import Released


def places(parameters, name, truth):
    """P(parameter ≤ truth) under conjugate laws with stacked parameters.

    Leading axes of the parameters after the first, of drawn totals, are averaged over.
    """
    p = type(parameters)(*(np.asarray(x, float) for x in parameters))
    fields = set(p._fields)
    truth = truth.reshape((-1,) + (1,) * (p[-1].ndim - 1))
    if "successes" in fields:
        cdf = special.betainc(p.successes, p.failures, truth)
    elif fields == {"shape", "rate"}:
        cdf = special.gammainc(p.shape, p.rate * truth)
    elif "concentration" in fields:
        first = p.concentration[..., 0]
        truth = truth.reshape((-1,) + (1,) * (first.ndim - 1))
        cdf = special.betainc(first, p.concentration.sum(-1) - first, truth)
    elif "degrees" in fields:  # of the first column
        free = p.degrees - (p.scale.shape[-1] - 1)
        truth = truth.reshape((-1,) + (1,) * (free.ndim - 1))
        square = p.scale[..., 0, 0]
        spread = np.sqrt(square / (free * p.strength))
        off = (truth - p.mean[..., 0]) / spread
        inverse = name == "variance"
        cdf = (
            special.gammaincc(free / 2, square / truth / 2)
            if inverse
            else special.stdtr(free, off)
        )
    elif fields == {"mean", "precision"}:
        cdf = special.ndtr((truth - p.mean) * np.sqrt(p.precision))
    elif name == "variance":
        cdf = special.gammaincc(p.shape, p.scale / truth)
    elif name == "mean":
        spread = np.sqrt(p.scale / (p.shape * p.strength))
        cdf = special.stdtr(2 * p.shape, (truth - p.mean) / spread)
    else:
        inverse = np.linalg.inv(p.precision)[..., -1, -1]
        scale = p.scale / p.shape if "scale" in fields else 1.0
        off = (truth - p.mean[..., -1]) / np.sqrt(scale * inverse)
        cdf = (
            special.stdtr(2 * p.shape, off) if "shape" in fields else special.ndtr(off)
        )
    return cdf.reshape(len(truth), -1).mean(axis=1)


def release_many(rng, statistic, records, epsilon, discrete=False):
    """Noisy statistics of many data sets, (r, n, d); the noise is NumPy's."""
    exact = np.asarray(jax.jit(jax.vmap(statistic.measure))(records), float)
    scale = statistic.sensitivity(statistic.adjacency).value / epsilon
    if not discrete:
        return exact + rng.laplace(0, scale, exact.shape)
    up, down = rng.geometric(-np.expm1(-1 / scale), (2, *exact.shape))
    return exact + up - down


def infer_many(statistic, prior, n, *, warmup=200, draws=400, keep=400):
    """A compiled function of keys, noisy values and ε, to (aware, naive) parameters.

    Of `draws` totals `keep` are kept, by release on the first axis: with few, places
    near 0 and 1 are blurred, and intervals cover less than they should.
    """
    public = n if statistic.adjacency == "replace-one" else None
    sensitivity = statistic.sensitivity(statistic.adjacency)

    def one(key, values, epsilon):
        released = Released(values, statistic, Laplace(epsilon, sensitivity), public)
        aware = family_posterior(
            key, released, prior, chains=1, warmup=warmup, draws=draws
        )
        total, count = statistic.decode(values, public)
        naive = conjugate_posterior(statistic.family, total, count, prior)
        kept = jax.tree.map(lambda x: x[0, :: draws // keep], aware.parameters)
        return kept, naive.parameters

    many = jax.jit(jax.vmap(one, (0, 0, None)))

    def run(key, values, epsilon):
        keys = jr.split(jr.clone(key), len(values))  # the same ones for every epsilon
        return many(keys, jnp.asarray(values), jnp.asarray(epsilon, float))

    return run


def uniformity(cdf):
    """P-value of χ² on 20 bins."""
    return stats.chisquare(np.bincount((cdf * 20).astype(int).clip(0, 19))).pvalue


def covered(cdf):
    """How many 95 % intervals hold the truth."""
    return int(np.sum((cdf > 0.025) & (cdf < 0.975)))
