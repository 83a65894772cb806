"""Dirichlet posteriors of the conditional probability tables of a Bayesian network."""

__all__ = ["PlugInPosterior", "draw_tables", "plug_in_posterior"]

from collections.abc import Mapping
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.scipy.special import gammaln, xlogy
from jaxtyping import Array, Float, Int, Real

from dpjax._checks import at_least_zero, positive, typed_key, whole
from dpjax._private import Unpickled
from dpjax._types import Flat, Key, Records, Scalar
from dpjax.data.bayes_net import BayesNet
from dpjax.data.columns import Table
from dpjax.data.schema import as_records
from dpjax.distributions import Dirichlet, dirichlet_rows
from dpjax.posteriors.prediction import log_likelihood, predict, sample_records
from dpjax.posteriors.priors import Prior, flat_prior, flatten
from dpjax.releases.released import Released
from dpjax.tables.counts import count
from dpjax.tables.fourier_basis import raise_total
from dpjax.tables.layout import TableLayout

_ROUNDING = 1e-3  # of a rebuilt count, in records


class PlugInPosterior(Unpickled, eqx.Module):
    r"""Independent Dirichlet laws of all rows of all conditional probability tables.

    A row is the law of a variable given one configuration of its parents. Tables are
    arrays by variable: the parents on the first axes in order, it on the last.

    Args:
        net: the network.
        concentration: Dirichlet parameters of every row, laid out as `net.layout`.
        clamped: how many noisy counts were outside the possible range; None for exact
            counts.

    Arrays may be stacked along leading axes, for `vmap` over posteriors. Methods go
    under `equinox.filter_jit`, such as `filter_jit(posterior.sample)(key)`.

    Privacy:
        Post-processing of whatever counts it is made from: free for a release. It may
        have been made from exact ones, and cannot be pickled.

    Raises:
        ValueError: if the concentration is not positive or of the wrong length.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Example 1 (there with Beta rows).
    """

    net: BayesNet = eqx.field(static=True)
    concentration: Float[Array, " m"]
    clamped: Int[Array, ""] | None = None

    def __check_init__(self):
        length = self.net.layout.length
        if jnp.shape(self.concentration) != (length,):
            raise ValueError(
                f"`concentration` must have shape ({length},), a number a cell, got "
                f"{jnp.shape(self.concentration)}."
            )
        positive(concentration=self.concentration)

    @classmethod
    def from_counts(
        cls, net: BayesNet, counts: Real[Array, " m"], prior: Prior = 1.0
    ) -> "PlugInPosterior":
        """Prior plus exact counts, laid out as `net.layout`: not private.

        Args:
            net: the network.
            counts: of every family.
            prior: Dirichlet parameter of every cell, > 0; or, by variable, of each.

        Raises:
            ValueError: if the prior is not positive or has the wrong shape, or the
                counts have, or some count is below minus its prior.
        """
        if jnp.shape(counts) != (net.layout.length,):
            raise ValueError(
                f"`counts` must have shape ({net.layout.length},), got "
                f"{jnp.shape(counts)}."
            )
        return cls(net, _add(flat_prior(net, prior), counts))

    def mean(self) -> dict[str, Array]:
        """Expected tables: the exact predictive law of one record."""
        return self._by_name(self._flat_mean())

    def sd(self) -> dict[str, Array]:
        """Standard deviation of every probability on its own."""
        return self._by_name(_spreads(self.concentration, self.net.layout))

    def sample(self, key: Key) -> dict[str, Array]:
        """One draw of all tables."""
        typed_key(key=key)
        return self._by_name(self._flat_sample(key))

    def log_prob(self, tables: Mapping[str, Array]) -> Float[Array, ""]:
        """Joint log-density of all tables, as returned by `sample` or `mean`."""
        theta = flatten(self.net, tables, "tables")
        return _log_density(self.concentration, theta, self.net.layout)

    def distributions(self) -> dict[str, Dirichlet]:
        """The law of every table as a NumPyro distribution over its rows."""
        tables = self._by_name(self.concentration)
        return {name: dirichlet_rows(table) for name, table in tables.items()}

    def predict_proba(self, rows: Records | Table, target: str) -> Float[Array, "n k"]:
        """The law of `target` in each record, given all other variables.

        Args:
            rows: encoded records, or a table (see `Schema.encode`) in which the target
                may be missing and further columns are left out. What stands in the
                target's column is not used.
            target: any variable of the network.

        Returns:
            Probabilities of the target's levels, in the schema's order. They are the
            posterior predictive ones: no parameter is plugged in.

        Raises:
            ValueError: if there is no such variable or the rows do not fit the network.
        """
        index = self.net.index(target)
        records = self._encode(rows, absent=target)
        return predict(self._flat_mean(), records, self.net, index)

    def log_likelihood(self, rows: Records | Table) -> Float[Array, " n"]:
        """Log of the predictive probability of each record."""
        return log_likelihood(self._flat_mean(), self._encode(rows), self.net)

    def sample_records(self, key: Key, n: int) -> Int[Array, "n d"]:
        """A synthetic data set: one draw of the tables, then n records by ancestry.

        Returns:
            Level indices; `Schema.decode` shows the levels.
        """
        typed_key(key=key)
        whole(0, n=n)
        key_tables, key_records = jr.split(key)
        return sample_records(key_records, self._flat_sample(key_tables), self.net, n)

    def update(self, rows: Records | Table) -> "PlugInPosterior":
        """This posterior as the prior for more records.

        Privacy:
            What is already here costs nothing more. The new records are not protected:
            the result is for those who may see them.
        """
        counts = count(self._encode(rows), self.net.layout)
        concentration = _add(self.concentration, counts)
        return PlugInPosterior(self.net, concentration, self.clamped)

    def _encode(self, rows: Records | Table, absent: str | None = None) -> Array:
        return as_records(rows, self.net.variables, absent, ignore="*")

    def _by_name(self, vector: Flat) -> dict[str, Array]:
        return dict(zip(self.net.names, self.net.layout.split(vector), strict=True))

    def _flat_mean(self) -> Float[Array, " m"]:
        return _means(self.concentration, self.net.layout)

    def _flat_sample(self, key: Key) -> Float[Array, " m"]:
        return draw_tables(key, self.concentration, self.net.layout)


