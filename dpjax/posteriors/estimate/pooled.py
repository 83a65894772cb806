"""Point estimates from several releases, of one table of records or of several."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dpjax._checks import whole
from dpjax._types import Key
from dpjax.data.bayes_net import BayesNet
from dpjax.posteriors.estimate.curvature import (
    NormalEstimate,
    StickBreaking,
    covariance,
)
from dpjax.posteriors.estimate.fit import Fit, Problem, fit
from dpjax.posteriors.estimate.point_estimate import (
    Numbers,
    consistent_counts,
    numbers_of,
)
from dpjax.posteriors.estimate.row_prior import FixedPrior, LogLinearPrior
from dpjax.posteriors.laws import laplace_scale, normal_deviation
from dpjax.posteriors.priors import Prior, flat_prior, is_hierarchical
from dpjax.posteriors.several import Tables, cost_of, tables_of
from dpjax.privacy import Guarantee
from dpjax.releases.released import Released, consistent
from dpjax.statistics import TableStatistic
from dpjax.statistics.joined_moments import JoinedMoments
from dpjax.tables.layout import TableLayout
from dpjax.tables.marginals import expected_tables


class PooledEstimate(NormalEstimate):
    """Estimate of a network's probability tables from several releases.

    The function `pooled_estimate` makes this object. Its methods are those of
    `PointEstimate`.

    Args:
        theta: all estimated probabilities, in the order of `net.layout`.
        net: the network of all releases.
        releases: the releases of each table of records.
        prior: Dirichlet parameter of every cell, in the order of `net.layout`.
        n: public or estimated number of records of each table of records.
        gradient: root mean square of the averaged gradient after the last step, in
            posterior standard deviations.
        steps: number of gradient steps.

    Privacy:
        Post-processing of releases has no privacy cost beyond `guarantee()`.
    """

    net: BayesNet = eqx.field(static=True)  # pyright: ignore[reportIncompatibleMethodOverride]
    releases: Tables
    prior: Float[Array, " c"]
    n: Float[Array, " t"]
    gradient: Float[Array, ""]
    steps: int = eqx.field(static=True)

    def guarantee(self) -> Guarantee:
        """Return the privacy cost of all releases together; see `cost_of`."""
        return cost_of(self.releases)

    def _updated(self, counts: Array, key: Key | None) -> "PooledEstimate":
        return _estimate(self.releases, self.net, self.prior + counts, self.steps)

    def _law(self) -> StickBreaking:
        spec, numbers = _numbers(self.releases, self.net)
        _, scale, weights = _joined(numbers)
        given = self.theta, self.prior, scale, weights
        found = covariance(
            spec.moments, self.net, *given, spec.in_table, self.n, spec.public_n
        )
        return StickBreaking(self.net, self.theta, found)


def pooled_estimate(
    releases: Sequence[Released | Sequence[Released]],
    prior: Prior | str = 1.0,
    *,
    disjoint: bool | None,
    steps: int = 200,
) -> PooledEstimate:
    """Compute an approximate posterior mean of a network's tables from releases.

    The model and the approximations are those of `point_estimate`. Numbers of one table
    of records count the same records; numbers of different tables are independent given
    the probabilities, which all tables share. Laplace noise is approximated by normal
    noise if other releases have K-norm noise.

    Args:
        releases: releases of one network by any of the mechanisms of `point_estimate`,
            and releases of other tables within those of the network. If `disjoint`,
            each entry is a release of another table of records, or a list of the
            releases of another table of records. There must be a release of the whole
            network for each table of records.
        prior: see `point_estimate`.
        disjoint: whether no record is in the tables of two entries. If False, all
            releases are of one table of records.
        steps: number of gradient steps, at least 1.

    Privacy:
        Post-processing has no privacy cost. The releases together cost the sum of their
        costs if they are of one table of records, and the largest cost if they are
        disjoint: see `PooledEstimate.guarantee`.

    Raises:
        ValueError: if a release does not fit, releases differ in their variables,
            adjacency or unit of protection, public numbers of records of one table
            differ, or an argument is invalid.
    """
    whole(1, steps=steps)
    tables = tables_of(releases, disjoint)
    net = _network(tables)
    learned = is_hierarchical(prior)
    given = flat_prior(net, 0.5 if learned else prior)
    return _estimate(tables, net, given, steps, learned)


class _Spec(NamedTuple):
    """What is static of several releases, for compiled programs."""

    moments: JoinedMoments
    statistics: tuple[tuple[TableStatistic, ...], ...]
    lengths: tuple[int, ...]  # numbers of each table of records
    public_n: bool

    @property
    def in_table(self) -> Float[np.ndarray, "t m"]:
        """1 where a number is of a table of records, else 0."""
        return np.repeat(np.eye(len(self.lengths)), self.lengths, axis=1)


def _network(tables: Tables) -> BayesNet:
    """The network whose tables contain those of all releases."""
    every = [one for found in tables for one in found]
    for one in every:
        one.counted  # noqa: B018  (raises)
    nets = [one.network for one in every if one.network is not None]
    if not nets:
        raise ValueError(
            "`released` must have a release of a network among several, got none: "
            "infer from one alone."
        )
    net = max(nets, key=lambda net: net.layout.length)
    for found in tables:
        if not any(_has_families(one.network, net) for one in found):
            raise ValueError(
                "`released` must have a release of the whole network for each table of "
                "records: give releases of parts of a network beside it."
            )
    return net


def _has_families(own: BayesNet | None, net: BayesNet) -> bool:
    return own is not None and own.families == net.families


def _numbers(tables: Tables, net: BayesNet) -> tuple[_Spec, list[Numbers]]:
    """What is static of the releases, and the numbers of each."""
    numbers = [numbers_of(one) for found in tables for one in found]
    layouts = [one.counted.layout for found in tables for one in found]
    parts = zip((x[0] for x in numbers), layouts, strict=True)
    try:
        moments = JoinedMoments(net.layout, tuple(parts))
    except ValueError:
        raise ValueError(
            "`released` must be of tables within those of one network, got tables of "
            "other variables together."
        ) from None
    lengths = iter([x[1].shape[-1] for x in numbers])
    sums = tuple(sum(next(lengths) for _ in found) for found in tables)
    statistics = tuple(tuple(one.counted for one in found) for found in tables)
    return _Spec(moments, statistics, sums, tables[0][0].n is not None), numbers


def _joined(numbers: list[Numbers]) -> tuple[Array, Array, Array | None]:
    """Values, scales and weights of all numbers; one law for all of them."""
    values = jnp.concatenate([x[1] for x in numbers])
    if all(weights is None for *_, weights in numbers):
        return values, jnp.concatenate([x[2] for x in numbers]), None
    scales, weights = [], []
    for _, _, scale, weight in numbers:
        scales.append(scale * (np.sqrt(2) if weight is None else 1))
        weights.append(jnp.ones_like(scale) if weight is None else weight)
    wide = (jnp.broadcast_to(x, y.shape) for x, y in zip(weights, scales, strict=True))
    return values, jnp.concatenate(scales), jnp.concatenate([*wide])


def _estimate(
    tables: Tables, net: BayesNet, prior: Array, steps: int, learned: bool = False
) -> PooledEstimate:
    spec, numbers = _numbers(tables, net)
    every = [[(x.values, _scale(x), x.n) for x in found] for found in tables]
    every = every, [_expected_shares(found, net) for found in tables]
    given = jax.tree.map(partial(jnp.asarray, dtype=float), every)
    found = _fit(spec, net, _joined(numbers), given, prior, steps, learned)
    result = net, tables, found.prior, found.n, found.gradient
    return PooledEstimate(found.theta, *result, steps)


def _expected_shares(found: Sequence[Released], net: BayesNet) -> Array | None:
    """Tables that an earlier release lets expect, unless all tables are released."""
    if any(_has_families(one.counted.network, net) for one in found):
        return None
    last = next(one for one in found if _has_families(one.network, net))
    assert last.learned is not None
    earlier = last.learned.earlier
    counts = jnp.asarray(consistent(earlier), float) + 1
    return _marginals(net.layout, earlier.net.layout, counts)


@partial(jax.jit, static_argnames=("wanted", "layout"))
def _marginals(wanted: TableLayout, layout: TableLayout, counts: Array) -> Array:
    """Tables of other variables under the network that has these counts."""
    both = TableLayout(wanted.sizes, (*wanted.groups, *layout.groups))
    factors = jnp.zeros(wanted.length, counts.dtype), jnp.log(layout.normalise(counts))
    return expected_tables(both, jnp.concatenate(factors))[: wanted.length]


def _scale(released: Released) -> Array:
    """About the scale of each number's noise, from which a fit starts."""
    values = jnp.asarray(released.values, float)
    shaped = released.mechanism.normal_numbers(values, released.n) is not None
    if not shaped and normal_deviation(released) is None:
        return jnp.broadcast_to(laplace_scale(released), values.shape)
    law: Any = released.mechanism.for_studies()
    return jnp.broadcast_to(law.noise_scale(values), values.shape)


