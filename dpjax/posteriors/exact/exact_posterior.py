"""Exact noise-aware posteriors of networks that consist of stars."""

import abc
import operator
from functools import partial
from typing import Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dpjax._checks import one_of, positive
from dpjax._types import Key
from dpjax.posteriors.base import ReleasedPosterior
from dpjax.posteriors.exact import star_predictions
from dpjax.posteriors.exact.cell_laws import CellLaw
from dpjax.posteriors.exact.components import Component, stars
from dpjax.posteriors.exact.star_sums import InferredStars, StarSums
from dpjax.posteriors.exact.windows import (
    Windows,
    first_windows,
    fit_windows,
    widen_windows,
)
from dpjax.posteriors.laws import laplace_law, network_counts
from dpjax.posteriors.priors import Prior, flat_prior
from dpjax.releases.released import Released


@runtime_checkable
class Inferred(Protocol):
    """Protocol of a network's posterior after sums over its hidden counts."""

    def marginal(self, place: int) -> CellLaw:
        """Return the posterior of the probability at index `place` of `net.layout`."""
        ...

    def quantiles(self, q: Array) -> Array:
        """Return the posterior q-quantile of every probability."""
        ...

    def count_laws(self) -> tuple[Array, Array]:
        """Return each cell's smallest hidden count, and probabilities from it on."""
        ...

    def draw(self, key: Key) -> Array:
        """Draw all tables once from the posterior, in the order of `net.layout`."""
        ...


class SummedPosterior(ReleasedPosterior):
    """Posterior of a network's tables, computed by sums over hidden exact counts.

    Subclasses define the sums. `ExactPosterior` describes the fields.
    """

    first: Float[Array, "*batch m"]
    second: Float[Array, "*batch m"]
    log_evidence: Float[Array, "*batch"]
    omitted: Float[Array, "*batch"]

    @abc.abstractmethod
    def _inferred(self) -> Inferred:
        """Sum over the hidden counts of one release."""

    def marginal(self, name: str, cell: tuple[int, ...]) -> CellLaw:
        """Return the posterior of one probability, with `cdf`, `quantile`, `log_prob`.

        Args:
            name: name of the variable.
            cell: level indices of the variable's parents, then of the variable itself.

        Raises:
            ValueError: if `name` or `cell` does not exist.
        """
        one_of(self.net.names, name=name)
        table = self.net.index(name)
        shape = self.net.layout.shape(self.net.families[table])
        try:
            place = np.ravel_multi_index(tuple(map(operator.index, cell)), shape)
        except (TypeError, ValueError):
            raise ValueError(
                f"`cell` must be indices of a cell of a table {shape}: the levels of "
                f"the parents of {name!r}, in order, then its own."
            ) from None
        return self._inferred().marginal(self.net.layout.offsets[table] + int(place))

    def hidden_counts(self) -> dict[str, tuple[Array, Array]]:
        """Return posterior probabilities of each cell's hidden exact count.

        The result is a dictionary from variable name to two arrays in the shape of the
        variable's table. The first has the smallest count that was summed over; the
        second has probabilities of this and the following counts on a further axis.
        """
        lowest, laws = self._inferred().count_laws()
        columns = [self.net.layout.split(law) for law in laws.T]
        tables = [jnp.stack(table, axis=-1) for table in zip(*columns, strict=True)]
        pairs = zip(self.net.layout.split(lowest), tables, strict=True)
        return dict(zip(self.net.names, pairs, strict=True))

    def _mean(self) -> Array:
        return self.first

    def _sd(self) -> Array:
        return jnp.sqrt(jnp.maximum(self.second - self.first**2, 0))

    def _quantile(self, q: float) -> Array:
        return self._inferred().quantiles(jnp.asarray(q, float))

    def _draw(self, key: Key) -> Array:
        return self._inferred().draw(key)


class ExactPosterior(SummedPosterior):
    """Exact posterior of all tables of a network of stars, given noisy counts.

    A star is a variable without parents (the hub), with or without variables whose only
    parent is the hub. The hidden exact counts are summed over, so that each row of a
    table has a mixture of Dirichlet distributions. The rows of a star are dependent.

    Args:
        released: the release; several may be stacked along leading axes.
        prior: Dirichlet parameter of every cell, in the order of `net.layout`.
        first, second: posterior means of all probabilities and of their squares, in the
            order of `net.layout`.
        log_evidence: log-probability of the release (log-density for continuous noise).
            If the number of records is private, each number has prior weight 1.
        omitted: upper bound of the posterior mass that the sums omit.
        windows: numbers of values of the hidden counts that were summed over.
        inferred: the sums of one release, which further questions use again. None for
            stacked releases and in compiled code, where they are repeated.

    `mean` and `sd` accept stacked posteriors; for these, other methods need `vmap`.
    Means and standard deviations are accurate to 1e-6 with x64, and to 1e-4 without
    (standard deviations only if they are above 0.002).

    Privacy:
        Post-processing of a release has no privacy cost, and may be repeated.
    """

    windows: Windows = eqx.field(static=True)
    inferred: InferredStars | None = None

    @property
    def method(self) -> str:
        """Name of the inference method in `dpjax.posteriors.METHODS`."""
        return "exact"

    def _log_density(self, theta: Array) -> Array:
        return self._sums().log_density(theta, self.log_evidence)

    def _predict(self, records: Array, target: int) -> Array:
        return star_predictions.predict(self._inferred(), jnp.asarray(records), target)

    def _score(self, records: Array) -> Array:
        return star_predictions.log_likelihood(self._inferred(), jnp.asarray(records))

    def _updated(self, counts: Array, key: Key | None) -> "ExactPosterior":
        return exact_posterior(self.released, self._by_name(self.prior + counts))

    def _inferred(self) -> InferredStars:
        return self.inferred or self._sums().infer()

    def _sums(self) -> StarSums:
        return sums_of(self.released, self.prior, self.windows)


