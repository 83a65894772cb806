"""Noise-aware posteriors of exponential families.

Markov chains draw the hidden exact total, with the parameters integrated out. The
posterior is a mixture of conjugate posteriors, one for each drawn total.
"""

__all__ = ["NoiseAwareFamilyPosterior", "family_posterior"]

from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, ArrayLike, Float, Real
from numpyro.diagnostics import effective_sample_size, split_gelman_rubin

from dpjax._checks import typed_key, whole
from dpjax._types import Key
from dpjax.data.sources import Table
from dpjax.families import Family
from dpjax.families.conjugate_base import (
    ConjugatePosterior,
    Values,
    host,
    probability,
)
from dpjax.families.marginal_laws import HostArray, mixture_quantile
from dpjax.noise.keys import study_key
from dpjax.posteriors.base import FamilyPosterior
from dpjax.posteriors.hidden_totals.total_walk import infer
from dpjax.posteriors.priors import updated_prior
from dpjax.releases.released import Released

_MOST_COMPONENTS = 1000  # most components of a mixture, for its quantiles


class NoiseAwareFamilyPosterior(FamilyPosterior):
    """The posterior of a family's parameters given noisy sufficient statistics.

    The posterior is a mixture of conjugate posteriors, one for each drawn total. The
    summaries of this mixture are more precise than summaries of draws from `sample`.

    Args:
        family: the exponential family; static.
        released: the noisy statistics.
        prior: conjugate parameters.
        parameters: parameters of the conjugate posterior for every drawn total; the
            first axes are chains and draws.
        totals: drawn totals of the statistic, in natural units, (chains, draws, m).
        n: drawn numbers of records, (chains, draws).
        accepted: share of accepted steps, by chain and kind of step.
        warmup: discarded sweeps of each chain; static.

    Privacy:
        Post-processing of the release: costs nothing more.
    """

    family: Any = eqx.field(static=True)
    released: Released
    prior: Any
    parameters: Any
    totals: Float[Array, "chains draws m"]
    n: Float[Array, "chains draws"]
    accepted: Float[Array, "chains kinds"]
    warmup: int = eqx.field(static=True)

    @property
    def method(self) -> str:
        """Name of the method in `METHODS`."""
        return "hidden-totals"

    def mean(self) -> Values:
        """Posterior mean of every parameter."""
        return jax.tree.map(_average, _moments(self.family, self.parameters)[0])

    def variance(self) -> Values:
        """Marginal variance of every parameter, by the law of total variance."""
        between, within = _moments(self.family, self.parameters)

        def total(between, within):
            return _average(within) + between.var(axis=(0, 1))

        return jax.tree.map(total, between, within)

    def quantile(self, q: float) -> HostArray | dict[str, HostArray]:
        """The q-quantile of every parameter's marginal posterior, on the host.

        For a covariance matrix, the result has only the quantiles of each "variance".

        Raises:
            ValueError: if `q` is not between 0 and 1.
        """
        probability(q=q)
        laws = self.family.posterior(self._rows).marginals()
        values = {name: mixture_quantile(law, q) for name, law in laws.items()}
        return values.get("", values)

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Values:
        """Independent draws of the parameters, each given a random drawn total."""
        typed_key(key=key)
        key_total, key_law = jr.split(key)
        size = int(np.prod(shape, dtype=int))
        chosen = jr.randint(key_total, (size,), 0, self.n.size)
        rows = jax.tree.map(lambda x: x[chosen], self._rows)

        def draw(key, parameters):
            return self.family.posterior(parameters).sample(key)

        values = jax.vmap(draw)(jr.split(key_law, size), rows)
        return jax.tree.map(lambda x: x.reshape(shape + x.shape[1:]), values)

    def log_prob(self, values: Values) -> Array:
        """Log-density of the mixture at `values`: parameters, as returned by `mean`."""
        each = self._each(lambda law: law.log_prob(values))
        return logsumexp(each, axis=(0, 1)) - np.log(self.n.size)

    def diagnostics(self) -> dict[str, Any]:
        """Convergence of the chains: split "r_hat" (near 1) and "effective" draws.

        Both are computed by parameter, from the conditional expectations that `mean`
        averages. "accepted" is the smallest share of accepted steps over all kinds.
        NumPyro computes on the host, and needs JAX's default type promotion.
        """
        means = jax.tree.map(np.asarray, _moments(self.family, self.parameters)[0])
        return {
            "r_hat": jax.tree.map(split_gelman_rubin, means),
            "effective": jax.tree.map(effective_sample_size, means),
            "accepted": float(jnp.min(self.accepted)),
        }

    def predict(self, features: Real[ArrayLike, "n f"]) -> Float[Array, " n"]:
        """Expected targets of a regression.

        Raises:
            ValueError: if the family is not a regression.
        """
        return _average(self._each(lambda law: law.predict(features)))

    def interval(
        self, features: Real[ArrayLike, "n f"], level: float = 0.95
    ) -> tuple[HostArray, HostArray]:
        """Ends of the central prediction interval of a new target; on the host.

        At most 1000 of the drawn totals are used.

        Raises:
            ValueError: if `level` is not between 0 and 1, or the family is not a
                regression.
        """
        probability(level=level)
        step = -(-self.n.size // _MOST_COMPONENTS)
        rows = jax.tree.map(lambda x: x[::step], self._rows)

        def target_law(row):
            return self.family.posterior(row).target_law(features)

        law = jax.tree.map(lambda x: host(x)[0], jax.vmap(target_law)(rows))
        low, high = (1 - level) / 2, (1 + level) / 2
        return mixture_quantile(law, low), mixture_quantile(law, high)

    def update(
        self, records: Real[ArrayLike, "n d"] | Table, key: Key | None = None
    ) -> "NoiseAwareFamilyPosterior":
        """The posterior from the same release and more records.

        The statistics of the records are added to the prior. As this changes the law of
        the hidden total, chains of the same number and length run again, with a fixed
        key if `key` is None.
        """
        key = study_key(0) if key is None else key
        prior = updated_prior(self.released, self.prior, records)
        chains, draws = self.n.shape
        sweeps = {"warmup": self.warmup, "draws": draws}
        return family_posterior(key, self.released, prior, chains=chains, **sweeps)

    @property
    def _rows(self) -> Any:
        """Conjugate parameters, with chains and draws on one axis."""
        return jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), self.parameters)

    def _each(self, ask: Callable[[ConjugatePosterior], Any]) -> Any:
        """The value of `ask` for every conjugate posterior: (chains, draws, …)."""
        answer = jax.vmap(jax.vmap(lambda row: ask(self.family.posterior(row))))
        return answer(self.parameters)


