"""Probabilities and draws of records from a network's tables, in bounded memory.

All functions are compiled. `theta` is the vector of all probabilities, in the order of
`net.layout`, and the network is static.
"""

from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jaxtyping import Array

from dpjax._platforms import each
from dpjax._types import Key
from dpjax.data.bayes_net import BayesNet


@partial(jax.jit, static_argnames=("net", "target"))
def predict(theta: Array, records: Array, net: BayesNet, target: int) -> Array:
    """Probabilities of the levels of `target` in each record, in an (n, levels) array.

    Only the node tables that contain the target are used.
    """
    tables = tuple(t for t, group in enumerate(net.families) if target in group)
    return jax.nn.softmax(joint(theta, records, net, target, tables), axis=-1)


@partial(jax.jit, static_argnames=("net", "target", "tables"))
def joint(
    theta: Array,
    records: Array,
    net: BayesNet,
    target: int,
    tables: tuple[int, ...] | None = None,
) -> Array:
    """Log-probabilities of records with each level of `target`, an (n, levels) array.

    If `tables` is given, only the probabilities in these tables are multiplied.
    """
    log_theta = jnp.log(theta)
    tables = tuple(range(len(net.families))) if tables is None else tables
    strides = [net.layout.strides[t].get(target, 0) for t in tables]
    moves = np.outer(np.arange(net.sizes[target]), strides).astype(np.int32)

    def score_one(record):
        base = net.layout.cells(record[None].at[0, target].set(0), tables)
        return log_theta[base + moves].sum(axis=1)

    return each(score_one, records, lambda sizes: sizes.numbers // moves.size)


@partial(jax.jit, static_argnames="net")
def log_likelihood(theta: Array, records: Array, net: BayesNet) -> Array:
    """Log-probability of each record, an array of shape (n,)."""
    log_theta = jnp.log(theta)

    def score_one(record):
        return log_theta[net.layout.cells(record[None])].sum()

    return each(score_one, records, lambda sizes: sizes.numbers // len(net.families))


@partial(jax.jit, static_argnames=("net", "n"))
def sample_records(key: Key, theta: Array, net: BayesNet, n: int) -> Array:
    """Draw n records by inversion, one variable after the other, parents first.

    The level indices have shape (n, d) for d variables. One compiled loop serves all
    variables, whose levels are padded with levels of probability 0. Such levels are
    never drawn, whatever the rounding errors of the sums.
    """
    layout, widest = net.layout, max(net.sizes)
    order = jnp.array(net.order, jnp.int32)
    members, strides, offsets = (jnp.asarray(x) for x in layout.addresses)
    levels = jnp.arange(widest, dtype=jnp.int32)
    sizes = jnp.array(net.sizes, jnp.int32)

    def sample_one(uniforms):
        def add_variable(record, inputs):
            variable, uniform = inputs
            parents = record[members[variable]] * strides[variable]
            row = offsets[variable] + parents.sum(dtype=jnp.int32)
            cells = jnp.minimum(row + levels, layout.length - 1)
            law = jnp.where(levels < sizes[variable], theta[cells], 0)
            possible = law > 0
            last = jnp.max(jnp.where(possible, levels, 0))
            reached = possible & (uniform < jnp.cumsum(law))
            first = jnp.argmax(reached).astype(jnp.int32)
            level = jnp.where(reached.any(), first, last)
            return record.at[variable].set(level), None

        start = jnp.zeros(len(net.order), jnp.int32)
        return lax.scan(add_variable, start, (order, uniforms))[0]

    uniforms = jr.uniform(key, (n, len(net.order)))
    return each(sample_one, uniforms, lambda sizes: sizes.numbers // widest)
