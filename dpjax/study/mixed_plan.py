"""Expected errors of noise on totals of numeric leaves, without any data.

A repeat draws tables uniformly. In each row of a leaf, the sd is uniform in its
logarithm from 5 % to half of the half width of the bounds, and the mean is uniform at
least one sd within the bounds. All errors are those of tables in which leaves are in
bins of equal width, so that leaves can be compared with counts of numbers in bins.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.scipy.special import ndtr
from jaxtyping import Array, Float

from dpjax._types import Key
from dpjax.data.bayes_net import BayesNet
from dpjax.data.intervals import Interval
from dpjax.data.kinds import declared
from dpjax.data.mixed_net import MixedNet
from dpjax.data.probabilities import sample_records
from dpjax.data.schema import Schema
from dpjax.mechanisms.recipes import Recipe, recipe_of
from dpjax.noise.discrete_laplace import LARGEST
from dpjax.posteriors import posterior
from dpjax.posteriors.laws import laplace_scale
from dpjax.posteriors.priors import flatten
from dpjax.privacy import REPLACE_ONE, PureDP
from dpjax.releases.released import Released
from dpjax.statistics import MixedTotals, NetworkCounts
from dpjax.study.outlooks import NON_PRIVATE, Outlook
from dpjax.study.simulated import Simulated, row_errors, row_weights
from dpjax.tables.counts import count

BINS = 8  # of a leaf
_LEAST = 1e-30  # probability of a bin, so that no divergence is infinite
_SDS = (0.05, 0.5)  # smallest and largest sd, in half widths


@dataclass(frozen=True)
class MixedData:
    """Simulated records of a network with numeric leaves.

    Args:
        statistic: counts and totals of the network.
        binned: the network with each leaf in `BINS` bins of equal width.
        n: number of records.
        tables: true tables, exact counts and weights of rows of `binned`, by repeat.
        totals: exact values of `statistic`, by repeat.
    """

    statistic: MixedTotals
    binned: BayesNet
    n: int
    tables: Simulated
    totals: Array

    @classmethod
    def of(cls, key: Key, statistic: MixedTotals, n: int, repeats: int) -> "MixedData":
        """Draw parameters and records for each repeat.

        Raises:
            ValueError: if the totals of n records do not fit 32 bits.
        """
        binned = _binned(statistic.net)
        most = LARGEST // statistic.most_per_record
        if n > most:
            raise ValueError(
                f"`n` must be at most {most} with numeric leaves, got {n}."
            )
        *tables, totals = _simulated(key, statistic, binned, n, repeats)
        return cls(statistic, binned, n, Simulated(*tables), totals)


def _binned(net: MixedNet) -> BayesNet:
    """Return the network with leaves in bins of equal width."""
    variables = {x.name: x for x in net.variables}
    for leaf in net.leaves:
        bins = {"lower": leaf.lower, "upper": leaf.upper, "bins": BINS}
        variables[leaf.name] = declared(leaf.name, bins)
    schema = Schema(tuple(variables.values()))
    return BayesNet.from_parents(schema, net.parent_names())


@partial(jax.jit, static_argnums=(1, 2, 3, 4))
def _simulated(
    key: Key, statistic: MixedTotals, binned: BayesNet, n: int, repeats: int
) -> tuple[Array, Array, Array, Array]:
    net, measured = statistic.net, NetworkCounts(binned).measured
    places = net.columns(net.leaves)
    shapes = [net.shape(leaf) for leaf in range(len(places))]

    def one(key):
        key_tables, key_leaves, key_records, key_fresh = jr.split(key, 4)
        layout = binned.layout
        truth = layout.normalise(jr.exponential(key_tables, (layout.length,)))
        tables = dict(zip(binned.names, layout.split(truth), strict=True))
        keys = iter(jr.split(key_leaves, len(places)))
        normal = {
            leaf.name: _normal(next(keys), leaf, shape)
            for leaf, shape in zip(net.leaves, shapes, strict=True)
        }
        for leaf in net.leaves:
            mean, sd = (x[..., None] for x in normal[leaf.name])
            edges = jnp.broadcast_to(_edges(leaf), (*mean.shape[:-1], BINS - 1))
            tables[leaf.name] = _shares(ndtr((edges - mean) / sd))
        truth = flatten(binned, tables, "tables")
        key_levels, *keys = jr.split(key_records, 1 + len(places))
        levels = sample_records(key_levels, truth, binned, n)
        records = levels.astype(float)
        codes = levels[:, np.array(net.columns(net.discrete.variables))]
        for i, (leaf, place) in enumerate(zip(net.leaves, places, strict=True)):
            row = statistic.row_of(codes.astype(jnp.int32), i)
            mean, sd = (jnp.ravel(x)[row] for x in normal[leaf.name])
            values = mean + sd * jr.normal(keys[i], (n,))
            records = records.at[:, place].set(values)
            bins = jnp.searchsorted(_edges(leaf), values, side="right")
            levels = levels.at[:, place].set(bins.astype(levels.dtype))
        counts, totals = count(levels, measured), statistic.measure(records)
        return truth, counts, row_weights(key_fresh, binned, truth), totals

    return jax.lax.map(one, jr.split(key, repeats))


def _normal(key: Key, leaf: Interval, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Draw the mean and the sd of each row of a leaf."""
    key_sd, key_mean = jr.split(key)
    centre, half = (leaf.lower + leaf.upper) / 2, (leaf.upper - leaf.lower) / 2
    least, most = map(math.log, _SDS)
    sd = half * jnp.exp(jr.uniform(key_sd, shape, minval=least, maxval=most))
    return centre + (half - sd) * jr.uniform(key_mean, shape, minval=-1.0), sd