def family_posterior(
    key: Key,
    released: Released,
    prior: Any = None,
    *,
    chains: int = 4,
    warmup: int = 500,
    draws: int = 1000,
) -> NoiseAwareFamilyPosterior:
    """The posterior of a family's parameters, given noisy sufficient statistics.

    The exact total t is hidden: each chain draws t (and a private n, with a flat prior)
    by Metropolis steps with target p(t) p(release | t). p(t) is the exact law of a
    total under the conjugate prior, not a normal approximation. For a regression, p(t)
    is exact given the features, whose second moments have a weak normal-Wishart law.
    Totals that are impossible for records within the bounds have probability 0.

    The method assumes that records follow the family, that few records are clipped to
    the bounds (clipping moves the total, with or without noise), and that rounding to
    the grid, by at most half a unit for each record, is small relative to the noise.
    Counts are whole; n of a Poisson release under add-remove may be any real number.

    Args:
        key: typed JAX key.
        released: a release of `dpjax.statistics.Sufficient`, by a mechanism with a law
            for its output. Stacked releases need `vmap`.
        prior: the family's conjugate parameters; None: `family.vague_prior()`.
        chains: number of independent chains.
        warmup: number of discarded sweeps of each chain, which fit the step lengths.
        draws: number of sweeps kept of each chain.

    Privacy:
        Post-processing: costs nothing more, and may be repeated with other priors.

    Raises:
        ValueError: if the mechanism has no law for its output, the release is not of an
            exponential family with a law for its total, the prior is of another family
            or not positive, n is smaller than that law needs (columns + 1 if products
            are summed), or a number of chains or sweeps is not positive.

    Reference:
        Bernstein & Sheldon (NeurIPS 2018 and 2019) for the problem, and for Gibbs
        sampling of hidden statistics under a normal approximation, instead of which
        the exact law is used here.
    """
    typed_key(key=key)
    whole(1, chains=chains, warmup=warmup, draws=draws)
    family, prior, inferred = infer(key, released, prior, chains, warmup, draws)
    return NoiseAwareFamilyPosterior(family, released, prior, *inferred, warmup)


@partial(jax.jit, static_argnames="family")
def _moments(family: Family, parameters: Any) -> tuple[Any, Any]:
    """Mean and variance of every conjugate posterior: (chains, draws, …).

    Compiled as one program, because separate operations take longer to compile.
    """

    def moments(parameters):
        law = family.posterior(parameters)
        return law.mean(), law.variance()

    return jax.vmap(jax.vmap(moments))(parameters)


def _average(values: Array) -> Array:
    return values.mean(axis=(0, 1))
