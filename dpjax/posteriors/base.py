"""The contract of posteriors, and base classes for those of networks."""

__all__ = ["FamilyPosterior", "NetworkPosterior", "Posterior", "ReleasedPosterior"]

import abc
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.random as jr
from jaxtyping import Array, Float, Int

from dpjax._checks import typed_key, whole
from dpjax._types import Key, Records
from dpjax.data.bayes_net import BayesNet
from dpjax.data.schema import as_records
from dpjax.data.sources import Table
from dpjax.families.conjugate_base import FamilyPosterior, Posterior, probability
from dpjax.posteriors import prediction
from dpjax.posteriors.priors import flatten
from dpjax.releases.released import Released
from dpjax.tables.counts import count


class NetworkPosterior(Posterior):
    """The law of all conditional probability tables of a Bayesian network.

    Tables are arrays by variable: its parents on the first axes in order, it on the
    last. Methods go under `equinox.filter_jit`, such as
    `filter_jit(posterior.sample)(key)`, unless they say that they run on the host.

    A subclass answers for the vector of all probabilities, laid out as `net.layout`:
    `_mean`, `_sd`, `_quantile`, `_draw`, `_log_density` and `_updated`. Records are
    scored with the expected tables unless it overrides `_predict` and `_score`.
    """

    if TYPE_CHECKING:

        @property
        def net(self) -> BayesNet:
            """The network."""
            ...
    else:
        net: eqx.AbstractVar[BayesNet]  # a field or a property

    @abc.abstractmethod
    def _mean(self) -> Float[Array, "*batch c"]:
        """Expected probabilities."""

    @abc.abstractmethod
    def _sd(self) -> Float[Array, "*batch c"]:
        """Standard deviation of every probability on its own."""

    @abc.abstractmethod
    def _quantile(self, q: float) -> Any:
        """The q-quantile of every probability on its own."""

    @abc.abstractmethod
    def _draw(self, key: Key) -> Float[Array, " c"]:
        """One draw of all probabilities."""

    @abc.abstractmethod
    def _log_density(self, theta: Float[Array, " c"]) -> Float[Array, ""]:
        """Joint log-density of all probabilities."""

    @abc.abstractmethod
    def _updated(
        self, counts: Float[Array, " c"], key: Key | None
    ) -> "NetworkPosterior":
        """The posterior after more records with these counts."""

    def mean(self) -> dict[str, Array]:
        """Expected tables."""
        return self._by_name(self._mean())

    def sd(self) -> dict[str, Array]:
        """Standard deviation of every probability on its own."""
        return self._by_name(self._sd())

    def quantile(self, q: float) -> dict[str, Array]:
        """The q-quantile of every probability on its own.

        Raises:
            ValueError: if `q` is not between 0 and 1.
        """
        probability(q=q)
        return self._by_name(self._quantile(q))

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> dict[str, Array]:
        """Independent draws of all tables, `shape` on the first axes."""
        typed_key(key=key)
        if shape == ():
            return self._by_name(self._draw(key))
        drawn = jax.vmap(self._draw)(jr.split(key, shape).reshape(-1))
        return self._by_name(drawn.reshape(*shape, -1))

    def log_prob(self, values: Mapping[str, Array]) -> Float[Array, ""]:
        """Joint log-density of all tables, as `sample` and `mean` return them."""
        return self._log_density(flatten(self.net, values, "values"))

    def distributions(self) -> dict[str, Any]:
        """The law of every table as a NumPyro distribution over its rows."""
        remedy = '`posterior(…, method="plug-in")`, or `quantile` and `sample`'
        raise self._undefined("distributions", remedy)

    def predict_proba(
        self, records: Records | Table, target: str
    ) -> Float[Array, "n k"]:
        """The law of `target` in each record, given all other variables.

        Args:
            records: encoded records, or a table (see `Schema.encode`) in which the
                target may be missing and further columns are left out. What stands in
                the target's column is not used.
            target: any variable of the network.

        Returns:
            Probabilities of the target's levels, in the schema's order.

        Raises:
            ValueError: if there is no such variable or the records do not fit the
                network.
        """
        index = self.net.index(target)
        return self._predict(self._encode(records, absent=target), index)

    def predict(self, records: Records | Table, target: str) -> Int[Array, " n"]:
        """The index of the most probable level of `target` in each record."""
        return self.predict_proba(records, target).argmax(axis=1)

    def log_likelihood(self, records: Records | Table) -> Float[Array, " n"]:
        """Log of the predictive probability of each record."""
        return self._score(self._encode(records))

    def sample_records(self, key: Key, n: int) -> Int[Array, "n d"]:
        """A synthetic data set: one draw of the tables, then n records by ancestry.

        Returns:
            Level indices; `Schema.decode` shows the levels.
        """
        typed_key(key=key)
        whole(0, n=n)
        key_tables, key_records = jr.split(key)
        theta = self._draw(key_tables)
        return prediction.sample_records(key_records, theta, self.net, n)

    def update(
        self, records: Records | Table, key: Key | None = None
    ) -> "NetworkPosterior":
        """The posterior after more records, whose counts join the prior.

        Args:
            records: encoded records, or a table.
            key: of a Markov chain, where one is run; None: a fixed one.

        Privacy:
            What is already here costs nothing more. The new records are not protected:
            the result is for those who may see them.
        """
        counts = count(self._encode(records), self.net.layout)
        return self._updated(counts.astype(float), key)

    def _predict(self, records: Array, target: int) -> Float[Array, "n k"]:
        return prediction.predict(self._mean(), records, self.net, target)

    def _score(self, records: Array) -> Float[Array, " n"]:
        return prediction.log_likelihood(self._mean(), records, self.net)

    def _encode(self, records: Records | Table, absent: str | None = None) -> Array:
        return as_records(records, self.net.variables, absent, ignore="*")

    def _by_name(self, vector: Array) -> dict[str, Array]:
        return dict(zip(self.net.names, self.net.layout.split(vector), strict=True))


class ReleasedPosterior(NetworkPosterior):
    """The law of all tables of a network, given a release and a Dirichlet prior.

    Args:
        released: the release.
        prior: Dirichlet parameters of every cell, laid out as `net.layout`.
    """

    released: Released
    prior: Float[Array, "*stack c"]

    @property
    def net(self) -> BayesNet:
        """The network."""
        return self.released.net