def plug_in_posterior(
    released: Released, prior: Prior = 1.0, *, increment: Scalar = 0.0
) -> PlugInPosterior:
    """The posterior that takes the released counts at their word.

    Each count is clamped to what is possible, [0, n] where n is public and [0, ∞) where
    it is not. Nothing is renormalised; `clamped` says how many cells were outside.

    Args:
        released: a release for a Bayesian network.
        prior: Dirichlet parameter of every cell, > 0; or, by variable, of each.
        increment: records to add to the total, in equal parts to all cells of a table,
            before clamping (see `dpjax.theory.stealth`).

    Privacy:
        Post-processing: costs nothing, and may be repeated with other priors.

    Raises:
        ValueError: if the prior is not positive or has the wrong shape, the increment
            is negative, or the release is not of a network.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Algorithm 1, lines 4-5.
    """
    net = released.net
    at_least_zero(increment=increment)
    cells, increment = flat_prior(net, prior), jnp.asarray(increment, float)
    n = None if released.n is None else jnp.asarray(released.n, float)
    updated = _update(cells, released.counts(), increment, n, net.layout)
    return PlugInPosterior(net, *updated)


# Compiled whole, for one program each instead of one for every operation in them.


@jax.jit
def _add(concentration: Array, counts: Array) -> Float[Array, " m"]:
    return concentration + counts.astype(float)


@partial(jax.jit, static_argnames="layout")
def _update(
    prior: Array, counts: Array, increment: Array, n: Array | None, layout: TableLayout
) -> tuple[Array, Array]:
    """The concentration, and how many counts were outside of what is possible."""
    counts = raise_total(layout, counts.astype(float), increment)
    valid = jnp.clip(counts, 0, None if n is None else n + increment)
    return prior + valid, jnp.sum(jnp.abs(valid - counts) > _ROUNDING)


@partial(jax.jit, static_argnames="layout")
def _means(concentration: Array, layout: TableLayout) -> Float[Array, " m"]:
    return concentration / layout.row_sums(concentration)


@partial(jax.jit, static_argnames="layout")
def _spreads(concentration: Array, layout: TableLayout) -> Float[Array, " m"]:
    mean, total = _means(concentration, layout), layout.row_sums(concentration)
    return jnp.sqrt(mean * (1 - mean) / (total + 1))


@partial(jax.jit, static_argnames="layout")
def draw_tables(
    key: Key, concentration: Array, layout: TableLayout
) -> Float[Array, " m"]:
    """Dirichlet rows: gamma variables, normalised in logs, so that none underflows."""
    logs = jr.loggamma(key, concentration)
    gammas = jnp.exp(logs - layout.row_maxima(logs))
    return gammas / layout.row_sums(gammas)


@partial(jax.jit, static_argnames="layout")
def _log_density(
    concentration: Array, theta: Array, layout: TableLayout
) -> Float[Array, ""]:
    first_of_row = np.flatnonzero(np.diff(layout.rows, prepend=-1))
    normaliser = gammaln(layout.row_sums(concentration))[first_of_row].sum()
    terms = xlogy(concentration - 1, theta) - gammaln(concentration)
    return normaliser + terms.sum()