@partial(jax.jit, static_argnames=("spec", "net", "steps", "learned"))
def _fit(spec: _Spec, net, numbers, given, prior, steps, learned) -> Fit:
    starts, sizes = zip(*_starts(spec, net, given), strict=True)
    rows = LogLinearPrior(net, prior) if learned else FixedPrior(prior)
    values, scale, weights = numbers
    start = jnp.stack(starts).sum(axis=0)
    found = values, scale, rows, start, jnp.stack(sizes)
    problem = Problem(spec.moments, spec.in_table, net, *found, spec.public_n, weights)
    return fit(problem, steps)


def _starts(spec: _Spec, net: BayesNet, given) -> Iterator[tuple[Array, Array]]:
    """Consistent counts of each table of records, and its number of records."""
    for statistics, found, shares in zip(spec.statistics, *given, strict=True):
        *_, n = found[0]
        number = _number_of(statistics, found) if n is None else jnp.maximum(n, 1e-3)
        counts, precisions = [], []
        for statistic, (values, scale, n) in zip(statistics, found, strict=True):
            if _has_families(statistic.network, net):
                counts.append(consistent_counts(statistic, values, scale, n))
                precisions.append(1 / jnp.median(scale) ** 2)
        if not counts:
            yield shares * number, number
            continue
        weights = jnp.stack(precisions) / sum(precisions)
        yield jnp.sum(weights[:, None] * jnp.stack(counts), axis=0), number


def _number_of(statistics: Sequence[TableStatistic], found) -> Float[Array, ""]:
    """Least-squares estimate of a private number of records, at least 1.

    It is linear in the released numbers, and so has no bias: the mean of the estimates
    of all releases, weighted by their precisions.
    """
    estimates, precisions = [], []
    for statistic, (values, scale, n) in zip(statistics, found, strict=True):

        def estimate(values, statistic=statistic, scale=scale, n=n):
            linear = consistent_counts(statistic, values, scale, n, nonnegative=False)
            return linear[: statistic.layout.offsets[1]].sum()

        number, along = jax.value_and_grad(estimate)(values)
        estimates.append(number)
        precisions.append(1 / jnp.sum((along * scale) ** 2))
    weights = jnp.stack(precisions) / sum(precisions)
    return jnp.maximum(jnp.sum(weights * jnp.stack(estimates)), 1)
