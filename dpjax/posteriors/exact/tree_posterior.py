"""Exact noise-aware posteriors of small trees of binary variables."""

__all__ = ["TreePosterior", "check_tree", "tree_posterior"]

from collections.abc import Mapping

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int

from dpjax._checks import positive, typed_key, whole
from dpjax._types import Key, Records
from dpjax.data.bayes_net import BayesNet
from dpjax.data.columns import Table
from dpjax.data.schema import as_records
from dpjax.families.conjugate_base import probability
from dpjax.posteriors.exact import tree_sums
from dpjax.posteriors.exact.cell_laws import CellLaw
from dpjax.posteriors.exact.releases import place_of
from dpjax.posteriors.exact.tree_sums import TreeSums
from dpjax.posteriors.exact.trees import grow
from dpjax.posteriors.exact.windows import TooExpensive
from dpjax.posteriors.laws import laplace_law
from dpjax.posteriors.prediction import log_likelihood, predict, sample_records
from dpjax.posteriors.priors import Prior, flat_prior, flatten
from dpjax.releases.released import Released
from dpjax.statistics import NetworkCounts
from dpjax.tables.counts import count

_MOST_NUMBERS = 1 << 23  # variables times squared numbers of counts


class TreePosterior(eqx.Module):
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
    def net(self) -> BayesNet:
        """The network."""
        return self.released.net

    @property
    def method(self) -> str:
        """How it was inferred."""
        return "exact, predictions by expected tables"

    def mean(self) -> dict[str, Array]:
        """Expected tables, by variable: parents first, it last."""
        return self._by_name(self.first)

    def sd(self) -> dict[str, Array]:
        """Standard deviation of every probability on its own."""
        return self._by_name(jnp.sqrt(jnp.maximum(self.second - self.first**2, 0)))

    def marginal(self, name: str, cell: tuple[int, ...]) -> CellLaw:
        """The law of one probability: see `ExactPosterior.marginal`."""
        place = place_of(self.net, name, cell)
        table = self.net.index(name)
        row, level = divmod(place - self.net.layout.offsets[table], 2)
        return tree_sums.marginal(self._sums(), table, jnp.int32(row), jnp.int32(level))

    def quantile(self, q: float) -> dict[str, Array]:
        """The q-quantile of every probability on its own."""
        probability(q=q)
        return self._by_name(tree_sums.quantiles(self._sums(), jnp.asarray(q, float)))

    def hidden_counts(self) -> dict[str, tuple[Array, Array]]:
        """By table, the first count of every cell (0), and the law on the last axis."""
        laws = tree_sums.count_laws(self._sums())
        return {
            name: (jnp.zeros(law.shape[:-1], jnp.int32), law)
            for name, law in zip(self.net.names, laws, strict=True)
        }

    def sample(self, key: Key) -> dict[str, Array]:
        """One draw of all tables: of hidden counts, then of Beta rows."""
        typed_key(key=key)
        return self._by_name(tree_sums.draw(key, self._sums()))

    def log_prob(self, tables: Mapping[str, Array]) -> Float[Array, ""]:
        """Joint log-density of all tables, as returned by `sample` or `mean`."""
        theta = flatten(self.net, tables, "tables")
        return tree_sums.log_density(self._sums(), theta, self.log_evidence)

    def predict_proba(self, rows: Records | Table, target: str) -> Float[Array, "n k"]:
        """The law of `target` in each record, given all others, by expected tables."""
        index = self.net.index(target)
        records = as_records(rows, self.net.variables, target, ignore="*")
        return predict(self.first, records, self.net, index)

    def log_likelihood(self, rows: Records | Table) -> Float[Array, " n"]:
        """Log of the probability of each record, by expected tables."""
        records = as_records(rows, self.net.variables, ignore="*")
        return log_likelihood(self.first, records, self.net)

    def sample_records(self, key: Key, n: int) -> Int[Array, "n d"]:
        """A synthetic data set: one draw of the tables, then n records by ancestry."""
        typed_key(key=key)
        whole(0, n=n)
        key_tables, key_records = jr.split(key)
        theta = tree_sums.draw(key_tables, self._sums())
        return sample_records(key_records, theta, self.net, n)

    def update(self, rows: Records | Table) -> "TreePosterior":
        """The posterior after more records: see `ExactPosterior.update`."""
        records = as_records(rows, self.net.variables, ignore="*")
        counts = count(records, self.net.layout).astype(float)
        return tree_posterior(self.released, self._by_name(self.prior + counts))

    def _by_name(self, vector: Array) -> dict[str, Array]:
        return dict(zip(self.net.names, self.net.layout.split(vector), strict=True))

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
    return TreePosterior(released, cells, n, first, second, evidence, omitted)


def check_tree(released: Released) -> None:
    """Whether `tree_posterior` is for releases of this kind.

    Raises:
        ValueError: if it is not, with the reason.
    """
    laplace_law(released)
    suits = isinstance(released.statistic, NetworkCounts) and released.n is not None
    if not suits or grow(released.net) is None:
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
    statistic = released.statistic
    assert isinstance(statistic, NetworkCounts)  # as `check_tree` has it
    law = laplace_law(released)
    return TreeSums(released.values.astype(float), law, prior, statistic, n)
