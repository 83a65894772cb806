"""What the exact posterior of a network of stars says of further records, compiled."""

__all__ = ["log_likelihood", "predict"]

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Integer

from dpjax.posteriors.exact.forests import Component, Sums
from dpjax.posteriors.exact.star import StarLaw
from dpjax.posteriors.exact.star_draws import conditional_means, hub_weights
from dpjax.posteriors.exact.star_sums import Inferred

_NUMBERS_AT_ONCE = 1 << 22  # bounds memory, whatever the number of records


@partial(jax.jit, static_argnames="target")
def predict(
    inferred: Inferred, records: Integer[Array, "n d"], target: int
) -> Float[Array, "n levels"]:
    """The law of a variable given all others: those of its own star matter."""
    sums = inferred.sums
    for component, law in inferred.stars:
        if target == component.hub or target in sum(component.leaves, ()):
            score = _scorer(component, law)
            levels = jnp.arange(sums.layout.sizes[target], dtype=jnp.int32)

            def one(record, score=score, levels=levels):
                moved = jax.vmap(lambda level: record.at[target].set(level))(levels)
                return jax.nn.softmax(jax.vmap(score)(moved))

            batch = _batch(sums, component, len(levels))
            return lax.map(one, records.astype(jnp.int32), batch_size=batch)
    raise ValueError(f"`target` must be a variable, got {target}.")


@jax.jit
def log_likelihood(
    inferred: Inferred, records: Integer[Array, "n d"]
) -> Float[Array, " n"]:
    """Log-probability of each record."""
    total = jnp.zeros(len(records))
    for component, law in inferred.stars:
        batch = _batch(inferred.sums, component, 1)
        score = _scorer(component, law)
        total += lax.map(score, records.astype(jnp.int32), batch_size=batch)
    return total


def _batch(sums: Sums, component: Component, levels: int) -> int:
    leaves = sum(len(group) for group in component.leaves)
    return max(1, _NUMBERS_AT_ONCE // (sums.windows.kept * (leaves + 1) * levels))


def _scorer(component: Component, law: StarLaw):
    """The log-probability of a record's variables of one star, as a function of it."""
    log_weights = jnp.log(hub_weights(law))
    tables = [jnp.log(table) for table in conditional_means(law)]

    def score(record):
        level = record[component.hub]
        total = log_weights[level]
        for leaves, table in zip(component.leaves, tables, strict=True):
            rows = jnp.arange(len(leaves), dtype=jnp.int32) * len(log_weights) + level
            cells = record[np.asarray(leaves, np.int32)]
            total = total + table[:, cells, rows].sum(axis=1)
        return logsumexp(total)

    return score
