r"""Exact inference in a star, made of a hub and leaves whose only parent is the hub.

Given the hub's counts m, the rows of the leaves are independent of each other, so that

$$P(s, m) = DM(m; n) \prod_a q(s_a - m_a) \prod_v P(s_{va} | m_a),$$

where s are the released numbers, DM is the Dirichlet-multinomial probability of m, q is
the density of the noise, a is a level of the hub, and v is a leaf. Each factor
P(s_va | m_a) is a convolution (see `rows`), and so is the sum over m.
"""

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Int32

from dpjax._types import Key
from dpjax.posteriors.exact.convolution import take
from dpjax.posteriors.exact.rows import (
    RowLaws,
    Rows,
    draw_place,
    draw_rows,
    even_tilt,
    others,
    quotient,
    totals,
    window_weights,
)
from dpjax.posteriors.exact.star_windows import (
    by_level,
    by_row,
    first_record,
    guess_hub,
    hub_window,
    leaf_cells,
    log_law,
    steps,
)
from dpjax.posteriors.exact.stars import Leaves, Star, cell_tails
from dpjax.posteriors.exact.windows import Windows

_NEGLIGIBLE = 1e-14  # mass of hub counts that leaves may omit, on either side


class StarLaw(eqx.Module):
    """Posterior of the hidden counts of a star (a hub and leaves), given a release."""

    groups: list[RowLaws]  # the hub (a row with one cell for each level), then leaves
    records: Float[Array, "records one"]  # law of n, from the hub's first total on
    log_evidence: Float[Array, ""]  # with weight 1 on every value of a private n
    # Bounds of the posterior mass outside the windows: cells; hub and records; kept.
    omitted: Float[Array, "3"]

    def draw_counts(self, key: Key) -> list[Int32[Array, "cells rows"]]:
        """Draw all hidden counts of the hub, then those of each group of leaves."""
        hub, *leaves = self.groups
        key_records, key_hub, *keys = jr.split(key, 2 + len(leaves))
        places = draw_place(key_records, self.records)
        drawn = [draw_rows(key_hub, hub.rows, hub.start + places)]
        for key_leaves, group in zip(keys, leaves, strict=True):
            totals = jnp.tile(drawn[0][:, 0], group.start.size // len(drawn[0]))
            drawn.append(draw_rows(key_leaves, group.rows, totals))
        return drawn


def infer(star: Star, windows: Windows) -> StarLaw:
    """Infer the hidden counts of a star by sums over the counts within `windows`.

    With the fields of `windows`, a row of a leaf with two levels costs
    cells · (hub + 2 · kept) multiplications, and k² times as many with k levels.
    """
    guess = guess_hub(star)
    lowest = hub_window(star, guess, windows.hub)
    counts = (lowest[:, None] + steps(windows.hub)[None]).astype(float)
    logs = log_law(star, counts)
    first = first_record(star, windows.records)
    tilt = _hub_tilt(star, guess.sum()[None], first[None], windows.records)
    hub = lowest[:, None], windows.hub, star.alpha[:, None], tilt
    logs += window_weights(*hub)[..., 0]
    parts, above = [], logs
    for group in star.leaves:
        rows = _leaf_rows(star, group, lowest, guess, windows)
        start = by_row(lowest, group)
        other = others(rows, start, windows.hub)
        sums = totals(rows, other[0], windows.hub)
        message, bound = _message(rows, sums, start)
        logs += by_level(message, group)
        above += by_level(bound, group)
        parts.append((group, rows, other, sums))
    tails = star.hub_tails(lowest, windows.hub)

    def as_hub(logs: Array) -> Rows:
        row = lowest[:, None], tails[:, None], star.alpha[:, None], tilt
        return Rows.from_logs(logs[..., None], *row)

    hub, records, log_evidence = _infer_hub(as_hub(logs), first, windows.records)
    hub_law = hub.counts()[..., 0]
    missed = _missed(star, as_hub(above), first, windows.records, logs - above)
    offset, kept_law, lost = _keep(hub_law, windows.kept)
    groups = [hub]
    for group, rows, other, sums in parts:
        kept = take(sums, by_row(offset, group), windows.kept)
        ratio = quotient(by_row(kept_law.T, group), kept)
        start, kept_from = by_row(lowest, group), by_row(lowest + offset, group)
        groups.append(RowLaws(rows, other, start, kept_from, ratio))
    omitted = jnp.stack([*missed, lost if parts else jnp.zeros_like(lost)])
    return StarLaw(groups, records, log_evidence, omitted)


def _missed(
    star: Star, bound: Rows, first: Array, records: int, gap: Array
) -> tuple[Array, Array]:
    """Bound the shares of mass that the leaves' sums and the hub's window omit.

    `bound` has upper bounds of the hub's weights. The share omitted by a product over
    levels is at most the sum of the shares omitted by its factors.
    """
    hub, _, evidence_above = _infer_hub(bound, first, records)
    law_above = hub.counts()[..., 0]
    share = jnp.where(law_above > 0, -jnp.expm1(gap), 0)
    odds = jnp.exp(star.outside(bound, first, records) - evidence_above)
    return (law_above * share).sum(), jnp.where(odds < 1, odds, 1)


def _hub_tilt(star: Star, guess: Array, first: Array, length: int) -> Array:
    """Return the hub's guess or, if n is private, one that suits the window of n."""
    if star.n is not None:
        return guess
    whole = star.alpha.sum()[None]
    return even_tilt(whole, guess, first, first + (length - 1))


def _leaf_rows(
    star: Star, group: Leaves, lowest_of_hub: Array, guess: Array, windows: Windows
) -> Rows:
    cells = leaf_cells(star, group, lowest_of_hub, windows)
    ends, alpha = (by_row(lowest_of_hub, group), cells.largest[0]), cells.alpha
    guess = even_tilt(alpha.sum(axis=0), by_row(guess, group), *ends)
    logs = cells.logs + window_weights(cells.lowest, windows.cells, alpha, guess)
    ends = cells.lowest, windows.cells, cells.largest
    tail = cell_tails(cells.noise, cells.values, star.step, *ends)
    tail = jnp.where(cells.padding, -jnp.inf, tail)
    return Rows.from_logs(cells.unpadded(logs), cells.lowest, tail, alpha, guess)


def _message(rows: Rows, sums: Array, start: Array) -> tuple[Array, Array]:
    """Compute log P(s | m) for each total m of a row, and an upper bound.

    The upper bound includes what the windows omit and sums that underflow.
    """
    tiny = jnp.log(jnp.finfo(sums.dtype).tiny)
    norm, logs = rows.log_norm(start, len(sums)), jnp.log(sums)
    missed = jnp.logaddexp(rows.omitted(), tiny)[None]
    return logs - norm, jnp.logaddexp(logs, missed) - norm


def _infer_hub(hub: Rows, first: Array, length: int) -> tuple[RowLaws, Array, Array]:
    start = first[None]
    other = others(hub, start, length)
    sums = totals(hub, other[0], length)
    logs = jnp.log(sums) - hub.log_norm(start, length)
    log_evidence = logsumexp(logs)
    law = jnp.exp(logs - log_evidence)
    return RowLaws(hub, other, start, start, quotient(law, sums)), law, log_evidence


def _keep(law: Array, length: int) -> tuple[Array, Array, Array]:
    """Cut each distribution to `length` counts with nearly all mass.

    Returns the offset and the kept part of each distribution, and the total mass lost.
    """
    below = jnp.cumsum(law, axis=1) <= _NEGLIGIBLE
    offset = jnp.minimum(below.sum(axis=1, dtype=jnp.int32), law.shape[1] - length)
    places = steps(law.shape[1])[None]
    inside = (places >= offset[:, None]) & (places < offset[:, None] + length)
    kept = take(law.T, offset, length).T
    return offset, kept, jnp.where(inside, 0, law).sum()