def _edges(leaf: Interval) -> Float[Array, " e"]:
    """Return the edges between bins."""
    return jnp.asarray(np.linspace(leaf.lower, leaf.upper, BINS + 1)[1:-1], float)


def _shares(below: Float[Array, "*rows e"]) -> Float[Array, "*rows k"]:
    """Return probabilities of bins from those of values below the edges."""
    zero = jnp.zeros_like(below[..., :1])
    return jnp.diff(jnp.concatenate([zero, below, zero + 1], axis=-1))


def leaf_outlooks(
    key: Key, data: MixedData, budget: PureDP, prior: float, recipes: Sequence[Recipe]
) -> list[Outlook]:
    """Return errors of noise on counts and totals, by each method of inference.

    The choices say how many tables share the budget: each leaf counts as two. The scale
    of the noise is in records.
    """
    statistic = data.statistic
    public = data.n if budget.adjacency == REPLACE_ONE else None
    all_recipes = (recipe_of("laplace"), *recipes)
    made = [x.mechanism(statistic, budget, public).for_studies() for x in all_recipes]
    exact = Released(data.totals, statistic, made[0], public)
    plain = _errors(key, data, exact, prior, False)
    outlooks = [Outlook.of(NON_PRIVATE, plain, data.binned.names, {})]
    for recipe, noise in zip(all_recipes, made, strict=True):
        keys = jr.split(jr.clone(key), len(data.totals))
        values = jax.vmap(noise.sample)(keys, data.totals)
        given = Released(values, statistic, noise, public)
        scales = np.unique(np.asarray(laplace_scale(given))) / statistic.steps
        choices = {"scale": [*scales.tolist()], "tables": float(statistic.price)}
        for suffix, aware in (("", False), (", noise-aware", True)):
            errors, name = _errors(key, data, given, prior, aware), f"{recipe}{suffix}"
            outlooks.append(Outlook.of(name, errors, data.binned.names, choices))
    return outlooks


def _errors(
    key: Key, data: MixedData, released: Released, prior: float, aware: bool
) -> Float[np.ndarray, "repeats e"]:
    """Return the errors of posteriors, given a batch of vectors."""
    found = []
    for values, truth, _, weights in zip(released.values, *data.tables, strict=True):
        given = Released(values, released.statistic, released.mechanism, released.n)
        learned: Any = posterior(given, prior, key=key, noise_aware=aware)
        tables = learned.discrete.mean()
        for i, leaf in enumerate(data.statistic.net.leaves):
            shares = learned.leaves[leaf.name].in_bins(_edges(leaf))
            shape = data.statistic.net.shape(i)
            shares = np.maximum(shares, _LEAST).reshape(*shape, BINS)
            tables[leaf.name] = jnp.asarray(shares, float)
        flat = flatten(data.binned, tables, "tables")
        found.append(np.asarray(row_errors(data.binned, truth, weights, flat)))
    return np.stack(found)
