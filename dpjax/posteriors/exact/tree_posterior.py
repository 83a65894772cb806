"""Exact noise-aware posteriors of small trees of binary variables."""

__all__ = ["TreePosterior", "check_tree", "tree_posterior"]

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array

from dpjax._checks import positive
from dpjax._types import Key
from dpjax.posteriors.exact.exact_posterior import SummedPosterior
from dpjax.posteriors.exact.tree_sums import TreeSums
from dpjax.posteriors.exact.trees import grow
from dpjax.posteriors.exact.windows import TooExpensive
from dpjax.posteriors.laws import laplace_law, network_counts
from dpjax.posteriors.priors import Prior, flat_prior
from dpjax.releases.released import Released

_MOST_NUMBERS = 1 << 23  # variables · (n + 1)²


class TreePosterior(SummedPosterior):
    """The posterior of all tables of a tree, given noisy counts and their law.

    `ExactPosterior` describes the other fields. All values of every hidden count are
    summed over: there are no windows, and `omitted` bounds the mass that underflows.
    Predictions use the expected tables.

    Args:
        records: the public number of records.

    Privacy:
        Post-processing of a release has no privacy cost, and may be repeated.
    """

    records: int = eqx.field(static=True)

    @property
    def method(self) -> str:
        """Name of the inference method in `dpjax.posteriors.METHODS`."""
        return "exact-tree"

    def _log_density(self, theta: Array) -> Array:
        return self._inferred().log_density(theta, self.log_evidence)

    def _updated(self, counts: Array, key: Key | None) -> "TreePosterior":
        return tree_posterior(self.released, self._by_name(self.prior + counts))

    def _inferred(self) -> TreeSums:
        return _sums(self.released, self.prior, self.records)


def tree_posterior(
    released: Released, prior: Prior = 1.0, *, tolerance: float = 1e-12
) -> TreePosterior:
    """The exact posterior of a small tree of binary variables.

    The cost is n³ multiplications for every variable with a parent and children, and
    memory for n² numbers for each variable.

    Args:
        released: noisy node tables, by DiscreteLaplace, SplitLaplace or Laplace,
            with a public n.
        prior: Dirichlet parameter of every cell, > 0; or a table for each variable.
        tolerance: largest posterior mass that may underflow. Underflow occurs if tables
            contradict each other or the prior.

    Privacy:
        Post-processing of a release has no privacy cost, and may be repeated.

    Raises:
        ValueError: if the release is of another kind or traced, n is too large, the
            prior is not positive or of the wrong shape, or more than the tolerance is
            omitted.
    """
    positive(tolerance=tolerance)
    cells = flat_prior(released.net, prior)
    n = check_tree(released)
    first, second, evidence, omitted = _sums(released, cells, n).moments()
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
    moments = first, second, evidence, omitted
    return TreePosterior(released, cells, *moments, n)


def check_tree(released: Released) -> int:
    """The number of records of a release, if `tree_posterior` suits the release.

    Raises:
        ValueError: if it does not, with the reason.
    """
    laplace_law(released)
    statistic = network_counts(released)
    trees = None if statistic is None else grow(statistic.network)
    if trees is None or released.n is None:
        raise ValueError(
            "`released` must be of the counts of a tree of binary variables, "
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
    return n


def _sums(released: Released, prior: Array, n: int) -> TreeSums:
    values, law = released.values.astype(float), laplace_law(released)
    return TreeSums(values, law, prior, released.counted, n)
