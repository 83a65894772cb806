"""Exact noise-aware posteriors of networks whose components are stars."""

__all__ = ["ExactPosterior", "check_exact", "exact_posterior", "sums_of"]

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dpjax._checks import positive
from dpjax._types import Key
from dpjax.posteriors.exact import star_predictions, star_sums
from dpjax.posteriors.exact.cell_laws import CellLaw
from dpjax.posteriors.exact.forests import Sums, stars
from dpjax.posteriors.exact.star_inputs import Windows
from dpjax.posteriors.exact.star_sums import Inferred
from dpjax.posteriors.exact.summed_posterior import SummedPosterior
from dpjax.posteriors.exact.windows import first_windows, fit_windows, widen_windows
from dpjax.posteriors.laws import family_counts, laplace_law
from dpjax.posteriors.priors import Prior, flat_prior
from dpjax.releases.released import Released


class ExactPosterior(SummedPosterior):
    r"""The posterior of all tables, given noisy counts and the law of their noise.

    The hidden exact counts are summed over: a row of a table has a mixture of Dirichlet
    laws. Rows of one star are dependent, through the counts of its hub.

    Args:
        released: the release; several may be stacked along leading axes.
        prior: Dirichlet parameters, laid out as `net.layout`.
        windows: of hidden counts that were summed over.
        first, second: moments of all probabilities, laid out as `net.layout`.
        log_evidence: log-probability (of continuous noise, density) of the release;
            where n is private, with prior weight 1 on every number of records.
        omitted: bound of the posterior mass outside the windows.

    `mean` and `sd` serve stacks; all else is of one posterior, and goes under `vmap`.
    Means are accurate to 1e-6 with x64, to 1e-4 without, standard deviations alike (of
    the sd without x64: while it is above 0.002).

    Privacy:
        Post-processing of a release: costs nothing, and may be repeated.
    """

    released: Released
    prior: Float[Array, " m"]
    windows: Windows = eqx.field(static=True)
    first: Float[Array, "*batch m"]
    second: Float[Array, "*batch m"]
    log_evidence: Float[Array, "*batch"]
    omitted: Float[Array, "*batch"]

    @property
    def method(self) -> str:
        """Sums over the hidden counts of stars."""
        return "exact"

    def _marginal(self, table: int, place: int) -> CellLaw:
        return star_sums.marginal(self._inferred(), place)

    def _count_laws(self) -> tuple[Array, Array]:
        return star_sums.count_laws(self._inferred())

    def _quantile(self, q: float) -> Array:
        return star_sums.quantiles(self._inferred(), jnp.asarray(q, float))

    def _draw(self, key: Key) -> Array:
        return star_sums.draw(key, self._inferred())

    def _log_density(self, theta: Array) -> Array:
        return star_sums.log_density(self._sums(), theta, self.log_evidence)

    def _predict(self, records: Array, target: int) -> Array:
        return star_predictions.predict(self._inferred(), jnp.asarray(records), target)

    def _score(self, records: Array) -> Array:
        return star_predictions.log_likelihood(self._inferred(), jnp.asarray(records))

    def _updated(self, counts: Array, key: Key | None) -> "ExactPosterior":
        return exact_posterior(self.released, self._by_name(self.prior + counts))

    def _inferred(self) -> Inferred:
        return star_sums.infer_all(self._sums())

    def _sums(self) -> Sums:
        return sums_of(self.released, self.prior, self.windows)


