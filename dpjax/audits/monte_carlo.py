"""A lower bound of a release's privacy loss, from draws under two neighbours."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from dpjax._checks import probability, typed_key, whole
from dpjax._types import Key
from dpjax.audits.drawing import Outputs, Release, Sampler, joined
from dpjax.audits.events import Event, best_event, loss_bounds
from dpjax.audits.scores import FAMILIES, by_bits, by_likelihood, by_value
from dpjax.audits.verdict import Verdict, claimed
from dpjax.privacy import Epsilon, Guarantee

LEAST_DRAWS = 1000
_MOST_FOR_CHOICE = 1 << 19  # draws under each data set
_MOST_NUMBERS = 1 << 24

LogProb = Callable[[Any, Any], Any]
"""Function from an output and a data set to log-probabilities; `audit` sums them."""


def audit(
    key: Key,
    release: Release,
    data: Any,
    neighbour: Any,
    *,
    claim: Guarantee | None = None,
    epsilon: Epsilon | None = None,
    draws: int = 100_000,
    confidence: float = 1 - 1e-6,
    log_prob: LogProb | None = None,
    scores: Sequence[str] = FAMILIES,
    compiled: bool = True,
    batched: bool = False,
    block: int | None = None,
) -> Verdict:
    """Find a lower bound of the loss of a release, from draws under two neighbours.

    Half of the draws choose an event (a set of outputs) for each entry of `scores`. The
    other half estimate the probability of the event under the two data sets.

    Args:
        key: typed JAX key; an equal key gives equal draws.
        release: `release(key, data)` returns an array of numbers, or a tree of arrays.
            JAX traces the release and maps it over keys, unless `compiled` is False.
        data: one data set, an array or a tree of arrays.
        neighbour: a data set that differs from `data` in one record.
        claim: the claimed guarantee of the release.
        epsilon: ε > 0 of a claim of ε-DP, in place of `claim`.
        draws: number of draws under each data set, at least 1000. For ε = 1, a few
            thousand draws detect a loss of 2 ε.
        confidence: probability that the loss is at least the returned bound.
        log_prob: function `log_prob(output, data)`, if known, which JAX traces, for
            likelihood ratios. None: ratios are estimated from the first half of draws.
        scores: functions of an output that define events: "value" (every number, and
            sums and differences of two numbers), "likelihood" (the likelihood ratio)
            and "bits" (the lowest bits of every number). Without "bits", only the
            release in real arithmetic is audited.
        compiled: whether JAX compiles the release. If not, the release is called
            `draws` times with concrete keys, and may use NumPy.
        batched: whether the release is called as `release(key, data, size)`, without
            compilation, and returns `size` draws on the first axis.
        block: number of draws that are in memory at once while probabilities are
            estimated. None: as many as fit. The choice of events needs the memory of at
            most half a million draws.

    Returns:
        A verdict. The probability that it finds a true claim violated is at most
        1 - `confidence`: it uses Clopper–Pearson bounds with Bonferroni's correction
        for the scores, and no draw is used both to choose and to test an event. A
        verdict of "consistent" is no proof, since only one pair of neighbours is used.

    Privacy:
        No guarantee: use invented data sets, since the verdict depends on them.

    Raises:
        ValueError: if an argument is out of range, or the release returns no numbers.

    Reference:
        Clopper & Pearson, Biometrika 26 (1934), for confidence bounds of a proportion.
    """
    began = time.perf_counter()
    _check(key, draws, confidence, scores)
    claim = claimed(claim, epsilon)
    key_width, *keys = jr.split(key, 3)
    sampler = Sampler(release, compiled, batched, block)
    width = sampler.width(key_width, data)

    def draw(start: int, stop: int) -> list[Iterator[Outputs]]:
        return [
            sampler.blocks(one, data, width, start, stop)
            for one, data in zip(keys, (data, neighbour), strict=True)
        ]

    level = (1 - confidence) / len(scores)
    log_ratio = None if log_prob is None else _log_ratio(log_prob, data, neighbour)
    held_out = min(draws // 2, _MOST_FOR_CHOICE, _MOST_NUMBERS // width)
    held_out = max(held_out, LEAST_DRAWS // 2)
    one, other = (joined(list(blocks)) for blocks in draw(0, held_out))
    events = _chosen((one, other), scores, log_ratio, level, claim)
    loss, event = _judged(draw(held_out, draws), events, draws - held_out, level, claim)
    seconds = time.perf_counter() - began
    facts = {"confidence": confidence, "draws": draws, "seconds": seconds}
    return Verdict.of(claim, loss, event, **facts)


def _check(key: Key, draws: int, confidence: float, scores: Sequence[str]) -> None:
    typed_key(key=key)
    whole(LEAST_DRAWS, draws=draws)
    probability(confidence=confidence)
    if not scores or not set(scores) <= set(FAMILIES) or isinstance(scores, str):
        raise ValueError(
            f"`scores` must be some of {', '.join(FAMILIES)}, got {scores!r}."
        )


def _log_ratio(
    log_prob: LogProb, data: Any, neighbour: Any
) -> Callable[[Outputs], np.ndarray]:
    """Make the function that returns the log-likelihood ratio of every draw."""

    def total(output: Any, data: Any) -> jax.Array:
        parts = jax.tree.leaves(log_prob(output, data))
        return jnp.stack([jnp.sum(part) for part in parts]).sum()

    compiled = jax.jit(jax.vmap(total, (0, None)))

    def values(outputs: Outputs) -> np.ndarray:
        first, second = (
            np.asarray(compiled(outputs.tree, x), float) for x in (data, neighbour)
        )
        with np.errstate(invalid="ignore"):
            ratio = first - second
        return np.where(np.isnan(ratio), 0.0, ratio)

    return values


def _chosen(
    pair: tuple[Outputs, Outputs],
    scores: Sequence[str],
    log_ratio: Callable[[Outputs], np.ndarray] | None,
    level: float,
    claim: Guarantee,
) -> list[Event]:
    """Return the best event of each kind of score."""
    one, other = pair
    middle = 0 if log_ratio is not None else one.draws // 2
    fit = (one.select(slice(0, middle)), other.select(slice(0, middle)))
    rest = (one.select(slice(middle, None)), other.select(slice(middle, None)))
    found = []
    if "value" in scores:
        found.append(best_event(by_value(pair), pair, level, claim))
    if "likelihood" in scores:
        found.append(best_event(by_likelihood(fit, log_ratio), rest, level, claim))
    if "bits" in scores:
        found.append(best_event(by_bits(pair), pair, level, claim))
    return [event for event in found if event is not None]


def _judged(
    pair: list[Iterator[Outputs]],
    events: list[Event],
    draws: int,
    level: float,
    claim: Guarantee,
) -> tuple[float, str]:
    """Return the largest lower bound of the loss, and its event, from new draws."""
    seen = np.zeros((2, len(events)), int)
    for i, blocks in enumerate(pair):
        for outputs in blocks:
            seen[i] += [event.count(outputs) for event in events]
    swapped = np.array([event.swapped for event in events], bool)
    likelier, other = np.where(swapped, seen[::-1], seen)
    losses = loss_bounds(likelier, other, (draws, draws), level, claim).tolist()
    found = [(0.0, "nothing tells them apart")]
    return max([*found, *zip(losses, map(str, events), strict=True)])
