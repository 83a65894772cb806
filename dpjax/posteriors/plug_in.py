"""Posteriors that treat the counts of a Bayesian network as exact."""

import dataclasses
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln, xlogy
from jaxtyping import Array, Float, Int, Real

from dpjax import distributions
from dpjax._checks import at_least_zero, positive
from dpjax._later import special
from dpjax._private import Unpickled
from dpjax._types import Key, Scalar
from dpjax.data.bayes_net import BayesNet
from dpjax.distributions.gamma_draws import draw_log_gamma
from dpjax.families.conjugate_base import host
from dpjax.posteriors.base import NetworkPosterior
from dpjax.posteriors.priors import Prior, flat_prior
from dpjax.releases.released import Released
from dpjax.tables.fourier_basis import raise_total
from dpjax.tables.layout import TableLayout

_ROUNDING = 1e-3  # largest rounding error of a count, in records


class PlugInPosterior(Unpickled, NetworkPosterior):
    r"""Independent Dirichlet distributions of all rows of a network's tables.

    A row has the probabilities of a variable's levels given one configuration of its
    parents.

    Args:
        net: the network.
        concentration: Dirichlet parameters of all rows, in the order of `net.layout`.
            Those of impossible combinations are not used: they have probability 0.
        clamped: number of noisy counts that were outside the possible range. None for
            exact counts.

    Arrays may be stacked along leading axes, for `vmap` over posteriors. `quantile` is
    computed on the host.

    Privacy:
        Post-processing of released counts has no privacy cost. The object cannot be
        pickled, because it may have been made from exact counts.

    Raises:
        ValueError: if `concentration` is not positive or has the wrong length.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Example 1 (with Beta rows).
    """

    net: BayesNet = eqx.field(static=True)  # pyright: ignore[reportIncompatibleMethodOverride]
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
        """Make a posterior from counts; it is not private if the counts are exact.

        Args:
            net: the network.
            counts: counts of the tables of all variables, in the order of `net.layout`.
            prior: Dirichlet parameter of all cells, > 0; or a dictionary from variable
                name to a table of parameters.

        Raises:
            ValueError: if the prior is not positive, the prior or the counts have the
                wrong shape, or the sum of a count and its prior is not positive.
        """
        if jnp.shape(counts) != (net.layout.length,):
            raise ValueError(
                f"`counts` must have shape ({net.layout.length},), got "
                f"{jnp.shape(counts)}."
            )
        return cls(net, flat_prior(net, prior) + jnp.asarray(counts, float))

    @property
    def method(self) -> str:
        """Name of the inference method in `dpjax.posteriors.METHODS`."""
        return "plug-in"

    def distributions(self) -> "dict[str, distributions.Dirichlet]":
        """Return NumPyro's Dirichlet distributions of the rows, by variable name.

        Raises:
            ValueError: if a combination of levels is impossible, since a Dirichlet
                distribution has no probabilities of exactly 0.
        """
        if self.net.impossible:
            raise self._undefined("distributions", "`quantile` and `sample`")
        tables = self._by_name(self.concentration)
        return {
            name: distributions.dirichlet_rows(table) for name, table in tables.items()
        }

    @property
    def _parameters(self) -> Float[Array, " m"]:
        """Dirichlet parameters, 0 where the probability is 0."""
        if not self.net.impossible:
            return self.concentration
        return jnp.where(self.net.zeros, 0, self.concentration)

    def _mean(self) -> Float[Array, " m"]:
        return self.net.layout.normalise(self._parameters)

    def _sd(self) -> Float[Array, " m"]:
        return _spreads(self._parameters, self.net.layout)

    def _quantile(self, q: float) -> Array:
        (alpha,) = host(self._parameters)
        rows = self.net.layout.rows
        whole = np.bincount(rows, alpha)[rows]
        found = special.betaincinv(alpha, whole - alpha, q)
        # With parameter 0 a level is impossible, or the others of its row are.
        found = np.where(alpha == 0, 0, np.where(alpha == whole, 1, found))
        return jnp.asarray(found, float)

    def _draw(self, key: Key) -> Float[Array, " m"]:
        return draw_tables(key, self._parameters, self.net.layout)

    def _log_density(self, theta: Array) -> Float[Array, ""]:
        return rows_log_density(self._parameters, theta, self.net.layout)

    def _updated(self, counts: Array, key: Key | None) -> "PlugInPosterior":
        return dataclasses.replace(self, concentration=self.concentration + counts)


