"""Markov random fields, whose interactions are those of given marginal tables."""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from dpjax._platforms import Sizes, each
from dpjax._products import matmul
from dpjax.data.bayes_net import BayesNet
from dpjax.data.categorical import Categorical
from dpjax.posteriors.priors import Prior, flat_prior
from dpjax.releases.released import Released
from dpjax.statistics import TableStatistic
from dpjax.tables.fourier_basis import DownwardClosure, to_coefficients
from dpjax.tables.gathers import Gather, add, log_add, marginals
from dpjax.tables.layout import TableLayout, maximal_groups
from dpjax.tables.marginals import (
    JunctionTree,
    expected_tables,
    log_partition,
    log_tables,
)

_Possible = Float[Array, "k x"] | None
_MOST_VALUES = 1 << 26  # of the features of all possible records: 256 MB


@dataclass(frozen=True)
class RandomField:
    r"""The distributions of largest entropy that have given marginal tables.

    A record x has the probability $p(x) \propto \exp \sum_\gamma \eta_\gamma b_\gamma
    (x)$. The features $b_\gamma$ are those of `dpjax.tables.fourier_basis`, without the
    constant one, for the indices $\gamma$ inside the groups. Their mean values are the
    Fourier coefficients of the marginal tables. The parameters $\eta$ are identifiable.

    Args:
        variables: the variables of a record.
        groups: for each table, the indices of its variables. A variable that is in no
            group is uniform, and independent of all others.
    """

    variables: tuple[Categorical, ...]
    groups: tuple[tuple[int, ...], ...]

    @cached_property
    def closure(self) -> DownwardClosure:
        """Indices of the features, and of the constant as the first one."""
        sizes = tuple(variable.size for variable in self.variables)
        return DownwardClosure(sizes, maximal_groups(self.groups))

    @property
    def layout(self) -> TableLayout:
        """Layout of the tables of all groups that no other group contains."""
        return self.closure.layout

    def __len__(self) -> int:
        """Number of parameters."""
        return len(self.closure) - 1

    @cached_property
    def net(self) -> BayesNet:
        """A Bayesian network that can have each distribution of the field.

        The variables of each clique of a junction tree are connected.
        """
        tree = JunctionTree.of(self.layout)
        parents: dict[int, tuple[int, ...]] = {}
        for place, clique in enumerate(tree.cliques):
            known = [*tree.separator(place)]
            for i in clique:
                if i not in known:
                    parents[i] = tuple(known)
                    known.append(i)
        return BayesNet(self.variables, tuple(parents[i] for i in sorted(parents)))

    @property
    def orders(self) -> Int[np.ndarray, " k"]:
        """For each parameter, the number of variables that it is for."""
        return np.count_nonzero(self._corners[1:], axis=1)

    def log_factors(self, eta: Float[Array, " k"]) -> Float[Array, " c"]:
        """Return the logarithms of factors of all groups, with parameters `eta`."""
        owners = self.closure.owners[1:]
        placed = jnp.zeros(self.layout.length, eta.dtype).at[owners].set(eta)
        return to_coefficients(self.layout, placed)  # the basis is symmetric

    def marginals(self, eta: Float[Array, " k"]) -> Float[Array, " c"]:
        """Return the probabilities of all cells of `layout`."""
        return expected_tables(self.layout, self.log_factors(eta))

    @cached_property
    def is_dense(self) -> bool:
        """Whether sums over all possible records are fast, and fit into memory.

        A junction tree then has at least a quarter of their cells.
        """
        cells = math.prod(self.layout.sizes)
        if cells * len(self) > _MOST_VALUES:
            return False
        return cells <= 4 * JunctionTree.of(self.layout).cells

    def possible(self) -> Float[Array, "k x"] | None:
        """Return the features of all possible records, or None if it is not `is_dense`.

        Methods that are given them sum over all records: by products of matrices or, if
        all variables have two levels, by fast transforms.
        """
        return _features_of_all(self) if self.is_dense else None

    def mean(self, eta: Float[Array, " k"], possible: _Possible) -> Float[Array, " k"]:
        """Return the mean values of the features of a record."""
        if possible is None:
            return self.features(self.marginals(eta))
        law = jax.nn.softmax(self._logs(eta, possible))
        if self._is_binary:
            return to_coefficients(self._joint, law)[self._places]
        return matmul(possible, law)

    def log_partition(
        self, eta: Float[Array, " k"], possible: _Possible
    ) -> Float[Array, ""]:
        """Return the logarithm of the sum over all records of the exponentials."""
        if possible is None:
            return log_partition(self.layout, self.log_factors(eta))
        return jax.nn.logsumexp(self._logs(eta, possible))

    def covariance(
        self, eta: Float[Array, " k"], possible: _Possible
    ) -> Float[Array, "k k"]:
        """Return the covariance matrix of the features of a record."""
        if possible is not None:
            law = jax.nn.softmax(self._logs(eta, possible))
            centred = possible - matmul(possible, law)[:, None]
            return matmul(centred * law, centred.T)

        def column(unit):
            return jax.jvp(lambda x: self.mean(x, None), (eta,), (unit,))[1]

        return each(column, jnp.eye(len(self), dtype=eta.dtype), self.at_once)

    @cached_property
    def _is_binary(self) -> bool:
        return all(size == 2 for size in self.layout.sizes)

    def _logs(self, eta: Array, possible: Array) -> Float[Array, " x"]:
        return self.log_weights(eta) if self._is_binary else matmul(eta, possible)

    @cached_property
    def _joint(self) -> TableLayout:
        """The table of all variables."""
        return TableLayout(self.layout.sizes, (tuple(range(len(self.variables))),))

    @cached_property
    def _net_from_joint(self) -> Gather:
        return marginals(self._joint, self.net.layout)

    @cached_property
    def _places(self) -> Int[np.ndarray, " k"]:
        """For each feature, the cell of the joint table whose levels are its index."""
        places = np.ravel_multi_index([*self._corners[1:].T], self.layout.sizes)
        return np.asarray(places)

    def log_weights(self, eta: Array) -> Float[Array, " x"]:
        """Return the logarithms of all records' probabilities, up to a constant."""
        placed = jnp.zeros(self._joint.length, eta.dtype).at[self._places].set(eta)
        return to_coefficients(self._joint, placed)  # the basis is symmetric

    def at_once(self, sizes: Sizes) -> int:
        """Return for how many parameters at once marginals are computed."""
        return JunctionTree.of(self.layout).at_once(sizes)

    def features(self, tables: Float[Array, " c"]) -> Float[Array, " k"]:
        """Return the sums of the features, given tables of `layout`."""
        return to_coefficients(self.layout, tables)[self.closure.owners[1:]]

    def features_of_net(self, counts: Float[Array, " c"]) -> Float[Array, " k"]:
        """Return the sums of the features, given tables of `net.layout`."""
        return self.features(self._from_net(add, counts, 0))

    @cached_property
    def _from_net(self) -> Gather:
        return marginals(self.net.layout, self.layout)

    def tables(self, eta: Float[Array, " k"]) -> Float[Array, " c"]:
        """Return the probability tables of `net`, in the order of its layout."""
        if self.is_dense:
            logs = self._net_from_joint(log_add, self.log_weights(eta), -np.inf)
        else:
            groups = self.layout.groups + self.net.families
            none = jnp.zeros(self.net.layout.length, eta.dtype)
            factors = jnp.concatenate([self.log_factors(eta), none])
            logs = log_tables(TableLayout(self.layout.sizes, groups), factors)
            logs = logs[self.layout.length :]
        powers = jnp.exp(logs - self.net.layout.row_maxima(logs))
        return powers / self.net.layout.row_sums(powers)

    def parameters(self, theta: Float[Array, " c"]) -> Float[Array, " k"]:
        """Return the parameters, given the probability tables of `net`."""
        layout, states = self.net.layout, self._corners
        logs = jnp.log(theta)[layout.cells(states)].sum(axis=1)
        values = jnp.asarray(self.feature_matrix(states), logs.dtype)
        constant = jnp.ones((len(states), 1), logs.dtype)
        return jnp.linalg.solve(jnp.concatenate([constant, values], 1), logs)[1:]

    def feature_matrix(self, records: np.ndarray) -> Int[np.ndarray, "n k"]:
        """Return the features of records, which are given by their levels."""
        with jax.ensure_compile_time_eval():
            cells = np.asarray(self.layout.cells(records))
        found = np.zeros((len(records), self.layout.length), np.int64)
        np.put_along_axis(found, cells, 1, axis=1)
        return to_coefficients(self.layout, found)[:, self.closure.owners[1:]]

    @cached_property
    def _corners(self) -> np.ndarray:
        """For each feature and the constant, a record that is 0 outside its index."""
        states = np.zeros((len(self.closure), len(self.variables)), np.int32)
        for table, group in enumerate(self.layout.groups):
            start, stop = self.layout.offsets[table : table + 2]
            levels = np.indices(self.layout.shape(group)).reshape(len(group), -1)
            slots = self.closure.slots[start:stop]
            states[slots[:, None], np.asarray(group)] = levels.T
        return states

    def prior_counts(self, prior: Prior) -> Float[Array, " c"]:
        """Return the numbers of records in the prior, for each cell of `net.layout`.

        A number is that of each level of the variable with the most levels.
        """
        if not isinstance(prior, dict):
            parts = np.diff(self.net.layout.offsets)
            shares = np.repeat(max(self.layout.sizes) / parts, parts)
            return flat_prior(self.net, prior) * jnp.asarray(shares, float)
        return flat_prior(self.net, prior)


@partial(jax.jit, static_argnums=0)
def _features_of_all(field: RandomField) -> Array:
    return jax.vmap(field.log_weights)(jnp.eye(len(field)))


@lru_cache(maxsize=64)
def _field(variables: tuple[Categorical, ...], layout: TableLayout) -> RandomField:
    return RandomField(variables, layout.groups)


def field_of(released: Released) -> RandomField:
    """Return the random field of a release of marginal tables without a network.

    Raises:
        ValueError: if the release has a network, or is not of tables.
    """
    counted = released.counted
    if released.network is not None:
        raise ValueError(
            "`released` must be of marginal tables without a network, got one of a "
            "network: use another method."
        )
    return _field(counted.variables, counted.layout)


def network_of(released: Released) -> BayesNet:
    """Return the network of a release, or that of its random field.

    Raises:
        ValueError: if the release is neither for a network nor of marginal tables.
    """
    if released.network is None and isinstance(released.statistic, TableStatistic):
        return field_of(released).net
    return released.net
