"""Exact noise-aware posteriors of small trees of binary variables."""

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
    """Exact posterior of all tables of a tree of binary variables, given noisy counts.

    All values of every hidden count are summed over, so that there are no windows, and
    `omitted` bounds only the mass that underflows. Predictions use the posterior means
    of the tables. `ExactPosterior` describes the other fields.

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
    """Compute the exact posterior of a tree of binary variables from noisy counts.

    Every variable of a tree has at most one parent. For n records, the cost is n³
    multiplications for every variable with a parent and children, and memory for n²
    numbers for each variable.

    Args:
        released: noisy counts of each variable with its parent, by `DiscreteLaplace`,
            `SplitLaplace` or `Laplace`, under replace-one (n is public).
        prior: Dirichlet parameter of all cells, > 0; or a dictionary from variable name
            to a table of parameters.
        tolerance: largest posterior mass that may underflow. Underflow occurs if tables
            contradict each other or the prior.

    Privacy:
        Post-processing of a release has no privacy cost, and may be repeated.

    Raises:
        ValueError: if the release is not of a tree of binary variables or is traced, n
            is too large, or the prior is not positive or has the wrong shape.
        TooExpensive: if more than the tolerance underflows.
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
    """Return the number of records of a release that `tree_posterior` accepts.

    A release that `tree_posterior` does not accept raises `ValueError`.
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