def plug_in_posterior(
    released: Released, prior: Prior = 1.0, *, increment: Scalar = 0.0
) -> PlugInPosterior:
    """Compute the Dirichlet posterior that treats the released counts as exact.

    Each count is clamped to at least 0 and, if the number n of records is public, to at
    most n plus the increment. The tables are not rescaled to sum to n. The field
    `clamped` of the result is the number of counts that were changed.

    Args:
        released: a release of noisy counts for a Bayesian network.
        prior: Dirichlet parameter of all cells, > 0; or a dictionary from variable name
            to a table of parameters.
        increment: number of records to add to the total of each table, in equal parts
            to all cells, before clamping (see `dpjax.theory.stealth`).

    Privacy:
        Post-processing has no privacy cost, and may be repeated with other priors.

    Raises:
        ValueError: if the prior is not positive or has the wrong shape, the increment
            is negative, or the release is not for a network.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Algorithm 1, lines 4-5.
    """
    net = released.net
    at_least_zero(increment=increment)
    cells, increment = flat_prior(net, prior), jnp.asarray(increment, float)
    n = None if released.n is None else jnp.asarray(released.n, float)
    updated = _update(cells, released.counts(), increment, n, net.layout)
    return PlugInPosterior(net, *updated)


# Each function is compiled as one program, instead of one for each operation.


@partial(jax.jit, static_argnames="layout")
def _update(
    prior: Array, counts: Array, increment: Array, n: Array | None, layout: TableLayout
) -> tuple[Array, Array]:
    counts = raise_total(layout, counts.astype(float), increment)
    valid = jnp.clip(counts, 0, None if n is None else n + increment)
    return prior + valid, jnp.sum(jnp.abs(valid - counts) > _ROUNDING)


@partial(jax.jit, static_argnames="layout")
def _spreads(concentration: Array, layout: TableLayout) -> Float[Array, " m"]:
    mean, total = layout.normalise(concentration), layout.row_sums(concentration)
    return jnp.sqrt(mean * (1 - mean) / (total + 1))


@partial(jax.jit, static_argnames="layout")
def draw_tables(
    key: Key, concentration: Array, layout: TableLayout
) -> Float[Array, " m"]:
    """Draw Dirichlet rows as normalised gamma variables, in logs to avoid underflow.

    Probabilities with parameter 0 are 0.
    """
    used = concentration > 0
    logs = draw_log_gamma(key, jnp.where(used, concentration, 1))
    logs = jnp.where(used, logs, -jnp.inf)
    gammas = jnp.exp(logs - layout.row_maxima(logs))
    return gammas / layout.row_sums(gammas)


@partial(jax.jit, static_argnames="layout")
def rows_log_density(
    concentration: Array, theta: Array, layout: TableLayout
) -> Float[Array, ""]:
    """Return the joint log-density of independent Dirichlet rows at `theta`.

    Probabilities with parameter 0 must be 0, or else the result is -inf.
    """
    used = concentration > 0
    first_of_row = np.flatnonzero(np.diff(layout.rows, prepend=-1))
    normaliser = gammaln(layout.row_sums(concentration))[first_of_row].sum()
    positive = jnp.where(used, concentration, 1)
    terms = xlogy(positive - 1, theta) - gammaln(positive)
    terms = jnp.where(used | (theta == 0), terms, -jnp.inf)
    return normaliser + terms.sum()
