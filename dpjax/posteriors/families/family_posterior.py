"""Posteriors of exponential families that know about the noise of their release.

Hidden exact totals are walked over, with the parameters integrated out, and the
posterior is a mixture of conjugate ones, one a drawn total.
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
from dpjax.data.columns import Table
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
from dpjax.posteriors.families.total_walk import infer
from dpjax.posteriors.priors import updated_prior
from dpjax.releases.released import Released

_MOST_COMPONENTS = 1000  # of the mixtures whose quantiles are searched for


class NoiseAwareFamilyPosterior(FamilyPosterior):
    """The law of a family's parameters given noisy sufficient statistics.

    A mixture of conjugate posteriors, one a drawn total: that is more precise than
    draws of the parameters, which `sample` makes.

    Args:
        family: the exponential family; static.
        released: what it is the posterior of.
        prior: conjugate parameters.
        parameters: of the conjugate posterior of every drawn total; chains, then draws
            on the first axes.
        totals: drawn totals of the statistic, in natural units, (chains, draws, m).
        n: their numbers of records, (chains, draws).
        accepted: by chain and kind of step, the share that was accepted.
        warmup: sweeps a chain that were thrown away; static.

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
        """Metropolis chains over hidden totals, nothing clipped or rounded."""
        return "hidden-totals"

    def mean(self) -> Values:
        """Expected parameters."""
        return jax.tree.map(_average, self._moments()[0])

    def variance(self) -> Values:
        """Variance of every parameter on its own: within draws, and between them."""
        between, within = self._moments()
        return jax.tree.map(lambda b, w: _average(w) + _spread(b), between, within)

    def quantile(self, q: float) -> HostArray | dict[str, HostArray]:
        """The q-quantile of every parameter on its own, for q between 0 and 1.

        Of a covariance, of each "variance", as of the conjugate posterior. On the host.

        Raises:
            ValueError: if `q` is not between 0 and 1.
        """
        probability(q=q)
        laws = self._law(self._rows).marginals()
        values = {name: mixture_quantile(law, q) for name, law in laws.items()}
        return values.get("", values)

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Values:
        """Fresh draws of the parameters, each given one of the drawn totals."""
        typed_key(key=key)
        key_total, key_law = jr.split(key)
        size = int(np.prod(shape, dtype=int))
        chosen = jr.randint(key_total, (size,), 0, self.n.size)
        rows = jax.tree.map(lambda x: x[chosen], self._rows)

        def draw(key, parameters):
            return self._law(parameters).sample(key)

        values = jax.vmap(draw)(jr.split(key_law, size), rows)
        return jax.tree.map(lambda x: x.reshape(shape + x.shape[1:]), values)

    def log_prob(self, values: Values) -> Array:
        """Log-density of the mixture at parameters as `mean` returns them."""
        each = self._each(lambda law: law.log_prob(values))
        return logsumexp(each, axis=(0, 1)) - np.log(self.n.size)

    def diagnostics(self) -> dict[str, Any]:
        """Whether the walks agree: "r_hat" (split; near 1) and "effective" draws.

        Both are of the conditional expectations that `mean` averages, by parameter;
        "accepted" is the smallest share of steps that any kind had accepted. Needs
        JAX's default promotion of types, for it is NumPyro's; on the host.
        """
        means = jax.tree.map(np.asarray, self._moments()[0])
        return {
            "r_hat": jax.tree.map(split_gelman_rubin, means),
            "effective": jax.tree.map(effective_sample_size, means),
            "accepted": float(jnp.min(self.accepted)),
        }

    def predict(self, features: Real[ArrayLike, "n f"]) -> Float[Array, " n"]:
        """Expected targets of a regression.

        Raises:
            ValueError: if the family is another one.
        """
        return _average(self._each(lambda law: law.predict(features)))

    def interval(
        self, features: Real[ArrayLike, "n f"], level: float = 0.95
    ) -> tuple[HostArray, HostArray]:
        """Between what a new target is with probability `level`; on the host.

        Each side is missed equally often. Of at most 1000 of the drawn totals.

        Raises:
            ValueError: if `level` is not between 0 and 1, or the family is no
                regression.
        """
        probability(level=level)
        step = -(-self.n.size // _MOST_COMPONENTS)
        rows = jax.tree.map(lambda x: x[::step], self._rows)

        laws = jax.vmap(lambda row: self._law(row).target_law(features))(rows)
        law = jax.tree.map(lambda x: host(x)[0], laws)
        low, high = (1 - level) / 2, (1 + level) / 2
        return mixture_quantile(law, low), mixture_quantile(law, high)

    def update(
        self, records: Real[ArrayLike, "n d"] | Table, key: Key | None = None
    ) -> "NoiseAwareFamilyPosterior":
        """The posterior from the same release and more records.

        Their statistics are added to the prior, and all is inferred again with as many
        chains and sweeps: what the records say changes what the hidden total may be.
        Without a key they take a fixed one, as `dpjax.posterior` does.
        """
        key = study_key(0) if key is None else key
        prior = updated_prior(self.released, self.prior, records)
        chains, draws = self.n.shape
        sweeps = {"warmup": self.warmup, "draws": draws}
        return family_posterior(key, self.released, prior, chains=chains, **sweeps)

    @property
    def _rows(self) -> Any:
        """Conjugate parameters with all draws on one axis."""
        return jax.tree.map(_flat, self.parameters)

    def _moments(self) -> tuple[Any, Any]:
        """Means and variances of every conjugate posterior, (chains, draws, …)."""
        return _moments(self.family, self.parameters)

    def _each(self, ask: Callable[[ConjugatePosterior], Any]) -> Any:
        """What every conjugate posterior answers, (chains, draws, …)."""
        return jax.vmap(jax.vmap(lambda p: ask(self._law(p))))(self.parameters)

    def _law(self, parameters: Any) -> ConjugatePosterior:
        return self.family.posterior(parameters)


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

    The exact total t is hidden: each chain walks over t (and n, where that is private,
    with a flat prior) by Metropolis steps with p(t) p(release | t) as target. p(t) is
    the exact law of a total under the conjugate prior, so no normal approximation is
    made of it; of a regression it is exact given the features, whose second moments
    have a weak normal-Wishart law. Totals out of reach of records within the bounds
    are never visited, so that nothing is clamped or projected.

    Assumed, as by the conjugate posterior: records follow the family, few of them are
    beyond the bounds, where they are clipped (which moves the total by what is cut off,
    whatever the noise), and rounding to the grid, by at most half a unit a record, is
    small beside the noise. Counts are whole; n of a Poisson release under add-remove
    is taken to be any real number.

    Args:
        key: typed.
        released: of `dpjax.statistics.Sufficient`, by a mechanism with a law for its
            output. Stacked releases: `vmap` over them.
        prior: the family's conjugate parameters; None: `family.vague_prior()`.
        chains: independent walks.
        warmup: sweeps a walk that fit the lengths of steps, and are thrown away.
        draws: sweeps a walk that are kept.

    Privacy:
        Post-processing: costs nothing more, and may be repeated with other priors.

    Raises:
        ValueError: if the mechanism has no law for its output, the release is of
            something else than an exponential family, the prior is of another family
            or not positive, n is too small for a law of its total (columns + 1 where
            products are summed), or a number of chains or sweeps is not positive.

    Reference:
        Bernstein & Sheldon (NeurIPS 2018 and 2019) for the question, and for Gibbs
        sampling over hidden statistics under a normal approximation, which this
        replaces by the exact law.
    """
    typed_key(key=key)
    whole(1, chains=chains, warmup=warmup, draws=draws)
    family, prior, inferred = infer(key, released, prior, chains, warmup, draws)
    return NoiseAwareFamilyPosterior(family, released, prior, *inferred, warmup)


@partial(jax.jit, static_argnames="family")
def _moments(family: Family, parameters: Any) -> tuple[Any, Any]:
    """In one program: one by one, operations would compile for as long as the walk."""

    def moments(parameters):
        law = family.posterior(parameters)
        return law.mean(), law.variance()

    return jax.vmap(jax.vmap(moments))(parameters)


def _flat(values: Array) -> Array:
    """Chains and draws on one axis."""
    return values.reshape((-1, *values.shape[2:]))


def _average(values: Array) -> Array:
    return values.mean(axis=(0, 1))


def _spread(values: Array) -> Array:
    return values.var(axis=(0, 1))
