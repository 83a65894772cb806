"""Gibbs updates that read records; each update is an exponential mechanism.

The updates compute the log-likelihood of each record, clip it to public bounds and
divide it by the temperature, so that the cost holds for any function of the user. The
user's functions must not contain records: they receive the records that they may read.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array

from dpjax import distributions
from dpjax._checks import whole
from dpjax._types import Key, Scalar
from dpjax.chains import price
from dpjax.chains.blocks import State
from dpjax.chains.laws import draw_categorical
from dpjax.chains.private_chain import ChargedStep
from dpjax.privacy import REPLACE_ONE, Adjacency, Epsilon, exact_epsilon


def latents(
    name: str,
    log_likelihood: Callable[[State, Any], Array],
    bounds: price.Bounds,
    epsilon: Epsilon,
    *,
    log_prior: Callable[[State], Array],
    updates: int | None = None,
    replacement: bool = False,
) -> ChargedStep:
    """Make the step that draws a categorical latent variable for each record.

    All latents are drawn at once, given the records and the previous state. This is
    Gibbs sampling if the latents are independent given the other entries of the state.

    Args:
        name: name of the entry with the level of each record's latent, (n,) int32.
        log_likelihood: function from the state and a record to the log-likelihood of
            each level, (k,).
        bounds: lower and upper bound of `log_likelihood`; values outside are clipped.
        epsilon: largest ε of one latent's update.
        log_prior: function from the state to the log-prior of each level, (k,).
        updates: number of random latents to draw in a sweep. None: each latent, once.
        replacement: whether a latent may be drawn more than once in a sweep.

    Privacy:
        The step is for replace-one only, where n is public, since the number of latents
        reveals n. Given the state, a replaced record changes only the law of its own
        latent. A pass over all latents thus costs as much as one update: 2Δ at
        temperature 1, where Δ is the width of `bounds`. A random selection of Q latents
        also costs as much as one update, since the state shows whether the record's
        latent changed. With replacement, the cost is Q times the cost of one update.

    Raises:
        ValueError: if an argument is out of range.

    Reference:
        Foulds, Geumlek, Welling & Chaudhuri (UAI-16), section 4.1, for the pass; the
        cost 4ΔQ/N that it gives for a random scan of N records is wrong.
    """
    clip = price.clip_to(bounds)
    cost, temperature = price.price_of(clip.width, epsilon, REPLACE_ONE)
    each = price.of_each(lambda state, record, _: log_likelihood(state, record))
    if updates is not None or replacement:
        whole(1, updates=updates)

    def law(records: Any, state: State) -> Array:
        prior = log_prior(state)
        price.shaped(prior, jnp.shape(prior)[-1:], "log_prior")
        fits = each(state, records)
        price.shaped(fits, (len(fits), *prior.shape), "log_likelihood")
        return prior[None] + clip(fits) / temperature

    def update(key: Key, records: Any, state: State) -> State:
        old = state[name]
        if updates is not None and updates > len(old):
            raise ValueError(
                f"`updates` must be at most the number of records, {len(old)}, got "
                f"{updates}."
            )
        logits = law(records, state)
        price.shaped(old, (len(logits),), name)
        if updates is None:
            return {**state, name: draw_categorical(key, logits)}
        key_which, key_draw = jr.split(key)
        drawn = draw_categorical(key_draw, logits)
        chosen = jr.permutation(key_which, len(old)) < updates
        return {**state, name: jnp.where(chosen, drawn, old)}

    if not replacement:
        return ChargedStep(update, cost, law=law)
    times = updates or 1
    return ChargedStep(_repeatedly(name, law, times), cost, times, law)


def _repeatedly(name: str, law: Callable, times: int) -> Callable:
    """Make the update of the latents of random records, drawn with replacement."""

    def step(key: Key, records: Any, state: State) -> State:
        price.shaped(state[name], jnp.shape(state[name])[:1], name)

        def update(carried: tuple[Key, State], _: None) -> tuple[tuple, None]:
            key, state = carried
            key, key_which, key_draw = jr.split(key, 3)
            i = jr.randint(key_which, (), 0, len(state[name]), jnp.int32)
            record = jax.tree.map(lambda x: x[i][None], records)
            (drawn,) = draw_categorical(key_draw, law(record, state))
            return (key, {**state, name: state[name].at[i].set(drawn)}), None

        return lax.scan(update, (key, state), length=times)[0][1]

    return step


def collapsed(
    name: str,
    log_conditional: Callable[[State, Any, Array], Array],
    bounds: price.Bounds,
    epsilon: Epsilon,
    *,
    n: int,
) -> ChargedStep:
    """Make the step that draws the categorical latents of all records in turn.

    Each latent is drawn given all records and all other latents, for models whose
    parameters are integrated out. A replaced record changes the law of every latent, so
    that each draw is charged, unlike in `latents`.

    Args:
        name: name of the entry with the level of each record's latent, (n,) int32.
        log_conditional: function from the state, the records and i to the
            log-probability of each level of latent i, (k,).
        bounds: lower and upper bound of `log_conditional`, which includes the prior;
            values outside are clipped.
        epsilon: largest ε of one latent's update.
        n: number of records.

    Privacy:
        The step is for replace-one only. It costs n times the cost of one update, which
        is 2Δ at temperature 1, where Δ is the width of `bounds`.

    Raises:
        ValueError: if an argument is out of range.
    """
    whole(1, n=n)
    clip = price.clip_to(bounds)
    cost, temperature = price.price_of(clip.width, epsilon, REPLACE_ONE)

    def one(records: Any, state: State, i: Array) -> Array:
        price.shaped(state[name], (n,), name)
        found = log_conditional(state, records, i)
        price.shaped(found, jnp.shape(found)[-1:], "log_conditional")
        return clip(found) / temperature

    def law(records: Any, state: State) -> Array:
        every = jnp.arange(n, dtype=jnp.int32)
        return jax.vmap(one, (None, None, 0))(records, state, every)

    def update(key: Key, records: Any, state: State) -> State:
        def site(carried: tuple[Key, State], i: Array) -> tuple[tuple, None]:
            key, state = carried
            key, key_draw = jr.split(key)
            drawn = draw_categorical(key_draw, one(records, state, i))
            return (key, {**state, name: state[name].at[i].set(drawn)}), None

        every = jnp.arange(n, dtype=jnp.int32)
        return lax.scan(site, (key, state), every)[0][1]

    return ChargedStep(update, cost, n, law)


def choice(
    name: str,
    log_likelihood: Callable[[State, Any, State], Array],
    bounds: price.Bounds,
    epsilon: Epsilon,
    *,
    adjacency: Adjacency,
    log_prior: Callable[[State], Array],
    latents: Sequence[str] = (),
) -> ChargedStep:
    """Make the step that draws a parameter of all records from k candidate values.

    Args:
        name: name of the entry with the index of the candidate, an int32 scalar.
        log_likelihood: function from the state, a record and the record's latents to
            the log-likelihood of each candidate, (k,).
        bounds: lower and upper bound of `log_likelihood`; values outside are clipped.
        epsilon: largest ε of one update.
        adjacency: "replace-one" or "add-remove".
        log_prior: function from the state to the log-prior of each candidate, (k,).
        latents: names of entries with one latent per record; none under add-remove.

    Privacy:
        At temperature 1, the cost is 2Δ under replace-one and Δ under add-remove, where
        Δ is the width of `bounds`.

    Raises:
        ValueError: if an argument is out of range.

    Reference:
        Foulds, Geumlek, Welling & Chaudhuri (UAI-16), equation 19.
    """
    clip = price.clip_to(bounds)
    cost, temperature = price.price_of(clip.width, epsilon, adjacency, latents)
    each = price.of_each(log_likelihood, latents)

    def law(records: Any, state: State) -> Array:
        prior, fits = log_prior(state), each(state, records)
        price.shaped(prior, jnp.shape(prior)[-1:], "log_prior")
        price.shaped(fits, (len(fits), *prior.shape), "log_likelihood")
        price.shaped(state[name], (), name)
        return prior + clip(fits).sum(axis=0) / temperature

    def update(key: Key, records: Any, state: State) -> State:
        return {**state, name: draw_categorical(key, law(records, state))}

    return ChargedStep(update, cost, law=law)


def table(
    name: str,
    cell: Callable[[State, Any, State], tuple[Array, Array]],
    shape: tuple[int, int],
    epsilon: Epsilon,
    *,
    adjacency: Adjacency,
    least: Epsilon,
    prior: Scalar = 1.0,
    latents: Sequence[str] = (),
) -> ChargedStep:
    r"""Make the step that draws a table of probabilities of k levels, given counts.

    The rows have Dirichlet posteriors truncated to probabilities ≥ `least`, which
    limits the log-likelihood of a record.

    Args:
        name: name of the entry with the probabilities, of shape `shape`.
        cell: function from the state, a record and the record's latents to its row and
            level, int32 scalars; the row may be a latent. Other cells are ignored.
        shape: number of rows, and number k of levels.
        epsilon: largest ε of one update of all rows.
        adjacency: "replace-one" or "add-remove".
        least: smallest probability $a_0$, at least 1e-7 and below 1 / k.
        prior: Dirichlet parameter of every level, at least 1e-6: a smaller prior could
            reveal empty levels in floats.
        latents: names of entries with one latent per record; none under add-remove.

    Privacy:
        At temperature 1, the cost is 2Δ under replace-one, even if the record changes
        its row, and Δ under add-remove. A record is in one cell, so that Δ is the width
        of the range of a log-probability, $\ln((1 - (k - 1) a_0) / a_0)$.

    Raises:
        ValueError: if an argument is out of range.

    Reference:
        Foulds, Geumlek, Welling & Chaudhuri (UAI-16), sections 4.1 and 5.
    """
    rows, levels = shape
    whole(1, rows=rows)
    whole(2, levels=levels)
    price.refuse_prior(prior=prior)
    width = price.table_width(levels, least)
    cost, temperature = price.price_of(width, epsilon, adjacency, latents)
    each = price.of_each(cell, latents)
    bound = price.float_above(exact_epsilon(least, "least"))

    def law(records: Any, state: State) -> Array:
        row, level = (x.astype(jnp.int32) for x in each(state, records))
        price.shaped(row, (len(row),), "cell")
        price.shaped(level, (len(row),), "cell")
        inside = (row >= 0) & (row < rows) & (level >= 0) & (level < levels)
        places = jnp.where(inside, row * levels + level, rows * levels)
        counts = jnp.zeros(rows * levels).at[places].add(1, mode="drop")
        return prior + counts.reshape(rows, levels) / temperature

    def update(key: Key, records: Any, state: State) -> State:
        drawn = distributions.TruncatedDirichlet(
            law(records, state), bound, validate_args=False
        )
        return {**state, name: drawn.sample(key)}

    return ChargedStep(update, cost, law=law)
