"""Base classes of posteriors."""

import abc
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int

from dpjax._checks import parameters_of, probability, sample_shape, typed_key, whole
from dpjax._types import Key, Records
from dpjax.data import probabilities
from dpjax.data.bayes_net import BayesNet
from dpjax.data.evidence import completed, evidence_of, has_unknown
from dpjax.data.impossible import refuse_undecided
from dpjax.data.records import as_records
from dpjax.data.sources import Table, is_array
from dpjax.families.conjugate_base import Posterior
from dpjax.noise.keys import study_key
from dpjax.posteriors.priors import flatten
from dpjax.posteriors.queries import complete, indices, log_joint, refuse_contradictions
from dpjax.posteriors.random_fields.field import network_of
from dpjax.releases.released import Released
from dpjax.tables.counts import count


class NetworkPosterior(Posterior):
    """Posterior distribution of all probability tables of a Bayesian network.

    Methods take and return tables in a dictionary from variable name to array. The
    first axes of an array are the variable's parents, in order, and the last axis is
    the variable. Methods may be compiled, as in
    `equinox.filter_jit(posterior.sample)(key)`, unless documented to run on the host.

    A subclass defines `_mean`, `_sd`, `_quantile`, `_draw`, `_log_density` and
    `_updated` for the vector of all probabilities, in the order of `net.layout`. It may
    also override `_predict` and `_score`, which use the posterior mean of the tables.
    """

    if TYPE_CHECKING:

        @property
        def net(self) -> BayesNet:
            """The Bayesian network whose tables have this posterior distribution."""
            ...
    else:
        net: eqx.AbstractVar[BayesNet]  # a field or a property

    @abc.abstractmethod
    def _mean(self) -> Float[Array, "*batch c"]:
        """Posterior mean of every probability."""

    @abc.abstractmethod
    def _sd(self) -> Float[Array, "*batch c"]:
        """Marginal standard deviation of every probability."""

    @abc.abstractmethod
    def _quantile(self, q: float) -> Any:
        """Marginal posterior q-quantile of every probability."""

    @abc.abstractmethod
    def _draw(self, key: Key) -> Float[Array, " c"]:
        """Draw all probabilities once from the posterior distribution."""

    @abc.abstractmethod
    def _log_density(self, theta: Float[Array, " c"]) -> Float[Array, ""]:
        """Joint posterior log-density of all probabilities."""

    @abc.abstractmethod
    def _updated(
        self, counts: Float[Array, " c"], key: Key | None
    ) -> "NetworkPosterior":
        """Return the posterior given further records, of which `counts` are given."""

    def mean(self) -> dict[str, Array]:
        """Return the posterior mean of every table, by variable name."""
        return self._by_name(self._mean())

    def sd(self) -> dict[str, Array]:
        """Return tables of posterior standard deviations, by variable name."""
        return self._by_name(self._sd())

    def quantile(self, q: float) -> dict[str, Array]:
        """Return tables of marginal posterior q-quantiles, by variable name.

        Raises:
            ValueError: if `q` is not between 0 and 1.
        """
        probability(q=q)
        return self._by_name(self._quantile(q))

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> dict[str, Array]:
        """Draw all tables independently; arrays have `shape` as their first axes."""
        shape = sample_shape(key, shape)
        if shape == ():
            return self._by_name(self._draw(key))
        drawn = jax.vmap(self._draw)(jr.split(key, shape).reshape(-1))
        return self._by_name(drawn.reshape(*shape, *drawn.shape[1:]))

    def log_prob(self, values: Mapping[str, Array]) -> Float[Array, ""]:
        """Return the posterior log-density at tables in the form `mean` returns."""
        tables = parameters_of(self.net.names, values)
        return self._log_density(flatten(self.net, tables, "values"))

    def distributions(self) -> dict[str, Any]:
        """Return NumPyro distributions of rows, which only a `PlugInPosterior` has."""
        remedy = '`posterior(…, method="plug-in")`, or `quantile` and `sample`'
        raise self._undefined("distributions", remedy)

    def predict_proba(
        self, records: Records | Table, target: str
    ) -> Float[Array, "n k"]:
        """Predictive probabilities of `target` in each record, given other variables.

        Args:
            records: encoded records, or a table (see `Schema.encode`). A table's
                column for `target` may be absent and is not used, nor are columns that
                are not variables of the network. Other columns may be absent or have
                missing cells, and indices may be -1: these levels are unknown, and
                summed out as by `query`.
            target: name of any variable of the network.

        Returns:
            One row for each record, with the probabilities of the target's levels.

        Raises:
            ValueError: if `target` is unknown, the records do not fit the network, or
                every level of the target is impossible in one of them.
        """
        index = self.net.index(target)
        if is_array(records) and not has_unknown(records):
            encoded, known = self._encode(records, absent=target), None
        else:
            encoded, known = completed(self.net, records, target)
        found = self._predict(encoded, index)
        if known is not None:
            rest = self.query(target, known)
            found = jnp.where((known < 0).sum(axis=1)[:, None] > 1, rest, found)
        if self.net.impossible:
            refuse_undecided(found, target)
        return found

    def query(
        self,
        target: str | Sequence[str],
        evidence: Records | Table | Mapping[str, Any] | None = None,
        *,
        draws: int = 0,
        key: Key | None = None,
    ) -> Float[Array, "*shape"]:
        """Joint probabilities of some variables, given the levels of some others.

        Variables that are neither targets nor known are summed out exactly, by a
        junction tree. All patterns of known levels share one compiled program.

        Args:
            target: name of a variable, or of several.
            evidence: records with known levels: a table, whose columns may be absent
                and whose cells may be missing; a dictionary from name to level, for
                one record; or an array of level indices, -1 where not known. None: one
                record of which nothing is known.
            draws: number of tables to draw from the posterior. With 0, the tables are
                the posterior mean, or the average over all draws of a sample.
            key: key of the draws. None means a fixed key.

        Returns:
            For each record, with one axis for each target, and with `draws` as the
            first axis if it is not 0.

        Raises:
            ValueError: if a target is unknown or given twice, evidence does not fit the
                network or has probability 0, or the network has too many paths between
                its variables for a junction tree.
        """
        whole(0, draws=draws)
        group = indices(self.net, target)
        known = evidence_of(self.net, evidence)
        if draws:
            keys = jr.split(study_key(0) if key is None else key, draws)
            tables = jax.vmap(self._draw)(keys)
            logs = jnp.stack([log_joint(x, known, self.net, group) for x in tables])
        else:
            logs = self._log_joint(known, group)
        refuse_contradictions(logs)
        sizes = [self.net.sizes[i] for i in group]
        return jax.nn.softmax(logs, axis=-1).reshape(*logs.shape[:-1], *sizes)

    def most_probable(
        self, evidence: Records | Table | Mapping[str, Any] | None = None
    ) -> Int[Array, "n d"]:
        """Return the most probable records that have the known levels.

        This is the most probable explanation of the evidence, under the posterior mean
        of the tables. The argument and errors are those of `query`.

        Returns:
            Level indices, which `Schema.decode` converts to levels.
        """
        known = evidence_of(self.net, evidence)
        refuse_contradictions(log_joint(self._mean(), known, self.net, (0,)))
        return complete(study_key(0), self._mean(), known, self.net, largest=True)

    def predict(self, records: Records | Table, target: str) -> Int[Array, " n"]:
        """Return the index of the most probable level of `target` in each record."""
        return self.predict_proba(records, target).argmax(axis=1)

    def log_likelihood(self, records: Records | Table) -> Float[Array, " n"]:
        """Return the log of the posterior predictive probability of each record.

        Where levels are unknown, as in `query`, it is that of the known levels.
        """
        if is_array(records) and not has_unknown(records):
            return self._score(self._encode(records))
        encoded, known = completed(self.net, records)
        found = self._score(encoded)
        if known is None:
            return found
        rest = jax.nn.logsumexp(self._log_joint(known, (0,)), axis=-1)
        return jnp.where((known < 0).any(axis=1), rest, found)

    def sample_records(
        self, key: Key, n: int, given: Mapping[str, Any] | None = None
    ) -> Int[Array, "n d"]:
        """Draw all tables once from the posterior, then n synthetic records from them.

        Args:
            key: typed JAX key.
            n: number of records.
            given: levels that all records have, by name of the variable.

        Returns:
            Level indices, which `Schema.decode` converts to levels.
        """
        typed_key(key=key)
        whole(0, n=n)
        key_tables, key_records = jr.split(key)
        theta = self._draw(key_tables)
        if given:
            known = evidence_of(self.net, given)
            refuse_contradictions(log_joint(theta, known, self.net, (0,)))
            known = jnp.broadcast_to(known, (n, known.shape[1]))
            return complete(key_records, theta, known, self.net, largest=False)
        return probabilities.sample_records(key_records, theta, self.net, n)

    def update(
        self, records: Records | Table, key: Key | None = None
    ) -> "NetworkPosterior":
        """Return the posterior with the counts of further records added to the prior.

        Args:
            records: encoded records, or a table (see `Schema.encode`).
            key: key for methods that run Markov chains. None means a fixed key.

        Privacy:
            The release has no further privacy cost. The new records are not protected:
            show the result only to people who may see these records.
        """
        counts = count(self._encode(records), self.net.layout)
        return self._updated(counts.astype(float), key)

    def _predict(self, records: Array, target: int) -> Float[Array, "n k"]:
        return probabilities.predict(self._mean(), records, self.net, target)

    def _score(self, records: Array) -> Float[Array, " n"]:
        return probabilities.log_likelihood(self._mean(), records, self.net)

    def _log_joint(
        self, known: Int[Array, "n d"], group: tuple[int, ...]
    ) -> Float[Array, "n k"]:
        return log_joint(self._mean(), known, self.net, group)

    def _encode(self, records: Records | Table, absent: str | None = None) -> Array:
        return as_records(records, self.net.schema, absent, ignore="*")

    def _by_name(self, vector: Array) -> dict[str, Array]:
        return dict(zip(self.net.names, self.net.layout.split(vector), strict=True))


class ReleasedPosterior(NetworkPosterior):
    """Posterior distribution of a network's tables, given a release.

    Args:
        released: a release for a network.
        prior: Dirichlet parameter of every cell, in the order of `net.layout`.
    """

    released: Released
    prior: Float[Array, "*stack c"]

    @property
    def net(self) -> BayesNet:
        """The Bayesian network of the release; see `network_of` if it has none."""
        return network_of(self.released)
