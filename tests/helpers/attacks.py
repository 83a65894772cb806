"""What an attacker does with noisy numbers: looks at bits, and at what is possible.

An attack is told the mechanism and two neighbouring data sets, looks at half of the
draws, picks the event that tells the data sets apart best, and is judged by the others.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats

from tests.helpers.statistical import ALPHA

_STEPS = 24  # XLA's log1p has been seen 19 units of the last place off


def reachable(noisy, exact, scale):
    """Whether `exact + scale * jax.random.laplace(...)` can be the float `noisy`.

    `jax.random.laplace` turns one of 2^23 uniform numbers (2^52 with 64 bits) into a
    draw. The inverse names the uniform number; it and its neighbours are tried.
    """
    limits = jnp.finfo(noisy.dtype)
    exact, scale = np.broadcast_arrays(exact, scale, noisy)[:2]
    noise = (np.asarray(noisy, np.float64) - exact) / scale
    uniform = np.sign(noise) * np.expm1(-np.abs(noise))
    places = np.rint((uniform + 1 - limits.epsneg) * 2.0 ** (limits.nmant - 1))
    return np.asarray(_reachable(places.astype(noisy.dtype), noisy, exact, scale))


@jax.jit
def _reachable(places, noisy, exact, scale):
    """Whether one of these uniform numbers or a neighbour does, by JAX's own steps."""
    limits = jnp.finfo(noisy.dtype)
    unit, least = (
        jnp.asarray(x, noisy.dtype) for x in (2.0**-limits.nmant, limits.epsneg - 1)
    )
    exact, scale = exact.astype(noisy.dtype), scale.astype(noisy.dtype)

    def is_given(step, found):
        place = jnp.clip(places + step.astype(noisy.dtype), 0, 1 / unit - 1)
        uniform = jnp.maximum(least, place * unit * (1 - least) + least)
        noise = jnp.sign(uniform) * jnp.log1p(-jnp.abs(uniform))
        return found | (exact + scale * noise == noisy)

    return jax.lax.fori_loop(
        -_STEPS, _STEPS + 1, is_given, jnp.zeros(noisy.shape, bool)
    )


def verdicts(noisy, pair, scale):
    """By number: 0 or 1 if only that one of two exact numbers is possible, -1 if both.

    -2 if neither is, so that the noise is not that of `jax.random.laplace`.
    """
    zero, one = (reachable(noisy, exact, scale) for exact in pair)
    return np.select([zero & one, zero, one], [-1, 0, 1], -2)


def last_place(numbers):
    """Exponent of the lowest bit that is set in each float; 0 for the number 0."""
    mantissas, exponents = np.frexp(np.asarray(numbers, np.float64))
    whole = (mantissas * 2.0**53).astype(np.int64)
    lowest = np.maximum(whole & -whole, 1)
    return np.where(whole == 0, 0, exponents - 53 + np.log2(lowest).astype(int))


_OFTEN = 10  # draws, before the attacker believes that a value is likelier


class Event(NamedTuple):
    """What the attacker waits for: that one feature has one of some values."""

    feature: str
    values: np.ndarray

    def count(self, features):
        """How many draws it has."""
        return int(np.isin(features[self.feature], self.values).sum())


def features_of(numbers, pair=None, scale=None):
    """All that the attack looks at of draws, a row a draw: by name, a value a draw.

    Args:
        numbers: integers or floats, (draws, m).
        pair: the exact numbers under either data set, in the same units, if the attack
            is to try whether the noise is that of `jax.random.laplace` ...
        scale: ... of this scale.
    """
    numbers = np.asarray(numbers)
    found = {}
    for j, column in enumerate(numbers.T):
        found[f"value {j}"] = column
        found[f"low bits {j}"] = np.mod(column, 16)
        found[f"last place {j}"] = last_place(column)
    if pair is not None:
        judged = verdicts(np.asarray(jnp.asarray(numbers).astype(float)), pair, scale)
        found |= {f"possible {j}": column for j, column in enumerate(judged.T)}
    return found


def _candidates(name, ours, theirs, factor):
    """Every ray of a feature's values, and the set where ours are more likely."""
    values, places = np.unique(np.concatenate([ours, theirs]), return_inverse=True)
    a = np.bincount(places[: len(ours)], minlength=len(values))
    b = np.bincount(places[len(ours) :], minlength=len(values))
    likelier = (a > factor * b) & (a >= _OFTEN)
    for inside in _rays(a, b, factor), ~_rays(a, b, -factor), likelier:
        score = a[inside].sum() - factor * b[inside].sum()
        spread = a[inside].sum() + factor**2 * b[inside].sum()
        yield score / np.sqrt(spread + 1), Event(name, values[inside])


def _rays(a, b, factor):
    """Up to which value there is most to gain."""
    gain = np.cumsum(a - abs(factor) * b)
    best = np.argmax(gain) if factor > 0 else np.argmin(gain)
    return np.arange(len(a)) <= best


def best_event(ours, theirs, epsilon):
    """The event whose probability under ours is most above e^epsilon times theirs."""
    found = [
        candidate
        for name in ours
        for candidate in _candidates(name, ours[name], theirs[name], np.exp(epsilon))
    ]
    return max(found, key=lambda candidate: candidate[0])[1]


def loses(ours, theirs, epsilon):
    """Whether draws of two data sets prove a loss above epsilon; a false alarm: 1e-6.

    Args:
        ours, theirs: features of the draws.
        epsilon: what is promised.
    """
    return any(_proves(a, b, epsilon) for a, b in ((ours, theirs), (theirs, ours)))


def _proves(ours, theirs, epsilon):
    def part(features, which):
        return {name: values[which::2] for name, values in features.items()}

    event = best_event(part(ours, 0), part(theirs, 0), epsilon)
    judged = [part(x, 1) for x in (ours, theirs)]
    trials = [len(next(iter(x.values()))) for x in judged]
    a, b = (event.count(x) for x in judged)
    level = 1 - ALPHA / 2  # of either bound, in either direction
    lower = partial(stats.binomtest, alternative="greater")(max(a, 1), trials[0])
    upper = stats.binomtest(b, trials[1], alternative="less")
    least = lower.proportion_ci(level).low if a else 0.0
    return bool(least > np.exp(epsilon) * upper.proportion_ci(level).high)
