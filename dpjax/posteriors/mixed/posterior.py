"""The posterior of a network with numeric leaves, and its predictions."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int32

from dpjax._checks import parameters_of, probability, sample_shape, typed_key, whole
from dpjax._products import matmul
from dpjax._types import Key, Records
from dpjax.data.evidence import encode_evidence, evidence_of
from dpjax.data.mixed_net import MixedNet
from dpjax.data.records import as_records
from dpjax.data.sources import Table
from dpjax.families.conjugate_base import Posterior
from dpjax.families.marginal_laws import HostArray
from dpjax.noise.keys import study_key
from dpjax.posteriors.base import NetworkPosterior
from dpjax.posteriors.mixed.leaves import USUAL, LeafPosterior, leaf_posteriors
from dpjax.posteriors.priors import flatten
from dpjax.posteriors.queries import indices, log_joint, refuse_contradictions
from dpjax.releases.released import Released
from dpjax.statistics import MixedTotals


class MixedPosterior(Posterior):
    """Posterior of a network with numeric leaves, given noisy counts and totals.

    Methods return a dictionary from variable name. A categorical variable has a table,
    as in a `NetworkPosterior`; a numeric leaf has a dictionary of its "mean" and its
    "variance", whose axes are its parents.

    The tables are inferred from the counts, and each row of a leaf from its own three
    numbers: the same hidden number of records is inferred twice, and what one part says
    about it is not used for the other. Therefore the tables and the rows of leaves are
    independent. Values are normal before they are clipped to their bounds, as for
    `family_posterior`.

    Args:
        released: a release of `MixedTotals`.
        discrete: posterior of the tables of the categorical variables.
        leaves: posterior of each leaf, by name.
        priors: prior parameters of each leaf, by name.

    Privacy:
        Post-processing of a release has no further privacy cost.
    """

    released: Released
    discrete: NetworkPosterior
    leaves: dict[str, LeafPosterior]
    priors: dict[str, Any]

    @property
    def method(self) -> str:
        """Name of the inference method in `dpjax.posteriors.METHODS`."""
        aware = any(leaf.aware for leaf in self.leaves.values())
        return "mixed" if aware else "plug-in"

    @property
    def statistic(self) -> MixedTotals:
        """The statistic of the release."""
        statistic = self.released.statistic
        assert isinstance(statistic, MixedTotals)
        return statistic

    @property
    def net(self) -> MixedNet:
        """The network."""
        return self.statistic.net

    def mean(self) -> dict[str, Any]:
        """Return the posterior mean of every parameter, by variable name."""
        return self._by_name(lambda part: part.mean())

    def sd(self) -> dict[str, Any]:
        """Return posterior standard deviations, by variable name."""
        return self._by_name(lambda part: part.sd())

    def quantile(self, q: float) -> dict[str, Any]:
        """Return marginal posterior q-quantiles, by variable name.

        Raises:
            ValueError: if `q` is not between 0 and 1.
        """
        probability(q=q)
        return self._by_name(lambda part: part.quantile(q))

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> dict[str, Any]:
        """Draw all parameters independently; arrays have `shape` as first axes."""
        shape = sample_shape(key, shape)
        keys = iter(jr.split(key, 1 + len(self.leaves)))
        return self._by_name(lambda part: part.sample(next(keys), shape))

    def log_prob(self, values: Mapping[str, Any]) -> Float[Array, ""]:
        """Return the joint log-density at parameters in the form of `mean`."""
        values = parameters_of([*self.discrete.net.names, *self.leaves], values)
        each = [leaf.log_prob(values.pop(x)).sum() for x, leaf in self.leaves.items()]
        return self.discrete.log_prob(values) + sum(each)

    def diagnostics(self) -> dict[str, Any]:
        """Return the diagnostics of each leaf's chains, by name of the leaf."""
        return {name: leaf.diagnostics() for name, leaf in self.leaves.items()}

    def update(self, records: Records | Table, key: Key | None = None) -> Any:
        """Return the posterior given further records, which update the priors.

        Chains run again with the new priors. If `key` is None, a fixed key is used.

        Privacy:
            The release has no further privacy cost. The new records are not protected:
            show the result only to people who may see these records.
        """
        key = study_key(0) if key is None else key
        key_tables, key_leaves = jr.split(key)
        codes, values = self._encode(records)
        missing = jnp.asarray([[leaf.missing for leaf in self.net.leaves]], float)
        values, priors = jnp.where(jnp.isnan(values), missing, values), {}
        for i, (name, leaf) in enumerate(self.leaves.items()):
            rows, shape = self.statistic.row_of(codes, i), self.net.shape(i)
            s = leaf.family.statistics(values[:, i, None])
            s = jnp.concatenate([s, jnp.ones_like(s[:, :1])], axis=1)
            sums = jnp.zeros((int(np.prod(shape)), 3)).at[rows].add(s)
            flat = jax.tree.map(jnp.ravel, self.priors[name])
            new = jax.vmap(leaf.family.update)(flat, sums[:, :2], sums[:, 2])
            priors[name] = jax.tree.map(lambda x, s=shape: x.reshape(s), new)
        aware = self.method == "mixed"
        chains, draws = next(iter(self.leaves.values())).parameters.mean.shape[:2]
        given = {"aware": aware, "sizes": (chains, USUAL[1], draws)}
        return MixedPosterior(
            self.released,
            self.discrete.update(codes, key_tables),
            leaf_posteriors(key_leaves, self.released, priors, **given),
            priors,
        )

    def predict_proba(
        self, records: Records | Table, target: str
    ) -> Float[Array, "n k"]:
        """Predictive probabilities of a categorical variable, given the other ones.

        Args:
            records: encoded records (`Schema.encode`), or a table. The column of
                `target` is not used. Other columns may be absent and cells missing:
                they are summed out. In arrays, -1 is an unknown level and NaN an
                unknown number.
            target: name of a categorical variable.

        Returns:
            One row for each record, with the probabilities of the target's levels.

        Raises:
            ValueError: if `target` is no categorical variable, or the records do not
                fit the network.
        """
        group = self._levels_of(target)
        return jax.nn.softmax(self._log_joint(records, group, target), axis=-1)

    def query(
        self, target: str | Sequence[str], evidence: Any = None
    ) -> Float[Array, "*shape"]:
        """Joint probabilities of categorical variables, given some of the others.

        Args:
            target: name of a categorical variable, or of several.
            evidence: levels and numbers that are known, as for `predict_proba`, or a
                dictionary from name to one value. None: nothing is known.

        Returns:
            For each record, with one axis for each target.
        """
        group = self._levels_of(target)
        logs = self._log_joint(evidence, group)
        sizes = [self.discrete.net.sizes[i] for i in group]
        return jax.nn.softmax(logs, axis=-1).reshape(-1, *sizes)

    def predict(self, records: Records | Table, target: str) -> Array:
        """Return the most probable level of a categorical variable in each record.

        For a numeric leaf, return its expected value. The arguments and errors are
        those of `predict_proba`.
        """
        if target not in self.leaves:
            return self.predict_proba(records, target).argmax(axis=1)
        means = jnp.ravel(self.leaves[target].mean()["mean"])
        return matmul(self._rows(records, target), means)

    def interval(
        self, records: Records | Table, target: str, level: float = 0.95
    ) -> tuple[HostArray, HostArray]:
        """Compute central prediction intervals of a numeric leaf, on the host.

        They are intervals of the value before clipping, which include the uncertainty
        of unknown levels of the leaf's parents and of all parameters.

        Raises:
            ValueError: if `level` is not between 0 and 1, `target` is no numeric leaf,
                or the records do not fit the network.
        """
        probability(level=level)
        if target not in self.leaves:
            raise ValueError(f"`target` must be a numeric leaf, got {target!r:.80}.")
        weights = np.asarray(self._rows(records, target), np.float64)
        leaf, ends = self.leaves[target], ((1 - level) / 2, (1 + level) / 2)
        lower, upper = (leaf.quantiles(weights, q) for q in ends)
        return lower, upper

    def log_likelihood(self, records: Records | Table) -> Float[Array, " n"]:
        """Return the log predictive density of each record; numbers may be missing."""
        codes, _ = self._encode(records)  # raises if a level is missing
        known = encode_evidence(records, self.net.schema)
        _, values = self.statistic.split_records(jnp.asarray(known))
        found = self.discrete.log_likelihood(codes)
        for i, leaf in enumerate(self.leaves.values()):
            rows, unknown = self.statistic.row_of(codes, i), jnp.isnan(values[:, i])
            logs = leaf.log_density(jnp.where(unknown, 0, values[:, i]))
            logs = jnp.take_along_axis(logs, rows[:, None], axis=1)[:, 0]
            found = found + jnp.where(unknown, 0, logs)
        return found

    def sample_records(
        self, key: Key, n: int, given: Mapping[str, Any] | None = None
    ) -> Float[Array, "n d"]:
        """Draw all parameters once from the posterior, then n synthetic records.

        Values of numeric leaves are clipped to their bounds.

        Args:
            key: typed JAX key.
            n: number of records.
            given: levels that all records have, by name of a categorical variable.

        Returns:
            Level indices and numbers, which `Schema.decode` converts to values.
        """
        typed_key(key=key)
        whole(0, n=n)
        key_codes, key_leaves, key_values = jr.split(key, 3)
        codes = self.discrete.sample_records(key_codes, n, given)
        columns = dict(zip(self.discrete.net.names, codes.T.astype(float), strict=True))
        noise = jr.normal(key_values, (len(self.leaves), n))
        keys = jr.split(key_leaves, len(self.leaves))
        for i, (name, leaf) in enumerate(self.leaves.items()):
            drawn, row = leaf.sample(keys[i]), self.statistic.row_of(codes, i)
            mean, variance = (jnp.ravel(drawn[x])[row] for x in ("mean", "variance"))
            value = mean + jnp.sqrt(variance) * noise[i]
            columns[name] = jnp.clip(value, *leaf.family.bounds[0])
        return jnp.stack([columns[name] for name in self.net.names], axis=1)

    def _by_name(self, ask: Any) -> dict[str, Any]:
        found = {**ask(self.discrete), **{x: ask(y) for x, y in self.leaves.items()}}
        return {name: found[name] for name in self.net.names}

    def _encode(
        self, records: Records | Table
    ) -> tuple[Int32[Array, "n v"], Float[Array, "n l"]]:
        """Return the level indices and the numbers, NaN if they are missing."""
        encoded = as_records(records, self.net.schema, ignore="*")
        return self.statistic.split_records(encoded)

    def _levels_of(self, target: Any) -> tuple[int, ...]:
        for name in self.leaves:
            if name == target or (isinstance(target, list | tuple) and name in target):
                raise ValueError(
                    f"`target` must have levels, got {name!r:.80}, a number: use "
                    "`predict` or `interval`."
                )
        return indices(self.discrete.net, target)

    def _rows(self, records: Records | Table, leaf: str) -> Float[Array, "n r"]:
        """Return probabilities of the rows of a leaf's parents, given each record."""
        group = self.net.leaf_parents[[*self.leaves].index(leaf)]
        return jax.nn.softmax(self._log_joint(records, group, leaf), axis=-1)

    def _log_joint(
        self, evidence: Any, group: tuple[int, ...], unread: str | None = None
    ) -> Float[Array, "n k"]:
        if unread is None:
            known = evidence_of(self.net, evidence)
        else:
            known = jnp.asarray(encode_evidence(evidence, self.net.schema, unread))
        codes, values = self.statistic.split_records(known)
        factors = []
        for i, leaf in enumerate(self.leaves.values()):
            unknown = jnp.isnan(values[:, i])
            logs = leaf.log_density(jnp.where(unknown, 0, values[:, i]))
            factors.append(jnp.where(unknown[:, None], 0, logs))
        given = jnp.concatenate(factors, axis=1)
        net, over = self.discrete.net, self.net.leaf_parents
        theta = flatten(net, self.discrete.mean(), "mean")
        found = log_joint(theta, codes, net, group, given, over)
        refuse_contradictions(found)
        return found
