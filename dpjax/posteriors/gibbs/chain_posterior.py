"""Posterior distributions that are represented by draws of Markov chains."""

from collections.abc import Callable
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Real

from dpjax._later import diagnostics
from dpjax._types import Key
from dpjax.noise.keys import study_key
from dpjax.posteriors.base import ReleasedPosterior
from dpjax.posteriors.plug_in import rows_log_density
from dpjax.posteriors.sampled import DrawnPosterior

Tables = dict[str, Array]


@dataclass(frozen=True)
class ChainSampler:
    """A function that draws from a posterior by Markov chains, and its settings."""

    method: str  # name in `METHODS`
    infer: Callable[..., "ChainPosterior"]  # takes key, release, prior, settings
    settings: tuple[tuple[str, int | None], ...]  # further arguments by name


class ChainDiagnostics(eqx.Module):
    """Convergence diagnostics of Markov chains over a network's tables.

    Args:
        r_hat: dictionary from variable name to the split R-hat of every probability in
            its table. R-hat is near 1 if the chains agree.
        effective_size: dictionary from variable name to the effective sample size of
            every probability in its table.
    """

    r_hat: Tables
    effective_size: Tables

    @property
    def worst_r_hat(self) -> Float[Array, ""]:
        """Largest R-hat of all probabilities; from 1.01 on, run longer chains."""
        return jnp.stack([table.max() for table in self.r_hat.values()]).max()

    @property
    def least_effective_size(self) -> Float[Array, ""]:
        """Smallest effective sample size of all probabilities."""
        return jnp.stack([table.min() for table in self.effective_size.values()]).min()


class ChainPosterior(DrawnPosterior, ReleasedPosterior):
    """Draws of Markov chains from the posterior of a network given a noisy release.

    Args:
        released: the release.
        prior: Dirichlet parameter of every cell, in the order of `net.layout`.
        samples: drawn probabilities of all tables, in the order of `net.layout`.
        statistic: the drawn exact statistic behind the release; None if the chains
            integrate it out.
        n: the drawn numbers of records; constant if the number is public.
        reports: dictionary from the name of a summary of the chains to an array.
        sampler: the function that drew the samples, with its settings.

    `sample` resamples the draws with replacement. `log_prob` is the log-density of a
    mixture of Dirichlet distributions, one for each drawn statistic; it raises
    `ValueError` if `statistic` is None.

    Arrays may be stacked along leading axes, for `vmap` over posteriors. Methods may be
    compiled by `equinox.filter_jit`, except `diagnostics`, which runs on the host.

    Privacy:
        Post-processing of a release has no privacy cost, for any number of draws.
    """

    samples: Float[Array, "chains draws m"]
    statistic: Real[Array, "chains draws s"] | None
    n: Real[Array, "chains draws"]
    reports: dict[str, Array]
    sampler: ChainSampler = eqx.field(static=True)

    @property
    def method(self) -> str:
        """Name of the inference method in `dpjax.posteriors.METHODS`."""
        return self.sampler.method

    def chains(self) -> Tables:
        """Return drawn tables by variable name; the first axes are chains and draws."""
        return self._by_name(self.samples)

    def diagnostics(self) -> ChainDiagnostics:
        """Compute split R-hat and effective sample size of every probability.

        Raises:
            ValueError: if a chain has fewer than four draws.

        Reference:
            Gelman et al., Bayesian Data Analysis (third edition), section 11.4.
        """
        if self.samples.shape[1] < 4:
            raise ValueError(
                "`diagnostics` must have at least 4 draws a chain, got "
                f"{self.samples.shape[1]}: ask for more sweeps."
            )
        samples = np.asarray(self.samples, float)
        r_hat = diagnostics.split_gelman_rubin(samples)
        size = diagnostics.effective_sample_size(samples)
        return ChainDiagnostics(
            self._by_name(jnp.asarray(r_hat)), self._by_name(jnp.asarray(size))
        )

    @property
    def _draws(self) -> Array:
        return self.samples.reshape(-1, self.samples.shape[-1])

    def _log_density(self, theta: Array) -> Array:
        if self.statistic is None:
            raise self._undefined("log_prob", "`gibbs_posterior`")
        statistic, layout = self.released.counted, self.net.layout
        values = self.statistic.reshape(-1, self.statistic.shape[-1])

        def given(value, n):
            # Tables from coefficients have rounding errors: round to whole numbers.
            counts = jnp.round(statistic.tables(value, n).astype(self.prior.dtype))
            return rows_log_density(self.prior + counts, theta, layout)

        logs = jax.vmap(given)(values, self.n.reshape(-1))
        return logsumexp(logs) - jnp.log(jnp.asarray(logs.size, logs.dtype))

    def _updated(self, counts: Array, key: Key | None) -> "ChainPosterior":
        prior, sampler = self._by_name(self.prior + counts), self.sampler
        key = study_key(0) if key is None else key
        return sampler.infer(key, self.released, prior, **dict(sampler.settings))