def exact_posterior(
    released: Released,
    prior: Prior = 1.0,
    *,
    windows: Windows | None = None,
    tolerance: float = 1e-12,
) -> ExactPosterior:
    """The exact posterior of a network of stars under Laplace noise on its counts.

    A star is a variable without parents and others whose only parent it is: naive Bayes
    is one. With a public n a network may have several, or single variables.

    Args:
        released: noisy family counts, by DiscreteLaplace, SplitLaplace or Laplace;
            several may be stacked along leading axes.
        prior: Dirichlet parameter of every cell, > 0; or, by variable, of each.
        windows: how many values of each hidden count to look at. None: as many as the
            tolerance needs; compiled code needs them given, as `Windows(n + 1, n + 1,
            n + 1)` or as `exact_posterior(example).windows`.
        tolerance: posterior mass that may be outside of the windows. What is outside is
            bounded by computation, and reported as `omitted`.

    Privacy:
        Post-processing of a release: costs nothing, and may be repeated.

    Raises:
        ValueError: if the release has no such law or network, the prior is not positive
            or of the wrong shape, given windows omit more than the tolerance, or
            windows that do not would be too expensive.
    """
    cells = flat_prior(released.net, prior)
    cells = jnp.broadcast_to(cells, (released.net.layout.length,))
    positive(tolerance=tolerance)
    check_exact(released)
    fit = partial(_fit, released, cells)
    if windows is not None:
        return fit_windows(fit, windows, tolerance)
    first, n = _first_windows(released, tolerance)
    sizes = released.net.sizes
    shapes = [
        (sizes[star.hub], [(len(group), sizes[group[0]]) for group in star.leaves])
        for star in stars(released.net) or ()
    ]
    return widen_windows(fit, first, shapes, tolerance, n, "gibbs_posterior")


def _fit(
    released: Released, prior: Array, windows: Windows
) -> tuple[ExactPosterior, Array]:
    """The posterior, and the three parts of what it omits."""
    first, second, evidence, parts = star_sums.moments(
        sums_of(released, prior, windows)
    )
    omitted = jnp.minimum(parts.sum(axis=-1), 1)
    fitted = ExactPosterior(
        released=released,
        prior=prior,
        windows=windows,
        first=first,
        second=second,
        log_evidence=evidence,
        omitted=omitted,
    )
    return fitted, parts


def check_exact(released: Released) -> None:
    """Whether `exact_posterior` is for releases of this kind.

    Raises:
        ValueError: if it is not, with the reason.
    """
    laplace_law(released)
    statistic = family_counts(released)
    components = None if statistic is None else stars(statistic.network)
    if components is None or (released.n is None and len(components) > 1):
        raise ValueError(
            "`released` must be of the family counts of stars (with a private n, of "
            "one) to be summed exactly: use `point_estimate` or `gibbs_posterior`."
        )


def _first_windows(released: Released, tolerance: float) -> tuple[Windows, int | None]:
    """Windows that most likely omit no more than the tolerance, and a public n.

    Raises:
        ValueError: if the release is traced.
    """
    components = stars(released.net) or ()
    try:
        n = None if released.n is None else int(np.max(np.asarray(released.n)))
        rate = float(np.min(np.asarray(laplace_law(released).rate)))
        np.asarray(released.values)
    except jax.errors.TracerArrayConversionError:
        raise ValueError(
            "`windows` must be given inside compiled code: Windows(n + 1, n + 1, n + 1)"
            " hold all counts, `exact_posterior(example).windows` may be smaller."
        ) from None
    tables = [sum(len(group) for group in star.leaves) for star in components]
    narrow = Windows(1, 1, 1)
    prior = jnp.ones(released.net.layout.length)
    largest = star_sums.largest_guess(sums_of(released, prior, narrow))
    levels = max(released.net.sizes)
    windows = first_windows(
        1 / rate, n, min(tables), sum(tables), tolerance,
        levels=levels, largest=float(largest),
    )  # fmt: skip
    return windows, n


def sums_of(released: Released, prior: Array, windows: Windows) -> Sums:
    """What compiled code needs of a release: no more of the mechanism than its law."""
    values = released.values.astype(float)
    batch = values.shape[:-1]
    n = released.n
    if n is not None:
        n = jnp.broadcast_to(jnp.asarray(n).astype(jnp.int32), batch)
    law = laplace_law(released)
    return Sums(values, law, prior, n, released.counted, windows)
