"""Exact noise-aware posteriors of small trees of binary variables."""

__all__ = ["TreePosterior", "check_tree", "tree_posterior"]

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dpjax._checks import positive
from dpjax._types import Key
from dpjax.posteriors.exact import tree_sums
from dpjax.posteriors.exact.cell_laws import CellLaw
from dpjax.posteriors.exact.summed_posterior import SummedPosterior
from dpjax.posteriors.exact.trees import TreeSums, grow
from dpjax.posteriors.exact.windows import TooExpensive
from dpjax.posteriors.laws import family_counts, laplace_law
from dpjax.posteriors.priors import Prior, flat_prior
from dpjax.releases.released import Released

_MOST_NUMBERS = 1 << 23  # variables times squared numbers of counts


class TreePosterior(SummedPosterior):
    """The posterior of all tables of a tree, given noisy counts and their law.

    As `ExactPosterior`, with sums over all values of every hidden count. Records are
    scored with the expected tables.

    Args:
        released: the release.
        prior: Dirichlet parameters, laid out as `net.layout`.
        records: the public number of records.
        first, second: moments of all probabilities, laid out as `net.layout`.
        log_evidence: log-probability (of continuous noise, density) of the release.
        omitted: bound of the posterior mass that was too small to be summed.

    Privacy:
        Post-processing of a release: costs nothing, and may be repeated.
    """

    released: Released
    prior: Float[Array, " m"]
    records: int = eqx.field(static=True)
    first: Float[Array, " m"]
    second: Float[Array, " m"]
    log_evidence: Float[Array, ""]
    omitted: Float[Array, ""]

    @property
    def method(self) -> str:
        """Sums over the hidden counts of a tree."""
        return "exact-tree"

    def _marginal(self, table: int, place: int) -> CellLaw:
        row, level = divmod(place - self.net.layout.offsets[table], 2)
        return tree_sums.marginal(self._sums(), table, jnp.int32(row), jnp.int32(level))

    def _count_laws(self) -> tuple[Array, Array]:
        none = jnp.zeros(self.net.layout.length, jnp.int32)
        return none, tree_sums.count_laws(self._sums())

    def _quantile(self, q: float) -> Array:
        return tree_sums.quantiles(self._sums(), jnp.asarray(q, float))

    def _draw(self, key: Key) -> Array:
        return tree_sums.draw(key, self._sums())

    def _log_density(self, theta: Array) -> Array:
        return tree_sums.log_density(self._sums(), theta, self.log_evidence)

    def _updated(self, counts: Array, key: Key | None) -> "TreePosterior":
        return tree_posterior(self.released, self._by_name(self.prior + counts))

    def _sums(self) -> TreeSums:
        return _sums(self.released, self.prior, self.records)


def tree_posterior(
    released: Released, prior: Prior = 1.0, *, tolerance: float = 1e-12
) -> TreePosterior:
    """The exact posterior of a small tree of binary variables.

    Cost: n³ multiplications for every variable with a parent and children; memory for
    n² numbers a variable.

    Args:
        released: noisy family counts, by DiscreteLaplace, SplitLaplace or Laplace,
            with a public n.
        prior: Dirichlet parameter of every cell, > 0; or, by variable, of each.
        tolerance: posterior mass that may be too small for floating-point numbers,
            which happens where tables contradict each other or the prior.

    Privacy:
        Post-processing of a release: costs nothing, and may be repeated.

    Raises:
        ValueError: if the release is of another kind or n too large, the prior is not
            positive or of the wrong shape, more than the tolerance is omitted, or the
            release is traced, so that this cannot be seen.
    """
    positive(tolerance=tolerance)
    prior = flat_prior(released.net, prior)
    check_tree(released)
    cells = jnp.broadcast_to(prior, (released.net.layout.length,))
    n = int(np.asarray(released.n))
    first, second, evidence, omitted = tree_sums.moments(_sums(released, cells, n))
    try:
        sound = float(omitted) <= tolerance
    except jax.errors.ConcretizationTypeError:
        raise ValueError(
            "`released` must not be traced, since what is omitted must be seen: call "
            "`tree_posterior` outside of compiled code."
        ) from None
    if not sound:
        raise TooExpensive(
            "`released` must have tables that do not contradict each other or the "
            "prior so much that floating-point numbers cannot sum over what they hide: "
            "enable x64, or use `point_estimate`."
        )
    return TreePosterior(
        released=released,
        prior=cells,
        records=n,
        first=first,
        second=second,
        log_evidence=evidence,
        omitted=omitted,
    )


def check_tree(released: Released) -> None:
    """Whether `tree_posterior` is for releases of this kind.

    Raises:
        ValueError: if it is not, with the reason.
    """
    laplace_law(released)
    statistic = family_counts(released)
    trees = None if statistic is None else grow(statistic.network)
    if trees is None or released.n is None:
        raise ValueError(
            "`released` must be of the family counts of a tree of binary variables, "
            "with a public n: use `point_estimate` or `gibbs_posterior`."
        )
    try:
        n = int(np.asarray(released.n))
    except (jax.errors.TracerArrayConversionError, TypeError):
        raise ValueError(
            "`released` must be one release with a known n, not stacked or traced."
        ) from None
    if len(released.net.names) * (n + 1) ** 2 > _MOST_NUMBERS:
        raise ValueError(
            f"`released` must be of few records to be summed exactly, got n={n} and "
            f"{len(released.net.names)} variables: use `point_estimate`."
        )


def _sums(released: Released, prior: Array, n: int) -> TreeSums:
    values, law = released.values.astype(float), laplace_law(released)
    return TreeSums(values, law, prior, released.counted, n)
