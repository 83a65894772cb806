"""Markov chains as a posterior: their draws, and whether they may be trusted."""

__all__ = ["ChainDiagnostics", "ChainPosterior", "ChainSampler"]

import abc
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Real
from numpyro import diagnostics

from dpjax._types import Key, Records
from dpjax.data.bayes_net import BayesNet
from dpjax.data.columns import Table
from dpjax.data.schema import as_records
from dpjax.noise.keys import study_key
from dpjax.posteriors.priors import Prior
from dpjax.posteriors.sampled import SampledPosterior
from dpjax.releases.released import Released
from dpjax.tables.counts import count

Tables = dict[str, Array]


class ChainSampler(abc.ABC):
    """A way to draw from a posterior by Markov chains, with its settings: static."""

    @property
    @abc.abstractmethod
    def method(self) -> str:
        """What it is, and any approximation that it makes."""

    @abc.abstractmethod
    def infer(self, key: Key, released: Released, prior: Prior) -> "ChainPosterior":
        """Run the chains."""


class ChainDiagnostics(eqx.Module):
    r"""Whether chains from different starts have forgotten them.

    Args:
        r_hat: split R-hat of every parameter by variable; near 1 once chains agree.
        effective_size: how many independent draws the chains are worth, likewise.
    """

    r_hat: Tables
    effective_size: Tables

    @property
    def worst_r_hat(self) -> Float[Array, ""]:
        """The largest: from 1.01 on, run longer."""
        return jnp.stack([table.max() for table in self.r_hat.values()]).max()

    @property
    def least_effective_size(self) -> Float[Array, ""]:
        """The smallest, over all parameters."""
        return jnp.stack([table.min() for table in self.effective_size.values()]).min()


class ChainPosterior(eqx.Module):
    r"""Draws of Markov chains from the posterior of a network given a noisy release.

    Tables are arrays by variable: the parents on the first axes in order, it on the
    last.

    Args:
        released: what was conditioned on.
        prior: Dirichlet parameters of every cell, laid out as `net.layout`.
        samples: tables, laid out likewise.
        statistic: the hidden statistic, in every draw; None where it is integrated out.
        n: the number of records, in every draw; constant where it is public.
        reports: what the chains say of themselves, by name.
        sampler: which chains, with their settings.

    Arrays may be stacked along leading axes, for `vmap` over posteriors. Methods go
    under `equinox.filter_jit`, except `diagnostics`, which is computed on the host.

    Privacy:
        Post-processing of a release: costs nothing, with any number of draws.
    """

    released: Released
    prior: Float[Array, " m"]
    samples: Float[Array, "chains draws m"]
    statistic: Real[Array, "chains draws s"] | None
    n: Real[Array, "chains draws"]
    reports: dict[str, Array]
    sampler: ChainSampler = eqx.field(static=True)

    @property
    def net(self) -> BayesNet:
        """The network."""
        return self.released.net

    @property
    def method(self) -> str:
        """How it was computed, and any approximation."""
        return self.sampler.method

    def mean(self) -> Tables:
        """Average of the drawn tables, by variable."""
        return self._draws.mean()

    def sd(self) -> Tables:
        """Standard deviation of the drawn tables, by variable."""
        return self._by_name(_deviations(self.samples))

    def sample(self, key: Key) -> Tables:
        """One of the draws, at random."""
        return self._draws.sample(key)

    def predict_proba(self, rows: Records | Table, target: str) -> Float[Array, "n k"]:
        """The law of `target` in each record, given all other variables.

        The joint probability of record and level is averaged over the draws, then
        normalised. Arguments are those of `PlugInPosterior.predict_proba`.
        """
        return self._draws.predict_proba(rows, target)

    def log_likelihood(self, rows: Records | Table) -> Float[Array, " n"]:
        """Log of each record's probability, averaged over the draws."""
        return self._draws.log_likelihood(rows)

    def sample_records(self, key: Key, n: int) -> Int[Array, "n d"]:
        """A synthetic data set: one of the draws, then n records by ancestry."""
        return self._draws.sample_records(key, n)

    def update(self, rows: Records | Table, key: Key | None = None) -> "ChainPosterior":
        """Infer again from the same release, the counts of `rows` added to the prior.

        Without a key chains take a fixed one, as `dpjax.posterior` does.

        Privacy:
            What is already here costs nothing more. The new records are not protected:
            the result is for those who may see them.
        """
        records = as_records(rows, self.net.variables, ignore="*")
        layout = self.net.layout
        counted = _add(self.prior, count(records, layout))
        prior = dict(zip(self.net.names, layout.split(counted), strict=True))
        key = study_key(0) if key is None else key
        return self.sampler.infer(key, self.released, prior)

    def diagnostics(self) -> ChainDiagnostics:
        """Split R-hat and effective sample size of every parameter.

        Raises:
            ValueError: if there are fewer than four draws a chain.

        Reference:
            Gelman et al., Bayesian Data Analysis (third edition), section 11.4.
        """
        if self.samples.shape[1] < 4:
            raise ValueError(
                "`diagnostics` must have at least 4 draws a chain, got "
                f"{self.samples.shape[1]}: ask for more sweeps."
            )
        return ChainDiagnostics(
            self._diagnose(diagnostics.split_gelman_rubin),
            self._diagnose(diagnostics.effective_sample_size),
        )

    def _diagnose(self, function: Callable) -> Tables:
        return self._by_name(jnp.asarray(function(np.asarray(self.samples, float))))

    @property
    def _draws(self) -> SampledPosterior:
        flat = self.samples.reshape(-1, self.samples.shape[-1])
        return SampledPosterior(self.net, flat)

    def _by_name(self, vector: Array) -> Tables:
        return dict(zip(self.net.names, self.net.layout.split(vector), strict=True))


@jax.jit
def _deviations(samples: Array) -> Array:
    return samples.reshape(-1, samples.shape[-1]).std(axis=0)


@jax.jit
def _add(prior: Array, counts: Array) -> Array:
    return prior + counts.astype(prior.dtype)
