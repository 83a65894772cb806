"""Exact noise-aware posteriors of networks whose components are stars."""

__all__ = ["ExactPosterior", "exact_posterior"]

from collections.abc import Mapping

import equinox as eqx
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
from dpjax.posteriors.exact import star_predictions, star_sums
from dpjax.posteriors.exact.cell_laws import CellLaw
from dpjax.posteriors.exact.releases import (
    check_exact,
    choose_windows,
    place_of,
    shapes_of,
    sums_of,
)
from dpjax.posteriors.exact.star_inputs import Windows
from dpjax.posteriors.exact.star_sums import Inferred, Sums
from dpjax.posteriors.exact.windows import (
    MOST_TRIES,
    TooExpensive,
    refuse_dear,
    refuse_narrow,
    widen,
    worst_losses,
)
from dpjax.posteriors.prediction import sample_records
from dpjax.posteriors.priors import Prior, flat_prior, flatten
from dpjax.releases.released import Released
from dpjax.tables.counts import count


class ExactPosterior(eqx.Module):
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
    def net(self) -> BayesNet:
        """The network."""
        return self.released.net

    @property
    def method(self) -> str:
        """How it was inferred."""
        return "exact"

    def mean(self) -> dict[str, Array]:
        """Expected tables, by variable: parents first, it last."""
        return self._by_name(self.first)

    def sd(self) -> dict[str, Array]:
        """Standard deviation of every probability on its own."""
        return self._by_name(jnp.sqrt(jnp.maximum(self.second - self.first**2, 0)))

    def marginal(self, name: str, cell: tuple[int, ...]) -> CellLaw:
        """The law of one probability: `.cdf(t)`, `.quantile(q)`, `.log_prob(t)`.

        Args:
            name: of the variable.
            cell: indices of the levels of its parents, in order, and of its own.

        Raises:
            ValueError: if there is no such cell.
        """
        place = place_of(self.net, name, cell)
        return star_sums.marginal(self._inferred(), place)

    def quantile(self, q: float) -> dict[str, Array]:
        """The q-quantile of every probability on its own."""
        probability(q=q)
        return self._by_name(
            star_sums.quantiles(self._inferred(), jnp.asarray(q, float))
        )

    def hidden_counts(self) -> dict[str, tuple[Array, Array]]:
        """By table, the first count of each cell's window, and the law from there.

        The law of a count is on the last axis, after the axes of the table.
        """
        lowest, laws = star_sums.count_laws(self._inferred())
        width = laws.shape[1]
        columns = [self.net.layout.split(laws[:, i]) for i in range(width)]
        tables = [jnp.stack(table, axis=-1) for table in zip(*columns, strict=True)]
        pairs = zip(self.net.layout.split(lowest), tables, strict=True)
        return dict(zip(self.net.names, pairs, strict=True))

    def sample(self, key: Key) -> dict[str, Array]:
        """One draw of all tables: of hidden counts, then of Dirichlet rows."""
        typed_key(key=key)
        return self._by_name(star_sums.draw(key, self._inferred()))

    def log_prob(self, tables: Mapping[str, Array]) -> Float[Array, ""]:
        """Joint log-density of all tables, as returned by `sample` or `mean`.

        Far out, where hidden counts outside the windows matter, it is too small.
        """
        theta = flatten(self.net, tables, "tables")
        return star_sums.log_density(self._sums(), theta, self.log_evidence)

    def predict_proba(self, rows: Records | Table, target: str) -> Float[Array, "n k"]:
        """The law of `target` in each record, given all other variables.

        The posterior predictive one: hidden counts and parameters are summed over.
        Arguments are those of `PlugInPosterior.predict_proba`.
        """
        index = self.net.index(target)
        records = as_records(rows, self.net.variables, target, ignore="*")
        return star_predictions.predict(self._inferred(), jnp.asarray(records), index)

    def log_likelihood(self, rows: Records | Table) -> Float[Array, " n"]:
        """Log of the predictive probability of each record."""
        records = as_records(rows, self.net.variables, ignore="*")
        return star_predictions.log_likelihood(self._inferred(), jnp.asarray(records))

    def sample_records(self, key: Key, n: int) -> Int[Array, "n d"]:
        """A synthetic data set: one draw of the tables, then n records by ancestry."""
        typed_key(key=key)
        whole(0, n=n)
        key_tables, key_records = jr.split(key)
        theta = star_sums.draw(key_tables, self._inferred())
        return sample_records(key_records, theta, self.net, n)

    def update(self, rows: Records | Table) -> "ExactPosterior":
        """The posterior after more records, which are not protected.

        Their counts join the prior, and the release is inferred from again.
        """
        records = as_records(rows, self.net.variables, ignore="*")
        counts = count(records, self.net.layout).astype(float)
        tables = self._by_name(self.prior + counts)
        return exact_posterior(self.released, tables)

    def _by_name(self, vector: Array) -> dict[str, Array]:
        return dict(zip(self.net.names, self.net.layout.split(vector), strict=True))

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
            windows that do not would be too dear.
    """
    cells = flat_prior(released.net, prior)
    cells = jnp.broadcast_to(cells, (released.net.layout.length,))
    positive(tolerance=tolerance)
    check_exact(released)
    if windows is None:
        return _widened(released, cells, tolerance)
    fitted, omitted = _fit(released, cells, windows)
    refuse_narrow(omitted, tolerance)
    return fitted


def _widened(released: Released, prior: Array, tolerance: float) -> ExactPosterior:
    """With windows that are widened until they omit no more than the tolerance."""
    windows, shapes = choose_windows(released, tolerance), shapes_of(released)
    n = None if released.n is None else int(np.max(np.asarray(released.n)))
    for _ in range(MOST_TRIES):
        refuse_dear(windows, shapes)
        fitted, omitted = _fit(released, prior, windows)
        worst = worst_losses(omitted)
        if worst is None or worst.sum() <= tolerance:
            return fitted
        wider = widen(windows, worst.tolist(), tolerance, n)
        if wider == windows:
            break
        windows = wider
    raise TooExpensive(
        "`released` must be within reach of its prior to be summed exactly: no windows "
        "hold its posterior mass, or floating-point numbers do not. Use "
        "`gibbs_posterior`, or enable x64."
    )


def _fit(
    released: Released, prior: Array, windows: Windows
) -> tuple[ExactPosterior, Array]:
    """The posterior, and the three parts of what it omits."""
    first, second, evidence, parts = star_sums.moments(
        sums_of(released, prior, windows)
    )
    omitted = jnp.minimum(parts.sum(axis=-1), 1)
    fitted = ExactPosterior(released, prior, windows, first, second, evidence, omitted)
    return fitted, parts
