"""Posteriors represented by draws of Markov chains, with diagnostics."""

__all__ = ["ChainDiagnostics", "ChainPosterior", "ChainSampler"]

from collections.abc import Callable
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Real
from numpyro import diagnostics

from dpjax._types import Key
from dpjax.noise.keys import study_key
from dpjax.posteriors.base import ReleasedPosterior
from dpjax.posteriors.plug_in import rows_log_density
from dpjax.posteriors.sampled import DrawnPosterior

Tables = dict[str, Array]


@dataclass(frozen=True)
class ChainSampler:
    """A function that draws from a posterior by Markov chains."""

    method: str  # name in `METHODS`
    infer: Callable[..., "ChainPosterior"]  # takes key, release, prior, settings
    settings: tuple[tuple[str, int | None], ...]  # further arguments by name


class ChainDiagnostics(eqx.Module):
    """Convergence diagnostics of Markov chains.

    Args:
        r_hat: split R-hat of every parameter, by variable; near 1 if chains agree.
        effective_size: effective sample size of every parameter, by variable.
    """

    r_hat: Tables
    effective_size: Tables

    @property
    def worst_r_hat(self) -> Float[Array, ""]:
        """The largest R-hat; if it is 1.01 or more, run longer chains."""
        return jnp.stack([table.max() for table in self.r_hat.values()]).max()

    @property
    def least_effective_size(self) -> Float[Array, ""]:
        """The smallest effective sample size of all parameters."""
        return jnp.stack([table.min() for table in self.effective_size.values()]).min()


class ChainPosterior(DrawnPosterior, ReleasedPosterior):
    """Draws of Markov chains from the posterior of a network given a noisy release.

    Args:
        released: the release.
        prior: Dirichlet parameters of every cell, laid out as `net.layout`.
        samples: drawn tables, laid out as `net.layout`.
        statistic: the hidden statistic in every draw; None if it is integrated out.
        n: the number of records in every draw; constant if n is public.
        reports: summaries of the chains, by name.
        sampler: the function that drew the samples, with its settings.

    `sample` resamples the draws with replacement. `log_prob` is the log-density of the
    mixture of Dirichlet laws given the drawn statistics; it needs `statistic`.

    Arrays may be stacked along leading axes, for `vmap` over posteriors. Methods may be
    compiled by `equinox.filter_jit`, except `diagnostics`, which runs on the host.

    Privacy:
        Post-processing of a release: costs nothing, for any number of draws.
    """

    samples: Float[Array, "chains draws m"]
    statistic: Real[Array, "chains draws s"] | None
    n: Real[Array, "chains draws"]
    reports: dict[str, Array]
    sampler: ChainSampler = eqx.field(static=True)

    @property
    def method(self) -> str:
        """Name of the method in `METHODS`."""
        return self.sampler.method

    def chains(self) -> Tables:
        """The drawn tables by variable; the first axes are chains and draws."""
        return self._by_name(self.samples)

    def diagnostics(self) -> ChainDiagnostics:
        """Split R-hat and effective sample size of every parameter.

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