def exact_posterior(
    released: Released,
    prior: Prior = 1.0,
    *,
    windows: Windows | None = None,
    tolerance: float = 1e-12,
) -> ExactPosterior:
    """Compute the exact posterior of a network of stars from counts with Laplace noise.

    A star is a variable without parents (the hub), with or without variables whose only
    parent is the hub; naive Bayes is an example. A network may have several stars if
    the number n of records is public.

    Args:
        released: noisy counts of each variable with its parents, by `DiscreteLaplace`,
            `SplitLaplace` or `Laplace`. Releases may be stacked along leading axes.
        prior: Dirichlet parameter of all cells, > 0; or a dictionary from variable name
            to a table of parameters.
        windows: numbers of values of the hidden counts to sum over. None means as many
            as the tolerance needs. In compiled code they must be given, for example as
            `Windows(n + 1, n + 1, n + 1)` or `exact_posterior(example).windows`.
        tolerance: largest posterior mass that the sums may omit. The field `omitted` of
            the result is a computed upper bound of this mass.

    Privacy:
        Post-processing of a release has no privacy cost, and may be repeated.

    Raises:
        ValueError: if the noise is not Laplace, the network does not consist of stars,
            the prior is not positive or has the wrong shape, or `windows` omit more
            than the tolerance.
        TooExpensive: if wide enough windows would exceed a cost limit.
    """
    cells = flat_prior(released.net, prior)
    positive(tolerance=tolerance)
    components, sizes = check_exact(released), released.net.sizes
    fit = partial(_fit, released, cells)
    if windows is not None:
        return fit_windows(fit, windows, tolerance)
    first, n = _first_windows(released, components, tolerance)
    shapes = [
        (sizes[star.hub], [(len(group), sizes[group[0]]) for group in star.leaves])
        for star in components
    ]
    return widen_windows(fit, first, shapes, tolerance, n, "the method 'gibbs'")


def _fit(
    released: Released, prior: Array, windows: Windows
) -> tuple[ExactPosterior, Array]:
    """Return the posterior, and upper bounds of the three parts of the omitted mass."""
    sums = sums_of(released, prior, windows)
    inferred = sums.infer() if sums.values.ndim == 1 else None
    first, second, evidence, parts = (inferred or sums).moments()
    omitted = jnp.minimum(parts.sum(axis=-1), 1)
    moments = first, second, evidence, omitted
    kept = None if isinstance(first, jax.core.Tracer) else inferred
    return ExactPosterior(released, prior, *moments, windows, kept), parts


def check_exact(released: Released) -> tuple[Component, ...]:
    """Return the stars of the network of a release that `exact_posterior` accepts.

    A star is a variable without parents, and the variables whose only parent it is. A
    release that `exact_posterior` does not accept raises `ValueError`.
    """
    laplace_law(released)
    statistic = network_counts(released)
    components = None if statistic is None else stars(statistic.network)
    if components is None or (released.n is None and len(components) > 1):
        raise ValueError(
            "`released` must be of the counts of stars (with a private n, of "
            "one) to be summed exactly: use `point_estimate` or `gibbs_posterior`."
        )
    return components


def _first_windows(
    released: Released, components: tuple[Component, ...], tolerance: float
) -> tuple[Windows, int | None]:
    """Return windows that most likely suffice for the tolerance, and n if it is public.

    Raises:
        ValueError: if the release is traced.
    """
    try:
        n = None if released.n is None else int(np.max(np.asarray(released.n)))
        rate = float(np.min(np.asarray(laplace_law(released).rate)))
        np.asarray(released.values)
    except jax.errors.TracerArrayConversionError:
        raise ValueError(
            "`windows` must be given to `dpjax.posteriors.exact_posterior` inside "
            "compiled code: Windows(n + 1, n + 1, n + 1) hold all counts, "
            "`exact_posterior(example).windows` may be smaller."
        ) from None
    tables = [sum(map(len, star.leaves)) for star in components]
    prior = jnp.ones(released.net.layout.length)
    sums = sums_of(released, prior, Windows(1, 1, 1))
    windows = first_windows(
        1 / rate, n, min(tables), sum(tables), tolerance,
        levels=max(released.net.sizes),
        hub_levels=max(released.net.sizes[star.hub] for star in components),
        largest=float(sums.largest_guess()),
    )  # fmt: skip
    return windows, n


def sums_of(released: Released, prior: Array, windows: Windows) -> StarSums:
    """Prepare sums over the hidden counts of a release, for use in compiled code.

    `prior` has the Dirichlet parameter of every cell, in the order of `net.layout`.
    """
    values, n, law = released.values.astype(float), released.n, laplace_law(released)
    if n is not None:
        n = jnp.broadcast_to(jnp.asarray(n).astype(jnp.int32), values.shape[:-1])
    return StarSums(values, law, prior, n, released.counted, windows)
